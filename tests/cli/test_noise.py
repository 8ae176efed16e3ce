"""What kind of noise points are: `stats --spectrum` against sums by NumPy."""

import re

import numpy as np
import pytest

from conftest import strict_json


def direct(points, width, height, periodic):
    """Frequencies and powers by the definition, each twice (f and -f), without f = 0."""
    spacing = np.sqrt(width * height / len(points))
    k, l = (np.arange(-int(6 * side / spacing), int(6 * side / spacing) + 1)
            for side in (width, height))
    weight = np.ones(len(points))
    if not periodic:
        weight = (np.sin(np.pi * points / [width, height])**2).prod(axis=1)
    sums = (np.exp(-2j * np.pi * np.outer(k, points[:, 0] / width)) * weight) @ np.exp(
        -2j * np.pi * np.outer(points[:, 1] / height, l))
    if not periodic:
        window = [np.choose(np.minimum(abs(part), 2), [0.5, -0.25, 0]) for part in (k, l)]
        sums -= 4 * weight.sum() * np.outer(*window)
    power = abs(sums)**2 / (weight**2).sum()
    frequency = np.hypot(k[:, None] / width, l / height) * spacing
    return frequency[frequency > 0], power[frequency > 0], spacing


def pairs(points, width, height, periodic):
    offset = points[:, None] - points
    weight = np.ones(offset.shape[:2])
    if periodic:
        offset -= np.round(offset / [width, height]) * [width, height]
    else:
        weight = 1 / (1 - abs(offset) / [width, height]).prod(axis=2)
    distance = np.hypot(*np.moveaxis(offset, 2, 0))
    np.fill_diagonal(distance, np.inf)
    return distance, weight


@pytest.mark.parametrize("periodic", [False, True])
def test_against_the_definitions(cvtmesh, periodic):
    width, height, count = 40, 90, 700
    points = np.random.default_rng(1).random((count, 2)) * [width, height]
    cvtmesh.file("p.npy", points)
    words = ["stats", "p.npy", "--width", width, "--height", height, "--json",
             "--periodic" if periodic else "--no-periodic"]
    done = cvtmesh.call(*words, "--spectrum", "s.json", "--spectrum", "s.csv", "--spectrum", "s.npy",
                        "--spectrum", "s.svg")
    found = strict_json(cvtmesh.read("s.json").decode())
    figures = strict_json(done.stdout)["noise"]
    assert figures.items() <= found.items()

    frequency, power, spacing = direct(points, width, height, periodic)
    ring = (frequency / found["frequency_step"]).astype(int)
    rings = len(found["power"])
    inside = ring < rings
    number = np.bincount(ring[inside], minlength=rings)
    mean = np.bincount(ring[inside], power[inside], rings) / np.maximum(number, 1)
    ours = np.array(found["power"], float)
    np.testing.assert_array_equal(np.isnan(ours), number == 0)
    np.testing.assert_allclose(ours[number > 0], mean[number > 0], rtol=1e-8)
    assert figures["low_frequency_power"] == pytest.approx(power[frequency <= 0.5].mean(), rel=1e-8)
    # f and -f are one frequency: half of `number` are independent.
    square = np.bincount(ring[inside], power[inside]**2, rings) / np.maximum(number, 1)
    some = number > 2
    variance = (square - mean**2)[some] * number[some] / (number[some] - 2)
    np.testing.assert_allclose(np.array(found["anisotropy"], float)[some], variance / mean[some]**2,
                               rtol=1e-6)

    distance, weight = pairs(points, width, height, periodic)
    hexagonal = np.sqrt(2 / np.sqrt(3)) * spacing
    assert figures["least_distance"] == pytest.approx(distance.min() / hexagonal)
    assert figures["mean_distance"] == pytest.approx(distance.min(axis=1).mean() / hexagonal)
    gaps, gap = len(found["pair_correlation"]), found["distance_step"] * spacing
    bins = np.arange(gaps + 1) * gap
    counts = np.histogram(distance, bins, weights=weight)[0]
    expected = counts * width * height / (count * (count - 1) * np.pi * np.diff(bins**2))
    np.testing.assert_allclose(found["pair_correlation"], expected, atol=1e-9)

    rows = [row.split(",") for row in cvtmesh.read("s.csv").decode().split()]
    assert rows[0] == ["curve", "x", "y"]
    for name in ("power", "pair_correlation"):
        values = [float(row[2]) for row in rows if row[0] == name]
        np.testing.assert_allclose(values, [v for v in found[name] if v is not None], rtol=1e-9)
    plane = cvtmesh.array("s.npy")
    np.testing.assert_array_equal(plane, plane[::-1, ::-1])
    assert plane.mean() == pytest.approx(1, abs=0.1)
    svg = cvtmesh.read("s.svg").decode()
    assert len(re.findall("<path", svg)) == 3 and "data:image/png;base64," in svg


