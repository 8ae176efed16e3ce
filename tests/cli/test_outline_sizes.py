"""mesh OUTLINE --size: sizes by regions, parts of the boundary and formulas; exact coordinates;
places and units of any size; drawings; periodic outlines."""

import json
import math
import random
import re
import struct
from subprocess import STDOUT

import meshio
import numpy as np
import pytest
from PIL import Image
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import spsolve

from conftest import cells_of, check_gmsh, output_of

PLATE = "0,0\n40,0\n40,30\n0,30\n\n" + "\n".join(
    f"{20 + 6 * math.cos(2 * math.pi * k / 24)!r},{15 + 6 * math.sin(2 * math.pi * k / 24)!r}"
    for k in range(24)) + "\n"


def rectangle(x, y, width, height):
    corners = ((x, y), (x + width, y), (x + width, y + height), (x, y + height))
    return "".join(f"{a!r},{b!r}\n" for a, b in corners)


def read(cvtmesh, name="m.vtu"):
    mesh = meshio.read(cvtmesh.path(name))
    return mesh.points[:, :2], mesh.cells_dict["triangle"]


def angles(points, triangles):
    """The smallest angle of each triangle, degrees."""
    found = []
    for k in range(3):
        a, b, c = (points[triangles[:, (k + i) % 3]] for i in range(3))
        u, v = b - a, c - a
        cross = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
        found.append(np.degrees(np.arctan2(cross, (u * v).sum(axis=1))))
    return np.min(found, axis=0)


def lengths(points, triangles):
    edges = np.unique(np.sort(np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)]), axis=1),
                      axis=0)
    return edges, np.hypot(*(points[edges[:, 0]] - points[edges[:, 1]]).T)


def area(points, triangles):
    a, b, c = (points[triangles[:, k]] - points[0] for k in range(3))
    u, v = b - a, c - a
    return 0.5 * (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]).sum()


def test_one_size(cvtmesh):
    cvtmesh.file("plate.csv", PLATE)
    report = cvtmesh.report("mesh", "plate.csv", "--size", 1.5, "-o", "m.vtu", "-o", "m.msh")
    points, triangles = read(cvtmesh)
    smallest = angles(points, triangles)
    assert smallest.min() > 38 and np.percentile(smallest, 1) > 43 and smallest.mean() > 55.5
    assert np.percentile(lengths(points, triangles)[1] / 1.5, [5, 95]) == pytest.approx([1, 1], abs=0.13)
    assert report["sizes"]["added_inside"] + report["sizes"]["added_on_boundary"] + 28 == len(points)
    check_gmsh(cvtmesh.path("m.msh"))
    corners = {tuple(map(float, line.split(","))) for line in PLATE.split("\n") if line}
    assert corners <= set(map(tuple, points.tolist()))


@pytest.mark.parametrize("wanted", [200, 5000])
def test_number_of_vertices(cvtmesh, wanted):
    cvtmesh.file("plate.csv", PLATE)
    cvtmesh.call("mesh", "plate.csv", "-n", wanted, "-o", "m.vtu")
    assert len(read(cvtmesh)[0]) == pytest.approx(wanted, rel=0.02)


def test_number_of_vertices_of_a_curve_of_short_edges(cvtmesh):
    """They need 35,400 vertices whatever the lengths are inside."""
    angle = np.arange(6000) * 2 * np.pi / 6000
    radius = 100 + 30 * np.sin(5 * angle) + 10 * np.sin(17 * angle)
    cvtmesh.file("o.csv", "".join(f"{r * math.cos(t)!r},{r * math.sin(t)!r}\n" for r, t in
                                  zip(radius.tolist(), angle.tolist())))
    cvtmesh.call("mesh", "o.csv", "-n", 50000, "-o", "m.vtu")
    assert len(read(cvtmesh)[0]) == pytest.approx(50000, rel=0.02)


@pytest.mark.parametrize("wanted", [600, 560])
def test_number_of_vertices_in_a_rectangle(cvtmesh, wanted):
    cvtmesh.file("o.csv", rectangle(0, 0, .6, .2))
    cvtmesh.call("mesh", "o.csv", "-n", wanted, "-o", "m.vtu")
    points, triangles = read(cvtmesh)
    assert len(points) == pytest.approx(wanted, rel=0.02)
    assert angles(points, triangles).mean() > 56.5


def test_number_of_vertices_of_a_lattice(cvtmesh):
    """The first sizes that are tried have exactly the number that is asked for."""
    radius = lambda k: 30 / 3 ** .5 if k % 2 else 30  # of a star with twelve equal sides
    cvtmesh.file("o.csv", "".join(f"{radius(k) * math.sin(math.pi * k / 6)!r},"
                                  f"{radius(k) * math.cos(math.pi * k / 6)!r}\n" for k in range(12)))
    cvtmesh.call("mesh", "o.csv", "-n", 120, "-o", "m.vtu")
    points, triangles = read(cvtmesh)
    assert len(points) == 121 and angles(points, triangles).min() > 59.9


def test_a_number_between_those_of_a_lattice_is_noted(cvtmesh):
    """In a square of few edges the number jumps."""
    cvtmesh.file("o.csv", "0,0\n1,0\n1,1\n0,1\n")
    missed = 0
    for wanted in range(40, 60, 2):
        text = cvtmesh.call("mesh", "o.csv", "-n", wanted, "-o", "m.vtu").stderr.decode()
        missed += "is not met" in text
        assert ("is not met" in text) == (abs(len(read(cvtmesh)[0]) / wanted - 1) > .02)
    assert 0 < missed < 10


@pytest.mark.parametrize("wanted", [300, 450])
def test_number_of_vertices_in_narrow_channels(cvtmesh, wanted):
    """With fewer vertices edges become longer than the channels are wide."""
    cvtmesh.file("o.csv", "\n".join([rectangle(0, 0, 100, 60)] + [
        rectangle(9 + 14 * k, 4, 12.5, 52) for k in range(6)]))
    cvtmesh.call("mesh", "o.csv", "-n", wanted, "-o", "m.vtu")
    points, triangles = read(cvtmesh)
    assert len(points) == pytest.approx(wanted, rel=0.03)
    assert np.percentile(angles(points, triangles), 5) > 33


