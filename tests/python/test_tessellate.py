"""The bits are those of the program; results in memory are those in its files."""

import copy
import json
import pickle

import numpy as np
import pytest

import cvtmesh
from conftest import ROOT

CAMERA = ROOT / "docs/examples" / "camera.png"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"seed": 5, "method": "lloyd", "iterations": 20},
        {"equal_mass": True, "iterations": 5},
        {"periodic": True, "effort": "low"},
        {"order": "tsp", "grade": 10.0, "iterations": 10},
        {"preset": "paper", "iterations": 5},
    ],
)
def test_points_have_the_bits_of_the_program(options, image, program, tmp_path):
    np.save(tmp_path / "image.npy", image)
    words = []
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}"] + ([] if value is True else [str(value)])
    program("run", "image.npy", "-n", 300, *words, "-o", "points.npy", "--report", "report.json")
    t = cvtmesh.tessellate(image, 300, **options)
    assert t.points.tobytes() == np.load(tmp_path / "points.npy").tobytes()
    report = json.loads((tmp_path / "report.json").read_text())
    assert t.energy_ratio == report["energy_ratio"]
    assert t.quality == report["quality"]
    assert t.history["energy"].tolist() == [row["energy"] for row in report["history"]]


@pytest.mark.parametrize("name", ["a.vtu", "a.msh", "a.obj", "a.csv", "a.svg", "a.png", "a.ply"])
def test_saved_files_are_those_of_the_program(name, program, tmp_path):
    program("run", CAMERA, "-n", 500, "--iterations", 20, "--domain", "none", "-o", name)
    t = cvtmesh.tessellate(CAMERA, 500, iterations=20)
    t.save(tmp_path / f"python-{name}")
    assert (tmp_path / f"python-{name}").read_bytes() == (tmp_path / name).read_bytes()


def test_sizes_are_tuples(program, tmp_path):
    program("run", CAMERA, "-n", 200, "--iterations", 5, "-o", "a.hpgl", "--page", "100x200")
    t = cvtmesh.tessellate(CAMERA, 200, iterations=5, pen=0.5, page=(100, 200))
    t.save(tmp_path / "b.hpgl", page=(100, 200))
    assert (tmp_path / "b.hpgl").read_bytes() == (tmp_path / "a.hpgl").read_bytes()


def test_options_of_outputs_are_options_of_save(program, tmp_path):
    program("run", CAMERA, "-n", 200, "--iterations", 5, "--domain", "none", "-o", "a.svg", "--svg", "cells")
    program("run", CAMERA, "-n", 200, "--iterations", 5, "--domain", "none", "-o", "a.obj", "--unit")
    t = cvtmesh.tessellate(CAMERA, 200, iterations=5)
    t.save(tmp_path / "b.svg", svg="cells")
    t.save(tmp_path / "b.obj", unit=True)
    for kind in ("svg", "obj"):
        assert (tmp_path / f"b.{kind}").read_bytes() == (tmp_path / f"a.{kind}").read_bytes()
    with pytest.raises(ValueError, match="order"):
        t.save(tmp_path / "c.csv", order="tsp")


def test_bytes_and_paths_are_the_same_picture():
    a = cvtmesh.tessellate(CAMERA, 100, iterations=3)
    b = cvtmesh.tessellate(CAMERA.read_bytes(), 100, iterations=3)
    assert np.array_equal(a.points, b.points)


def test_mass_cells_and_triangles_belong_together(image):
    t = cvtmesh.tessellate(image, 150, iterations=10)
    assert t.mass.sum() == pytest.approx(image.sum(dtype=float), rel=1e-12)
    areas = [
        abs(np.sum(c[:, 0] * np.roll(c[:, 1], -1) - c[:, 1] * np.roll(c[:, 0], -1))) / 2
        for c in t.cells
    ]
    assert sum(areas) == pytest.approx(image.size, rel=1e-9)
    assert len(t.cells) == 150 and len(t.cells[10:13]) == 3
    assert set(t.triangles.ravel()) == set(range(150))
    assert t.density.dtype == np.float32 and np.array_equal(t.density, image)


def test_the_callback_sees_every_iteration_and_can_stop(image):
    seen = []
    t = cvtmesh.tessellate(image, 100, iterations=12, tolerance=0, callback=seen.append)
    assert [r["iteration"] for r in seen] == t.history["iteration"].tolist()
    assert [r["energy"] for r in seen] == t.history["energy"].tolist()
    t = cvtmesh.tessellate(image, 100, callback=lambda r: r["iteration"] == 3)
    assert t.history["iteration"][-1] == 3 and t.report["stop_reason"] == "interrupted"


def test_an_exception_of_the_callback_ends_the_run(image):
    def fail(record):
        raise ZeroDivisionError(record["iteration"])

    with pytest.raises(ZeroDivisionError, match="0"):
        cvtmesh.tessellate(image, 100, callback=fail)


def test_arrays_outlive_the_result(image):
    t = cvtmesh.tessellate(image, 50, iterations=2)
    points, cells, copy = t.points, t.cells, t.points.copy()
    del t
    cvtmesh.tessellate(image, 60, iterations=2)
    assert np.array_equal(points, copy) and len(cells) == 50


