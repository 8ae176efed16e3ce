"""Segments that divide the plane into regions: of Triangle's .poly, and of shapes with common edges."""

import json
import math
import re

import meshio
import numpy as np
import pytest

from conftest import areas_of, cells_of, check_gmsh, pgm_bytes

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


def mesh(cvtmesh, text, *options, name="x.poly"):
    cvtmesh.file(name, text)
    report = cvtmesh.report("mesh", name, *options, "-o", "x.msh")
    return report, *read_msh(cvtmesh)


def read_msh(cvtmesh):
    """Points, lines, and the region and area of each triangle."""
    found = meshio.read(cvtmesh.path("x.msh"))
    points, region = found.points[:, :2], cells_of(found, "triangle", "gmsh:physical")
    areas = areas_of(points, cells_of(found, "triangle"))
    assert areas.min() > 0
    return points, cells_of(found, "line"), region, areas


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
    _, _, _, region, areas = mesh(cvtmesh, poly(SQUARES, SEGMENTS), "--min-angle", 30, "--size", 2.632)
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


@pytest.mark.parametrize("segments", [SEGMENTS, ring(1, 6)])
def test_a_segment_with_equal_ends_is_left_out(cvtmesh, segments):
    """With a note, in graphs and in rings."""
    _, points, lines, region, areas = mesh(cvtmesh, poly(SQUARES, segments), "--min-angle", 20)
    cvtmesh.file("y.poly", poly(SQUARES, segments[:2] + [(3, 3)] + segments[2:] + [(8, 8)]))
    done = cvtmesh.call("mesh", "y.poly", "--min-angle", 20, "-o", "x.msh")
    assert b"y.poly: note: 2 segments are left out: the ends are the same vertex\n" in done.stderr
    found = read_msh(cvtmesh)
    for ours, theirs in zip(found, (points, lines, region, areas)):
        assert (ours == theirs).all()
    assert cvtmesh.call("mesh", "y.poly", "--min-angle", 20, "-q", "-o", "x.msh").stderr == b""
    cvtmesh.file("white.pgm", pgm_bytes(np.full((12, 24), 9)))
    done = cvtmesh.call("run", "white.pgm", "-n", 30, "--domain", "polygon=y.poly", "-o", "x.msh")
    assert b"y.poly: note: 2 segments" in done.stderr


@pytest.mark.parametrize("text, names", [
    (poly(SQUARES, SEGMENTS[:6] + [(10, 11)], [(4, 3.5)]), ("x.poly", "everything they enclose is a hole")),
    (poly(SQUARES, SEGMENTS, regions=[(1, 1, 1), (30, 30, 2)]), ("x.poly", "(30, 30)", "outside")),
    (poly(SQUARES, SEGMENTS[:5]), ("x.poly", "bound nothing")),
    (poly(SQUARES, SEGMENTS).replace("\n1 1 2\n", "\n1 1 99\n"), ("x.poly",)),
    (poly(SQUARES, SEGMENTS, regions=[(1, 1, "x")]), ("x.poly", "line", "not a number")),
    (poly(SQUARES, SEGMENTS)[:-2] + "7\n1 2", ("x.poly",)),
])
def test_bad_files(cvtmesh, text, names):
    cvtmesh.file("x.poly", text)
    cvtmesh.refused("mesh", "x.poly", "--min-angle", 20, "-o", "x.msh", code=3, names=names)