@pytest.mark.parametrize("sizes", [["hole=.4"], ["left=.4"], ["left=.4", "2+.1*x"], ["d(hole)/9+.3", "left=.4"]])
def test_sizes_with_names_stay_where_the_number_is_given(cvtmesh, sizes):
    cvtmesh.file("plate.csv", PLATE)
    words = [word for size in sizes for word in ("--size", size)]
    for wanted in (1500, 300):
        text = cvtmesh.call("mesh", "plate.csv", "-n", wanted, *words, "-o", "m.vtu").stderr.decode()
        points, triangles = read(cvtmesh)
        assert ("is not met" in text) == (abs(len(points) / wanted - 1) > .02)
        assert wanted == 300 or len(points) == pytest.approx(wanted, rel=.02)
        if "left=.4" in sizes:
            assert (points[:, 0] == 0).sum() == pytest.approx(76, abs=2)
        else:
            assert (abs(np.hypot(*(points - (20, 15)).T) - 6) < .06).sum() == 24 * 4


def test_size_of_a_hole_grows_inward(cvtmesh):
    cvtmesh.file("plate.csv", PLATE)
    for name in ("hole", "hole-1"):
        cvtmesh.call("mesh", "plate.csv", "--size", 3, "--size", f"{name}=.3", "--grade", .3, "-o", "m.vtu")
        points, triangles = read(cvtmesh)
        edges, length = lengths(points, triangles)
        middle = (points[edges[:, 0]] + points[edges[:, 1]]) / 2 - (20, 15)
        ratio = length / np.minimum(.3 + .3 * np.maximum(np.hypot(*middle.T) - 6, 0), 3)
        assert ratio.max() < 1.7 and ratio.min() > 0.4 and angles(points, triangles).min() > 34


def test_formula(cvtmesh):
    cvtmesh.file("plate.csv", PLATE)
    cvtmesh.call("mesh", "plate.csv", "--size", "min(.5+.1*d(hole), 0.4 + d(40,15)/8)", "-o", "m.vtu")
    points, triangles = read(cvtmesh)
    edges, length = lengths(points, triangles)
    middle = (points[edges[:, 0]] + points[edges[:, 1]]) / 2
    wanted = np.minimum(.5 + .1 * np.abs(np.hypot(*(middle - (20, 15)).T) - 6),
                        .4 + np.hypot(*(middle - (40, 15)).T) / 8)
    assert np.percentile(length / wanted, [2, 98]) == pytest.approx([1, 1], abs=0.3)
    for formula in ("x-100", "0*x", "1/0-1/0"):
        cvtmesh.refused("mesh", "plate.csv", "--size", formula, "-o", "m.vtu", code=3, names=["size"])
    for formula in ("1+", "sqrt(2", "foo(1)", "1)", "d()", "2 3", "(" * 100 + "1", "min(1)"):
        cvtmesh.refused("mesh", "plate.csv", "--size", formula, "-o", "m.vtu", code=2, names=["--size"])
    cvtmesh.refused("mesh", "plate.csv", "--size", "d(slot)", "-o", "m.vtu", code=3,
                    names=["no part 'slot'", "hole-1"])


def test_regions(cvtmesh):
    ring = "[[[{0},0],[{1},0],[{1},10],[{0},10],[{0},0]]]"
    features = ",".join(
        '{"type":"Feature","properties":{"name":"%s"},"geometry":{"type":"Polygon","coordinates":%s}}'
        % (name, ring.format(a, b)) for name, a, b in (("fine", 0, 10), ("coarse", 10, 30)))
    cvtmesh.file("two.geojson", '{"type":"FeatureCollection","features":[%s]}' % features)
    cvtmesh.file("fine.npy", np.array([[0, 0, .25], [10, 0, .25], [10, 10, .25], [0, 10, .25]]))
    sizes = {}
    for text in (("--size", 1, "--size", "fine=.25"), ("--size", 1, "--size", "1=.25"),
                 ("--size", 1, "--size", "fine=fine.npy")):
        cvtmesh.call("mesh", "two.geojson", *text, "-o", "m.vtu")
        points, triangles = read(cvtmesh)
        edges, length = lengths(points, triangles)
        x = points[edges].mean(axis=1)[:, 0]
        sizes[text] = np.mean(length[x < 9.5]), np.mean(length[x > 15])
        assert angles(points, triangles).min() > 36
        assert area(points, triangles) == pytest.approx(300)
    (fine, coarse), second, third = sizes.values()
    assert fine == pytest.approx(.25, rel=.05) and coarse == pytest.approx(1, rel=.08)
    assert second == (fine, coarse) and third[0] < .3


def test_refusals(cvtmesh):
    cvtmesh.file("plate.csv", PLATE)
    for words, name in ((("--size", "hole=1"), "without a name"), (("--size", "1/0"), "'1/0' is infinite"),
                        (("--size", "1e400"), "finite"), (("--size", -1), "--size"),
                        (("--size", "2mm"), "--pixel-size"), (("--size", "max", "-n", 9), "max"),
                        (("--size", "=2"), "name"),
                        (("--points", 40, "--min-angle", 20), "--min-angle"),
                        (("--size", 2, "--metric", "f.npy", "-n", 9), "--size")):
        cvtmesh.refused("mesh", "plate.csv", *words, "-o", "m.vtu", code=2, names=[name])
    cvtmesh.refused("mesh", "plate.csv", "--size", 1e-3, "-o", "m.vtu", code=3, names=["triangles"])
    cvtmesh.refused("mesh", "plate.csv", "--size", 1e-12, "-o", "m.vtu", code=3, names=["too small"])


def test_values_on_lines(cvtmesh):
    """The text of a .geojson file with a value on each line is read by its other extensions, too."""
    text = "".join(json.dumps(feature("Polygon", [[[x, 0], [x + 5, 0], [x + 5, 4], [x, 4], [x, 0]]], name)) + "\n"
                   for x, name in ((0, "a"), (5, "b")))
    for ending in ("geojson", "ndjson", "geojsonl", "geojsons"):
        cvtmesh.file(f"o.{ending}", text)
        cvtmesh.call("mesh", f"o.{ending}", "--size", 1, "-o", f"{ending}.vtu")
        assert cvtmesh.read(f"{ending}.vtu") == cvtmesh.read("geojson.vtu")
    cvtmesh.refused("mesh", "o.ndjson", "--size", 1, "-o", "-", "--format", "cpx", code=2,
                    names=["'cpx'", "cps, cpe, shell"])


