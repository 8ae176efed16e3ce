"""Regions and boundaries of --domain arrive as named groups in every format that has groups, as
readers that know nothing of the program see them."""

from collections import Counter

import meshio
import numpy as np
import pytest

from conftest import check_gmsh

pytestmark = pytest.mark.usefixtures("two_threads")
WIDTH, HEIGHT = 160, 120
DISC = (40, 60, 20)  # x, y (down) and radius of a region
HOLES = [(110, 40, 14), (130, 90, 10)]
RUN = ("flat.npy", "-n", 700, "--iterations", 25, "--domain", "labels=labels.npy")
AREAS = ["region-1", "region-2", "region-5"]
LINES = ["left", "right", "bottom", "top", "hole-1", "hole-2", "interface-1-2", "interface-1-5"]


@pytest.fixture
def labels(cvtmesh):
    """Two halves that fill the image, a disc in the left one, two holes in the right one."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH] + 0.5
    found = np.where(x < 80, 1, 2).astype(np.int32)
    for k, (cx, cy, radius) in enumerate([DISC, *HOLES]):
        found[np.hypot(x - cx, y - cy) < radius] = 5 if k == 0 else 0
    cvtmesh.file("labels.npy", found)
    cvtmesh.file("flat.npy", np.ones((HEIGHT, WIDTH), np.float32))
    return cvtmesh


def inside(points, circle):
    return np.hypot(points[..., 0] - circle[0], points[..., 1] - circle[1]) < circle[2]


def region_at(points):
    return np.where(inside(points, DISC), 5, np.where(points[..., 0] < 80, 1, 2))


def line_name(points):
    """By where the middle of an edge lies."""
    x, y = points
    near = [abs(np.hypot(x - cx, y - cy) - radius) < 1.5 for cx, cy, radius in [DISC, *HOLES]]
    names = ["interface-1-5", "hole-1", "hole-2"]
    for close, name in zip(near, names):
        if close:
            return name
    for distance, name in ((x, "left"), (WIDTH - x, "right"), (HEIGHT - y, "bottom"), (y, "top")):
        if distance < 0.5:
            return name
    return "interface-1-2"


def check_groups(name, points, areas, lines):
    """points: y down. areas and lines: the name of a group and the corners of its elements."""
    assert sorted(areas) == sorted(AREAS), name
    assert sorted(lines) == sorted(LINES), name
    # The two holes are numbered by the program: which is which follows from where they are.
    swap = lines["hole-1"].size and points[lines["hole-1"][0, 0], 1] > 65
    sides = Counter()
    for area, triangles in areas.items():
        found = {f"region-{r}" for r in region_at(points[triangles].mean(axis=1))}
        assert found == {area}, f"{name}: {area} holds {found}"
        for k in range(3):
            sides.update(frozenset(side) for side in triangles[:, [k, k - 1]])
    seen = set()
    for line, edges in lines.items():
        expected = {"hole-1": "hole-2", "hole-2": "hole-1"}.get(line, line) if swap else line
        for edge in edges:
            assert line_name(points[edge].mean(axis=0)) == expected, f"{name}: {line} {edge}"
            assert sides[frozenset(edge)] == (2 if "interface" in line else 1), f"{name}: {line}"
            seen.add(frozenset(edge))
    assert seen >= {side for side, count in sides.items() if count == 1}, f"{name}: border"
    assert len(seen) == sum(map(len, lines.values())), f"{name}: an edge is in two groups"


def groups_of_msh(path):
    """As meshio finds them: points (y down), areas and lines by name."""
    found = meshio.read(path)
    parts = {1: {}, 2: {}}
    for cells, tags in zip(found.cells, found.cell_data["gmsh:physical"]):
        dimension = 1 if cells.type.startswith("line") else 2
        assert (tags > 0).all(), f"{path.name}: an element without a group"
        for name, (tag, of) in found.field_data.items():
            if of == dimension and (tags == tag).any():
                parts[dimension].setdefault(name, []).append(cells.data[tags == tag])
    areas, lines = ({name: np.concatenate(blocks) for name, blocks in parts[d].items()}
                    for d in (2, 1))
    return found.points[:, :2] * [1, -1] + [0, HEIGHT], areas, lines


def test_msh(labels):
    stats = set()
    for form, start in (((), "4.1 0 8"), (("binary",), "4.1 1 8"), (("msh2",), "2.2 0 8"),
                        (("msh2", "binary"), "2.2 1 8")):
        name = f"m{''.join(form)}.msh"
        labels.call("run", *RUN, "-o", name, *(["--format", ",".join(form)] if form else []))
        path = labels.path(name)
        assert path.read_bytes()[12:].startswith(start.encode())
        check_gmsh(path)
        check_groups(name, *groups_of_msh(path))
        stats.add(labels.call("stats", name).stdout.replace(name.encode(), b""))
    assert len(stats) == 1, "the four files differ"


def test_region_names(labels):
    """Names that are given stand in the names of interfaces, too."""
    labels.call("run", *RUN, "-o", "m.msh", "-o", "m.inp", "--region-name", "1=steel",
                "--region-name", "5=pore_A")
    names = {"steel", "region-2", "pore_A", "left", "right", "bottom", "top", "hole-1", "hole-2",
             "interface-steel-2", "interface-steel-pore_A"}
    assert set(meshio.read(labels.path("m.msh")).field_data) == names
    _, areas, lines, sets = groups_of_inp(labels.path("m.inp"))
    assert set(areas) | set(lines) == names and set(sets) == set(lines)
    for words in (["steel"], ["1=2"], ["1=a b"], ["0=a"], ["1=" + 32 * "a"], ["1="],
                  ["1=a", "--region-name", "1=b"], ["1=a", "--region-name", "2=a"]):
        labels.refused("run", *RUN, "-o", "no.msh", "--region-name", *words, code=2,
                       names=["--region-name"])
    labels.refused("run", "flat.npy", "-n", 20, "-o", "no.msh", "--domain", "none", "--region-name",
                   "1=a", code=2, names=["--domain"])


def test_msh_of_points_is_one_region(labels):
    labels.file("points.npy", np.random.default_rng(5).random((60, 2)) * (WIDTH, HEIGHT))
    for words in ((), ("--format", "binary"), ("--format", "msh2")):
        labels.call("mesh", "points.npy", "-o", "p.msh", *words)
        check_gmsh(labels.path("p.msh"))
        found = meshio.read(labels.path("p.msh"))
        assert list(found.field_data) == ["region-1"]
        assert all((tags == 1).all() for tags in found.cell_data["gmsh:physical"])


def test_touching_holes(cvtmesh):
    """Holes that touch in a point, or touch the outside, keep their names."""
    mask = np.full((100, 100), 255)
    mask[:10] = mask[-10:] = 0
    mask[:, :10] = mask[:, -10:] = 0
    mask[30:50, 30:50] = mask[50:70, 50:70] = 0  # one corner in common: two holes
    cvtmesh.file("mask.npy", (mask / 255).astype(np.float32))
    ring = "10,10\n90,10\n90,90\n10,90\n\n30,30\n30,50\n50,50\n50,30\n\n50,50\n50,70\n70,70\n70,50\n"
    cvtmesh.file("rings.csv", ring + "\n10,90\n20,70\n30,80\n")  # the last one touches the outside
    cvtmesh.call("run", "mask.npy", "-n", 500, "--iterations", 20, "--domain", "polygon=rings.csv", "-o", "m.msh")
    found = meshio.read(cvtmesh.path("m.msh"))
    points = found.points[:, :2] * [1, -1] + [0, 100]
    middle = {name: [] for name in found.field_data}
    for cells, tags in zip(found.cells, found.cell_data["gmsh:physical"]):
        for name, (tag, of) in found.field_data.items():
            if of == 1 and cells.type == "line":
                middle[name].extend(points[cells.data[tags == tag]].mean(axis=1))
    assert set(middle) == {"outer", "hole-1", "hole-2", "hole-3", "region-1"}
    boxes = {name: (np.min(at, axis=0), np.max(at, axis=0)) for name, at in middle.items() if at}
    centres = sorted(tuple(np.round(sum(box) / 2, 1)) for name, box in boxes.items()
                     if name.startswith("hole"))
    assert np.allclose(centres, [(20, 80), (40, 40), (60, 60)], atol=2), centres
    assert np.allclose(boxes["outer"], [(10, 10), (90, 90)])


def groups_of_inp(path):
    """Nodes, element sets and node sets of an Abaqus deck, checked against its surfaces."""
    nodes, elements, areas, sets, surfaces = {}, {}, {}, {}, {}
    for line in path.read_text().splitlines():
        if line.startswith("*"):
            words = [word.strip() for word in line.split(",")]
            keyword, values = words[0], dict(word.split("=") for word in words[1:])
            continue
        fields = [field.strip() for field in line.split(",") if field.strip()]
        if keyword == "*NODE":
            nodes[int(fields[0])] = [float(field) for field in fields[1:3]]
        elif keyword == "*ELEMENT":
            elements[int(fields[0])] = [int(field) for field in fields[1:]]
            areas.setdefault(values["ELSET"], []).append(int(fields[0]))
        elif keyword == "*NSET":
            sets.setdefault(values["NSET"], []).extend(int(field) for field in fields)
        elif keyword == "*SURFACE":
            assert values["TYPE"] == "ELEMENT"
            surfaces.setdefault(values["NAME"], []).append((int(fields[0]), int(fields[1][1:])))
    assert list(nodes) == list(range(1, len(nodes) + 1))
    assert list(elements) == list(range(1, len(elements) + 1))
    points = np.array(list(nodes.values())) * [1, -1] + [0, HEIGHT]
    lines = {}
    for name, sides in surfaces.items():  # side S1 lies between the nodes 1 and 2
        lines[name] = np.array([[elements[e][s - 1], elements[e][s % 3]] for e, s in sides]) - 1
    assert all(len(set(found)) == len(found) for found in sets.values()), "a node twice"
    areas = {name: np.array([elements[e] for e in found]) - 1 for name, found in areas.items()}
    return points, areas, lines, {name: np.array(found) - 1 for name, found in sets.items()}


def test_inp(labels):
    labels.call("run", *RUN, "-o", "m.inp")
    points, areas, lines, sets = groups_of_inp(labels.path("m.inp"))
    check_groups("m.inp", points, areas, lines)
    assert set(sets) == set(lines)
    assert all(sorted(set(lines[name].flat)) == sorted(sets[name]) for name in lines)
    theirs = meshio.read(labels.path("m.inp"))
    assert sum(len(cells.data) for cells in theirs.cells) == sum(map(len, areas.values()))


def rows_of(path):
    return [[float(word) for word in line.split("#")[0].split()]
            for line in path.read_text().splitlines() if line.split("#")[0].strip()]


def test_triangle(labels):
    """.node and .ele hold the mesh; .poly the boundary, a point in each hole and each region."""
    labels.call("run", *RUN, *(f"-om.{end}" for end in ("node", "ele", "poly", "msh")))
    nodes, triangles = rows_of(labels.path("m.node")), rows_of(labels.path("m.ele"))
    points = np.array(nodes[1:])[:, 1:3] * [1, -1] + [0, HEIGHT]
    corners = np.array(triangles[1:], int)[:, 1:4] - 1
    assert nodes[0] == [len(points), 2, 1, 1] and triangles[0] == [len(corners), 3, 1]
    assert (np.array(triangles[1:])[:, 4] == region_at(points[corners].mean(axis=1))).all()
    both = [labels.call("stats", name).stdout.split(b":", 1)[1] for name in ("m.ele", "m.msh")]
    assert both[0] == both[1]

    rows = rows_of(labels.path("m.poly"))
    parts = []
    while rows:
        count = int(rows[0][0])
        parts.append(np.array(rows[1:count + 1]))
        rows = rows[count + 1:]
    vertices, segments, holes, seeds = parts
    places = vertices[:, 1:3] * [1, -1] + [0, HEIGHT]
    tags = meshio.read(labels.path("m.msh")).field_data
    swap = {"hole-1": "hole-2", "hole-2": "hole-1"}
    first = places[segments[segments[:, 3] == tags["hole-1"][0]][0, 1].astype(int) - 1]
    for segment in segments:
        name = line_name(places[segment[1:3].astype(int) - 1].mean(axis=0))
        name = swap.get(name, name) if first[1] > 65 else name
        assert tags[name][0] == segment[3]
    holes = holes[:, 1:] * [1, -1] + [0, HEIGHT]
    assert sorted(k for hole in holes for k in (0, 1) if inside(hole, HOLES[k])) == [0, 1]
    seeds[:, 2] = HEIGHT - seeds[:, 2]
    assert sorted(seeds[:, 3]) == [1, 2, 5]
    assert (region_at(seeds[:, 1:3]) == seeds[:, 3]).all()


def test_poly_as_polygon(cvtmesh):
    """A .poly that was written is the same domain, with its vertices in it or beside it."""
    cvtmesh.file("flat.npy", np.ones((100, 100), np.float32))
    cvtmesh.file("rings.csv", "10,10\n90,15\n80,90\n10,80\n\n30,30\n30,50\n50,50\n50,30\n")
    run = ("flat.npy", "-n", 400, "--iterations", 20, "--domain")
    first = cvtmesh.report("run", *run, "polygon=rings.csv", "-o", "a.poly", "-o", "a.msh")
    again = cvtmesh.report("run", *run, "polygon=a.poly", "-o", "b.msh")
    assert again["domain"]["area"] == pytest.approx(first["domain"]["area"], rel=1e-9)
    assert again["domain"]["corners"] == first["domain"]["corners"] == 8
    low, high = (np.sort(meshio.read(cvtmesh.path(name)).points[:, 1])[[0, -1]]
                 for name in ("a.msh", "b.msh"))
    assert np.allclose(low, high)
    corners = "4 2 0 0\n0 10 10\n1 90 20\n2 80 80\n3 20 90\n"
    segments = "4 0\n1 0 1\n2 1 2\n3 2 3\n4 3 0\n0\n"
    cvtmesh.file("one.poly", corners + segments)
    cvtmesh.file("two.poly", "# no vertices here\n0 2 0 0\n" + segments)
    cvtmesh.file("two.node", corners)
    areas = [cvtmesh.report("run", *run, f"polygon={name}", "-o", "c.msh")["domain"]["area"]
             for name in ("one.poly", "two.poly")]
    assert areas[0] == areas[1] == pytest.approx(4900, rel=1e-3)
    cvtmesh.file("open.poly", corners + "3 0\n1 0 1\n2 1 2\n3 2 3\n0\n")
    cvtmesh.refused("run", *run, "polygon=open.poly", "-o", "c.msh", code=3, names=["open.poly", "closed"])


def test_formats_without_a_domain(cvtmesh):
    cvtmesh.file("p.node", "# square\n4 2 0 0\n1 0 0\n2 4 0\n3 4 3\n4 0 3\n")
    cvtmesh.call("mesh", "p.node", "-o", "m.inp", "-o", "m.ele", "-o", "m.node")
    assert cvtmesh.call("stats", "m.ele").stdout.startswith(b"m.ele: 4 vertices, 2")
    deck = meshio.read(cvtmesh.path("m.inp"))
    assert len(deck.points) == 4 and deck.cells_dict["triangle"].shape == (2, 3)
    assert sorted(tuple(row[1:3]) for row in rows_of(cvtmesh.path("m.node"))[1:]) == sorted(
        [(0, 0), (4, 0), (4, 3), (0, 3)])
    cvtmesh.refused("mesh", "p.node", "-o", "m.poly", code=2, names=["m.poly", "--domain"])
    cvtmesh.file("bad.ele", "1 3 0\n1 1 2 9\n")
    cvtmesh.file("bad.node", "3 2 0 0\n1 0 0\n2 1 0\n3 0 1\n")
    cvtmesh.refused("stats", "bad.ele", code=3, names=["bad.ele"])
    cvtmesh.file("alone.ele", "1 3 0\n1 1 2 3\n")
    cvtmesh.refused("stats", "alone.ele", code=3, names=["alone.node"])
    cvtmesh.file("skipped.node", "2 2 0 0\n1 0 0\n3 1 0\n")
    cvtmesh.refused("mesh", "skipped.node", "-o", "m.obj", code=3, names=["order"])


def test_xdmf(labels):
    """With HDF5 and as text; the names of the tags are in the report."""
    built = labels.printed("info")
    report = labels.report("run", *RUN, "-o", "m.msh", "-o", "t.xdmf", "--format", "ascii")
    points, areas, lines = groups_of_msh(labels.path("m.msh"))
    names = {(group["dimension"], group["tag"]): group["name"]
             for group in report["domain"]["groups"]}
    assert sorted(names.values()) == sorted(AREAS + LINES)
    stems = ["t"]
    if built["hdf5"]:
        labels.call("run", *RUN, "-o", "h & <i>.xdmf")
        first = labels.read("h & <i>.h5")
        labels.call("run", *RUN, "-o", "h & <i>.xdmf", "--threads", 1)
        assert labels.read("h & <i>.h5") == first
        stems.append("h & <i>")
    else:
        labels.refused("run", *RUN, "-o", "h.xdmf", code=2, names=["HDF5"])
    labels.refused("run", *RUN, "-o", "-", "--format", "xdmf", code=2, names=["xdmf", "--format ascii"])
    for stem in stems:
        mesh = meshio.read(labels.path(f"{stem}.xdmf"))
        border = meshio.read(labels.path(f"{stem}_boundary.xdmf"))
        assert np.array_equal(mesh.points[:, :2] * [1, -1] + [0, HEIGHT], points)
        assert np.array_equal(border.points, mesh.points) and len(mesh.point_data["mass"])
        (cells,), (tags,) = mesh.cells, mesh.cell_data["region"]
        for name, triangles in areas.items():
            found = cells.data[tags == {v: k for k, v in names.items()}[name][1]]
            assert np.array_equal(found, triangles), name
        (cells,), (tags,) = border.cells, border.cell_data["boundary"]
        for name, edges in lines.items():
            assert np.array_equal(cells.data[[names[1, tag] == name for tag in tags]], edges), name


@pytest.mark.parametrize("order", [1, 2])
def test_dolfinx_reads_the_groups(labels, order):
    """Skipped without dolfinx (Debian: python3-dolfinx)."""
    io = pytest.importorskip("dolfinx.io")
    comm = pytest.importorskip("mpi4py.MPI").COMM_SELF
    labels.call("run", *RUN, "--element-order", order, "-o", "m.xdmf", "-o", "m.msh")
    expected = meshio.read(labels.path("m.msh"))
    tags = {1: Counter(), 2: Counter()}
    for cells, found in zip(expected.cells, expected.cell_data["gmsh:physical"]):
        tags[1 if cells.type.startswith("line") else 2].update(found.tolist())
    with io.XDMFFile(comm, str(labels.path("m.xdmf")), "r") as file:
        mesh = file.read_mesh()
        regions = file.read_meshtags(mesh, "mesh")
    mesh.topology.create_connectivity(1, 2)
    with io.XDMFFile(comm, str(labels.path("m_boundary.xdmf")), "r") as file:
        groups = file.read_meshtags(mesh, "boundary")
    assert len(mesh.geometry.x) == len(expected.points)
    assert Counter(regions.values.tolist()) == tags[2]
    assert Counter(groups.values.tolist()) == tags[1]