def test_text_and_points_that_are_not_uniform(cvtmesh):
    points = np.random.default_rng(2).random((4000, 2))
    cvtmesh.file("p.npy", points * 100)
    done = cvtmesh.call("stats", "p.npy", "--spectrum", "s.svg")
    assert b"oscillation" in done.stdout and b"not uniform" not in done.stdout
    cvtmesh.file("p.npy", points**2 * 100)
    assert b"not uniform" in cvtmesh.call("stats", "p.npy", "--spectrum", "s.svg").stdout


def test_points_of_a_density(cvtmesh):
    """The density taken off, blue noise of a ramp has the spectrum of blue noise."""
    ramp = np.tile(np.linspace(1, 8, 90, dtype=np.float32), (90, 1))
    cvtmesh.file("ramp.npy", ramp)
    cvtmesh.call("run", "ramp.npy", "-n", 1500, "--noise", "blue", "-o", "p.npy")
    done = cvtmesh.call("stats", "p.npy", "--density", "ramp.npy", "--gamma", 2, "--json",
                        "--spectrum", "s.svg", "--spectrum", "s.csv", "--spectrum", "s.json")
    figures = strict_json(done.stdout)["noise"]
    assert abs(figures["low_frequency_power"]) < 0.05
    assert 1.5 < figures["peak_power"] < 3
    assert figures["anisotropy_db"] is None and figures["dispersion"] is None
    correlation = strict_json(cvtmesh.read("s.json").decode())["pair_correlation"]
    assert max(correlation[:15]) < 0.1 and max(correlation[20:30]) > 1.5
    assert np.mean(correlation[100:]) == pytest.approx(1, abs=0.03)


def test_a_mesh_with_its_domain(cvtmesh):
    points = np.random.default_rng(2).random((300, 2)) * 50
    cvtmesh.file("p.npy", points)
    cvtmesh.call("mesh", "p.npy", "-o", "p.obj", "--width", 50, "--height", 50)
    size = ["--width", 50, "--height", 50]
    of_mesh, of_points = (
        strict_json(cvtmesh.call("stats", name, *size, "--json", "--spectrum", "s.csv").stdout)
        for name in ("p.obj", "p.npy"))
    for key, value in of_points["noise"].items():
        assert of_mesh["noise"][key] == pytest.approx(value, rel=1e-3), key
    cvtmesh.refused("stats", "p.obj", "--spectrum", "s.svg", code=3, names=["p.obj", "--width"])


def test_refusals(cvtmesh):
    cvtmesh.file("p.npy", np.array([[1.0, 2.0], [9.0, 3.0]]))
    cvtmesh.file("one.npy", np.array([[1.0, 2.0]]))
    cvtmesh.refused("stats", "p.npy", "--spectrum", "s.png", code=2, names=["s.png"])
    cvtmesh.refused("stats", "p.npy", "--spectrum", "p.npy", code=2, names=["p.npy"])
    cvtmesh.refused("stats", "p.npy", "--spectrum", "no/s.csv", code=1, names=["no/s.csv"])
    cvtmesh.refused("stats", "one.npy", "--spectrum", "s.csv", code=3, names=["one.npy"])
    cvtmesh.refused("stats", "p.npy", "--width", 5, "--height", 5, "--spectrum", "s.csv", code=3,
                    names=["p.npy"])