@pytest.mark.parametrize("options", [["--size", 0.8], ["--min-angle", 30], ["--size", 0.8, "--element-order", 2]])
def test_files_of_triangle_keep_attributes_and_markers(cvtmesh, options):
    """Attributes that are no numbers of regions, parts without one, markers of vertices and segments."""
    text = poly(SQUARES, SEGMENTS, regions=[(1, 1, 2.5), (15, 1, -4)]).replace("\n11 0\n1 1 2\n", "\n11 1\n1 1 2\n")
    lines = text.splitlines()
    lines[0] = "11 2 0 1"
    for k in range(11):
        lines[1 + k] += f" {[5, 0, 9, -8, 0, 0, 0, 0, 0, 0, 0][k]}"
        lines[13 + k] += f" {[21, 22, 23, 0, 25, 1, -3, 0, 0, 0, 41][k]}"
    cvtmesh.file("x.poly", "\n".join(lines) + "\n")
    cvtmesh.call("mesh", "x.poly", *options, "-o", "y.node", "-o", "y.ele", "-o", "y.poly", "-o", "y.msh")
    nodes, elements = ([line.split() for line in cvtmesh.read(f"y.{kind}").decode().splitlines()]
                       for kind in ("node", "ele"))
    points = np.array([row[1:3] for row in nodes[1:]], float)
    assert points[:len(SQUARES)].tolist() == [list(map(float, place)) for place in SQUARES]  # the order of the file
    corners = np.array([row[1:4] for row in elements[1:]], int) - 1
    attributes = np.array([row[-1] for row in elements[1:]], float)
    areas = areas_of(points, corners)
    found = {value: areas[attributes == value].sum() for value in set(attributes)}
    assert found == pytest.approx({2.5: 98, -4: 100, 0: 2})
    markers = {tuple(p): int(row[-1]) for p, row in zip(points.tolist(), nodes[1:])}
    assert [markers[p] for p in ((0, 0), (20, 0), (20, 10))] == [5, 9, -8]
    for (x, y), marker in markers.items():
        if y == 0 and x % 10 != 0:
            assert marker == (21 if x < 10 else 22)
        elif x == 20 and 0 < y < 10:
            assert marker == 23
        elif y == 10 and 10 < x < 20:
            assert marker == 1
        elif x == 10 and 0 < y < 10:
            assert marker == -3
    assert 41 in markers.values() and 0 in markers.values()
    # The boundary, read again, gives the same.
    again = cvtmesh.read("y.poly").decode()
    assert " 2.5 -1\n" in again and " -4 -1\n" in again and " 0 -1\n" in again
    cvtmesh.call("mesh", "y.poly", "--min-angle", 20, "-o", "z.ele", "-o", "z.node")
    assert {float(line.split()[-1]) for line in cvtmesh.read("z.ele").decode().splitlines()[1:]} == {2.5, -4, 0}


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("options", [["--min-angle", 20], ["--size", 2], ["--size", 3, "--element-order", 2]])
def test_numbers_attributes_and_markers_are_those_of_triangle(cvtmesh, options, first):
    """Numbers from 0 or 1; attributes are linear between vertices; a vertex without a marker gets the first one of a
    segment that ends there, else 1 on the boundary and 0 inside. The last two segments cross."""
    segments = SEGMENTS[:-1] + [(2, 4), (3, 5)]
    markers = [21, 0, 23, 0, 25, 0, -3, 0, 0, 0, 7, 8]
    plane = [2 * x - y + 1 for x, y in SQUARES]
    wild = [round(math.sin(9 * k) * 100, 3) for k in range(len(SQUARES))]
    given = [5, 0, 0, -8, 0, 0, 0, 0, 0, 0, 0]
    lines = [f"{len(SQUARES)} 2 2 1"]
    lines += [f"{k + first} {x} {y} {plane[k]} {wild[k]} {given[k]}" for k, (x, y) in enumerate(SQUARES)]
    lines += [f"{len(segments)} 1"]
    lines += [f"{k + first} {a - 1 + first} {b - 1 + first} {markers[k]}" for k, (a, b) in enumerate(segments)]
    cvtmesh.file("x.poly", "\n".join([*lines, "1", f"{first} 4 3.5", "1", f"{first} 1 2 9 -1"]) + "\n")
    cvtmesh.call("mesh", "x.poly", *options, "-o", "y.node", "-o", "y.ele", "-o", "y.poly")
    nodes, elements, outline = ([line.split() for line in cvtmesh.read(f"y.{kind}").decode().splitlines()]
                                for kind in ("node", "ele", "poly"))
    assert nodes[0][1:] == ["2", "2", "1"]
    for rows in nodes, elements, outline[:int(outline[0][0]) + 1]:
        assert [int(row[0]) for row in rows[1:]] == list(range(first, first + int(rows[0][0])))
    values = np.array([row[1:] for row in nodes[1:]], float)
    points, marker = values[:, :2], values[:, -1].astype(int).tolist()
    corners = np.array([row[1:4] for row in elements[1:]], int) - first
    assert corners.min() == 0 and areas_of(points, corners).min() > 0
    assert areas_of(points, corners).sum() == pytest.approx(198)
    assert points[:len(SQUARES)].tolist() == [list(map(float, place)) for place in SQUARES]
    assert values[:len(SQUARES), 2:4].tolist() == [list(pair) for pair in zip(plane, wild)]
    assert marker[:len(SQUARES)] == [5, 21, 23, -8, 25, 25, 1, 1, 1, 0, 0]
    assert values[:, 2] == pytest.approx(2 * points[:, 0] - points[:, 1] + 1, abs=1e-6)
    divided = 0
    for (a, b), own in zip(segments, markers):
        p, q = np.array(SQUARES[a - 1], float), np.array(SQUARES[b - 1], float)
        t = (points - p) @ (q - p) / ((q - p) @ (q - p))
        on = (np.abs(points - p - t[:, None] * (q - p)).max(axis=1) < 1e-9) & (t > 0) & (t < 1)
        linear = wild[a - 1] + t * (wild[b - 1] - wild[a - 1])
        crossing = np.abs(points - (15, 5)).max(axis=1) < 1e-9
        assert crossing.sum() == 1 and marker[np.flatnonzero(crossing)[0]] == 7
        assert values[on & ~crossing, 3] == pytest.approx(linear[on & ~crossing], abs=1e-6) or own == 8
        assert {marker[k] for k in np.flatnonzero(on & ~crossing)} <= {own or 1}
        divided += on.any()
    assert divided > 3
    assert values[crossing, 3] == pytest.approx([(wild[1] + wild[3]) / 2], abs=1e-6)  # of the first segment
    # The boundary has the same, and is read again with it.
    rows = {tuple(row[1:]) for row in nodes[1:]}
    assert all(tuple(row[1:]) in rows for row in outline[1:int(outline[0][0]) + 1])
    cvtmesh.call("mesh", "y.poly", "--min-angle", 20, "-o", "z.node")
    again = [line.split() for line in cvtmesh.read("z.node").decode().splitlines()][1:]
    assert {tuple(row[1:]) for row in outline[1:int(outline[0][0]) + 1]} <= {tuple(row[1:]) for row in again}
    assert int(again[0][0]) == first


