"""--order: points in the order in which a pen visits them."""

import re
import time

import numpy as np
import pytest

from conftest import EXAMPLES, catches_interrupts

HORSE = EXAMPLES / "horse.png"
RUN = ("run", HORSE, "-n", 300, "--iterations", 6, "--effort", "low")


def path_length(points, closed):
    if closed:
        points = np.vstack([points, points[:1]])
    return np.hypot(*np.diff(points, axis=0).T).sum()


def by_rows(points):
    return points[np.lexsort(points.T)]


@pytest.mark.parametrize("order", ["tsp", "plot"])
def test_every_format_has_the_order(cvtmesh, order):
    cvtmesh.call(*RUN, "-o", "a.npy")
    report = cvtmesh.report(*RUN, "--order", order, "-o", "b.npy", "-o", "b.csv", "-o", "b.xyz", "-o",
                            "b.svg")
    points = cvtmesh.array("b.npy")
    np.testing.assert_array_equal(by_rows(points), by_rows(cvtmesh.array("a.npy")))
    np.testing.assert_array_equal(np.loadtxt(cvtmesh.path("b.csv"), delimiter=",", skiprows=1), points)
    np.testing.assert_array_equal(np.loadtxt(cvtmesh.path("b.xyz"))[:, :2], points)
    dots = re.findall(rb'cx="([^"]+)" cy="([^"]+)"', cvtmesh.read("b.svg"))
    np.testing.assert_allclose(np.array(dots, float), points, atol=0.01)
    said = report["order"]
    assert said["kind"] == order
    assert abs(said["length"] / path_length(points, order == "tsp") - 1) < 1e-12
    # Sites of a tessellation lie nearly on triangular lattices, where the bound is reached.
    assert 0.95 * said["bound"] < said["length"] < 1.1 * said["bound"]
    assert said["length"] < 0.75 * path_length(cvtmesh.array("a.npy"), True)
    if order == "tsp":
        assert np.hypot(*points.T).argmin() == 0
    else:
        assert np.hypot(*points[0]) <= np.hypot(*points[-1])


@pytest.mark.parametrize("order", ["tsp", "plot"])
def test_path(cvtmesh, order):
    cvtmesh.call(*RUN, "--order", order, "--svg", "path", "-o", "a.svg", "-o", "a.npy")
    drawn = re.findall(r' d="([^"]+)"', cvtmesh.read("a.svg").decode())
    numbers = [float(number) for number in re.findall(r"-?[0-9.]+", drawn[0])]
    path, points = np.reshape(numbers, (-1, 2)), cvtmesh.array("a.npy")
    assert len(drawn) == 1 and len(path) == len(re.findall("[ML]", drawn[0]))
    wanted = np.vstack([points, points[:1]]) if order == "tsp" else points
    np.testing.assert_allclose(path, wanted, atol=0.01)


def test_a_path_alone_is_closed(cvtmesh):
    files = ("-o", "a.svg", "-o", "a.npy")
    cvtmesh.call(*RUN, "--svg", "path", *files)
    alone = [cvtmesh.read(name) for name in files[1::2]]
    cvtmesh.call(*RUN, "--svg", "path", "--order", "tsp", *files)
    assert alone == [cvtmesh.read(name) for name in files[1::2]]


def test_what_belongs_to_a_site_follows_it(cvtmesh):
    words = (*RUN, "--equal-mass", "--weights-out")
    cvtmesh.call(*words, "w.npy", "-o", "a.npy", code=(0, 4))
    cvtmesh.call(*words, "v.npy", "-o", "b.npy", "--order", "tsp", code=(0, 4))
    weight = {tuple(p): w for p, w in zip(cvtmesh.array("a.npy"), cvtmesh.array("w.npy"))}
    for point, w in zip(cvtmesh.array("b.npy"), cvtmesh.array("v.npy")):
        assert weight[tuple(point)] == w


def test_points_of_a_file(cvtmesh):
    random = np.random.default_rng(4).random((4000, 2)) * 100
    cvtmesh.file("p.npy", random)
    results = set()
    for threads in "12":
        cvtmesh.environment = {"OMP_NUM_THREADS": threads}
        report = cvtmesh.report("mesh", "p.npy", "--order", "tsp", "-o", "t.npy")
        results.add(cvtmesh.read("t.npy"))
    assert len(results) == 1
    assert report["order"]["length"] < 1.06 * report["order"]["uniform_estimate"]
    np.testing.assert_array_equal(by_rows(cvtmesh.array("t.npy")), by_rows(random))
    cvtmesh.call("mesh", "t.npy", "--svg", "path", "-o", "t.svg")
    assert cvtmesh.read("t.svg").count(b"L") == 3999


def test_batch(cvtmesh):
    cvtmesh.call("batch", HORSE, *RUN[2:], "--order", "plot", "-o", "b.csv", "-q")
    cvtmesh.call(*RUN, "--order", "plot", "-o", "r.csv")
    assert cvtmesh.read("b.csv") == cvtmesh.read("r.csv")


def test_a_time_limit_ends_the_tour(cvtmesh):
    """Every point is there once; a limit that does not strike changes no byte."""
    random = np.random.default_rng(5).random((4000, 2)) * 200
    cvtmesh.file("p.npy", random)
    words = "mesh", "p.npy", "--order", "tsp", "-o", "t.npy"
    whole = cvtmesh.report(*words)["order"]
    tour = cvtmesh.read("t.npy")
    far = cvtmesh.report(*words, "--time-limit", 1e6)["order"]
    assert cvtmesh.read("t.npy") == tour and not far["stopped"] and not whole["stopped"]
    cut = cvtmesh.report(*words, "--time-limit", 1e-9)["order"]
    assert cut["stopped"]
    assert whole["length"] < cut["length"] < 1.3 * whole["length"]  # a greedy tour is 14 to 20 % longer
    np.testing.assert_array_equal(by_rows(cvtmesh.array("t.npy")), by_rows(random))
    report = cvtmesh.report(*RUN, "--order", "plot", "--time-limit", 1e-9, "-o", "a.csv")
    assert report["order"]["stopped"] and report["stop_reason"] == "time"


def test_an_interrupt_ends_the_tour(cvtmesh):
    random = np.random.default_rng(6).random((100000, 2)) * 3000  # many seconds
    cvtmesh.file("p.npy", random)

    def started(process):
        catches_interrupts(process)
        time.sleep(0.2)

    cvtmesh.interrupted("mesh", "p.npy", "--order", "tsp", "-o", "t.npy", when=started)
    np.testing.assert_array_equal(by_rows(cvtmesh.array("t.npy")), by_rows(random))


def test_refused(cvtmesh):
    cvtmesh.file("p.csv", "1,2\n3,4\n5,1\n")
    cvtmesh.refused(*RUN, "--order", "tsp", "-o", "a.csv", "-o", "a.msh", code=2, names=["a.msh"])
    cvtmesh.refused("mesh", "p.csv", "--order", "plot", "-o", "a.obj", code=2, names=["a.obj"])
    for kind in ("cells", "mesh"):
        cvtmesh.refused(*RUN, "--order", "tsp", "--svg", kind, "-o", "a.svg", code=2, names=["a.svg"])
    cvtmesh.refused(*RUN, "--order", "tsp", "--domain", "image", "-o", "a.csv", code=2,
                    names=["--domain"])
    cvtmesh.refused(*RUN, "--svg", "path", "--order", "none", "-o", "a.svg", code=2, names=["--order"])
    cvtmesh.refused(*RUN, "--svg", "path", "-o", "a.svg", "-o", "a.msh", code=2,
                    names=["--svg path: a.msh"])