def figures_of(cvtmesh, name, side):
    done = cvtmesh.call("stats", name, "--width", side, "--height", side, "--periodic", "--json",
                        "--spectrum", "f.json")
    return strict_json(done.stdout)["noise"]


def test_blue_noise_beside_a_tessellation(cvtmesh):
    cvtmesh.file("flat.npy", np.ones((100, 100), np.float32))
    words = ["run", "flat.npy", "-n", 2000, "--periodic"]
    report = cvtmesh.report(*words, "--noise", "blue", "-o", "blue.npy")
    assert report["noise"]["kind"] == "blue" and report["iterations"] == 150
    for effort, iterations in (("low", 75), ("high", 300)):
        report = cvtmesh.report(*words, "--noise", "blue", "--effort", effort, "-o", "p.npy")
        assert report["iterations"] == iterations
    cvtmesh.call(*words, "--noise", "hexagonal", "-o", "cvt.npy")
    cvtmesh.call(*words, "-o", "default.npy")
    assert cvtmesh.read("cvt.npy") == cvtmesh.read("default.npy")
    blue, cvt = (figures_of(cvtmesh, name, 100) for name in ("blue.npy", "cvt.npy"))
    assert blue["low_frequency_power"] < 1e-5
    assert blue["bond_order"] < 0.6 < 0.8 < cvt["bond_order"]
    assert blue["peak_power"] < 4 < 8 < cvt["peak_power"]
    assert blue["oscillation"] < 3 < cvt["oscillation"]


def test_blue_noise_of_a_density(cvtmesh):
    """The points follow the values of data, on either side of an edge and at the border."""
    value = np.full((80, 120), 0.5, np.float32)
    value[:, 40:] = 2
    cvtmesh.file("v.npy", value)
    cvtmesh.call("run", "v.npy", "-n", 3000, "--noise", "blue", "-o", "p.npy")
    x = cvtmesh.array("p.npy")[:, 0]
    expected = 3000 * np.array([0.5, 0.5, 2, 2, 2, 2]) / 9
    np.testing.assert_allclose(np.histogram(x, np.arange(0, 121, 20))[0], expected, atol=12)


def test_blue_noise_from_given_points(cvtmesh):
    cvtmesh.file("flat.npy", np.ones((60, 60), np.float32))
    fixed = np.array([[10, 10], [10.5, 10], [50, 20.25]])
    cvtmesh.file("fixed.npy", fixed)
    words = ["run", "flat.npy", "--noise", "blue", "-n", 300]
    cvtmesh.call(*words, "--fixed", "fixed.npy", "-o", "p.npy")
    np.testing.assert_array_equal(cvtmesh.array("p.npy")[:3], fixed)
    cvtmesh.call(*words, "--iterations", 20, "-o", "a.npy")
    cvtmesh.call(*words, "--init", "a.npy", "--iterations", 0, "-o", "b.npy")
    np.testing.assert_array_equal(cvtmesh.array("a.npy"), cvtmesh.array("b.npy"))
    before = cvtmesh.report(*words, "--init", "a.npy", "--iterations", 1, "-o", "c.npy")
    after = cvtmesh.report(*words, "--init", "a.npy", "--iterations", 40, "-o", "c.npy")
    assert after["noise"]["energy"] < before["noise"]["energy"]
    cvtmesh.call(*words, "--seed", 2, "--iterations", 20, "-o", "d.npy")
    assert (cvtmesh.array("a.npy") != cvtmesh.array("d.npy")).any()


@pytest.mark.parametrize("option", [["--equal-mass"], ["--domain", "image"],
                                    ["--method", "lloyd"], ["--energy", "pixel"], ["--reseed"],
                                    ["--voronoi", "jfa"], ["--gradient-tolerance", 1],
                                    ["--watch", "frames"]])
def test_options_that_are_not_of_blue_noise(cvtmesh, option):
    cvtmesh.file("flat.npy", np.ones((9, 9), np.float32))
    cvtmesh.refused("run", "flat.npy", "-n", 5, "-o", "p.csv", "--noise", "blue", *option, code=2,
                    names=[option[0]])