def test_max_is_the_mesh_of_fewest_triangles(cvtmesh):
    cvtmesh.file("plate.csv", PLATE)
    cvtmesh.call("mesh", "plate.csv", "--size", "max", "-o", "a.obj")
    cvtmesh.call("mesh", "plate.csv", "--min-angle", 30, "-o", "b.obj")
    assert cvtmesh.read("a.obj") == cvtmesh.read("b.obj")


@pytest.mark.parametrize("x, y", [(0.1, 0.1), (17.3, -4.1)])
def test_refined_sides_are_straight_to_the_last_bits(cvtmesh, x, y):
    ring = [(x, y), (x + .6, y), (x + .7, y + .3), (x + .1, y + .2), (x, y + .2)]
    cvtmesh.file("o.csv", "".join(f"{a!r},{b!r}\n" for a, b in ring))
    cvtmesh.call("mesh", "o.csv", "--min-angle", 30, "--size", 0.04, "-o", "m.vtu")
    points, _ = read(cvtmesh)
    for axis, side in ((0, x), (1, y), (1, y + .2)):
        near = abs(points[:, axis] - side) < 1e-6
        assert near.sum() >= 3 and (points[near, axis] == side).all()


@pytest.mark.parametrize("x, y, width", [(500000.1, 5000000.7, 300), (5e9 + 0.25, 6e9, 1000), (-7, -9, 3),
                                         (1e-6, 2e-6, 1e-6), (1e7, 1e7, 3e7), (13.7, 52.1, 0.0123)])
def test_any_place(cvtmesh, x, y, width):
    """Corners have the doubles of the file, and vertices on sides exactly the coordinate of the side."""
    cvtmesh.file("o.csv", rectangle(x, y, width, width / 2))
    for words in (("--size", width / 20), ("--min-angle", 30, "--size", width / 20)):
        cvtmesh.call("mesh", "o.csv", *words, "-o", "m.vtu", "-o", "m.npy", "-o", "m.node", "-o", "d.svg",
                     "-o", "d.png")
        points, triangles = read(cvtmesh)
        corners = {(x, y), (x + width, y), (x + width, y + width / 2), (x, y + width / 2)}
        assert corners <= set(map(tuple, points.tolist()))
        assert np.array_equal(cvtmesh.array("m.npy"), points)
        assert area(points, triangles) == pytest.approx(width**2 / 2, rel=1e-6)
        assert angles(points, triangles).min() > (38 if words[0] == "--size" else 29)
        picture = np.array(Image.open(cvtmesh.path("d.png")).convert("L"))
        dark = np.argwhere(picture < 200)
        assert picture.shape[1] == pytest.approx(2 * picture.shape[0], rel=0.02)
        assert dark.min(axis=0).max() < 0.05 * picture.shape[0]
        assert (picture.shape - dark.max(axis=0)).max() < 0.05 * picture.shape[1]
    cvtmesh.call("mesh", "o.csv", "--size", width / 20, "-o", "m.vtu")
    points, _ = read(cvtmesh)
    on = [np.sum(points[:, k % 2] == side)
          for k, side in enumerate((x, y, x + width, y + width / 2))]
    assert on == [11, 21, 11, 21]


def test_common_side(cvtmesh):
    """Parts that are meshed alone have the same vertices on their common side."""
    sides = []
    for name, x, width in (("a", 0.1, 0.6), ("b", 0.7, 1.9)):
        cvtmesh.file(f"{name}.csv", f"{x},0.3\n{x + width},0.3\n{x + width},1.7\n{x},1.7\n")
        cvtmesh.call("mesh", f"{name}.csv", "--size", 0.045, "-o", f"{name}.vtu")
        points, _ = read(cvtmesh, f"{name}.vtu")
        sides.append(np.sort(points[points[:, 0] == 0.7][:, 1]))
    assert len(sides[0]) == 32 and np.array_equal(*sides)


@pytest.mark.parametrize("x, y", [(0, 0), (500000.1, 5000000.7)])
def test_common_sides_are_divided_equally(cvtmesh, x, y):
    """A triangle with corners of 78, 53 and 49 degrees, and what lies around it."""
    ends = {(x + 10.1, y), (x + 12, y + 9.3)}
    sides = []
    for ring in ([(10.1, 0), (19, 0), (12, 9.3)], [(10.1, 0), (12, 9.3), (1, 8), (0, 0)],
                 [(10.1, 0), (12, 9.3), (20, -2)]):
        cvtmesh.file("o.csv", "".join(f"{x + a!r},{y + b!r}\n" for a, b in ring))
        cvtmesh.call("mesh", "o.csv", "--size", 0.4, "-o", "m.vtu")
        points, triangles = read(cvtmesh)
        on = points[np.abs(9.3 * (points[:, 0] - x - 10.1) - 1.9 * (points[:, 1] - y)) < 1e-6]
        sides.append(set(map(tuple, on.tolist())))
        steps = np.hypot(*np.diff(on[np.argsort(on[:, 1])], axis=0).T)
        assert len(on) == 25 and steps == pytest.approx(math.hypot(1.9, 9.3) / 24, rel=1e-6)
        assert angles(points, triangles).min() > 38
    assert ends < sides[0] == sides[1] == sides[2]


def feature(kind, coordinates, name=None):
    properties = {} if name is None else {"name": name}
    return {"type": "Feature", "properties": properties, "geometry": {"type": kind, "coordinates": coordinates}}


