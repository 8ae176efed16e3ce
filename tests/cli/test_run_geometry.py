"""Meshes and energies of `cvtmesh run` and `cvtmesh mesh` recomputed: Delaunay in integers,
energies by clipping and by plain sums."""

import math

import meshio
import numpy as np
import pytest

from conftest import EXAMPLES, clip, in_circle, read_obj

HORSE = EXAMPLES / "horse.png"


def integer_grid(vertices):
    """The doubles of the file times one power of two: exact integers."""
    power = max(c.as_integer_ratio()[1] for v in vertices for c in v)
    return [tuple(n * (power // d) for n, d in (c.as_integer_ratio() for c in v)) for v in vertices]


def orient(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def hull_area2(points):
    """Twice the area of the convex hull."""
    ordered = sorted(set(points))

    def half(sequence):
        chain = []
        for p in sequence:
            while len(chain) > 1 and orient(chain[-2], chain[-1], p) <= 0:
                chain.pop()
            chain.append(p)
        return chain[:-1]

    hull = half(ordered) + half(ordered[::-1])
    return sum(orient(hull[0], hull[k], hull[k + 1]) for k in range(1, len(hull) - 1))


def check_delaunay(obj, count):
    vertices, triangles = read_obj(obj)
    assert len(vertices) == count
    grid = integer_grid(vertices)
    area = 0
    for a, b, c in triangles:
        corners = grid[a], grid[b], grid[c]
        double = orient(*corners)
        assert double > 0
        area += double
        for d, other in enumerate(grid):
            if d not in (a, b, c):
                assert in_circle(*corners, other) <= 0, (a, b, c, d)
    assert area == hull_area2(grid)
    return vertices


def test_mesh_of_a_run_is_delaunay_and_holds_every_site(cvtmesh):
    cvtmesh.call("run", HORSE, "-n", 200, "--iterations", 12, "-o", "a.obj", "-o", "points.npy")
    vertices = np.array(check_delaunay(cvtmesh.path("a.obj"), 200))
    points = cvtmesh.array("points.npy")
    np.testing.assert_allclose(vertices[:, 0], points[:, 0], atol=1e-6)
    np.testing.assert_allclose(vertices[:, 1], 328 - points[:, 1], atol=1e-6)


def test_lattice_with_cocircular_points(cvtmesh):
    lattice = np.array([(x, y) for y in range(9) for x in range(10)], float)
    cvtmesh.file("lattice.npy", lattice)
    cvtmesh.call("mesh", "lattice.npy", "-o", "a.obj")
    check_delaunay(cvtmesh.path("a.obj"), 90)
    assert len(read_obj(cvtmesh.path("a.obj"))[1]) == 2 * 8 * 9


@pytest.mark.parametrize("shift", [(500000, 5000000), (-1000, -7), (0, -48), (-64, 300000), (3e8, -9e8)])
def test_points_far_away_or_below_zero(cvtmesh, shift):
    """They are places with y up. Drawings show the same as for the pixels of a picture, mirrored."""
    near = np.random.default_rng(21).integers(0, 384, (80, 2)) / 8
    near[:2] = (0, 0), (64, 48)
    far = near + shift
    for name, points in (("near", near * (1, -1) + (0, 48)), ("far", far)):
        text = "x,y,class\n" + "".join(f"{x!r},{y!r},{k % 3}\n" for k, (x, y) in enumerate(points.tolist()))
        cvtmesh.file(name + ".csv", text)
        done = cvtmesh.call("mesh", name + ".csv", "-o", name + ".obj", "-o", name + ".svg", "-o",
                            name + ".png", "-o", name + ".npy", "--report", name + ".json")
        assert b"note" not in done.stderr
        assert (b"domain 64 x 48 pixels" in done.stderr) == (name == "near")
        assert (f"places from ({shift[0]:.10g}, {shift[1]:.10g})".encode() in done.stderr) == (name == "far")
        cvtmesh.call("mesh", name + ".csv", "--unit", "width", "-o", name + "-width.obj")
    assert (cvtmesh.array("far.npy") == far).all()
    for suffix in (".svg", ".png", "-width.obj"):
        assert cvtmesh.read("far" + suffix) == cvtmesh.read("near" + suffix)
    (there, triangles), (here, same) = (read_obj(cvtmesh.path(name + ".obj")) for name in ("far", "near"))
    assert triangles == same
    assert (np.array(there) == far).all()
    assert (np.array(here) == near).all()
    reports = [cvtmesh.json(name + ".json") for name in ("far", "near")]
    assert reports[0]["quality"] == reports[1]["quality"]
    stats = [cvtmesh.call("stats", name + ".csv").stdout.split(b"\n", 1)[1]
             for name in ("far", "near")]
    assert stats[0] == stats[1] and b"lies in the domain" in stats[0]


@pytest.mark.parametrize("shift, scale", [((500000.1, 5000000.3), 1.7), ((5e8, 5.4e9), 2e4), ((0, 0), 1e-6), ((8.12, 47.1), 1e-7),
                                          ((-0.3, 0.1), 12)])
def test_places_keep_their_doubles(cvtmesh, shift, scale):
    """In every format, also those of NODE files, which have y up; their drawings are as large as others."""
    points = np.random.default_rng(3).random((60, 2)) * scale + shift
    cvtmesh.file("p.csv", "x,y\n" + "".join(f"{x!r},{y!r}\n" for x, y in points.tolist()))
    cvtmesh.file("p.node", "60 2 0 0\n" + "".join(f"{k} {x!r} {y!r}\n" for k, (x, y) in enumerate(points.tolist())))
    for name in ("p.csv", "p.node"):
        cvtmesh.call("mesh", name, "-o", "m.obj", "-o", "m.npy", "-o", "m.vtu", "-o", "m.svg")
        vertices, triangles = read_obj(cvtmesh.path("m.obj"))
        assert (np.array(vertices) == points).all()
        assert (cvtmesh.array("m.npy") == points).all()
        assert (meshio.read(cvtmesh.path("m.vtu")).points[:, :2] == points).all()
        a, b, c = (points[np.array(triangles)[:, k]] for k in range(3))
        assert (np.cross(b - a, c - a) > 0).all()
        assert b'="1024"' in cvtmesh.read("m.svg")
    cvtmesh.call("stats", "p.csv")


def test_points_too_far_away(cvtmesh):
    for far in "0,0\n2e9,1\n5,5\n", "1e15,0\n1.0000001e15,1\n5,5\n":
        cvtmesh.file("p.csv", far)
        for command in (("mesh", "p.csv", "-o", "a.obj"), ("stats", "p.csv")):
            cvtmesh.refused(*command, code=3, names=["p.csv", "beyond 1e+15", "2e+09 apart"])


def test_coincident_and_collinear(cvtmesh):
    cvtmesh.file("twice.csv", "x,y\n1,1\n4,1\n2,5\n1,1\n")
    done = cvtmesh.call("mesh", "twice.csv", "-o", "a.obj", "--report", "r.json")
    report = cvtmesh.json("r.json")
    assert (report["coincident_sites"], report["triangles"]) == (1, 1)
    assert b"position of another" in done.stderr
    cvtmesh.file("line.csv", "x,y\n1,1\n2,2\n3,3\n9,9\n")
    done = cvtmesh.call("mesh", "line.csv", "-o", "a.obj", "--report", "r.json")
    report = cvtmesh.json("r.json")
    assert report["collinear"] is True
    assert report["triangles"] == 0
    assert report["quality"]["min_angle"] is None
    assert b"line" in done.stderr


def second_moment(polygon, x, y):
    """Integral of |p - (x, y)|^2 over a counterclockwise polygon, edge by edge."""
    total = 0.0
    corners = [(px - x, py - y) for px, py in polygon]
    for k, (ax, ay) in enumerate(corners):
        bx, by = corners[(k + 1) % len(corners)]
        total += (ax * by - bx * ay) * (ax * ax + ax * bx + bx * bx + ay * ay + ay * by + by * by)
    return total / 12


def energy_by_clipping(sites, rho, periodic):
    height, width = rho.shape
    shifts = [(0.0, 0.0)]
    if periodic:
        shifts = [(i * width, j * height) for j in (-1, 0, 1) for i in (-1, 0, 1)]
    images = [(x + sx, y + sy) for sx, sy in shifts for x, y in sites]
    energy = 0.0
    for j in range(height):
        for i in range(width):
            near = min(math.hypot(x - i - 0.5, y - j - 0.5) for x, y in images) + 1.5
            close = [p for p in images if math.hypot(p[0] - i - 0.5, p[1] - j - 0.5) <= near]
            for x, y in close:
                polygon = np.array([(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)], float)
                for ox, oy in close:
                    if (ox, oy) != (x, y):
                        limit = (ox * ox + oy * oy - x * x - y * y) / 2
                        polygon = clip(polygon, (ox - x, oy - y), limit)
                if len(polygon) > 2:
                    energy += float(rho[j, i]) * second_moment(polygon, x, y)
    return energy


def test_ratio_recomputed_by_clipping(cvtmesh):
    rho = np.random.default_rng(3).random((16, 20)).astype(np.float32)
    rho[2:5, 3:9] = 0
    cvtmesh.file("rho.npy", rho)
    bound = 5 / (18 * math.sqrt(3)) * np.sqrt(rho.astype(float)).sum()**2 / 20
    for periodic in (False, True):
        for iterations in (0, 40):
            report = cvtmesh.report("run", "rho.npy", "-n", 20, "--iterations", iterations, "-o",
                                    "points.npy", *(["--periodic"] if periodic else []))
            energy = energy_by_clipping(cvtmesh.array("points.npy").tolist(), rho, periodic)
            assert report["energy"] / energy == pytest.approx(1, abs=1e-9)
            assert report["energy_ratio"] == pytest.approx(energy / bound, abs=1e-6)


def test_pixel_energy_is_the_plain_sum(cvtmesh):
    rho = np.random.default_rng(4).random((30, 40)).astype(np.float32)
    cvtmesh.file("rho.npy", rho)
    report = cvtmesh.report("run", "rho.npy", "-n", 25, "--preset", "paper", "--iterations", 5, "-o",
                            "points.npy")
    y, x = np.mgrid[0:30, 0:40] + 0.5
    squared = np.min([(x - a)**2 + (y - b)**2 for a, b in cvtmesh.array("points.npy")], axis=0)
    assert report["energy_pixel"] / (rho.astype(float) * squared).sum() == pytest.approx(
        1, abs=1e-9)


def test_uniform_square_comes_near_the_bound(cvtmesh):
    cvtmesh.file("one.npy", np.ones((256, 256), np.float32))
    report = cvtmesh.report("run", "one.npy", "-n", 500, "-o", "a.csv")
    assert 1 <= report["energy_ratio"] < 1.04, report["energy_ratio"]
