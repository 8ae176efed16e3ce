"""mesh OUTLINE --min-angle --size, and run --domain with --min-angle --max-area: what the refinement promises,
checked in exact arithmetic on the coordinates of the file, for outlines that are hard to mesh."""

import math
import random
from collections import defaultdict
from fractions import Fraction

import meshio
import numpy as np
import pytest

from conftest import catches_interrupts, check_gmsh, in_circle

DEGREE = math.pi / 180


def circle(x, y, radius, count, turn=0.0):
    angles = [2 * math.pi * (k + turn) / count for k in range(count)]
    return [(x + radius * math.cos(a), y + radius * math.sin(a)) for a in angles]


def blob(seed, count, rough):
    """A polygon that is star-shaped seen from (100, 100), with angles of any size."""
    rng = random.Random(seed)
    radii = [60 + 40 * rough * rng.uniform(-1, 1) for _ in range(count)]
    return [(100 + r * math.cos(2 * math.pi * k / count), 100 + r * math.sin(2 * math.pi * k / count))
            for k, r in enumerate(radii)]


def fan(count):
    """Narrow spikes that meet in one corner, each about three degrees wide."""
    ring = [(100.0, 100.0)]
    for k in range(count):
        for turn, radius in ((0, 90), (0.05, 20)):
            angle = 0.1 * k + turn
            ring.append((100 + radius * math.cos(angle), 100 + radius * math.sin(angle)))
    return ring


def holes(count):
    rng = random.Random(3)
    rings = [[(0, 0), (420, 0), (420, 400), (0, 400)]]
    for k in range(count):
        x, y = 20 + k % 18 * 22 + rng.uniform(-4, 4), 20 + k // 18 * 22 + rng.uniform(-4, 4)
        rings.append(circle(x, y, rng.uniform(1.5, 6.5), 12))
    return rings


def tangent_circles():
    """Two holes that touch the outer circle and each other in corners."""
    outer = circle(0, 0, 64, 64)
    east, west = circle(32, 0, 32, 32), circle(-32, 0, 32, 32)
    east[0], west[16] = outer[0], outer[32]
    east[16] = west[0] = (0.0, 0.0)
    return [outer, east, west]


def touching_rectangles():
    """A chessboard whose black fields are long; most have all corners in common with others."""
    return turned([[(8 * x, y), (8 * x + 8, y), (8 * x + 8, y + 1), (8 * x, y + 1)]
                   for x in range(5) for y in range(5) if (x + y) % 2 == 0], 1)


def turned(rings, angle):
    c, s = math.cos(angle), math.sin(angle)
    return [[(200 + x * c - y * s, 100 + x * s + y * c) for x, y in ring] for ring in rings]


OUTLINES = {
    "square": [[(0, 0), (100, 0), (100, 100), (0, 100)]],
    "one degree": [[(0, 0), (100, 0), (100, 100 * math.tan(DEGREE))]],
    "spike": [[(0, 0), (100, 0), (100, 50), (51, 50), (50, 100), (49, 50), (0, 50)]],
    "notch": [[(0, 0), (100, 0), (100, 60), (60, 60), (58, 2), (56, 60), (0, 60)]],
    "fan": [fan(30)],
    "slit": [[(0, 0), (100, 0), (100, 100), (0, 100)],
             [(20, 50), (80, 50), (80, 50.001), (20, 50.001)]],
    "tangent circles": tangent_circles(),
    "chain": [[(10 * k, 0), (10 * k + 5, 5), (10 * k + 10, 0), (10 * k + 5, -5)]
              for k in range(20)],
    "touching rectangles": touching_rectangles(),
    "100 holes": holes(100),
    "300 holes": holes(300),
    "far away": [[(5e5 + x, -4e6 + y) for x, y in blob(7, 40, 0.5)]],
    **{f"flat blob {seed}": [[(x, 1e-3 * y) for x, y in blob(seed, 10 + 9 * seed, 0.9)]]
       for seed in range(1, 3)},
    **{f"blob {seed}": [blob(seed, 25 + 20 * seed, 0.6)] for seed in range(1, 7)},
}