def group_lengths(cvtmesh, name):
    """The length of each group of edges in a MSH file, the number of its edges, and the points."""
    mesh = meshio.read(cvtmesh.path(name))
    words = {tag: word for word, (tag, dimension) in mesh.field_data.items() if dimension == 1}
    found = {word: [0, 0] for word in words.values()}
    for block, tags in zip(mesh.cells, mesh.cell_data["gmsh:physical"]):
        if block.type != "line":
            continue
        length = np.hypot(*(mesh.points[block.data[:, 0], :2] - mesh.points[block.data[:, 1], :2]).T)
        for tag, value in zip(tags, length):
            found[words[tag]][0] += value
            found[words[tag]][1] += 1
    return found, set(map(tuple, mesh.points[:, :2].tolist()))


def test_lines_and_points_stay(cvtmesh):
    """Lines of GeoJSON may cross the outline, holes, each other and themselves."""
    plate = [[[0, 0], [40, 0], [40, 30], [0, 30], [0, 0]], [[10, 10], [20, 10], [20, 20], [10, 20], [10, 10]]]
    features = [
        feature("LineString", [[-5, 5], [50, 27]], "weld"), feature("Polygon", plate),
        feature("MultiLineString", [[[5, -5], [5, 40]], [[30, 0], [30, 30], [0, 0]]], "weld"),
        feature("LineString", [[25, 25], [28, 28], [25, 28], [28, 25]]),
        feature("LineString", [[3, 0], [12, 0]], "side"), feature("LineString", [[50, 0], [60, 9]], "far"),
        feature("MultiPoint", [[1, 1], [15, 15], [5, 3], [36.3, 7.7]], "probe"), feature("Point", [])]
    cvtmesh.file("o.geojson", json.dumps({"type": "FeatureCollection", "features": features}))
    cvtmesh.call("mesh", "o.geojson", "--size", 2, "--size", "probe=.3", "-o", "m.msh", "-o", "m.vtu")
    found, places = group_lengths(cvtmesh, "m.msh")
    inside = 40 / 55 * math.hypot(55, 22) - 10 / 55 * math.hypot(55, 22)  # without the hole, x from 10 to 20
    assert found["weld"][0] == pytest.approx(inside + 30 + 30 + 30 * math.sqrt(2) - 10 * math.sqrt(2))
    assert found["side"][0] == pytest.approx(9) and "far" not in found
    assert {(1, 1), (5, 3), (36.3, 7.7), (28, 28), (25, 28)} <= places and (15, 15) not in places
    for form in (), ("--format", "binary"), ("--format", "msh2"), ("--format", "msh2,binary", "--element-order", 2):
        cvtmesh.call("mesh", "o.geojson", "--size", 2, *form, "-o", "p.msh", "-o", "p.inp")
        check_gmsh(cvtmesh.path("p.msh"))
        mesh = meshio.read(cvtmesh.path("p.msh"))
        tag, dimension = mesh.field_data["probe"]
        on = cells_of(mesh, "vertex")[cells_of(mesh, "vertex", "gmsh:physical") == tag]
        assert dimension == 0 and set(map(tuple, mesh.points[on[:, 0], :2])) == {(1, 1), (5, 3), (36.3, 7.7)}
        nodes = cvtmesh.read("p.inp").decode().split("*NSET, NSET=probe\n")[1].split()
        assert sorted(map(int, nodes)) == sorted(on[:, 0] + 1)
    features[-1] = feature("MultiPoint", [[36.3, 7.7], [20, 10], [33, 5]], "gauge")  # one has two names
    cvtmesh.file("q.geojson", json.dumps({"type": "FeatureCollection", "features": features}))
    wanted = {(36.3, 7.7): 1, (20, 10): 1, (33, 5): 1, (1, 1): 2, (5, 3): 2}  # tags in the order of the names
    for form in (), ("--format", "ascii"), ("--element-order", 2):
        cvtmesh.call("mesh", "q.geojson", "--size", 2, *form, "-o", "q.vtu", "-o", "q.xdmf", "-o", "q.poly", "-o", "q.node")
        for name in "q.vtu", "q.xdmf":
            mesh = meshio.read(cvtmesh.path(name))
            tags, places = mesh.point_data["point"], map(tuple, mesh.points[:, :2].tolist())
            assert tags.dtype.kind == "i" and {p: t for p, t in zip(places, tags) if t} == wanted
            assert "region" in mesh.cell_data
        for name in "q.poly", "q.node":  # markers after those of the edges
            lines = [line.split() for line in cvtmesh.read(name).decode().splitlines()]
            count = int(lines[0][0])
            segments = lines[count + 2:count + 2 + int(lines[count + 1][0])] if name == "q.poly" else segments
            last = max(int(line[3]) for line in segments)
            marker = {tuple(map(float, line[1:3])): int(line[3]) - last for line in lines[1:count + 1]}
            assert {p: t for p, t in marker.items() if t > 0} == wanted
    points, triangles = read(cvtmesh)
    edges, length = lengths(points, triangles)
    away = np.hypot(*((points[edges[:, 0]] + points[edges[:, 1]]) / 2 - (36.3, 7.7)).T)
    assert .25 < length[away < .3].min() and length[away < .3].max() < .5
    assert area(points, triangles) == pytest.approx(1100)
    for words in (("--min-angle", 20), ("--size", "1+d(probe)/4"), ("-n", 900, "--size", "weld=.4")):
        cvtmesh.call("mesh", "o.geojson", *words, "-o", "m.msh")
        again, places = group_lengths(cvtmesh, "m.msh")
        assert again["weld"][0] == pytest.approx(found["weld"][0]) and (36.3, 7.7) in places
    assert again["weld"][1] > 250
    cvtmesh.refused("mesh", "o.geojson", "--size", 2, "--size", "far=1", "-o", "m.msh", code=3,
                    names=["no part 'far'", " probe"])


def test_lines_of_svg_stay(cvtmesh):
    cvtmesh.file("o.svg", '<svg xmlns="http://www.w3.org/2000/svg"><rect x="10" y="10" width="80" height="80"/>'
                 '<rect x="21" y="61" width="18" height="18"/><g transform="translate(0 5)">'
                 '<line id="weld" x1="20" y1="15" x2="80" y2="65"/></g>'
                 '<polyline id="seam" points="50,75 60,75 60,85"/></svg>')
    cvtmesh.call("mesh", "o.svg", "--size", 6, "--size", "weld=1", "-o", "m.msh", "-o", "m.vtu")
    found, places = group_lengths(cvtmesh, "m.msh")
    assert found["weld"] == [pytest.approx(math.hypot(60, 50)), 78] and found["seam"][0] == pytest.approx(20)
    assert area(*read(cvtmesh)) == pytest.approx(6400 - 324)
    assert len({(50, -75), (60, -75), (60, -85), (20, -20), (80, -70)} & places) in (0, 5)


