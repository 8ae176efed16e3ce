"""cvtmesh bench: tables in Markdown and figures, small."""

import math
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from conftest import ROOT

SVG = "{http://www.w3.org/2000/svg}"


def cells(text):
    """The rows of the table below its head, as lists of cells."""
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    assert len(rows) > 2
    assert len({len(row) for row in rows}) == 1, rows
    return [[cell.strip() for cell in row] for row in rows[2:]]


def table(cvtmesh, *words):
    return cells(cvtmesh.call("bench", *words).stdout.decode())


def test_tables(cvtmesh):
    for name, limit in (("table1", 64), ("table2", 500), ("table3", 200), ("table4", 1600),
                        ("figure3", 100), ("figure6", 500), ("figure7", 50), ("figure8", 500),
                        ("figure9", 1600), ("histories", 64)):
        assert len(table(cvtmesh, name, "--size-limit", limit, "--iterations", 20)) > 1


@pytest.mark.parametrize("more", [(), ("--preset", "paper"),
                                  ("--density", ROOT / "examples/camera.png")])
def test_both_legs_agree(cvtmesh, more):
    """With the CPU as the device the optimiser beside it and the one on it take the same steps:
    start, bounds, scaling and limits are the same."""
    rows = table(cvtmesh, "figure7", "--size-limit", 40, "--iterations", 25, *more)
    energies = [float(row[1]) for row in rows]
    assert len(rows) > 12 and energies == sorted(energies, reverse=True)
    assert all(float(row[3]) == 0 for row in rows)
    assert energies[-1] < 0.7 * energies[0]


def bilinear(values, side):
    """Values at the centres of side x side pixels over the whole picture, constant at its border."""
    for axis in (0, 1):
        count = values.shape[axis]
        t = np.clip((np.arange(side) + 0.5) * count / side - 0.5, 0, count - 1)
        left = np.minimum(np.floor(t).astype(int), count - 2)
        way = np.expand_dims(t - left, 1 - axis)
        values = values.take(left, axis) * (1 - way) + values.take(left + 1, axis) * way
    return values


def test_densities_of_tessellations(cvtmesh):
    """A picture is stretched over the square: 3 x 2 pixels are 205 x 205 interpolated ones, and
    twice the density has twice the energies."""
    words = ("figure7", "--size-limit", 200, "--iterations", 8)
    small = np.array([[1, 4, 2], [8, 2, 5]], np.float32)
    cvtmesh.file("small.npy", small)
    cvtmesh.file("large.npy", bilinear(small.astype(float), 205).astype(np.float32))
    cvtmesh.file("twice.npy", np.full((2, 2), 2, np.float32))
    rows = table(cvtmesh, *words, "--density", "small.npy")
    large = table(cvtmesh, *words, "--density", "large.npy")
    for row, other in zip(rows, large, strict=True):
        assert float(row[1]) == pytest.approx(float(other[1]), rel=1e-5)
    even = table(cvtmesh, *words)
    twice = table(cvtmesh, *words, "--density", "twice.npy")
    assert [float(row[1]) for row in twice] == pytest.approx([2 * float(row[1]) for row in even])
    assert float(even[0][1]) * 4 != pytest.approx(float(rows[0][1]), rel=0.01)
    for name in ("table2", "table3", "figure6", "figure8"):
        done = cvtmesh.call("bench", name, "--size-limit", 200, "--iterations", 3, "--density",
                            "small.npy")
        assert b"small.npy" in done.stdout
    assert b"no tessellations" in cvtmesh.call("bench", "table4", "--density", "small.npy",
                                               code=2).stderr


def test_both_legs_agree_on_a_gpu(cvtmesh):
    """The sums of a GPU are rounded elsewhere; the first steps are those of the CPU all the same."""
    done = cvtmesh.call("bench", "figure7", "--size-limit", 400, "--iterations", 10, "--device",
                        "cuda", code=(0, 5))
    if done.returncode == 5:
        pytest.skip("no CUDA device")
    rows = cells(done.stdout.decode())
    assert len(rows) > 9 and all(abs(float(row[3])) < 1e-9 for row in rows)


def test_runs_end_or_say_that_a_limit_ended_them(cvtmesh):
    for name, size in (("table2", 200), ("table4", 1600)):
        whole = table(cvtmesh, name, "--size-limit", size)
        short = table(cvtmesh, name, "--size-limit", size, "--iterations", 9)
        assert not any("+ (" in cell for row in whole for cell in row)
        assert sum("9+ (" in cell for cell in short[0]) == 2


def test_jump_flooding_by_name(cvtmesh):
    """With many sites in a pixel jump flooding misses some, so another sum is minimised."""
    words = ("table3", "--size-limit", 200, "--iterations", 6)
    exact, preset = table(cvtmesh, *words), table(cvtmesh, *words, "--preset", "paper")
    assert preset == table(cvtmesh, *words, "--voronoi", "jfa")
    assert len(exact) == len(preset)
    assert preset != table(cvtmesh, *words, "--preset", "paper", "--voronoi", "exact") == exact


