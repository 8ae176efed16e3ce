"""cvtmesh run --domain frame, and --periodic with --domain: vertices on opposite sides are the same
but for one coordinate in every file, edges too, and the files say which belong together."""

import re
from subprocess import STDOUT

import meshio
import numpy as np
import pytest

from conftest import output_of, pgm_bytes

pytestmark = pytest.mark.usefixtures("two_threads")
WIDTH, HEIGHT = 48, 40
DOMAINS = {
    "frame": ("--domain", "frame"),
    "grains": ("--domain", "labels=grains.npy"),
    "sliding": ("--domain", "labels=grains.npy", "--boundary", "sliding"),
    "pores": ("--domain", "mask=pores.pgm"),
    "refined": ("--domain", "labels=grains.npy", "--min-angle", "36", "--max-area",
                "1.5"),
    "refined frame": ("--domain", "frame", "--max-area", "0.4"),
    "polygon": ("--domain", "polygon=cell.csv"),
    "sliding polygon": ("--domain", "polygon=cell.csv", "--boundary", "sliding"),
    "image": ("--domain", "image", "--invert", "--domain-smooth", "1"),
}


def torus_distance(x, y):
    """Of every pixel's centre."""
    j, i = np.mgrid[0:HEIGHT, 0:WIDTH] + 0.5
    dx, dy = abs(i - x), abs(j - y)
    return np.hypot(np.minimum(dx, WIDTH - dx), np.minimum(dy, HEIGHT - dy))


@pytest.fixture
def inputs(cvtmesh):
    random = np.random.default_rng(5)
    places = random.random((7, 2)) * (WIDTH, HEIGHT)
    grains = np.argmin([torus_distance(*p) for p in places], axis=0) + 1
    cvtmesh.file("grains.npy", grains.astype(np.int32))
    pores = [(0.5, 12, 5), (30, 39.5, 6), (47, 39, 3), (20, 15, 4)]
    depth = np.min([torus_distance(x, y) - r for x, y, r in pores], axis=0)
    cvtmesh.file("pores.pgm", pgm_bytes(255 * np.clip(depth + 0.5, 0, 1)))
    cvtmesh.file("rho.npy", np.where(depth > 0, 1, 0.2).astype(np.float32))
    # Regions that go on at the opposite side, and a hole.
    rings = [[(0, 0), (10, 0), (12, 7), (22, 9), (24, 0), (48, 0), (48, 15), (41, 20), (42, 25),
              (48, 28), (48, 40), (24, 40), (20, 37), (10, 40), (0, 40), (0, 28), (6, 22), (0, 15)],
             [(29, 15), (34, 17), (32, 24)]]
    cvtmesh.file("cell.csv", "\n".join("".join(f"{x},{y}\n" for x, y in r) for r in rings))
    return cvtmesh


def on_side(points, axis, at):
    """Indices of the points on a side, by the other coordinate."""
    found = np.flatnonzero(points[:, axis] == at)
    return found[np.argsort(points[found, 1 - axis])]


def border_edges(triangles):
    sides = np.sort(np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)]), axis=1)
    edges, count = np.unique(sides, axis=0, return_counts=True)
    assert count.max() == 2
    return edges[count == 1]


def check_glued(points, triangles, width, height):
    """Returns the vertices on the four sides: left, right, lower, upper."""
    border = border_edges(triangles)
    sides = []
    for axis, size in ((0, width), (1, height)):
        near, far = on_side(points, axis, 0), on_side(points, axis, size)
        assert np.array_equal(points[near, 1 - axis], points[far, 1 - axis])  # to the last bit
        copy = np.full(len(points), -1)
        copy[near] = far
        edges = border[(points[border, axis] == 0).all(axis=1)]
        opposite = border[(points[border, axis] == size).all(axis=1)]
        assert len(edges) > 0
        assert {frozenset(e) for e in copy[edges]} == {frozenset(e) for e in opposite}
        sides += [near, far]
    return sides