def test_y_is_up_in_drawings(cvtmesh):
    """A triangle that points upwards is dark in the lower half of the picture."""
    cvtmesh.file("o.csv", "-100,-50\n100,-50\n0,50\n")
    cvtmesh.call("mesh", "o.csv", "--size", 4, "-o", "d.png", "--layers", "triangles")
    picture = np.array(Image.open(cvtmesh.path("d.png")).convert("L")).astype(int)
    drawn = picture != picture[0, 0]
    assert drawn[len(drawn) // 2:].sum() > 2 * drawn[:len(drawn) // 2].sum()


def random_cell(rng, k):
    """A rectangle, a parallelogram or a hexagon with 0 to 6 decimals, turned and far from the origin or not, with
    corners on its sides: the translations between its sides, how exact they are, and its corners."""
    digits, turn = rng.randrange(7), rng.choice((0, rng.uniform(0, 7)))
    size, place = 30 * 10.0 ** -digits * rng.uniform(1, 30), rng.choice((0, 50, 5e6))
    spread = [rng.uniform(.4, .6) * math.pi for _ in range(2)] if k % 3 == 1 else [math.pi / 3] * 3
    spread = [math.pi / 2] * 2 if k % 3 == 0 else spread
    sides = []
    for way in [0, spread[0], spread[0] + spread[-1]][:len(spread)]:
        length = size * rng.uniform(.6, 1.6)
        sides.append((length * math.cos(way + turn), length * math.sin(way + turn)))
    corner = [place * rng.uniform(-1, 1) for _ in range(2)]
    is_rounded = rng.random() < .5  # or the sum of rounded sides
    if not is_rounded:
        sides, corner = [(round(a, digits), round(b, digits)) for a, b in sides], [round(c, digits) for c in corner]
    fraction = [rng.choice((0, rng.uniform(.3, .7))) for _ in sides]
    ring = []
    for sign in (1, -1):
        for (a, b), t in zip(sides, fraction):
            ring.append(tuple(corner))
            t = t if sign > 0 else 1 - t
            if 0 < t < 1:
                ring.append((corner[0] + sign * t * a, corner[1] + sign * t * b))
            corner = corner[0] + sign * a, corner[1] + sign * b
    if is_rounded:
        ring = [(round(a, digits), round(b, digits)) for a, b in ring]
    error = 10.0 ** -digits if is_rounded else 2 ** -51 * max(abs(c) for corner in ring for c in corner)
    return len(sides), 1.001 * error, ring


def solve_on_torus(points, triangles, pairs, ways):
    """The largest error of linear elements for -u'' = f on the torus, where u is a wave."""
    twice = np.array([points[triangles[:, k]] for k in range(3)]) - points[0]
    across = np.array([twice[(k + 2) % 3] - twice[(k + 1) % 3] for k in range(3)])
    size = np.abs(across[0][:, 0] * across[1][:, 1] - across[0][:, 1] * across[1][:, 0]) / 2
    count = len(points)
    number = connected_components(coo_matrix((np.ones(len(pairs)), pairs[:, :2].T), (count, count)))[1]
    corner, matrix, load = number[triangles], 0, np.zeros(number.max() + 1)
    wave = 2 * np.pi * np.linalg.solve(ways[:2], (1, 0))
    exact = np.cos((points - points[0]) @ wave)
    for i in range(3):
        np.add.at(load, corner[:, i], exact[triangles].mean(axis=1) * size * (wave @ wave) / 3)
        for j in range(3):
            entries = (across[i] * across[j]).sum(axis=1) / (4 * size)
            matrix = matrix + coo_matrix((entries, (corner[:, i], corner[:, j])), (len(load), len(load)))
    found = np.append(0, spsolve(matrix.tocsr()[1:, 1:], load[1:] - load.mean()))[number] - exact
    return number, np.abs(found - found.mean()).max()


def test_periodic_outlines(cvtmesh):
    """Every vertex of a side has its copy, edges too, and linear elements find a wave on the torus."""
    rng = random.Random(5)
    for k in range(18):
        count, error, ring = random_cell(rng, k)
        cvtmesh.file("o.csv", "".join(f"{a!r},{b!r}\n" for a, b in ring))
        size = min(math.dist(ring[i], ring[i - 2]) for i in range(len(ring))) / 9
        words = (("--size", size), ("--min-angle", 30, "--size", size), ("--size", "max"))[k // 3 % 3]
        report = cvtmesh.report("mesh", "o.csv", "--periodic", *words, "-o", "m.vtu", "-o", "m.msh", "--pairs-out",
                                "p.npy")
        points, triangles = read(cvtmesh)
        pairs = cvtmesh.array("p.npy")
        assert {tuple(corner) for corner in ring} <= {tuple(place) for place in points.tolist()}
        ways = np.array([(way["x"], way["y"]) for way in report["translations"]])
        assert [way["number"] for way in report["translations"]] == list(range(count))
        assert np.abs(points[pairs[:, 1]] - points[pairs[:, 0]] - ways[pairs[:, 2]]).max() <= error
        if k % 3 == 0 and ring[0][1] == ring[1][1]:
            assert all(struct.pack("d", points[a][1 - axis]) == struct.pack("d", points[b][1 - axis])
                       for a, b, axis in pairs)
        border = border_of(triangles)
        assert set().union(*border) == set(pairs[:, :2].ravel().tolist())
        copies = 0
        for number in range(count):
            copy = {a: b for a, b, way in pairs.tolist() if way == number}
            side = [edge for edge in border if edge <= set(copy)]
            assert {frozenset(copy[v] for v in edge) for edge in side} <= border
            copies += len(side)
        assert 2 * copies == len(border)
        number, off = solve_on_torus(points, triangles, pairs, ways)
        assert number.max() + 1 == len(triangles) // 2  # Euler's formula on a torus
        assert "--size" not in words or "max" in words or off * len(points) < 16, (k, off)
        if k < 3:
            assert "Error" not in output_of("gmsh", "-check", "m.msh", cwd=cvtmesh.path(), stderr=STDOUT)
            section = cvtmesh.path("m.msh").read_text().split("$Periodic\n")[1]
            assert int(section.split()[0]) == count


def test_sides_that_are_copies(cvtmesh):
    """Of several translations those with which copies do not overlap; walls that are copies; unequal sides."""
    arcs = [(4 * (c in (1, 2)) + math.cos(a) * (1, -1)[c in (1, 2)], 4 * (c > 1) + math.sin(a) * (1, -1)[c > 1])
            for c in range(4) for a in [math.pi / 12 * (k if c % 2 else 6 - k) for k in range(7)]]
    wave = [(math.sin(2 * math.pi * k / 12) / 5, k / 3) for k in range(13)]
    cases = {"voids at corners": (arcs, [(4, 0), (0, 4)]),
             "blunted": ([(2, 0), (38, 0), (40, 2), (40, 38), (38, 40), (2, 40), (0, 38), (0, 2)], [(40, 0), (0, 40)]),
             "bent": ([(0, 0)] + [(4 + a, b) for a, b in wave] + wave[:0:-1], [(4, 0), (0, 4)]),
             "hexagon": ([(10, 0), (5, 8.66), (-5, 8.66), (-10, 0), (-5, -8.66), (5, -8.66)],
                         [(15, 8.66), (15, -8.66), (0, 17.32)]),
             "channel": ([(0, 0), (1, 1), (3, 3), (3, 5), (2, 4), (1.5, 3), (0, 2)], [(3, 3)])}
    for name, (ring, ways) in cases.items():
        cvtmesh.file("o.csv", "".join(f"{a!r},{b!r}\n" for a, b in ring))
        report = cvtmesh.report("mesh", "o.csv", "--periodic", "--size", 2, "-o", "m.msh")
        found = [(way["x"], way["y"]) for way in report["translations"]]
        assert np.array(found) == pytest.approx(np.array(ways), abs=1e-9), name
    for ring, reason in (([(0, 0), (4, 0), (3, 2), (0, 2)], "no side"),
                         ([(0, 0), (4, 0), (4, 1), (4, 4), (0, 4), (0, 3), (1, 2), (0, 1)], "2 edges")):
        cvtmesh.file("o.csv", "".join(f"{a},{b}\n" for a, b in ring))
        cvtmesh.refused("mesh", "o.csv", "--periodic", "--size", 1, "-o", "m.msh", code=3, names=["o.csv", reason])


def border_of(triangles):
    edges, times = np.unique(np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])),
                             axis=0, return_counts=True)
    return {frozenset(edge) for edge in edges[times == 1].tolist()}


