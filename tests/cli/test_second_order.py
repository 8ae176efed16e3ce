"""--element-order 2: nodes in the middle of edges, those of the boundary on its curves, as
independent readers find them; and compression, read by meshio."""

import base64
import re
import struct
import zlib

import meshio
import numpy as np
import pytest

from conftest import cells_of

pytestmark = pytest.mark.usefixtures("two_threads")
RADIUS = 90


@pytest.fixture
def disc(cvtmesh):
    """A circle of radius 90 around (100, 100) as a polygon of 20,000 corners."""
    angle = np.linspace(0, 2 * np.pi, 20001)[:-1]
    rows = (f"{100 + RADIUS * np.cos(a):.15g},{100 + RADIUS * np.sin(a):.15g}" for a in angle)
    cvtmesh.file("circle.csv", "\n".join(rows))
    cvtmesh.file("flat.npy", np.ones((200, 200), np.float32))
    return cvtmesh


def run(n, *words):
    return ("run", "flat.npy", "-n", n, "--iterations", 30, "--domain",
            "polygon=circle.csv", "--boundary-tolerance", 3, "--element-order", 2, *words)


def area_inside(points, lines):
    """By Green's formula along the parabolas, exactly (Gauss)."""
    a, b, middle = (points[lines[:, k]] for k in range(3))
    area = 0
    for t, weight in ((0.5 - np.sqrt(0.15), 5 / 18), (0.5, 8 / 18), (0.5 + np.sqrt(0.15), 5 / 18)):
        p = (1 - t) * (1 - 2 * t) * a + t * (2 * t - 1) * b + 4 * t * (1 - t) * middle
        d = (4 * t - 3) * a + (4 * t - 1) * b + (4 - 8 * t) * middle
        area += weight * (p[:, 0] * d[:, 1] - p[:, 1] * d[:, 0]).sum() / 2
    return area


def jacobians(points, triangles):
    """At the corners, the middles of edges and inside."""
    least = np.inf
    for x, y in [(0, 0), (1, 0), (0, 1), (0.5, 0), (0.5, 0.5), (0, 0.5), (1 / 3, 1 / 3)]:
        z = 1 - x - y
        dx = [1 - 4 * z, 4 * x - 1, 0, 4 * (z - x), 4 * y, -4 * y]
        dy = [1 - 4 * z, 0, 4 * y - 1, -4 * x, 4 * x, 4 * (z - y)]
        u, v = (np.einsum("k,tkc->tc", d, points[triangles]) for d in (dx, dy))
        least = min(least, (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]).min())
    return least


def test_circle(disc):
    """Nodes lie on the circle, the area converges at fourth order, no triangle turns over."""
    errors, counts = [], []
    for n in (60, 240):
        report = disc.report(*run(n, "-o", "m.msh"))
        found = meshio.read(disc.path("m.msh"))
        points, lines = found.points[:, :2], cells_of(found, "line3")
        triangles = cells_of(found, "triangle6")
        off = np.hypot(*(points[lines] - 100).transpose(2, 0, 1)) - RADIUS
        assert abs(off).max() < 1e-5  # the chords of the polygon are off by 1.2e-6
        errors.append(abs(area_inside(points, lines) / (np.pi * RADIUS**2) - 1))
        counts.append(len(lines))
        assert jacobians(points, triangles) > 0
        corners = set(triangles[:, :3].flat)
        assert len(set(triangles.flat)) == len(points) and not corners & set(triangles[:, 3:].flat)
        inner = ~np.isin(triangles[:, 3:], lines[:, 2])
        straight = (points[triangles[:, :3]] + points[np.roll(triangles[:, :3], -1, axis=1)]) / 2
        assert np.allclose(points[triangles[:, 3:]][inner], straight[inner])
        second = report["second_order"]
        assert second["nodes"] == len(points) - len(corners)
        assert second["curved_edges"] == len(lines) and second["straightened_edges"] == 0
    rate = np.log(errors[0] / errors[1]) / np.log(counts[1] / counts[0])
    assert rate > 3.5, f"errors {errors} fall at order {rate:.2f}"


def test_every_format(disc):
    names = ["m.msh", "b.msh", "m.vtu", "m.vtk", "m.inp", "m.ele"]
    for words in (("-o", "m.msh"), ("-o", "b.msh", "--format", "msh2,binary"),
                  [w for name in names[2:] for w in ("-o", name)] + ["-o", "m.node"]):
        disc.call(*run(80, *words))
    said = {disc.call("stats", name).stdout.split(b":", 1)[1]
            for name in ("m.msh", "b.msh", "m.vtu", "m.ele")}
    assert len(said) == 1, said
    first = meshio.read(disc.path("m.msh"))
    triangles = cells_of(first, "triangle6")
    for name in ("b.msh", "m.vtu", "m.vtk"):
        found = meshio.read(disc.path(name))
        assert np.array_equal(cells_of(found, "triangle6"), triangles), name
        assert np.array_equal(found.points, first.points), name
    rows = [line.split() for line in disc.path("m.ele").read_text().splitlines()]
    assert rows[0] == [str(len(triangles)), "6", "1"]
    found = np.array(rows[1:], int)[:, 1:7] - 1  # Triangle's fourth node is opposite the first
    assert np.array_equal(found[:, [0, 1, 2, 5, 3, 4]], triangles)
    deck = disc.path("m.inp").read_text()
    assert "TYPE=CPS6" in deck
    block = re.search(r"TYPE=CPS6.*\n([^*]*)", deck).group(1)
    found = np.array([row.split(",") for row in block.split("\n")[:-1]], int)[:, 1:] - 1
    assert np.array_equal(found, triangles)


