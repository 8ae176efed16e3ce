"""Regions and boundaries of --domain arrive as named groups in every format that has groups, as
readers that know nothing of the program see them."""

import subprocess
from collections import Counter

import meshio
import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("two_threads")
WIDTH, HEIGHT = 160, 120
DISC = (40, 60, 20)  # x, y (down) and radius of a region
HOLES = [(110, 40, 14), (130, 90, 10)]
RUN = ("flat.npy", "-n", 700, "--iterations", 25, "--domain", "labels", "--labels", "labels.npy")
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


def check_gmsh(path):
    done = subprocess.run(["gmsh", "-check", path], capture_output=True, text=True, timeout=120)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "Warning" not in said and "Error" not in said, said


def test_msh(labels):
    stats = set()
    for version in ("4.1", "2.2"):
        for form in ((), ("--binary",)):
            name = f"m{version}{''.join(form)}.msh"
            labels.call("run", *RUN, "-o", name, "--msh-version", version, *form)
            path = labels.path(name)
            assert path.read_bytes()[12:].startswith(f"{version} {len(form)} 8".encode())
            check_gmsh(path)
            check_groups(name, *groups_of_msh(path))
            stats.add(labels.call("stats", name).stdout.replace(name.encode(), b""))
    assert len(stats) == 1, "the four files differ"


def test_msh_of_points_is_one_region(labels):
    labels.file("points.npy", np.random.default_rng(5).random((60, 2)) * (WIDTH, HEIGHT))
    for words in ((), ("--binary",), ("--msh-version", "2.2")):
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
    cvtmesh.call("run", "mask.npy", "-n", 500, "--iterations", 20, "--domain", "polygon",
                 "--polygon", "rings.csv", "-o", "m.msh")
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