@pytest.mark.parametrize("domain", DOMAINS)
def test_opposite_sides_are_paired_in_every_file(inputs, domain):
    names = ["m." + extension for extension in ("msh", "vtu", "obj", "off", "ply", "vtk", "stl")]
    inputs.call("run", "rho.npy", "-n", 500, "--periodic", *DOMAINS[domain], "--report", "r.json",
                "--pairs-out", "pairs.npy", *[word for name in names for word in ("-o", name)])
    whole = inputs.json("r.json")
    report = whole["domain"]
    pairs = inputs.array("pairs.npy")
    assert report["pairs"] == len(pairs) > 20 and report["unpaired_vertices"] == 0
    refinement = whole["refinement"]
    assert refinement["below_free"] == refinement["oversized"] == 0
    if domain.startswith("refined"):
        assert refinement["added_on_boundary"] > 40
    for name in names:
        mesh = meshio.read(inputs.path(name))
        points, triangles = mesh.points[:, :2], mesh.cells_dict["triangle"]
        left, right, lower, upper = check_glued(points, triangles, WIDTH, HEIGHT)
        if name == "m.stl":  # its reader numbers the vertices anew
            continue
        table = np.concatenate([np.column_stack([left, right, 0 * left]),
                                np.column_stack([lower, upper, 0 * lower + 1])])
        assert np.array_equal(pairs, table)
        if name == "m.vtu":
            assert np.array_equal(mesh.field_data["periodic_pairs"], table)


def periodic_links(text):
    """Of a file of MSH 4.1: the curves, and the pairs of their nodes, counted from 0."""
    words = text.split("$Periodic\n")[1].split("$EndPeriodic")[0].split()
    at, links = 1, []
    for _ in range(int(words[0])):
        dimension, copy, original, entries = map(int, words[at:at + 4])
        assert dimension == 1 and entries == 16
        matrix = np.array(words[at + 4:at + 20], dtype=float).reshape(4, 4)
        count = int(words[at + 20])
        nodes = np.array(words[at + 21:at + 21 + 2 * count], dtype=int).reshape(-1, 2) - 1
        links.append((copy, original, matrix, nodes))
        at += 21 + 2 * count
    assert at == len(words)
    return links


@pytest.mark.parametrize("options", [(), ("--format", "binary"), ("--unit",)], ids=["text", "binary", "unit"])
def test_gmsh_knows_the_pairs(inputs, options):
    """Gmsh reads the section and writes it again; its version 4.8 skips that of MSH 2.2."""
    inputs.call("run", "rho.npy", "-n", 500, "--periodic", *DOMAINS["grains"], "-o", "m.msh",
                "--pairs-out", "pairs.npy", *options)
    assert "Error" not in output_of("gmsh", "-check", "m.msh", cwd=inputs.path(), stderr=STDOUT)
    output_of("gmsh", "m.msh", "-0", "-save", "-format", "msh41", "-o", "again.msh", cwd=inputs.path())
    links = periodic_links(inputs.path("again.msh").read_text())
    mesh = meshio.read(inputs.path("m.msh"))
    entity = dict()
    for cells, tags in zip(mesh.cells, mesh.cell_data["gmsh:geometrical"]):
        if cells.type == "line":
            for line, tag in zip(cells.data, tags):
                entity.setdefault(tag, set()).update(line)
    seen = set()
    for copy, original, matrix, nodes in links:
        places = np.column_stack([mesh.points, np.ones(len(mesh.points))])
        assert np.array_equal(places[nodes[:, 1]] @ matrix.T, places[nodes[:, 0]])
        assert set(nodes[:, 0]) == entity[copy] and set(nodes[:, 1]) == entity[original]
        seen |= {(int(b), int(a)) for a, b in nodes}
    assert seen == {(a, b) for a, b, _ in inputs.array("pairs.npy").tolist()}


def test_pairs_in_msh_2(inputs):
    inputs.call("run", "rho.npy", "-n", 500, "--periodic", *DOMAINS["grains"], "-o", "m.msh",
                "--format", "msh2", "--pairs-out", "pairs.npy")
    text = inputs.path("m.msh").read_text()
    section = re.search(r"\$Periodic\n(\d+)\n(.*)\$EndPeriodic", text, re.DOTALL)
    lines, at, seen = section[2].splitlines(), 0, set()
    for _ in range(int(section[1])):
        assert lines[at].startswith("1 ") and lines[at + 1].startswith("Affine 1 0 0 ")
        count = int(lines[at + 2])
        for line in lines[at + 3:at + 3 + count]:
            copy, original = map(int, line.split())
            seen.add((original - 1, copy - 1))
        at += 3 + count
    assert at == len(lines)
    assert seen == {(a, b) for a, b, _ in inputs.array("pairs.npy").tolist()}


@pytest.mark.parametrize("options", [(), ("--periodic",)], ids=["plain", "periodic"])
def test_the_frame_is_covered(inputs, options):
    inputs.call("run", "rho.npy", "-n", 400, "--domain", "frame", *options, "-o", "m.msh")
    mesh = meshio.read(inputs.path("m.msh"))
    points, triangles = mesh.points[:, :2], mesh.cells_dict["triangle"]
    a, b, c = (points[triangles[:, k]] for k in range(3))
    areas = ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]) / 2
    assert areas.min() > 0 and areas.sum() == pytest.approx(WIDTH * HEIGHT, abs=1e-9)
    border = points[border_edges(triangles)]
    flat = [(border[:, :, axis] == at).all(axis=1) for axis, at in
            ((0, 0), (0, WIDTH), (1, 0), (1, HEIGHT))]
    assert np.sum(flat, axis=0).min() == 1
    for corner in ((0, 0), (WIDTH, 0), (0, HEIGHT), (WIDTH, HEIGHT)):
        assert (points == corner).all(axis=1).any()
    assert set(mesh.field_data) == {"left", "right", "bottom", "top", "region-1"}