def test_sharp_bends_stay_valid(cvtmesh):
    """Edges that would turn a triangle over are straight; a mesh of points has straight edges."""
    angle = np.linspace(0, 2 * np.pi, 721)[:-1]
    radius = 40 + 14 * np.sin(9 * angle)
    rows = (f"{60 + r * np.cos(a):.9f},{60 + r * np.sin(a):.9f}" for a, r in zip(angle, radius))
    cvtmesh.file("star.csv", "\n".join(rows))
    cvtmesh.file("flat.npy", np.ones((120, 120), np.float32))
    cvtmesh.call("run", "flat.npy", "-n", 1600, "--iterations", 20, "--domain",
                 "polygon=star.csv", "--boundary-tolerance", 20, "--element-order", 2, "-o", "m.msh")
    found = meshio.read(cvtmesh.path("m.msh"))
    assert jacobians(found.points[:, :2], cells_of(found, "triangle6")) > 0
    cvtmesh.file("p.csv", "0,0\n4,0\n4,4\n0,4\n1,2\n")
    cvtmesh.call("mesh", "p.csv", "-o", "p.vtu", "--element-order", 2)
    found = meshio.read(cvtmesh.path("p.vtu"))
    triangles = cells_of(found, "triangle6")
    ends = found.points[triangles[:, :3]]
    assert np.array_equal(found.points[triangles[:, 3:]], (ends + np.roll(ends, -1, axis=1)) / 2)


def test_outline(cvtmesh):
    """A refined outline has straight edges and its groups; its boundary is a .poly."""
    cvtmesh.file("o.csv", "0,0\n40,0\n40,30\n0,30\n\n10,10\n10,20\n20,20\n20,10\n")
    cvtmesh.call("mesh", "o.csv", "--min-angle", 25, "-o", "m.msh", "-o", "m.poly",
                 "--element-order", 2)
    found = meshio.read(cvtmesh.path("m.msh"))
    assert set(found.field_data) == {"left", "right", "bottom", "top", "hole-1", "region-1"}
    triangles = cells_of(found, "triangle6")
    ends = found.points[triangles[:, :3]]
    assert np.array_equal(found.points[triangles[:, 3:]], (ends + np.roll(ends, -1, axis=1)) / 2)
    assert len(cells_of(found, "line3")) == int(cvtmesh.path("m.poly").read_text().split("\n")[
        1 + int(cvtmesh.path("m.poly").read_text().split()[0])].split()[0])


def test_compressed_vtu(disc):
    disc.call(*run(2500, "--iterations", 2, "-o", "plain.vtu"))
    plain = meshio.read(disc.path("plain.vtu"))
    built = disc.printed("info")
    for kind in ("zlib", "lz4"):
        if not built[kind]:
            disc.refused(*run(3000, "-o", "no.vtu", "--format", kind), code=2, names=[kind])
            continue
        name = f"{kind}.vtu"
        disc.call(*run(2500, "--iterations", 2, "-o", name, "--format", kind))
        assert disc.path(name).stat().st_size < 0.6 * disc.path("plain.vtu").stat().st_size
        both = [disc.call("stats", f).stdout.split(b":", 1)[1] for f in ("plain.vtu", name)]
        assert both[0] == both[1]
        disc.file("four.csv", "0,0\n9,0\n4,7\n5,3\n")
        disc.call("mesh", "four.csv", "-o", "four.vtu", "--format", kind)
        assert b"compressor=" in disc.read("four.vtu")
    if not built["zlib"]:
        return
    found = meshio.read(disc.path("zlib.vtu"))
    assert np.array_equal(found.points, plain.points)
    assert all(np.array_equal(a.data, b.data) for a, b in zip(found.cells, plain.cells))
    assert all(np.array_equal(found.point_data[k], plain.point_data[k]) for k in plain.point_data)
    # The header and every block, by the description of the format.
    text = disc.path("zlib.vtu").read_text()
    assert 'compressor="vtkZLibDataCompressor"' in text
    body = re.search(r'Name="mass"[^>]*>\s*([^<\s]*)', text).group(1)
    count, block, last = struct.unpack("<3Q", base64.b64decode(body[:32]))
    head = -(-8 * (3 + count) // 3) * 4
    sizes = struct.unpack(f"<{count}Q", base64.b64decode(body[:head])[24:])
    data, raw = base64.b64decode(body[head:]), []
    for size in sizes:
        raw.append(zlib.decompress(data[:size]))
        data = data[size:]
    assert not data and [len(r) for r in raw[:-1]] == [block] * (count - 1) and len(raw[-1]) == (
        last or block)
    assert np.array_equal(np.frombuffer(b"".join(raw)), plain.point_data["mass"])
    broken = disc.path("zlib.vtu").read_bytes()
    at = broken.index(b'Name="connectivity"') + 200
    disc.file("broken.vtu", broken[:at] + b"AAAAAAAA" + broken[at + 8:])
    disc.refused("stats", "broken.vtu", code=3, names=["broken.vtu", "compressed"])
    meshio.write(disc.path("theirs.vtu"), plain, "vtu", compression="zlib")
    assert disc.call("stats", "theirs.vtu").stdout.split(b":", 1)[1] == both[0]