def test_copies(image, tmp_path):
    t = cvtmesh.mesh_domain(image, 100, domain="frame", iterations=3)
    pickled = pickle.loads(pickle.dumps(t))
    for name in ("points", "triangles", "mass", "centroids", "density"):
        assert np.array_equal(getattr(pickled, name), getattr(t, name))
    assert np.array_equal(pickled.cells[7], t.cells[7]) and pickled.quality == t.quality
    assert repr(pickled) == repr(t)
    pytest.importorskip("meshio")
    assert pickled.to_meshio().field_data.keys() == t.to_meshio().field_data.keys()
    with pytest.raises(NotImplementedError, match="a pickled one cannot"):
        pickled.save(tmp_path / "a.obj")
    for each in (copy.copy(t), copy.deepcopy(t)):
        each.save(tmp_path / "a.obj")
    assert copy.deepcopy(t).points is not t.points


def test_pictures_of_a_notebook(image):
    t = cvtmesh.tessellate(image, 50, iterations=2)
    assert t._repr_png_().startswith(b"\x89PNG")
    assert "data:image/png;base64," in t._repr_html_() and "50 points" in repr(t)


def test_progress_changes_nothing(image, capsys):
    a = cvtmesh.tessellate(image, 50, iterations=3, progress=True)
    assert np.array_equal(a.points, cvtmesh.tessellate(image, 50, iterations=3).points)


def test_results_show_what_they_are():
    mesh = cvtmesh.delaunay([[0, 0], [1, 0], [1, 1], [0, 1]])
    assert repr(mesh) == "<Delaunay: 4 points, 2 triangles>"
    t = cvtmesh.tessellate(np.ones((6, 8)), 2, iterations=1)
    assert repr(t).startswith("<Tessellation: 2 points, 0 triangles, 8 x 6 pixels")
    assert repr(t.cells) == f"<Cells: 2 polygons, {len(t.cells.corners)} corners>"
    y, x = np.mgrid[0:40, 0:40]
    disc = (np.hypot(x - 20, y - 20) < 9).astype(float)
    s = cvtmesh.segment(disc, inside=[(20, 20, 4)], outside=[(3, 3, 2)])
    assert repr(s) == f"<Segmentation: {s.mask.sum()} of 40 x 40 pixels>"
    assert s._repr_svg_().startswith(("<?xml", "<svg"))


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A picture and points, in the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.png").write_bytes(CAMERA.read_bytes())
    (tmp_path / "p.csv").write_text("x,y\n2,2\n40,3\n5,39\n44,41\n")
    (tmp_path / "l.csv").hardlink_to(tmp_path / "p.csv")
    return tmp_path


def test_no_input_is_overwritten(files):
    before = {path: path.read_bytes() for path in files.iterdir()}
    t = cvtmesh.tessellate("p.png", init="p.csv", iterations=1)
    for name in ("p.png", files / "p.png", "p.csv", "./l.csv"):
        with pytest.raises(ValueError, match="output would overwrite"):
            t.save(name)
    with pytest.raises(ValueError, match="report would overwrite"):
        t.save("a.csv", report="./a.csv")
    for call in (
        lambda: cvtmesh.tessellate("p.png", 5, output="p.png"),
        lambda: cvtmesh.batch([{"input": "p.png", "points": 5, "output": "p.png"}]),
    ):
        with pytest.raises(ValueError, match="overwrite|also writes"):
            call()
    assert {path: path.read_bytes() for path in files.iterdir()} == before


def test_names_like_those_of_files_in_memory(files):
    t = cvtmesh.tessellate("p.png", 20, iterations=1)
    for name in ("<picture>.png", "<image>.npy", "<drawing>.svg"):
        t.save(name)
        assert (files / name).stat().st_size > 0
    cvtmesh.delaunay(t.points).save("<points>.obj")
    assert (files / "<points>.obj").exists()
    again = cvtmesh.tessellate("p.png", init="<image>.npy", iterations=0)
    assert np.array_equal(again.points, t.points)
    report = cvtmesh.batch([{"input": "<picture>.png", "points": 5, "output": "<o>.csv"}])
    assert report["done"] == 1 and (files / "<o>.csv").exists()


def test_a_zero_byte_ends_no_name(files):
    t = cvtmesh.tessellate("p.png", 20, iterations=1)
    for call in (
        lambda: t.save("a.csv\0.txt"),
        lambda: cvtmesh.tessellate("p.png\0", 20),
        lambda: cvtmesh.tessellate("p.png", init="p.csv\0"),
        lambda: cvtmesh.batch([{"input": "p.png", "points": 5, "output": "a.csv\0.txt"}]),
        lambda: cvtmesh.batch([{"input": "p.png\0", "points": 5, "output": "a.csv"}]),
    ):
        with pytest.raises(ValueError, match="null"):
            call()
    assert not (files / "a.csv").exists()


def test_save_writes_what_it_is_asked_for(files):
    """The outputs of the call itself are written once."""
    outputs = {"pairs_out": "pairs.npy", "report": "r.json", "output": "a.obj",
               "density_out": "d.npy"}
    t = cvtmesh.tessellate("p.png", 200, domain="frame", periodic=True, iterations=3, **outputs)
    for name in outputs.values():
        (files / name).unlink()
    t.save("b.obj")
    t._repr_html_()
    assert sorted(path.name for path in files.iterdir()) == ["b.obj", "l.csv", "p.csv", "p.png"]
    t.save("b.obj", pairs_out="pairs.npy")
    assert (files / "pairs.npy").exists()