def test_labels_end_on_the_sides(inputs):
    """Without --periodic: junctions of interfaces and a side lie on the side."""
    inputs.call("run", "rho.npy", "-n", 500, *DOMAINS["grains"], "-o", "m.msh")
    mesh = meshio.read(inputs.path("m.msh"))
    border = mesh.points[border_edges(mesh.cells_dict["triangle"]), :2]
    flat = [(border[:, :, axis] == at).all(axis=1) for axis, at in
            ((0, 0), (0, WIDTH), (1, 0), (1, HEIGHT))]
    assert np.sum(flat, axis=0).min() == 1


@pytest.mark.parametrize("options", [("--min-angle", 35), ("--min-angle", 30, "--size", 0.0961)])
def test_periodic_outlines(inputs, options):
    """A cell with a hole, whose sides are alike in both directions."""
    ring = [(1, 1), (1.75, 1), (2, 1), (2, 1.4), (2, 2.5), (1.75, 2.5), (1, 2.5), (1, 1.4)]
    hole = [(1.1, 1.5), (1.3, 1.5), (1.2, 1.6)]
    inputs.file("o.csv", "".join(f"{x},{y}\n" for x, y in ring) + "\n" +
                "".join(f"{x},{y}\n" for x, y in hole))
    report = inputs.report("mesh", "o.csv", "--periodic", *options, "-o", "m.msh", "--pairs-out",
                           "pairs.npy")
    mesh, pairs = meshio.read(inputs.path("m.msh")), inputs.array("pairs.npy")
    points, triangles = mesh.points[:, :2], mesh.cells_dict["triangle"]
    points = points - (points[:, 0].min(), points[:, 1].min())
    left, right, lower, upper = check_glued(points, triangles, 1, 1.5)
    table = np.concatenate([np.column_stack([left, right, 0 * left]),
                            np.column_stack([lower, upper, 0 * lower + 1])])
    assert np.array_equal(pairs, table) and report["pairs"] == len(pairs) > 8
    found = report["refinement"]
    assert found["below_free"] == found["oversized"] == 0 and found["added_on_boundary"] > 0
    links = periodic_links(inputs.path("m.msh").read_text())
    assert {(int(b), int(a)) for *_, nodes in links for a, b in nodes} == \
        {(a, b) for a, b, _ in pairs.tolist()}


def test_channel_is_periodic_in_one_direction(inputs):
    """Its walls are not alike and are divided freely."""
    inputs.file("o.csv", "0,0\n1,0\n3,0\n3,2\n2,2\n1.5,1.5\n0,2\n")
    inputs.call("mesh", "o.csv", "--periodic", "--min-angle", 30, "--size", 0.152, "-o", "m.off", "--pairs-out",
                "pairs.npy")
    points = meshio.read(inputs.path("m.off")).points[:, :2]
    pairs = inputs.array("pairs.npy")
    assert (pairs[:, 2] == 0).all() and len(pairs) > 10
    near, far = on_side(points, 0, 0), on_side(points, 0, 3)
    assert np.array_equal(pairs[:, 0], near) and np.array_equal(pairs[:, 1], far)
    assert np.array_equal(points[near, 1], points[far, 1])


def test_outlines_that_are_not_periodic(inputs):
    inputs.file("triangle.csv", "0,0\n4,0\n1,3\n")
    inputs.file("uneven.csv", "0,0\n4,0\n4,1\n4,3\n0,3\n0,2\n")
    inputs.file("point.csv", "0,0\n4,0\n4,1\n3,2\n4,3\n3.5,3\n3.5,4\n0,4\n0,1\n")
    for name in "triangle", "point":
        inputs.refused("mesh", f"{name}.csv", "--periodic", "--min-angle", 30, "-o", "m.msh", code=3,
                       names=[f"{name}.csv", "--periodic"])
    inputs.call("mesh", "uneven.csv", "--periodic", "--min-angle", 30, "-o", "m.off", "--pairs-out",
                "pairs.npy")  # a corner of one side becomes one of the other
    mesh = meshio.read(inputs.path("m.off"))
    left, right, lower, upper = check_glued(mesh.points[:, :2], mesh.cells_dict["triangle"], 4, 3)
    assert {1, 2} <= set(mesh.points[left, 1])
    assert np.array_equal(inputs.array("pairs.npy"),
                          np.concatenate([np.column_stack([left, right, 0 * left]),
                                          np.column_stack([lower, upper, 0 * lower + 1])]))
    inputs.refused("mesh", "uneven.csv", "--min-angle", 30, "--pairs-out", "p.npy", "-o", "m.msh",
                   code=2, names=["--periodic"])


