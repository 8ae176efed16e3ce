"""mesh --metric: triangles that are stretched along a field, checked in exact arithmetic."""

import math
from fractions import Fraction

import meshio
import numpy as np
import pytest

from conftest import cells_of, pgm_bytes

pytestmark = pytest.mark.usefixtures("two_threads")
SIDE = 128


def layer(x, y):
    """A ridge along a slanted line; y up, in the unit square."""
    return np.tanh(25 * (y - 0.3 - 0.4 * x))


def picture():
    at = (np.arange(SIDE) + 0.5) / SIDE
    return layer(*np.meshgrid(at, 1 - at)).astype(np.float32)


def read(cvtmesh, name="m.msh"):
    found = meshio.read(cvtmesh.path(name))
    triangles = cells_of(found, "triangle")
    return found, found.points[:, :2], triangles


def check_mesh(points, triangles, area):
    """Every triangle is positively oriented, they fill the area, and edges are shared by two or one."""
    total = Fraction(0)
    for a, b, c in points[triangles]:
        twice = (Fraction(b[0]) - Fraction(a[0])) * (Fraction(c[1]) - Fraction(a[1])) - (
            Fraction(b[1]) - Fraction(a[1])) * (Fraction(c[0]) - Fraction(a[0]))
        assert twice > 0
        total += twice / 2
    assert float(total) == pytest.approx(area, rel=1e-8)
    halves = {(int(t[k]), int(t[k - 2])) for t in triangles for k in range(3)}
    assert len(halves) == 3 * len(triangles)
    assert len(np.unique(triangles)) == len(points)


def error_of(points, triangles):
    """The root mean square of layer less its interpolant, by the middles of edges and the centre."""
    p, total, area = points / SIDE, 0, 0
    values = layer(p[:, 0], p[:, 1])
    corner, value = p[triangles], values[triangles]
    u, v = corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]
    weight = (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]) / 2
    for share in ((1 / 2, 1 / 2, 0), (0, 1 / 2, 1 / 2), (1 / 2, 0, 1 / 2), (1 / 3, 1 / 3, 1 / 3)):
        at = np.einsum("k,tkd->td", share, corner)
        total += (weight * (layer(at[:, 0], at[:, 1]) - value @ np.array(share))**2).sum()
        area += weight.sum()
    return math.sqrt(total / area)


def test_stretched_triangles_interpolate_better(cvtmesh):
    """At equal vertices; the even mesh is the same method with the ratio 1."""
    cvtmesh.file("f.npy", picture())
    errors = []
    for words in ((), ("--metric-ratio", 1)):
        report = cvtmesh.report("mesh", "f.npy", "--metric", "hessian", "-n", 300, *words, "-o", "m.msh")
        _, points, triangles = read(cvtmesh)
        check_mesh(points, triangles, SIDE**2)
        assert report["sites"] == len(points) == 300
        assert report["metric"]["good_edges"] > 0.9 and report["metric"]["least_quality"] > 0.2
        errors.append(error_of(points, triangles))
    assert errors[0] < errors[1] / 3


def test_a_given_metric(cvtmesh):
    """Edges along x are to be four times as long as those along y, also on the boundary."""
    cvtmesh.file("o.csv", "0,0\n8,0\n8,4\n0,4\n\n3,1\n5,1\n5,3\n3,3\n")
    cvtmesh.file("m.npy", np.array([[x, y, 1.0, 0, 16] for x in (0, 8) for y in (0, 4)]))
    cvtmesh.call("mesh", "o.csv", "--metric", "m.npy", "-n", 600, "-o", "m.msh")
    _, points, triangles = read(cvtmesh)
    check_mesh(points, triangles, 28)
    assert len(points) == 600
    edges = points[triangles[:, [1, 2, 0]]] - points[triangles]
    spread = np.sqrt((edges**2).mean(axis=(0, 1)))
    assert spread[0] / spread[1] == pytest.approx(4, rel=0.1)
    low = np.sort(points[points[:, 1] == 0][:, 0])
    left = np.sort(points[points[:, 0] == 0][:, 1])
    assert np.diff(low).mean() / np.diff(left).mean() == pytest.approx(4, rel=0.25)


def test_regions_and_a_solution(cvtmesh):
    """The interface is kept, and triangles are stretched along the layer of a solution of VTU."""
    at = np.linspace(0, 1, 41)
    x, y = (g.ravel() for g in np.meshgrid(at, at))
    first = (np.arange(40)[:, None] * 41 + np.arange(40)).ravel()
    cells = np.concatenate([np.stack([first, first + 1, first + 42], 1),
                            np.stack([first, first + 42, first + 41], 1)])
    meshio.write(cvtmesh.path("u.vtu"), meshio.Mesh(
        np.stack([x, y, 0 * x], 1), [("triangle", cells)], point_data={"u": np.exp(-y / 0.1)}))
    cvtmesh.file("o.csv", "0,0\n.5,0\n.5,1\n0,1\n\n.5,0\n1,0\n1,1\n.5,1\n")
    cvtmesh.call("mesh", "o.csv", "--metric", "u.vtu", "--size-field", "u", "-n", 200, "-o", "m.msh")
    found, points, triangles = read(cvtmesh)
    check_mesh(points, triangles, 1)
    assert {"region-1", "region-2", "interface-1-2"} <= set(found.field_data)
    low = points[triangles][points[triangles][:, :, 1].max(axis=1) < 0.2]
    edges = np.abs(low[:, [1, 2, 0]] - low)
    assert edges[:, :, 0].max(axis=1).mean() > 3 * edges[:, :, 1].max(axis=1).mean()


def test_same_bits(cvtmesh):
    cvtmesh.file("f.npy", picture())
    files = []
    for threads in "1", "2":
        cvtmesh.call("mesh", "f.npy", "--metric", "hessian", "-n", 100, "-o", "m.vtu",
                     environment={"OMP_NUM_THREADS": threads})
        files.append(cvtmesh.read("m.vtu"))
    assert files[0] == files[1]


def test_refusals(cvtmesh):
    cvtmesh.file("f.npy", picture())
    cvtmesh.file("grey.pgm", pgm_bytes(np.full((9, 9), 9)))
    cvtmesh.file("o.csv", "0,0\n8,0\n8,4\n")
    cvtmesh.file("bad.npy", np.array([[0, 0, 1.0, 2, 1], [8, 0, 1, 0, 1], [8, 4, 1, 0, 1]]))
    for file, words, code, said in (
            ("f.npy", ("--metric", "hessian"), 2, "--points"),
            ("f.npy", ("-n", 50), 2, "--metric"),
            ("o.csv", ("--metric-ratio", 3, "--min-angle", 30), 2, "--metric"),
            ("o.csv", ("-n", 50, "--metric", "hessian"), 2, "file with a field"),
            ("o.csv", ("-n", 50, "--metric", "f.npy", "--min-angle", 20), 2, "--min-angle"),
            ("o.csv", ("-n", 50, "--metric", "f.npy", "--periodic"), 2, "--periodic"),
            ("o.csv", ("-n", 50, "--metric", "bad.npy"), 3, "not positive definite"),
            ("o.csv", ("-n", 50, "--metric", "f.npy"), 3, "rows of x, y"),
            ("o.csv", ("-n", 50, "--metric", "absent.vtu"), 3, "absent.vtu"),
            ("grey.pgm", ("-n", 50, "--metric", "hessian"), 3, "linear")):
        cvtmesh.refused("mesh", file, *words, "-o", "no.vtu", code=code, names=[said])
