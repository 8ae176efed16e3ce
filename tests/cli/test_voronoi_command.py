"""cvtmesh voronoi: labels against nearest sites found by brute force, warm starts."""

import struct

import numpy as np
import pytest


def nearest(points, width, height, periodic):
    y, x = np.mgrid[0:height, 0:width] + 0.5
    best, labels = np.full((height, width), np.inf), np.zeros((height, width), int)
    for k, (a, b) in enumerate(points):
        dx, dy = np.abs(x - a), np.abs(y - b)
        if periodic:
            dx, dy = np.minimum(dx, width - dx), np.minimum(dy, height - dy)
        distance = dx * dx + dy * dy
        labels[distance < best] = k
        best = np.minimum(best, distance)
    return labels


def test_labels(cvtmesh):
    points = np.random.default_rng(5).random((150, 2)) * (90, 60)
    cvtmesh.file("points.npy", points)
    for extra in ([], ["--periodic"]):
        cvtmesh.call("voronoi", "points.npy", "-o", "labels.npy", "--width", 90, "--height", 60,
                     *extra)
        labels = cvtmesh.array("labels.npy")
        assert labels.dtype == np.int32
        np.testing.assert_array_equal(labels, nearest(points, 90, 60, bool(extra)))
    for method in ("jfa", "1+jfa", "jfa+1", "jfa+2", "jfa2"):
        done = cvtmesh.call("voronoi", "points.npy", "-o", "jfa.npy", "--width", 90, "--height", 60,
                            "--method", method, "--check", "--report", "r.json")
        wrong = cvtmesh.json("r.json")["wrong_share"]
        assert wrong < 0.02
        differ = (cvtmesh.array("jfa.npy") != nearest(points, 90, 60, False)).mean()
        assert wrong == pytest.approx(differ, abs=1e-12)
        assert b"wrong" in done.stderr


def test_warm_start(cvtmesh):
    rng = np.random.default_rng(6)
    points = rng.random((300, 2)) * (90, 60)
    cvtmesh.file("points.npy", points)
    size = ["--width", 90, "--height", 60, "--report", "r.json"]

    def report():
        return cvtmesh.json("r.json")

    cvtmesh.call("voronoi", "points.npy", "-o", "labels.npy", "--method", "jfa", *size)
    assert report()["start"] == "sites"
    moved = np.clip(points + rng.normal(0, 0.5, points.shape), 0, (90, 60))
    cvtmesh.file("moved.npy", moved)
    done = cvtmesh.call("voronoi", "moved.npy", "-o", "warm.npy", "--labels-from", "labels.npy",
                        "--first-step", 2, *size)
    assert report()["start"] == "labels"
    assert report()["wrong_share"] < 0.02
    assert b"corrected" in done.stderr
    np.testing.assert_array_equal(cvtmesh.array("warm.npy"), nearest(moved, 90, 60, False))
    cvtmesh.file("floats.npy", np.zeros((60, 90)))
    cvtmesh.refused("voronoi", "moved.npy", "-o", "a.npy", "--labels-from", "floats.npy", "--width",
                    90, "--height", 60, code=3, names=["floats.npy"])
    cvtmesh.refused("voronoi", "moved.npy", "-o", "a.npy", "--labels-from", "labels.npy", "--width",
                    91, "--height", 60, code=3, names=["labels.npy", "91 x 60"])
    cvtmesh.refused("voronoi", "moved.npy", "-o", "a.npy", "--first-step", 2, code=2,
                    names=["--labels-from"])


def test_pictures_and_their_size(cvtmesh):
    cvtmesh.file("points.csv", "x,y\n3.5,2\n19.25,11.5\n")
    cvtmesh.refused("voronoi", "points.csv", "-o", "a.npy", code=2, names=["--like"])
    cvtmesh.refused("voronoi", "points.csv", "-o", "a.npy", "--width", 20, code=2, names=["--like"])
    cvtmesh.file("even.pgm", b"P5 20 12 255\n" + bytes(240))
    cvtmesh.call("voronoi", "points.csv", "-o", "a.npy", "-o", "a.png", "-o", "a.ppm", "--like",
                 "even.pgm")
    cvtmesh.call("voronoi", "points.csv", "-o", "b.npy", "--labels-from", "a.npy")
    assert np.array_equal(cvtmesh.array("a.npy"), cvtmesh.array("b.npy"))
    labels = cvtmesh.array("a.npy")
    assert labels.shape == (12, 20)
    head = b"P6\n20 12\n255\n"
    ppm = cvtmesh.read("a.ppm")
    assert ppm.startswith(head)
    colors = np.frombuffer(ppm[len(head):], np.uint8).reshape(12, 20, 3)
    assert len(np.unique(colors.reshape(-1, 3), axis=0)) == 2
    assert struct.unpack(">II", cvtmesh.read("a.png")[16:24]) == (20, 12)