def test_polygons_in_a_picture(inputs):
    """A channel is paired at its ends; polygons without equal edges on the sides are refused."""
    wish = ("run", "rho.npy", "-n", 300, "--periodic", "--domain")
    inputs.file("channel.csv", "0,5\n48,5\n48,30\n24,40\n0,30\n")
    report = inputs.report(*wish, "polygon=channel.csv", "-o", "m.off", "--pairs-out", "pairs.npy")
    points = meshio.read(inputs.path("m.off")).points[:, :2]
    near, far = on_side(points, 0, 0), on_side(points, 0, WIDTH)
    assert np.array_equal(points[near, 1], points[far, 1])
    assert np.array_equal(inputs.array("pairs.npy"), np.column_stack([near, far, 0 * near]))
    assert report["domain"]["unpaired_vertices"] == 0
    inputs.file("wall.csv", "20,4\n30,4\n30,35\n20,35\n")
    inputs.file("uneven.csv", "0,5\n48,5\n48,30\n24,40\n0,29\n")
    inputs.file("alone.csv", "0,5\n48,5\n48,20\n40,22\n48,25\n48,30\n0,30\n0,25\n9,22\n0,20\n"
                "\n0,31\n3,33\n0,35\n")
    for name, reason in (("wall", "has a copy"), ("uneven", "has a copy"), ("alone", "1 edge")):
        inputs.refused(*wish, f"polygon={name}.csv", "-o", "n.msh", code=3,
                       names=[f"{name}.csv", "--periodic", reason])


@pytest.mark.parametrize("name", ["t.vtu", "t.msh", "t.ply"])
def test_points_on_a_torus(inputs, name):
    """Copies in the file are translated points, and the mesh covers the torus once."""
    inputs.file("points.npy", np.random.default_rng(6).random((300, 2)) * (WIDTH, HEIGHT))
    size = ("--width", WIDTH, "--height", HEIGHT)
    report = inputs.report("mesh", "points.npy", "--periodic", *size, "-o", name, "--pairs-out",
                           "copies.npy")
    mesh, copies = meshio.read(inputs.path(name)), inputs.array("copies.npy")
    points, triangles = mesh.points[:, :2], mesh.cells_dict["triangle"]
    assert report["copies"] == len(copies) == len(points) - 300 > 0
    assert len(triangles) == report["triangles"] == 600
    moves = np.array([[WIDTH, 0], [0, HEIGHT], [WIDTH, HEIGHT]])
    assert np.array_equal(points[copies[:, 1]], points[copies[:, 0]] + moves[copies[:, 2]])
    assert np.array_equal(mesh.point_data["original"].ravel(),
                          np.concatenate([np.arange(300), copies[:, 0]]))
    a, b, c = (points[triangles[:, k]] for k in range(3))
    areas = np.cross(b - a, c - a) / 2
    assert areas.min() > 0 and areas.sum() == pytest.approx(WIDTH * HEIGHT, rel=1e-12)
    ends = mesh.point_data["original"].ravel().astype(int)[triangles]
    sides = np.concatenate([ends[:, [k, (k + 1) % 3]] for k in range(3)])
    assert len(np.unique(sides, axis=0)) == 1800  # each edge once in each direction
    for options in (["-o", "t.svg"], ["-o", name, "--element-order", 2]):
        inputs.refused("mesh", "points.npy", "--periodic", *size, *options, code=2,
                       names=["--periodic"])


def test_misuse_is_refused(inputs):
    for options in (["--pairs-out", "p.npy"], ["--domain", "frame", "--pairs-out", "p.npy"],
                    ["--domain", "none", "--periodic", "--pairs-out", "p.npy"],
                    ["--domain", "frame", "--periodic", "--pairs-out", "p.csv"],
                    ["--domain", "frame", "--domain-smooth", "1"]):
        inputs.refused("run", "rho.npy", "-n", 300, "-o", "m.msh", *options, code=2)
    inputs.file("small.npy", np.ones((2, 40), np.float32))
    inputs.refused("run", "small.npy", "-n", 300, "-o", "m.msh", "--domain", "frame", "--periodic",
                   code=3, names=["3 x 3"])
