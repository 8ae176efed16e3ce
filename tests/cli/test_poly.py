"""mesh FILE.poly: segments that divide the plane into regions, as Triangle reads them."""

import meshio
import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("two_threads")


def poly(vertices, segments, holes=(), regions=()):
    lines = [f"{len(vertices)} 2 0 0"]
    lines += [f"{k} {x!r} {y!r}" for k, (x, y) in enumerate(vertices, 1)]
    lines += [f"{len(segments)} 0"] + [f"{k} {a} {b}" for k, (a, b) in enumerate(segments, 1)]
    for points in holes, regions:
        lines += [str(len(points))]
        lines += [" ".join(map(str, (k, *point))) for k, point in enumerate(points, 1)]
    return "\n".join(lines) + "\n"


def ring(first, count):
    return [(first + k, first + (k + 1) % count) for k in range(count)]


# Two squares with a common side, a triangle in the left one, a crack in the right one.
SQUARES = [(0, 0), (10, 0), (20, 0), (20, 10), (10, 10), (0, 10), (3, 3), (5, 3), (4, 5),
           (13, 2), (16, 7.5)]
SEGMENTS = ring(1, 6) + [(2, 5)] + ring(7, 3) + [(10, 11)]


def mesh(cvtmesh, text, *options):
    cvtmesh.file("x.poly", text)
    report = cvtmesh.report("mesh", "x.poly", *options, "-o", "x.msh")
    found = meshio.read(cvtmesh.path("x.msh"))
    kinds = [c.type for c in found.cells]
    data = found.cell_data["gmsh:physical"]
    triangles = np.concatenate([c.data for c in found.cells if c.type == "triangle"])
    region = np.concatenate([d for d, kind in zip(data, kinds) if kind == "triangle"])
    lines = np.concatenate([c.data for c in found.cells if c.type == "line"])
    a, b, c = (found.points[triangles[:, k], :2] for k in range(3))
    areas = ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]) / 2
    assert areas.min() > 0
    return report, found.points[:, :2], lines, region, areas


def length_on(points, lines, a, b):
    """Of the lines on the segment from a to b."""
    a, b = np.array(a, float), np.array(b, float)
    u = (b - a) / np.linalg.norm(b - a)
    on = [np.abs((p - a) @ [-u[1], u[0]]) < 1e-7 for p in (points[lines[:, 0]], points[lines[:, 1]])]
    way = np.abs((points[lines[:, 1]] - points[lines[:, 0]]) @ u)
    return way[on[0] & on[1]].sum()


def test_regions_holes_and_a_crack(cvtmesh):
    report, points, lines, region, areas = mesh(
        cvtmesh, poly(SQUARES, SEGMENTS, [(4, 3.5)], [(1, 1, 7, 0.5), (15, 2, 3, -1)]),
        "--min-angle", 30)
    assert np.bincount(region, areas)[[3, 7]] == pytest.approx([100, 98], rel=1e-12)
    assert set(region) == {3, 7}
    assert areas[region == 7].max() <= 0.5 < areas[region == 3].max()
    assert report["refinement"]["below"] == report["refinement"]["oversized"] == 0
    assert length_on(points, lines, (10, 0), (10, 10)) == pytest.approx(10)
    assert length_on(points, lines, *SQUARES[9:]) == pytest.approx(np.hypot(3, 5.5))


def test_parts_without_a_point_are_numbered(cvtmesh):
    """Nothing is a hole here: the triangle is a region, too."""
    _, _, _, region, areas = mesh(cvtmesh, poly(SQUARES, SEGMENTS), "--max-area", 3)
    assert sorted(np.bincount(region, areas)) == pytest.approx([0, 2, 98, 100])
    assert areas.max() <= 3


def test_a_vertex_may_divide_a_segment(cvtmesh):
    """An inner segment joins two outer ones, which do not name its ends; outside is a notch. The
    first region has no integer for an attribute: its number is its place in the list."""
    vertices = [(0, 0), (8, 0), (8, 8), (4, 2), (0, 8), (2, 0), (2, 5)]
    text = poly(vertices, ring(1, 5) + [(6, 7)], regions=[(1, 1, 1.5), (7, 1, 40)])
    _, points, lines, region, areas = mesh(cvtmesh, text, "--min-angle", 20)
    assert np.bincount(region, areas)[[1, 40]] == pytest.approx([13, 27])
    assert length_on(points, lines, (2, 0), (2, 5)) == pytest.approx(5)


@pytest.mark.parametrize("text, names", [
    (poly(SQUARES, SEGMENTS, regions=[(1, 1, 1), (30, 30, 2)]), ("x.poly", "(30, 30)", "outside")),
    (poly(SQUARES, SEGMENTS + [(1, 4)]), ("x.poly", "crosses itself", "(20, 10)")),
    (poly(SQUARES, SEGMENTS[:5]), ("x.poly", "bound nothing")),
    (poly(SQUARES, SEGMENTS).replace("\n1 1 2\n", "\n1 1 99\n"), ("x.poly",)),
    (poly(SQUARES, SEGMENTS, regions=[(1, 1, "x")]), ("x.poly", "line", "no number")),
    (poly(SQUARES, SEGMENTS)[:-2] + "7\n1 2", ("x.poly",)),
])
def test_bad_files(cvtmesh, text, names):
    cvtmesh.file("x.poly", text)
    cvtmesh.refused("mesh", "x.poly", "--min-angle", 20, "-o", "x.msh", code=3, names=names)