def test_corners_of_shapes_come_in_the_order_of_the_file(cvtmesh):
    """Those of the second shape that the first has, too, only once."""
    shapes = [[(20, 0), (20, 10), (10, 10), (10, 0)], [(10, 0), (10, 10), (4, 12), (0, 3.3)]]
    cvtmesh.file("x.geojson", json.dumps({"type": "FeatureCollection", "features": [
        {"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}}
        for ring in shapes]}))
    for options in ("--size", 2), ("--min-angle", 30):
        cvtmesh.call("mesh", "x.geojson", *options, "-o", "x.vtu")
        points = meshio.read(cvtmesh.path("x.vtu")).points[:6, :2]
        assert points.tolist() == [list(map(float, place)) for place in shapes[0] + shapes[1][2:]]


def test_a_region_without_a_number_takes_no_other_ones(cvtmesh):
    text = poly(SQUARES, SEGMENTS, regions=[(1, 1, 0.5), (15, 1, 1)])
    _, _, _, region, areas = mesh(cvtmesh, text, "--min-angle", 20)
    assert {k: areas[region == k].sum() for k in set(region)} == pytest.approx({1: 100, 3: 98, 4: 2})


def test_segments_that_cross_are_divided(cvtmesh):
    """As in Triangle. A long segment across everything: every crossing is a vertex on both segments."""
    _, points, lines, region, areas = mesh(cvtmesh, poly(SQUARES, SEGMENTS + [(1, 4)]), "--min-angle", 20)
    assert areas.sum() == pytest.approx(200)
    assert length_on(points, lines, (0, 0), (20, 10)) == pytest.approx(math.hypot(20, 10))
    assert sorted(np.bincount(region, areas)[1:]) == pytest.approx([2, 25, 25, 73, 75])
    rng = np.random.default_rng(7)
    corners = [(0.1, 0), (9, 0.3), (9.7, 8), (0, 9)]
    inner = (rng.random((24, 2)) * 7 + 1).tolist()
    segments = ring(1, 4) + [(5 + k, 6 + k) for k in range(0, 24, 2)] + [(1, 3), (2, 4)]
    cvtmesh.file("x.poly", poly(corners + inner, segments))
    for options in ("--size", "max"), ("--size", 0.7):
        cvtmesh.call("mesh", "x.poly", *options, "-o", "x.msh")
        points, lines, _, areas = read_msh(cvtmesh)
        places = corners + inner
        for a, b in segments:
            assert length_on(points, lines, places[a - 1], places[b - 1]) == pytest.approx(
                math.dist(places[a - 1], places[b - 1]))


# ---- Shapes ----

def area_of_groups(cvtmesh):
    found = meshio.read(cvtmesh.path("x.msh"))
    names = {int(tag): name for name, (tag, dimension) in found.field_data.items() if dimension == 2}
    _, _, region, areas = read_msh(cvtmesh)
    return {names[k]: areas[region == k].sum() for k in set(region)}


def collection(*features):
    return json.dumps({"type": "FeatureCollection", "features": [
        {"type": "Feature", "properties": properties,
         "geometry": {"type": "Polygon", "coordinates": [ring + ring[:1] for ring in rings]}}
        for properties, *rings in features]})


def box(x, y, w, h):
    return [[x, y], [x + w, y], [x + w, y + h], [x, y + h]]


# Corners of one county on edges of another, a lake, a county of two parts, and a town.
COUNTIES = collection(({"NAME": "St. Louis"}, box(0, 0, 10, 10)),
                      ({"name": "East"}, box(10, 0, 10, 10), box(14, 4, 2, 2)),
                      ({"name": "North"}, box(0, 10, 20, 5)),
                      ({"name": "East"}, box(20, 0, 5, 15)),
                      ({"name": "Town"}, box(2, 2, 3, 3)))
WANTED = {"St_Louis": 91, "East": 171, "North": 100, "Town": 9}


def test_features_are_regions(cvtmesh):
    report, points, lines, _, areas = mesh(cvtmesh, COUNTIES, "--min-angle", 30, "--size", 2.149, name="x.geojson")
    assert area_of_groups(cvtmesh) == pytest.approx(WANTED)
    assert report["refinement"]["below"] == 0 and areas.max() <= 2
    assert length_on(points, lines, (10, 0), (10, 10)) == pytest.approx(10)
    assert length_on(points, lines, (20, 0), (20, 1)) == pytest.approx(5)  # none between two parts of East
    names = meshio.read(cvtmesh.path("x.msh")).field_data
    assert "interface-St_Louis-Town" in names and "hole-1" in names


def test_a_region_and_a_side_with_the_same_name(cvtmesh):
    mesh(cvtmesh, collection(({"name": "left"}, box(0, 0, 4, 4)), ({"name": "b"}, box(4, 0, 4, 4))), "--size", 1,
         name="x.geojson")
    found = meshio.read(cvtmesh.path("x.msh")).field_data
    assert found["left"][1] == 2 and found["left-side"][1] == 1
    assert set(found) == {"left", "b", "left-side", "right", "top", "bottom", "interface-left-b"}


def test_features_are_regions_of_a_picture(cvtmesh):
    """y down: the regions are where rows and columns of the picture are."""
    cvtmesh.file("grey.pgm", pgm_bytes(np.full((15, 25), 128)))
    cvtmesh.file("x.geojson", COUNTIES)
    cvtmesh.call("run", "grey.pgm", "-n", 400, "--domain", "polygon=x.geojson",
                "--iterations", 5, "-o", "x.msh")
    assert area_of_groups(cvtmesh) == pytest.approx(WANTED)
    points, _, region, _ = read_msh(cvtmesh)
    assert points[:, 1].max() == 15


@pytest.mark.parametrize("name, text, wanted", [
    ("x.csv", "0,0\n10,0\n10,10\n0,10\n\n10,0\n20,0\n20,20\n10,20\n\n3,3\n6,3\n6,6\n",
     {"region-1": 95.5, "region-2": 200, "region-3": 4.5}),
    ("x.svg", '<svg><rect id="base" width="40" height="20"/><path id="2" d="M10 20h20v10h-20z"/></svg>',
     {"base": 800, "region-2": 200}),
    ("x.geojson", collection(({}, box(0, 0, 4, 4)), ({}, box(4, 0, 4, 4)), ({"name": "4\u00b0"}, box(0, 4, 4, 4))),
     {"region-1": 16, "region-2": 16, "region-4_": 16}),
    ("x.geojson", collection(({"name": "a b"}, box(0, 0, 4, 4)), ({"name": "a.b"}, box(4, 0, 4, 4))),
     {"a_b": 16, "a_b-2": 16}),
])
def test_shapes_with_common_edges(cvtmesh, name, text, wanted):
    mesh(cvtmesh, text, "--min-angle", 20, name=name)
    assert area_of_groups(cvtmesh) == pytest.approx(wanted)


def test_shapes_without_names_or_common_edges_are_one_region(cvtmesh):
    """A shape in another is a hole, by the even-odd rule."""
    text = collection(({}, box(0, 0, 10, 10)), ({}, box(2, 2, 3, 3)))
    mesh(cvtmesh, text, "--min-angle", 20, name="x.geojson")
    assert area_of_groups(cvtmesh) == pytest.approx({"region-1": 91})


@pytest.mark.parametrize("inner, wanted", [
    ('<rect id="steel" x="2" y="2" width="4" height="4"/>', {"plate": 84, "steel": 16}),
    ('<rect x="2" y="2" width="4" height="4" inkscape:label="steel" id="rect7"/>', {"plate": 84, "steel": 16}),
    ('<rect id="rect7-2" x="2" y="2" width="4" height="4"/>', {"plate": 84}),
    ('<path id="hole-1" d="M2 2h4v4h-4z"/><path id="hole" d="M7 7h1v1h-1z"/>', {"plate": 83}),
    ('<path d="M2 2h4v4h-4z"/><path d="M3 3h2v2h-2z"/>', {"plate": 84, "region-3": 4}),
    ('<path id="steel" d="M2 2h4v4h-4z"/><path d="M3 3h2v2h-2z"/><path id="pin" d="M3 3h1v1h-1z"/>',
     {"plate": 84, "steel": 12, "pin": 1}),
    ('<path id="steel" d="M8 2h4v4h-4z"/>', {"plate": 92, "steel": 16}),
])
def test_shapes_of_svg_with_names_are_regions(cvtmesh, inner, wanted):
    """The square `plate` of 10 x 10, and other shapes."""
    text = ('<svg xmlns:inkscape="http://www.inkscape.org/namespaces/inkscape"><path id="plate" '
            f'd="M0 0h10v10h-10z"/>{inner}</svg>')
    mesh(cvtmesh, text, "--size", 1, name="x.svg")
    assert area_of_groups(cvtmesh) == pytest.approx(wanted)


def areas_by_region(cvtmesh, *words):
    """The area of each region of a mesh."""
    cvtmesh.call("mesh", *words, "-o", "areas.vtu")
    mesh = meshio.read(cvtmesh.path("areas.vtu"))
    a, b, c = (mesh.points[mesh.cells_dict["triangle"][:, k], :2] for k in range(3))
    area = 0.5 * np.abs((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0])
    return np.bincount(mesh.cell_data["region"][0], area)[1:]


def test_of_shapes_that_cross_the_last_one_counts(cvtmesh):
    a, b = ({"name": "a"}, box(0, 0, 4, 4)), ({"name": "b"}, box(3, 2.5, 4, 4))
    for shapes, areas in (((a, b), (14.5, 16)), ((b, a), (14.5, 16))):
        cvtmesh.file("x.geojson", collection(*shapes))
        assert areas_by_region(cvtmesh, "x.geojson", "--min-angle", 20) == pytest.approx(areas)
        assert areas_by_region(cvtmesh, "x.geojson", "--size", 0.7) == pytest.approx(areas)
    star = [[10 + 9 * math.cos(2.4 * math.pi * k), 10 + 9 * math.sin(2.4 * math.pi * k)] for k in range(3)]
    shapes = [({"name": f"n{k}"}, [[x + k * 1.37, y + k * 0.71] for x, y in star])
              for k in range(6)]
    cvtmesh.file("x.geojson", collection(*shapes))
    found = areas_by_region(cvtmesh, "x.geojson", "--min-angle", 15)
    assert found[-1] == pytest.approx(max(found)) and len(found) == 6


def test_parts_of_a_shape_may_share_an_edge(cvtmesh):
    parts = [[box(0, 0, 5, 4)], [box(5, 1, 3, 2)]]
    cvtmesh.file("x.geojson", json.dumps({"type": "MultiPolygon", "coordinates": parts}))
    assert areas_by_region(cvtmesh, "x.geojson", "--size", 1) == pytest.approx([26])


def test_geojson_of_several_lines(cvtmesh):
    lines = [json.dumps({"type": "Feature", "properties": None,
                         "geometry": {"type": "Polygon", "coordinates": [box(6 * k, 0, 2 + k, 3)]}})
             for k in range(3)]
    for between in ("\n", "\n\x1e", " \r\n"):
        cvtmesh.file("x.geojson", between.join(lines) + "\n")
        cvtmesh.call("mesh", "x.geojson", "--size", 1, "-o", "x.vtu")
        mesh = meshio.read(cvtmesh.path("x.vtu"))
        assert mesh.points[:, 0].max() == 16
    for rest in ("x", "]", "\n{", "1"):
        cvtmesh.file("x.geojson", lines[0] + rest)
        cvtmesh.refused("mesh", "x.geojson", "--size", 1, "-o", "x.vtu", code=3, names=["x.geojson"])


@pytest.mark.parametrize("options", [["--size", 1.5], ["--min-angle", 30, "--size", 1.52],
                                     ["--size", 3, "--size", "marker-7=0.5"]])
def test_markers_name_groups(cvtmesh, options):
    """Edges of a segment with a marker are a group; those with 0 or 1 keep their names. 0.7 is no
    place of the grid; the segment of marker 7 is divided by the end of another one."""
    vertices = [(0.7, 0), (20, 0.3), (20, 10), (10, 10), (0.7, 10), (4, 3), (8, 3), (6, 6)]
    markers = [7, -3, 0, 1, 12, 5, 5, 5]
    lines = poly(vertices, [*ring(1, 5), *ring(6, 3)], [(6, 4)]).splitlines()
    first = len(vertices) + 2
    lines[first - 1] = "8 1"
    for k, marker in enumerate(markers):
        lines[first + k] += f" {marker}"
    cvtmesh.file("m.poly", "\n".join(lines) + "\n")
    cvtmesh.call("mesh", "m.poly", *options, "-o", "m.msh", "-o", "m.inp", "-o", "m.vtu")
    found = meshio.read(cvtmesh.path("m.msh"))
    groups = {name: int(tag) for name, (tag, dimension) in found.field_data.items() if dimension == 1}
    assert set(groups) - {"outer", "top"} == {"marker--3", "marker-5", "marker-7", "marker-12"}
    edges = cells_of(found, "line")
    tags = cells_of(found, "line", "gmsh:physical")
    points = found.points[:, :2]
    for (a, b), marker in zip([*ring(0, 5), *ring(5, 3)], markers):
        if marker in (7, -3, 12):
            on = edges[tags == groups[f"marker-{marker}"]]
            length = np.linalg.norm(points[on[:, 0]] - points[on[:, 1]], axis=1)
            assert length.sum() == pytest.approx(math.dist(vertices[a], vertices[b]))
            assert {vertices[a], vertices[b]} <= {tuple(p) for p in points[on].reshape(-1, 2)}
            assert marker != 7 or "marker-7=0.5" not in options or length.max() < 0.6
    hole = edges[tags == groups["marker-5"]]
    assert points[hole].reshape(-1, 2).min(axis=0).tolist() == [4, 3]
    assert points[hole].reshape(-1, 2).max(axis=0).tolist() == [8, 6]
    text = cvtmesh.read("m.inp").decode()
    assert "NSET=marker-7\n" in text and "NAME=marker--3," in text
    boundary = meshio.read(cvtmesh.path("m.vtu")).cell_data["boundary"]
    assert set(np.concatenate(boundary)) - {0} == set(groups.values())


def test_elements_of_inp_and_names_of_boundaries(cvtmesh):
    vertices = [(0, 0), (4, 0), (4, 3), (0, 3), (1, 1), (2, 1), (2, 2)]
    text = poly(vertices, [*ring(1, 4), *ring(5, 3)], [(1.7, 1.3)])
    text = text.replace("7 0\n1 1 2\n", "7 1\n1 1 2 6\n").replace("2 2 3\n3 3 4\n4 4 1\n", "2 2 3 0\n3 3 4 0\n4 4 1 0\n")
    text = text.replace("5 5 6\n6 6 7\n7 7 5\n", "5 5 6 0\n6 6 7 0\n7 7 5 0\n")
    cvtmesh.file("b.poly", text)
    names = ["--boundary-name", "6=wall", "--boundary-name", "hole-1=inlet", "--boundary-name", "right=outlet"]
    for words, kind in (("--format", "cps"), "CPS3"), (("--format", "cpe"), "CPE3"), (("--format", "shell"), "S3"), (
            ("--format", "cpe", "--element-order", 2), "CPE6"):
        cvtmesh.call("mesh", "b.poly", "--size", 0.5, "--size", "inlet=0.2", *names, *words, "-o", "b.inp")
        deck = cvtmesh.read("b.inp").decode()
        assert f"*ELEMENT, TYPE={kind}, ELSET=region-1\n" in deck
        assert {"wall", "inlet", "outlet", "left", "top"} == set(re.findall(r"\*NSET, NSET=(?!nodes)(.*)", deck))
    cvtmesh.call("mesh", "b.poly", "--min-angle", 30, *names, "-o", "b.msh", "-o", "b.vtu")
    groups = meshio.read(cvtmesh.path("b.msh")).field_data
    assert {"wall", "inlet", "outlet", "left", "top", "region-1"} == set(groups)
    for word, code, said in (("6", 2, "PART=NAME"), ("6=", 2, "PART=NAME"), ("6=a b", 2, "PART=NAME"), ("6=7a", 2, "PART=NAME"),
                             ("lid=a", 3, "no part 'lid'"), ("1,=a", 3, "no part"), ("1,2", 2, "PART=NAME"),
                             ("top=region-1", 3, "a region has this name"), ("0,0=region-1", 3, "a region has this name")):
        cvtmesh.refused("mesh", "b.poly", "--size", 1, "--boundary-name", word, "-o", "no.msh", code=code,
                        names=["--boundary-name", said])


def test_parts_of_one_name_and_sides_by_place(cvtmesh):
    """An L, whose notch has no side on the rectangle around it, with two holes and a blunt corner at (7, 0)."""
    outer = "0,0\n7,0\n10,.5\n10,4\n4,4\n4,10\n0,10\n"
    cvtmesh.file("l.csv", outer + "\n1,1\n2,1\n2,2\n1,2\n\n6,2\n7,2\n7,3\n6,3\n")
    given = ("hole=bore", "left=wall", "5.5,4.4=wall", "3,-1=floor", "right=top", "top=right")
    names = [word for name in given for word in ("--boundary-name", name)]
    for words in ("--size", .5, "--size", "bore=0.2"), ("--min-angle", 30):
        cvtmesh.call("mesh", "l.csv", *words, *names, "-o", "l.msh", "-o", "l.poly")
        check_gmsh(cvtmesh.path("l.msh"))
        found = meshio.read(cvtmesh.path("l.msh"))
        tags = {tag: name for name, (tag, dimension) in found.field_data.items() if dimension == 1}
        middle, length = {}, dict.fromkeys(tags.values(), 0)
        for edge, tag in zip(cells_of(found, "line"), cells_of(found, "line", "gmsh:physical")):
            a, b = found.points[edge, :2]
            middle.setdefault(tags[tag], []).append((a + b) / 2)
            length[tags[tag]] += math.dist(a, b)
        assert length == pytest.approx({"wall": 16, "floor": 7 + math.hypot(3, .5), "bore": 8, "top": 3.5, "right": 4,
                                        "outer": 6})
        assert all(x in (0, 4) or y == 4 for x, y in middle["wall"]) and all(x == 4 for x, y in middle["outer"])
        holes = [line.split() for line in cvtmesh.read("l.poly").decode().split("\n2\n")[-1].split("\n")[:2]]
        assert sorted((int(float(x)), int(float(y))) for _, x, y in holes) == [(1, 1), (6, 2)]


def test_boundaries_in_scikit_fem(cvtmesh):
    """By the lines of docs/howto/outlines.md all files have the same boundaries."""
    pytest.importorskip("skfem")
    from skfem.io.meshio import from_meshio
    rings = [box(0, 0, 9, 6), box(2, 2, 2, 1)]
    cvtmesh.file("x.geojson", json.dumps({"type": "Polygon", "coordinates": [r + r[:1] for r in rings]}))
    cvtmesh.call("mesh", "x.geojson", "--size", 0.8, "-o", "x.msh", "-o", "x.inp", "-o", "x.vtu")

    def places(mesh, facets):
        return {tuple(p) for p in mesh.p[:, mesh.facets[:, facets]].mean(axis=1).round(9).T.tolist()}

    found = from_meshio(meshio.read(cvtmesh.path("x.msh")))
    wanted = {name: places(found, facets) for name, facets in found.boundaries.items()}
    assert set(wanted) == {"left", "right", "bottom", "top", "hole-1"}
    file = meshio.read(cvtmesh.path("x.inp"))
    found = from_meshio(file)
    edges = found.boundary_facets()
    for name, nodes in file.point_sets.items():
        assert places(found, edges[np.isin(found.facets[:, edges], nodes).all(axis=0)]) == wanted[name]
    file = meshio.read(cvtmesh.path("x.vtu"))
    file.cell_data_to_sets("boundary")
    found = from_meshio(file)
    for k, name in enumerate(meshio.read(cvtmesh.path("x.msh")).field_data, 1):
        if name in wanted:
            assert places(found, found.boundaries[f"set-boundary-{k}"]) == wanted[name]


def test_bad_markers(cvtmesh):
    for marker in "x", "1.5", "3e9":
        cvtmesh.file("bad.poly", "3 2 0 0\n1 0 0\n2 1 0\n3 0 1\n3 1\n1 1 2 1\n2 2 3 %s\n3 3 1 1\n0\n" % marker)
        cvtmesh.refused("mesh", "bad.poly", "--size", 1, "-o", "no.msh", code=3, names=["bad.poly"])


def test_a_crossing_is_named_by_shapes_and_place(cvtmesh):
    def square(x, y, **more):
        corners = [[x, y], [x + 4, y], [x + 4, y + 4], [x, y + 4], [x, y]]
        return {"type": "Feature", "properties": more, "geometry": {"type": "Polygon", "coordinates": [corners]}}

    for first, second in (({}, {}), ({"note": "a"}, {"note": "b"})):
        features = [square(9, 9, **first), square(0, 0, **first), square(2, 1, **second)]
        cvtmesh.file("c.geojson", json.dumps({"type": "FeatureCollection", "features": features}))
        cvtmesh.refused("mesh", "c.geojson", "--size", 1, "-o", "no.msh", code=3,
                        names=["c.geojson", "shape 2", "shape 3"])
        text = cvtmesh.refused("mesh", "c.geojson", "--size", 1, "-o", "no.msh", code=3).stderr
        assert b"at (4, 1)" in text or b"at (2, 4)" in text
    cvtmesh.file("eight.csv", "0,0\n4,4\n4,0\n0,4\n")
    cvtmesh.refused("mesh", "eight.csv", "--size", 1, "-o", "no.msh", code=3, names=["meets itself at (2, 2)"])
    cvtmesh.file("utm.csv", "500000,5400000\n500004,5400004\n500004,5400000\n500000,5400004\n")
    cvtmesh.refused("mesh", "utm.csv", "--size", 1, "-o", "no.msh", code=3,
                    names=["meets itself at (500002, 5400002)"])