def write_outline(cvtmesh, rings):
    text = "\n\n".join("\n".join(f"{float(x)!r},{float(y)!r}" for x, y in ring) for ring in rings)
    cvtmesh.file("outline.csv", (text + "\n").encode())


def refined(cvtmesh, rings, *options, code=0):
    """The report of the refinement and the mesh, which is constrained Delaunay."""
    write_outline(cvtmesh, rings)
    report = cvtmesh.report("mesh", "outline.csv", *options, "-o", "x.msh", code=code)
    mesh = Mesh(cvtmesh.path("x.msh"))
    mesh.check_delaunay()
    return report["refinement"], mesh


def orientation(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


class Mesh:
    """Triangles, whose coordinates are rounded to the grid of the predicates: multiples of 1 / scale.
    Corners of the outline have the coordinates of its file, which are no multiples."""
    def __init__(self, path):
        mesh = meshio.read(path)
        self.triangles = mesh.cells_dict["triangle"].tolist()
        self.places = mesh.points[:, :2].tolist()
        mantissa, exponent = math.frexp(max(max(c) - min(c) for c in zip(*self.places)))
        self.scale = Fraction(2) ** (30 - exponent + (mantissa == 0.5))
        self.points = [tuple(round(Fraction(c) * self.scale) for c in p) for p in self.places]
        self.opposite = {}
        for t in self.triangles:
            for k in range(3):
                edge = t[k], t[(k + 1) % 3]
                assert edge not in self.opposite
                self.opposite[edge] = t[(k + 2) % 3]
        self.border = [e for e in self.opposite if e[::-1] not in self.opposite]

    def corners(self, triangle):
        return [self.points[v] for v in triangle]

    def check_delaunay(self, constraints=()):
        p = self.points
        for t in self.triangles:
            assert orientation(*self.corners(t)) > 0
        for (a, b), c in self.opposite.items():
            d = self.opposite.get((b, a))
            if d is not None and a < b and (a, b) not in constraints:
                assert in_circle(p[a], p[b], p[c], p[d]) <= 0

    def angles(self, triangle):
        found = []
        for k in range(3):
            a, b, c = (self.points[triangle[(k + i) % 3]] for i in range(3))
            ux, uy, vx, vy = b[0] - a[0], b[1] - a[1], c[0] - a[0], c[1] - a[1]
            found.append(math.atan2(ux * vy - uy * vx, ux * vx + uy * vy) / DEGREE)
        return found

    def area(self):
        return sum(orientation(*self.corners(t)) for t in self.triangles) / self.scale**2 / 2


def parts_of(mesh, a, b, step):
    """The border edges along the segment from a to b, sorted; every end is within `step` of it."""
    length = math.dist(a, b)
    ux, uy = (b[0] - a[0]) / length, (b[1] - a[1]) / length
    parts = []
    for edge in mesh.border:
        ways = []
        for v in edge:
            dx, dy = mesh.places[v][0] - a[0], mesh.places[v][1] - a[1]
            if abs(dx * uy - dy * ux) > step:
                break
            ways.append(dx * ux + dy * uy)
        if len(ways) == 2 and min(ways) > -step and max(ways) < length + step:
            parts.append((min(ways), max(ways), edge))
    return sorted(parts)


def check_boundary(mesh, rings):
    span = max(max(c) - min(c) for c in zip(*(p for ring in rings for p in ring)))
    step = 2.0 ** math.ceil(math.log2(span)) / 2**30 * 1.5
    used = set()
    for ring in rings:
        for a, b in zip(ring, ring[1:] + ring[:1]):
            parts = parts_of(mesh, a, b, step)
            ends = [0.0] + [end for _, end, _ in parts]
            assert parts and abs(ends[-1] - math.dist(a, b)) <= 2 * step
            for (begin, _, edge), end in zip(parts, ends):
                assert abs(begin - end) <= 2 * step
                used.add(edge)
    assert used == set(mesh.border)
    perimeter = sum(math.dist(a, b) for r in rings for a, b in zip(r, r[1:] + r[:1]))
    area = sum(abs(signed_area(ring)) * (1 if k == 0 else -1) for k, ring in enumerate(rings))
    if all(len(ring) > 4 or len(rings) < 3 for ring in rings):  # of the chain all rings are outer
        assert abs(mesh.area() - area) <= 2 * step * perimeter


def signed_area(ring):
    x0, y0 = ring[0]
    return sum((p[0] - x0) * (q[1] - y0) - (q[0] - x0) * (p[1] - y0)
               for p, q in zip(ring, ring[1:] + ring[:1])) / 2


def side_of(area):
    """Of an equilateral triangle: --size, which with --min-angle bounds areas."""
    return math.sqrt(4 * area / math.sqrt(3))


def small_corners(rings, below):
    """Corners at which two segments meet at an angle below this one, in any direction."""
    directions = defaultdict(list)
    for ring in rings:
        for a, b in zip(ring, ring[1:] + ring[:1]):
            directions[a].append(math.atan2(b[1] - a[1], b[0] - a[0]))
            directions[b].append(math.atan2(a[1] - b[1], a[0] - b[0]))
    found = []
    for corner, ways in directions.items():
        ways = sorted(w / DEGREE for w in ways)
        gaps = [(q - p) % 360 for p, q in zip(ways, ways[1:] + [ways[0] + 360])]
        if min(gaps) < below:
            found.append(corner)
    return found


@pytest.mark.parametrize(
    "name, angle, area",
    [(name, *bounds) for bounds in ((30, None), (30, 40), (40, None)) for name in OUTLINES
     if name != "300 holes" or bounds == (30, None)])
def test_promises(cvtmesh, name, angle, area):
    rings = OUTLINES[name]
    caps = ("--size", side_of(area)) if area else ()
    found, mesh = refined(cvtmesh, rings, "--min-angle", angle, *caps)
    check_boundary(mesh, rings)
    smallest = [min(mesh.angles(t)) for t in mesh.triangles]
    assert min(smallest) == pytest.approx(found["min_angle"], abs=1e-9)
    assert sum(a < angle for a in smallest) == found["below"]
    assert found["below_free"] == found["oversized"] == 0 and found["bound"] >= angle
    corners = small_corners(rings, 2 * angle)
    if not corners:
        assert found["below"] == 0
    listed = [(c["x"], c["y"]) for c in found["small_corners"]]
    for place in listed:
        assert min(math.dist(place, c) for c in corners) <= 1e-6 * (1 + max(map(abs, place)))
    assert sum(c["triangles"] for c in found["small_corners"]) == found["below"]
    if area:
        areas = [orientation(*mesh.corners(t)) for t in mesh.triangles]
        assert max(areas) <= 2 * area * mesh.scale**2


@pytest.mark.parametrize("seed", range(4))
def test_circles_that_touch_but_for_rounding(cvtmesh, seed):
    """Circles on the side of a box, and circles on circles: their corners miss the side, and each
    other, by rounding errors of any sign."""
    rng = random.Random(seed)
    rings = [[(0, 0), (400, 0), (400, 90), (0, 90)]]
    for k in range(6):
        radius, x = rng.uniform(5, 25), 40 + 60 * k
        rings.append(circle(x, radius, radius, 24, -6))
        rings.append(circle(x, 90 - radius * 0.6, radius * 0.6, 16, 4))
    chain = [circle(-50, 20, 30, 32), circle(-100, 20, 20, 20), circle(-160, 20, 40, 16)]
    rings = turned(rings + chain, rng.uniform(0, 6))
    found, mesh = refined(cvtmesh, rings, "--min-angle", 30)
    areas = [abs(signed_area(ring)) for ring in rings]
    expected = areas[0] - sum(areas[1:13]) + sum(areas[13:])
    assert mesh.area() == pytest.approx(expected, rel=1e-8)
    assert found["below_free"] == 0
    assert all(corner["angle"] > 1 for corner in found["small_corners"])


def outline_with_gap(steps, seed):
    """A polygon in a box, so many grid steps from its side."""
    rng = random.Random(seed)
    gap = steps * 1024 / 2**30
    radius, count = rng.uniform(50, 150), rng.randrange(5, 20)
    near = [[(300 - 20 * gap, gap), (300 + 20 * gap, gap), (400, 200), (200, 200)],
            [(300, gap), (400, 150), (300, 300), (200, 150)],
            circle(300, radius + gap, radius, count, -1)][seed % 3]
    return turned([[(0, 0), (600, 0), (600, 600), (0, 600)], near], rng.uniform(0, 6))


@pytest.mark.parametrize("steps", [3, 4, 5, 8, 40])
def test_gaps_of_few_grid_steps(cvtmesh, steps):
    """Triangles below the bound in gaps that the grid cannot resolve are listed, all and no others.
    The bound holds from five steps on."""
    total = 0
    for seed in range(6):
        found, mesh = refined(cvtmesh, outline_with_gap(steps, seed), "--min-angle", 30)
        sharp = [t for t in mesh.triangles if min(mesh.angles(t)) < 30]
        centres = [[sum(mesh.places[v][k] for v in t) / 3 for k in (0, 1)] for t in sharp]
        listed = [[n["x"], n["y"]] for n in found["narrow_triangles"]]
        assert found["below"] == len(sharp) == len(listed) and found["below_free"] == 0
        for one, others in [(c, listed) for c in centres] + [(c, centres) for c in listed]:
            assert min(math.dist(one, other) for other in others) < 32e-6  # diagonals of circles
        assert all(n["angle"] < 30 and n["distance"] < 2e-4 for n in found["narrow_triangles"])
        total += len(listed)
    assert (total > 0) == (steps <= 4)


def test_a_bent_slit_of_one_grid_step(cvtmesh):
    """New vertices on its sides, which are next to points of the grid, do not get across it."""
    step, bend = 2.0**-23, (63.5, 42.323323517790485)
    below = [(36, 21), bend, (91, 64)]
    refined(cvtmesh, [[(0, 0), (128, 0), (128, 128), (0, 128)],
                      below + [(x, y + step) for x, y in below[::-1]]], "--min-angle", 30, "--size", side_of(20))


@pytest.mark.parametrize("seed", range(4, 8))
def test_corners_that_are_nearly_equal(cvtmesh, seed):
    """Some corners of an ellipse have another one within few grid steps, or in the same place."""
    rng = random.Random(seed)
    turns = [2 * math.pi * rng.random() for _ in range(rng.randrange(10, 40))]
    turns += [turn + 10**rng.uniform(-9, -8) for turn in rng.sample(turns, 5)]
    ring = [(math.cos(turn), 0.7 * math.sin(turn)) for turn in sorted(turns)]
    found, mesh = refined(cvtmesh, [ring], "--min-angle", 30)
    assert mesh.area() == pytest.approx(abs(signed_area(ring)), rel=1e-8)
    assert found["below_free"] == 0 and len(found["narrow_triangles"]) < 6


def spikes(rng):
    ring = []
    for k in range(rng.randrange(4, 16)):
        turn = 22.5 * DEGREE * k
        for way, radius in ((-0.004, 50), (0, rng.uniform(60, 200)), (0.004, 50)):
            ring.append((radius * math.cos(turn + way), radius * math.sin(turn + way)))
    return [[(0, -10)] + ring]


def narrow_corner(rng):
    turn, length = rng.uniform(0.3, 1.5) * DEGREE, rng.uniform(20, 290)
    return [[(0, 0), (300, 0), (length * math.cos(turn), length * math.sin(turn))]]


def comb(rng):
    """Slits of any width between teeth."""
    count, gap = rng.randrange(3, 15), 10**rng.uniform(-3, -0.5)
    ring = [(0, 0), (10 * count, 0)]
    for k in range(count, 0, -1):
        ring += [(10 * k - gap, rng.uniform(50, 100)), (10 * k - 10 + gap, rng.uniform(20, 100)),
                 (10 * k - 10, rng.uniform(2, 18))]
    return [ring]


def polygons_in_a_box(rng):
    rings = [[(0, 0), (80, 0), (80, 80), (0, 80)]]
    for k in range(16):
        x, y = 10 + k % 4 * 20 + rng.uniform(-1, 1), 10 + k // 4 * 20 + rng.uniform(-1, 1)
        rings.append(circle(x, y, rng.uniform(1, 8.9), rng.randrange(5, 20), rng.random()))
    return rings


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", [spikes, narrow_corner, comb, polygons_in_a_box])
def test_random_outlines(cvtmesh, kind, seed):
    rng = random.Random(seed)
    angle, rings = rng.choice([25, 30, 33]), turned(kind(rng), rng.uniform(0, 6))
    found, mesh = refined(cvtmesh, rings, "--min-angle", angle)
    check_boundary(mesh, rings)
    sharp = sum(min(mesh.angles(t)) < angle for t in mesh.triangles)
    assert sharp == found["below"] == sum(c["triangles"] for c in found["small_corners"])
    corners = small_corners(rings, 2 * angle)
    for place in found["small_corners"]:
        assert min(math.dist((place["x"], place["y"]), c) for c in corners) < 1e-5


@pytest.mark.parametrize("degrees, area", [(1, 0.4), (0.74, 0.02), (3, 2)])
def test_areas_in_narrow_corners(cvtmesh, degrees, area):
    """Both sides of a small angle are divided at the same distances, for areas too."""
    turn = degrees * DEGREE
    rings = turned([[(0, 0), (90, 0), (50 * math.cos(turn), 50 * math.sin(turn))]], 1)
    found, _ = refined(cvtmesh, rings, "--min-angle", 30, "--size", side_of(area))
    assert found["below_free"] == found["oversized"] == 0
    assert found["min_angle"] >= 0.7


def test_gmsh_reads_the_mesh(cvtmesh):
    write_outline(cvtmesh, OUTLINES["100 holes"])
    cvtmesh.call("mesh", "outline.csv", "--min-angle", 30, "-o", "x.msh")
    check_gmsh(cvtmesh.path("x.msh"))


@pytest.mark.parametrize("angle", [25, 30])
def test_angles_have_headroom(cvtmesh, angle):
    """Where angles of the input allow: smallest angles are larger than the bound."""
    for name in "100 holes", "notch", "blob 2":
        write_outline(cvtmesh, OUTLINES[name])
        found = cvtmesh.report("mesh", "outline.csv", "--min-angle", angle, "-o", "x.msh")
        assert found["refinement"]["bound"] == angle + 1.5
        assert found["refinement"]["min_angle"] >= min(angle + 1.5, 30.2)


def test_time_limit_ends_the_refinement(cvtmesh):
    """What is there is written: the triangulation of the outline, with its edges."""
    found, mesh = refined(cvtmesh, OUTLINES["blob 5"], "--min-angle", 30, "--time-limit", 1e-9, code=4)
    check_boundary(mesh, OUTLINES["blob 5"])
    assert found["stopped"] and found["below_free"] > 0 and found["added_for_angles"] == 0


def test_interrupt_ends_the_refinement(cvtmesh):
    write_outline(cvtmesh, OUTLINES["100 holes"])
    cvtmesh.interrupted("mesh", "outline.csv", "--min-angle", 30, "--size", side_of(0.005), "-o",
                        "x.off", "--report", "r.json", when=catches_interrupts)
    report = cvtmesh.json("r.json")
    assert report["refinement"]["stopped"] and report["refinement"]["oversized"] > 0
    assert len(meshio.read(cvtmesh.path("x.off")).cells_dict["triangle"]) == report["triangles"]


def test_areas_of_a_square(cvtmesh):
    write_outline(cvtmesh, OUTLINES["square"])
    found = cvtmesh.report("mesh", "outline.csv", "--min-angle", 30, "--size", side_of(7), "-o", "x.msh")
    assert found["refinement"]["min_angle"] >= 30
    assert found["quality_all"]["max_area"] <= 7
    assert 10000 / 7 <= found["triangles"] < 3 * 10000 / 7


@pytest.mark.parametrize("size", ["4.02", "4.02px", "8.04um", "8.04µm", "8.04e-3mm", "1=8.04um"])
def test_sizes_with_units(cvtmesh, size):
    """A unit of the outline is 2 um long; coordinates of the file are in um then."""
    write_outline(cvtmesh, OUTLINES["square"])
    cvtmesh.call("mesh", "outline.csv", "--min-angle", 30, "--size", "4.02", "-o", "plain.msh")
    found = cvtmesh.report("mesh", "outline.csv", "--min-angle", 30, "--size", size, "--pixel-size",
                           "2um", "-o", "x.msh")
    plain, world = Mesh(cvtmesh.path("plain.msh")), Mesh(cvtmesh.path("x.msh"))
    assert found["quality_all"]["max_area"] <= 7 and world.triangles == plain.triangles
    assert world.area() == pytest.approx(4 * plain.area())


def test_areas_of_a_picture_with_units(cvtmesh):
    cvtmesh.file("flat.npy", np.ones((40, 60), np.float32))
    report = cvtmesh.report("run", "flat.npy", "-n", 100, "--domain", "frame", "--pixel-size",
                            "0.5mm", "--max-area", "0.02cm2", "-o", "x.msh")
    areas = [orientation(*corners) for mesh in [Mesh(cvtmesh.path("x.msh"))]
             for corners in map(mesh.corners, mesh.triangles)]
    scale = Mesh(cvtmesh.path("x.msh")).scale
    assert 1 < max(areas) / 2 / scale**2 <= 2 and report["refinement"]["oversized"] == 0


def labels_with_corners():
    """A disc, a wedge of ten degrees and a square beside each other; 0 is outside."""
    y, x = np.mgrid[0:120, 0:160] + 0.5
    labels = np.zeros((120, 160), np.int32)
    labels[10:110, 10:80] = 1
    labels[10:110, 80:150] = 2
    labels[np.hypot(x - 80, y - 60) < 22] = 3
    labels[(y - 60 > 0) & (y - 60 < (x - 104) * math.tan(10 * DEGREE)) & (x < 145)] = 4
    return labels


@pytest.mark.parametrize("options, angle", [((), 26), (("--min-angle", 33), 33),
                                            (("--boundary", "sliding"), 26)])
def test_regions(cvtmesh, options, angle):
    """Of a picture: the bound, caps by region, and edges that stay between the regions."""
    cvtmesh.file("labels.npy", labels_with_corners())
    cvtmesh.file("flat.npy", np.ones((120, 160), np.float32))
    report = cvtmesh.report("run", "flat.npy", "-n", 500, "--domain", "labels=labels.npy",
                            "--max-area", 60, "--max-area", "3=6", *options, "-o",
                            "x.msh")
    mesh, found = Mesh(cvtmesh.path("x.msh")), report["refinement"]
    data = meshio.read(cvtmesh.path("x.msh"))
    region = data.cell_data_dict["gmsh:physical"]["triangle"].tolist()
    at = {edge: r for t, r in zip(mesh.triangles, region)
          for edge in zip(t, t[1:] + t[:1])}
    interfaces = {e for e in at if at.get(e[::-1], 0) != at[e]}
    mesh.check_delaunay(interfaces)
    lines = {tuple(sorted(edge)) for edge in data.cells_dict["line"].tolist()}
    assert lines == {tuple(sorted(edge)) for edge in interfaces}
    smallest = [min(mesh.angles(t)) for t in mesh.triangles]
    assert found["below_free"] == found["oversized"] == 0
    assert found["min_angle_asked"] >= angle
    assert sum(a < found["min_angle_asked"] for a in smallest) == found["below"]
    wedge = [c for c in found["small_corners"] if math.dist((c["x"], c["y"]), (104, 60)) < 3]
    assert found["below"] == sum(c["triangles"] for c in found["small_corners"])
    assert len(found["small_corners"]) == len(wedge)
    for triangle, r in zip(mesh.triangles, region):
        cap = 6 if r == 3 else 60
        assert orientation(*mesh.corners(triangle)) <= 2 * cap * mesh.scale**2
    assert sorted(set(region)) == [1, 2, 3, 4]
    assert report["sites"] == len(mesh.points)
    assert cvtmesh.json("report.json")["domain"]["hausdorff"] < 0.8


def test_same_bits(cvtmesh):
    write_outline(cvtmesh, OUTLINES["blob 3"])
    for name in "a.msh", "b.msh":
        cvtmesh.call("mesh", "outline.csv", "--min-angle", 32, "-o", name)
    assert cvtmesh.path("a.msh").read_bytes() == cvtmesh.path("b.msh").read_bytes()


def test_svg_has_y_down(cvtmesh):
    cvtmesh.file("o.svg", b'<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0H10V10L0 30Z"/></svg>')
    cvtmesh.call("mesh", "o.svg", "--min-angle", 20, "-o", "x.msh")
    corners = np.array([[0, 30], [10, 30], [10, 20], [0, 0]])
    points = meshio.read(cvtmesh.path("x.msh")).points[:, :2]
    assert all(np.abs(points - corner).max(axis=1).min() < 1e-6 for corner in corners)


@pytest.mark.parametrize("shape", ['circle cx="1" cy="1" r=".01"', 'path d="M0 0C0 .02 .02 .02 .02 0Z"'])
def test_small_curves_of_svg_stay_round(cvtmesh, shape):
    """A circle, and a cubic whose area is 0.6 of that of the square of its control points."""
    cvtmesh.file("o.svg", f"<svg><{shape}/></svg>")
    cvtmesh.call("mesh", "o.svg", "--min-angle", 20, "-o", "x.msh")
    area = math.pi * 1e-4 if "circle" in shape else 0.6 * 4e-4
    assert Mesh(cvtmesh.path("x.msh")).area() == pytest.approx(area, rel=0.02)


@pytest.mark.parametrize("area", [[0], ["x=3"], ["0=3"], ["-1"], ["4mm2"], ["4mm", "--pixel-size", "1mm"],
                                  ["4mm2", "--pixel-size", "1"]])
def test_areas_that_are_refused(cvtmesh, area):
    cvtmesh.file("flat.npy", np.ones((40, 60), np.float32))
    cvtmesh.refused("run", "flat.npy", "-n", 100, "--domain", "frame", "--max-area", *area, "-o", "x.msh",
                    code=2, names=["--max-area"])


@pytest.mark.parametrize("arguments", [("--min-angle", 41), ("--max-area", 7), ("--size-from", "size=h.npy"),
                                       ("--min-angle", 30, "--size", 0), ("--min-angle", 30, "--size", "4mm"),
                                       ("--min-angle", 30, "--size", "4mm", "--pixel-size", "1"),
                                       ("--min-angle", 30, "--points", 40), ("--min-angle", 30, "--order", "tsp"),
                                       ("--min-angle", 30, "--device", "cuda:0")])
def test_usage(cvtmesh, arguments):
    write_outline(cvtmesh, OUTLINES["square"])
    cvtmesh.refused("mesh", "outline.csv", *arguments, "-o", "x.msh", code=2)


@pytest.mark.parametrize("rings, option, names", [
    ([[(0, 0), (10, 10), (10, 0), (0, 10)]], ("--min-angle", 30), ("outline.csv", "meets itself")),
    (OUTLINES["square"], ("--min-angle", 30, "--size", side_of(1e-6)), ("outline.csv", "more than")),
    (OUTLINES["square"], ("--min-angle", 30, "--size", "left=4"), ("outline.csv", "left")),
])
def test_bad_outlines(cvtmesh, rings, option, names):
    write_outline(cvtmesh, rings)
    cvtmesh.refused("mesh", "outline.csv", *option, "-o", "x.msh", code=3, names=names)