@pytest.mark.parametrize("words", [("--size", .7), ("--size", "max"), ("--min-angle", 30, "--size", .9)],
                         ids=["size", "max", "angle"])
@pytest.mark.parametrize("name", [None, "steel"])
def test_corners_on_periodic_sides_have_partners(cvtmesh, words, name):
    """Holes, lines and points touch the sides of cells: corners on the opposite sides, and every edge of a side has its
    copy, found here by the places alone."""
    rng = random.Random(7)
    for k in range(12):
        sides = (((10, 0), (0, 6)), ((9.5, 1.25), (-2, 6)), ((6, 0), (3, 5), (-3, 5)))[k % 3]
        first = [(round(rng.uniform(-9, 9), 2), 40.125 * (k // 6)) for _ in range(2)][0]
        ring = [np.array(first)]
        for side in (*sides, *(-np.array(side) for side in sides)):
            ring.append(np.round(ring[-1] + side, 9))
        centre = (ring[0] + ring[len(sides)]) / 2
        holes, lines, touches = [], [], []
        for i in range(2 * len(sides)):
            if rng.random() < .3:
                continue
            t = round(rng.uniform(.25, .75), rng.choice((1, 2, 5)))
            p, way = ring[i] + t * (ring[i + 1] - ring[i]), ring[i + 1] - ring[i]
            inside = p + .22 * (centre - p)
            touches.append((i, p))
            if i % 3 == 0:
                lines.append([p.tolist(), inside.tolist()])
            else:
                holes.append([p.tolist(), (inside - .04 * way).tolist(), (inside + .04 * way).tolist(), p.tolist()])
        shapes = [("Polygon", [[c.tolist() for c in ring], *holes], name)]
        shapes += [("LineString", line, None) for line in lines]
        cvtmesh.file("o.geojson", json.dumps({"type": "FeatureCollection", "features": [
            {"type": "Feature", "properties": {"name": label}, "geometry": {"type": kind, "coordinates": places}}
            for kind, places, label in shapes]}))
        report = cvtmesh.report("mesh", "o.geojson", "--periodic", *words, "-o", "m.vtu", "--pairs-out", "p.npy")
        points, triangles = read(cvtmesh)
        pairs, border = cvtmesh.array("p.npy"), border_of(triangles)
        assert len(report["translations"]) == len(sides)
        near, opposite, lost = 1e-9 * np.abs(points).max(), [], []
        for i, side in enumerate(sides):
            across = np.array([-side[1], side[0]]) / np.hypot(*side)
            on = [np.flatnonzero(np.abs((points - ring[j]) @ across) <= near) for j in (i, i + len(sides))]
            on = [side_on[np.argsort(points[side_on] @ side)] for side_on in on]
            assert len(on[0]) == len(on[1]) > 2
            way = ring[i + len(sides) + 1] - ring[i]
            assert np.abs(points[on[1]] - points[on[0]] - way).max() <= near
            for axis in range(2):
                if side[1 - axis] == 0:  # to the last bit
                    assert np.array_equal(points[on[0], axis], points[on[1], axis])
            edges = [list(map(frozenset, zip(side_on[:-1].tolist(), side_on[1:].tolist()))) for side_on in on]
            lost += [edge for edge in edges[0] + edges[1] if edge not in border]
            opposite += [sorted(pair) for pair in zip(on[0].tolist(), on[1].tolist())]
        assert not lost
        assert sorted(opposite) == sorted(sorted(pair) for pair in pairs[:, :2].tolist())
        for i, p in touches:
            way = ring[(i + len(sides)) % (2 * len(sides)) + 1] - ring[i]
            for place in p, p + way:
                assert np.abs(points - place).max(axis=1).min() <= near, (k, i)


def test_poly_files_mean_what_triangle_means(cvtmesh):
    """A hole is where a point of the list is; a lone point is a vertex."""
    squares = [(0, 0, 9, 5), (1, 1, 1, 1), (4, 2, 2, 1)]
    corners = [(x + a * w, y + b * h) for x, y, w, h in squares for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))]
    corners.append((7.5, 3.25))
    text = f"{len(corners)} 2 0 0\n" + "".join(f"{k + 1} {x} {y}\n" for k, (x, y) in enumerate(corners))
    text += "12 0\n" + "".join(f"{k + 1} {k + 1} {k + 2 if k % 4 < 3 else k - 2}\n" for k in range(12))
    for regions, numbers in ((0, [1, 2]), (1, [5, 6])):
        marks = "1\n1 .25 .25 5 .1\n" if regions else "0\n"
        cvtmesh.file("o.poly", text + "1\n1 1.5 1.5\n" + marks)
        for words in (("--min-angle", 25), ("--size", 2)):
            cvtmesh.call("mesh", "o.poly", *words, "-o", "m.vtu")
            mesh = meshio.read(cvtmesh.path("m.vtu"))
            points, triangles = mesh.points[:, :2], mesh.cells_dict["triangle"]
            assert area(points, triangles) == pytest.approx(44)
            assert sorted(set(mesh.cell_data["region"][0])) == numbers
            assert [7.5, 3.25] in points.tolist()
            if regions:
                first = triangles[mesh.cell_data["region"][0] == 5]
                assert max(area(points, first[k:k + 1]) for k in range(len(first))) < .1


def test_any_number_of_regions_with_areas(cvtmesh):
    count = 100
    corners = [(k, y) for k in range(count + 1) for y in (0, 1)]
    segments = [(2 * k, 2 * k + 1) for k in range(count + 1)]
    segments += [(2 * k + y, 2 * k + 2 + y) for k in range(count) for y in (0, 1)]
    text = f"{len(corners)} 2 0 0\n" + "".join(f"{k} {x} {y}\n" for k, (x, y) in enumerate(corners))
    text += f"{len(segments)} 0\n" + "".join(f"{k} {a} {b}\n" for k, (a, b) in enumerate(segments))
    text += f"0\n{count}\n" + "".join(f"{k} {k + .5} .5 {k + 1} {0.02 + 0.3 * (k % 2)}\n" for k in range(count))
    cvtmesh.file("o.poly", text)
    cvtmesh.call("mesh", "o.poly", "--min-angle", 20, "-o", "m.vtu")
    mesh = meshio.read(cvtmesh.path("m.vtu"))
    counts = np.bincount(mesh.cell_data["region"][0])[1:]
    assert len(counts) == count and counts[::2].min() > 50 and counts[1::2].max() < 40


def test_a_size_of_an_svg_may_have_a_unit(cvtmesh):
    """The SVG gives the length of its user unit; one without width and height does not."""
    def count(head, size):
        cvtmesh.file("u.svg", f'<svg {head}><path d="M0 0H100V80H0Z"/></svg>')
        cvtmesh.call("mesh", "u.svg", "--size", size, "-o", "m.vtu")
        return len(read(cvtmesh)[0])
    box = 'viewBox="0 0 100 80"'
    for head, mm in ((f'width="200mm" {box}', 2), (f'height="4in" {box}', 101.6 / 80),
                     (f'width="20cm" height="8cm" {box}', 1), ('width="9pt" height="9pt"', 25.4 / 96)):
        assert count(head, "10mm") == count(head, "1cm") == count("", repr(10 / mm))
    cvtmesh.file("u.svg", '<svg width="100" height="80"><path d="M0 0H100V80H0Z"/></svg>')
    cvtmesh.refused("mesh", "u.svg", "--size", "10mm", "-o", "m.vtu", code=3, names=["u.svg", "--pixel-size"])


@pytest.mark.parametrize("name", ["", 'id="pin" '])  # the circle is a hole, or a region
def test_curves_are_divided_by_the_size(cvtmesh, name):
    """A circle of an SVG has vertices at distances of the size; nodes of paths and corners stay."""
    cvtmesh.file("o.svg", '<svg><path d="M0 0H100V80H0Z"/>'
                          f'<path {name}d="M70 40A20 20 0 1 0 30 40A20 20 0 1 0 70 40Z"/>'
                          '<path d="M80 10L90 10L89.5 12L90 14L80 14Z"/></svg>')
    for size in (2, 5, 9):
        cvtmesh.call("mesh", "o.svg", "--size", size, "-o", "m.vtu")
        points, triangles = read(cvtmesh)
        radius = np.hypot(points[:, 0] - 50, points[:, 1] - (100 - 40 - (100 - 80)))
        on = points[np.abs(radius - 20) < 0.03]
        turns = np.sort(np.arctan2(on[:, 1] - 40, on[:, 0] - 50))
        steps = np.diff(np.append(turns, turns[0] + 2 * np.pi)) * 20
        assert len(on) == pytest.approx(40 * np.pi / size, rel=0.2)
        assert steps.max() < 1.3 * size and steps.min() > 0.7 * size
        corners = {(0, 80), (100, 0), (30, 40), (70, 40), (89.5, 68), (90, 66)}
        assert corners <= set(map(tuple, points.tolist()))
        assert angles(points, triangles).min() > 30


def test_simplified_chains(cvtmesh):
    count = 400
    turns = [2 * math.pi * k / count for k in range(count)]
    cvtmesh.file("o.csv", "".join(f"{10 * math.cos(t)!r},{10 * math.sin(t)!r}\n" for t in turns)
                 + "\n-1,-1\n1,-1\n1,1\n-1,1\n")
    found = {}
    for tolerance in (None, 0, 0.02, 0.2):
        words = () if tolerance is None else ("--simplify", tolerance)
        cvtmesh.call("mesh", "o.csv", "--size", 1.5, *words, "-o", "m.vtu")
        points, triangles = read(cvtmesh)
        radius = np.hypot(*points.T)
        found[tolerance] = np.sum(radius > 9.998)
        assert radius.max() < 10.0001 and {(-1, -1), (1, 1)} <= set(map(tuple, points.tolist()))
        assert angles(points, triangles).min() > 36
        if tolerance:
            assert area(points, triangles) > (math.pi * (10 - tolerance) ** 2 - 4)
    for words in ("--size", "max"), ("--min-angle", 30), ("--size", 1.5, "--periodic"):
        cvtmesh.refused("mesh", "o.csv", *words, "--simplify", 0.1, "-o", "m.vtu", code=2, names=["--simplify"])
    assert found[None] == found[0] == count
    assert found[0.2] == pytest.approx(20 * math.pi / 1.5, rel=0.1) and found[0.02] < 60


def lines_by_name(cvtmesh, name="m.msh"):
    """The number of edges of each group of lines."""
    mesh = meshio.read(cvtmesh.path(name))
    tags = np.concatenate([tags for cells, tags in zip(mesh.cells, mesh.cell_data["gmsh:physical"])
                           if cells.type == "line"])
    return {key: int(np.sum(tags == tag)) for key, (tag, kind) in mesh.field_data.items() if kind == 1}


def wave(first, last):
    """Chords, 0.2 long, of a curve across a square of 100."""
    return [[x / 5, 50 + 6 * math.sin(x / 100)] for x in range(5 * first, 5 * last + 1)]


def test_simplified_interfaces_and_lines(cvtmesh):
    """Chains of both sides of an interface, of inclusions and of lines are divided and keep their names."""
    def solve(*features):
        text = json.dumps({"type": "FeatureCollection", "features": features})
        cvtmesh.file("o.geojson", text)
        cvtmesh.call("mesh", "o.geojson", "--size", 5, "--simplify", 0.2, "-o", "m.msh", "-o", "m.vtu")
        points, triangles = read(cvtmesh)
        assert angles(points, triangles).min() > 36 and area(points, triangles) == pytest.approx(1e4)
        return lines_by_name(cvtmesh)

    curve = wave(0, 100)
    box = [[0, 0], [100, 0], [100, 100], [0, 100], [0, 0]]
    way = sum(math.dist(a, b) for a, b in zip(curve, curve[1:]))
    found = solve(feature("Polygon", [[[0, 0], [100, 0], *reversed(curve), [0, 0]]], "A"),
                  feature("Polygon", [[*curve, [100, 100], [0, 100], curve[0]]], "B"))
    assert found["interface-A-B"] == pytest.approx(way / 5, rel=0.2)
    turns = [2 * math.pi * k / 200 for k in range(201)]
    found = solve(feature("Polygon", [box], "A"),
                  feature("Polygon", [[[50 + 20 * math.cos(t), 50 + 20 * math.sin(t)] for t in turns]], "B"))
    assert found["interface-A-B"] == pytest.approx(8 * math.pi, rel=0.2)
    found = solve(feature("Polygon", [box], "A"), feature("LineString", wave(10, 50), "v"),
                  feature("LineString", wave(50, 90), "w"))
    assert "interface-A-A" not in found and found["v"] + found["w"] == pytest.approx(0.8 * way / 5, rel=0.2)
    assert tuple(wave(50, 50)[0]) in set(map(tuple, read(cvtmesh)[0].tolist()))


def test_pens_draw_lines(cvtmesh):
    cvtmesh.file("plate.csv", PLATE)
    cvtmesh.call("mesh", "plate.csv", "--size", 4, "-o", "a.hpgl", "-o", "a.vtu", "--page", "A4")
    drawn = cvtmesh.read("a.hpgl").decode()
    assert ";PD;PU;" not in drawn and drawn.count(",") > len(read(cvtmesh, "a.vtu")[1])


def test_stl_far_from_the_origin(cvtmesh):
    """Single precision holds no triangles there: the file has an origin of its own, which it names."""
    cvtmesh.file("o.csv", rectangle(500000, 5000000, 1, 1))
    cvtmesh.call("mesh", "o.csv", "--size", 0.1, "-o", "m.stl", "-o", "m.vtu")
    head = cvtmesh.read("m.stl")[:80].rstrip(b"\0").decode()
    assert head.endswith("origin at 500000 5000000")
    mesh = meshio.read(cvtmesh.path("m.stl"))
    points, triangles = mesh.points[:, :2].astype(float), mesh.cells_dict["triangle"]
    assert len(triangles) == len(read(cvtmesh)[1])
    assert area(points, triangles) == pytest.approx(1, rel=1e-5) and angles(points, triangles).min() > 38
    cvtmesh.file("o.csv", rectangle(500000, 5000000, 20, 20))
    cvtmesh.call("mesh", "o.csv", "--size", 1, "-o", "m.stl")  # triangles would not vanish, but bend
    mesh = meshio.read(cvtmesh.path("m.stl"))
    assert angles(mesh.points[:, :2].astype(float), mesh.cells_dict["triangle"]).min() > 38
    cvtmesh.file("o.csv", rectangle(3, 4, 1, 1))
    cvtmesh.call("mesh", "o.csv", "--size", 0.1, "-o", "m.stl")
    assert meshio.read(cvtmesh.path("m.stl")).points[:, 1].min() == 4


def test_a_size_that_is_refused_is_named_with_its_place(cvtmesh):
    """In the coordinates of the file, whose y is up."""
    cvtmesh.file("far.csv", "0,30\n60,30\n60,70\n0,70\n")
    for size, names in (("1e-9", ["size of 1e-09", "too small for the outline"]),
                        ("x-20", ["size of -", "is not positive"]), ("sqrt(x-20)", ["size of nan", "is not a number"])):
        text = cvtmesh.refused("mesh", "far.csv", "--size", size, "-o", "no.msh", code=3, names=names).stderr
        y = float(re.search(rb"near \(.*, (.*)\)", text)[1])
        assert 30 <= y <= 70