def test_figures_are_drawn(cvtmesh):
    """The curves of the picture have the values of the table."""
    rows = table(cvtmesh, "figure7", "--size-limit", 40, "--iterations", 9, "-o", "f.svg")
    root = ElementTree.fromstring(cvtmesh.read("f.svg"))
    curves = [path.get("d") for path in root.iter(SVG + "path") if path.get("fill") == "none"]
    assert len(curves) == 2
    for column, curve in enumerate(curves, 1):
        points = [tuple(map(float, p)) for p in re.findall(r"[ML]([\d.]+) ([\d.]+)", curve)][:10]
        energies = [float(row[column]) for row in rows]
        lift = (points[0][1] - points[9][1]) / (energies[0] - energies[9])
        for k, (x, y) in enumerate(points):
            assert y == pytest.approx(points[0][1] + lift * (energies[k] - energies[0]), abs=0.02)
            assert x == pytest.approx(points[0][0] + k * (points[1][0] - points[0][0]), abs=0.1)
    titles = [text.text for text in root.iter(SVG + "text")]
    assert "iteration" in titles and "0" in titles and "-0" not in titles


def test_figures_with_logarithmic_axes(cvtmesh):
    rows = table(cvtmesh, "figure9", "--size-limit", 3600, "--iterations", 9, "-o", "f.svg")
    root = ElementTree.fromstring(cvtmesh.read("f.svg"))
    dots = [(float(c.get("cx")), float(c.get("cy"))) for c in root.iter(SVG + "circle")]
    assert len(dots) == 4 * len(rows)
    paper = dots[2 * len(rows):3 * len(rows)]
    for axis, column in ((0, 0), (1, 3)):
        logs = [math.log(float(row[column])) for row in rows]
        each = (paper[1][axis] - paper[0][axis]) / (logs[1] - logs[0])
        assert paper[2][axis] == pytest.approx(paper[0][axis] + each * (logs[2] - logs[0]), abs=0.1)


def test_figures_of_hlcps(cvtmesh):
    """Shapes of grids are of CUDA devices; on the CPU processors are cores."""
    shapes = table(cvtmesh, "hlcp-figure1", "--size-limit", 64, "-o", "f.svg")
    assert [float(row[2]) for row in shapes][::9] == [0.94, 2.72]
    rows = table(cvtmesh, "hlcp-figure2", "--size-limit", 40, "--threads", 2, "-o", "g.svg")
    assert [row[:4] for row in rows] == [[m, str(e), "40", l] for m in ("mmj", "mmgs", "mmsor")
                                         for e in (1, 2, 3) for l in "12"]
    for one, two in zip(rows[::2], rows[1::2]):
        assert float(one[6]) == 1
        assert float(two[6]) == pytest.approx(float(one[5]) / 2 / float(two[5]), abs=0.02 + 0.0002 / float(two[5]))
    sweeps = [[int(row[4]) for row in rows[k:k + 6:2]] for k in (0, 6, 12)]
    assert all(j > gs > sor for j, gs, sor in zip(*sweeps))
    for name, curves in (("f.svg", 1), ("g.svg", 12)):
        root = ElementTree.fromstring(cvtmesh.read(name))
        assert len([p for p in root.iter(SVG + "path") if p.get("fill") == "none"]) == curves


def test_position_of_the_diagonal(cvtmesh):
    """The order of the entries and the way to the diagonal change no result beyond rounding."""
    rows = table(cvtmesh, "rgcsr", "--size-limit", 64)
    assert len(rows) == 4 and [row[3] == "-" for row in rows] == [True, True, True, False]
    assert all(float(row[4]) == pytest.approx(float(rows[0][4]), rel=1e-14) for row in rows)


def test_refused_figures(cvtmesh):
    cvtmesh.refused("bench", "table1", "-o", "t.svg", code=2, names=["table1"])
    cvtmesh.refused("bench", "figure3", "-o", "f.png", code=2, names=["f.png"])
    assert cvtmesh.names() == []


def test_unknown(cvtmesh):
    cvtmesh.refused("bench", "table9", code=2, names=["table9"])


def test_time_limit_and_threads(cvtmesh):
    """With a time limit near 0 the table has no figures; figures do not depend on the threads."""
    words = ["table3", "--size-limit", 200, "--iterations", 20]
    tables = []
    for threads in (1, 2):
        text = cvtmesh.call("bench", *words, "--threads", threads).stdout.decode()
        assert f"({threads} thread" in text.splitlines()[0]
        tables.append([line for line in text.splitlines() if line.startswith("|")])
    assert tables[0] == tables[1]
    assert any("100.00 (" in row for row in tables[0])
    text = cvtmesh.call("bench", *words, "--time-limit", 1e-9).stdout.decode()
    assert "| 0 | - (100.00) |" in text.splitlines()
