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
