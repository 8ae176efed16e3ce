#!/usr/bin/env python3
"""Triangles, smallest angles, lengths of edges and processor time of `cvtmesh mesh`, Triangle, CDT,
gmsh and JIGSAW.

    python3 tests/bench/compare_meshers.py [--cvtmesh build/cvtmesh] [--jigsaw jigsaw] [--cdt FOLDER]

On ten outlines: at a bound of 30 degrees (cvtmesh, Triangle and CDT), at that bound with a largest
area, that of an equilateral triangle whose side is 1/40 of the outline, and at sizes of 1/40 (cvtmesh,
gmsh's Frontal-Delaunay, JIGSAW); cvtmesh once more with the number of gmsh's vertices. The columns
5 % and 95 % are percentiles, over the edges inside, of their length divided by the wanted one: the
given size or, where parts of the boundary are shorter, their length and 0.13 times the distance from
them. Triangle and gmsh are Python packages (pip install triangle gmsh); JIGSAW is a program
(github.com/dengwirda/jigsaw); CDT is a folder of headers (github.com/artem-ogre/CDT, with its
refinement), compiled here. What is missing is left out. Times are those of the programs cvtmesh and
JIGSAW, and of the calls of the others. Needs numpy."""

import argparse
import importlib.util
import math
import pathlib
import random
import resource
import subprocess
import tempfile
import time

import numpy as np


def circle(x, y, radius, count):
    angles = [2 * math.pi * k / count for k in range(count)]
    return [(x + radius * math.cos(a), y + radius * math.sin(a)) for a in angles]


def airfoil(count):
    """NACA 0012, five times as thick, of 100 units."""
    upper = []
    for k in range(count + 1):
        x = 0.5 * (1 - math.cos(math.pi * k / count))
        y = 0.6 * (0.2969 * math.sqrt(x) - x * (0.126 + x * (0.3516 - x * (0.2843 - 0.1036 * x))))
        upper.append((x, y))
    ring = upper + [(x, -y) for x, y in upper[-2:0:-1]]
    return [(150 + 100 * x, 100 + 100 * y) for x, y in ring]


def koch(depth):
    points = [0, 50 + 50j * math.sqrt(3), 100]
    for _ in range(depth):
        finer = []
        for a, b in zip(points, points[1:] + points[:1]):
            third = (b - a) / 3
            finer += [a, a + third, a + third * (1.5 + 0.5j * math.sqrt(3)), a + 2 * third]
        points = finer
    return [(complex(p).real, complex(p).imag) for p in points]


def gear():
    return [(100 + r * math.cos(math.pi * k / 12 + turn), 100 + r * math.sin(math.pi * k / 12 + turn))
            for k in range(24) for turn, r in ((0, 80), (0.06, 100), (0.16, 100), (0.22, 80))]


def random_star(seed, count):
    rng = random.Random(seed)
    radii = [60 + 24 * rng.uniform(-1, 1) for _ in range(count)]
    return [(100 + r * math.cos(2 * math.pi * k / count), 100 + r * math.sin(2 * math.pi * k / count))
            for k, r in enumerate(radii)]


def sieve(rows, columns):
    rng = random.Random(3)
    width, height = 22 * columns + 20, 22 * rows + 20
    rings = [[(0, 0), (width, 0), (width, height), (0, height)]]
    for k in range(rows * columns):
        x, y = 20 + k % columns * 22 + rng.uniform(-4, 4), 20 + k // columns * 22 + rng.uniform(-4, 4)
        rings.append(circle(x, y, rng.uniform(1.5, 6.5), 12))
    return rings


def spikes():
    return [(100 + r * math.cos(math.pi * k / 6 + turn), 100 + r * math.sin(math.pi * k / 6 + turn))
            for k in range(12) for turn, r in ((-0.08, 30), (0, 100), (0.08, 30))]


def channels():
    holes = [[(10 + 20 * k, 3 + k % 3), (28 + 20 * k, 3), (28 + 20 * k, 97), (10 + 20 * k, 97 - k % 2)]
             for k in range(9)]
    return [[(0, 0), (200, 0), (200, 100), (0, 100)], *holes]


def spline():
    turns = [2 * math.pi * k / 400 for k in range(400)]
    radii = [100 + 25 * math.sin(3 * t) + 12 * math.cos(7 * t + 1) for t in turns]
    return [[(200 + r * math.cos(t), 200 + r * math.sin(t)) for t, r in zip(turns, radii)],
            [(200 + 30 * math.cos(t) + 8 * math.cos(3 * t), 200 + 30 * math.sin(t)) for t in turns]]


def coast(count):
    """An island in metres of UTM."""
    rng = random.Random(5)
    waves = [(k, rng.gauss(0, 1) * 1800 / k ** 1.3, rng.uniform(0, 6.28)) for k in range(2, 60)]
    turns = [2 * math.pi * k / count for k in range(count)]
    radii = [500 + abs(3000 + sum(a * math.cos(k * t + b) for k, a, b in waves)) for t in turns]
    return [(512345.25 + r * math.cos(t), 5412345.5 + r * math.sin(t)) for t, r in zip(turns, radii)]


OUTLINES = {
    "plate with a hole": [[(0, 0), (300, 0), (300, 200), (0, 200)], circle(150, 100, 30, 48)],
    "box around an airfoil": [[(0, 0), (400, 0), (400, 200), (0, 200)], airfoil(40)],
    "gear": [gear(), circle(100, 100, 30, 32)],
    "Koch's curve": [koch(3)],
    "random star": [random_star(3, 85)],
    "306 holes": sieve(17, 18),
    "spikes": [spikes()],
    "channels": channels(),
    "spline": spline(),
    "coast, UTM": [coast(700)],
}


def smallest_angles(points, triangles):
    angles = []
    for k in range(3):
        u = points[triangles[:, (k + 1) % 3]] - points[triangles[:, k]]
        v = points[triangles[:, (k + 2) % 3]] - points[triangles[:, k]]
        cross = np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0])
        angles.append(np.degrees(np.arctan2(cross, (u * v).sum(axis=1))))
    return np.min(angles, axis=0)


def relative_lengths(points, triangles, size):
    """5th and 95th percentile over the edges inside."""
    ends = np.sort(np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)]), axis=1)
    ends, sides = np.unique(ends, axis=0, return_counts=True)
    a, b = points[ends[:, 0]], points[ends[:, 1]]
    length, middle = np.hypot(*(a - b).T), (a + b) / 2
    on_boundary, wanted = sides == 1, np.full(len(ends), size)
    for k in range(0, len(ends), 1000):
        way = middle[k:k + 1000, None] - middle[on_boundary]
        grown = length[on_boundary] + 0.13 * np.hypot(way[..., 0], way[..., 1])
        wanted[k:k + 1000] = np.minimum(size, grown.min(axis=1))
    return np.percentile((length / wanted)[~on_boundary], [5, 95])


def timed(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def segments_of(rings):
    points, segments = [], []
    for ring in rings:
        first, n = len(points), len(ring)
        points += ring
        segments += [(first + k, first + (k + 1) % n) for k in range(n)]
    return points, segments


def by_cvtmesh(program, folder, rings, *options):
    text = "\n\n".join("\n".join(f"{float(x)!r},{float(y)!r}" for x, y in ring) for ring in rings)
    (folder / "o.csv").write_text(text + "\n")
    seconds = timed(program, "mesh", folder / "o.csv", "-o", folder / "o.node", "-o", folder / "o.ele",
                    "-q", *map(str, options))
    points = np.loadtxt(folder / "o.node", skiprows=1)[:, 1:3]
    return points, np.loadtxt(folder / "o.ele", skiprows=1, dtype=int)[:, 1:4] - 1, seconds


def by_triangle(rings, switches):
    import triangle
    points, segments = segments_of(rings)
    given = {"vertices": np.array(points), "segments": np.array(segments)}
    if len(rings) > 1:
        given["holes"] = np.array([np.mean(ring, axis=0) for ring in rings[1:]])
    start = time.process_time()
    made = triangle.triangulate(given, switches)
    return made["vertices"], made["triangles"], time.process_time() - start


def by_cdt(program, rings, degrees):
    points, segments = segments_of(rings)
    lines = [f"{len(points)} {len(segments)}", *(f"{float(x)!r} {float(y)!r}" for x, y in points),
             *(f"{a} {b}" for a, b in segments)]
    made = subprocess.run([program, str(degrees)], input="\n".join(lines), text=True, check=True,
                          capture_output=True, timeout=60).stdout.split()
    count, triangles = int(made[1]), int(made[2])
    places = np.array(made[3:3 + 2 * count], float).reshape(-1, 2)
    return (places, np.array(made[3 + 2 * count:], int).reshape(triangles, 3), float(made[0]))


def compile_cdt(headers, folder):
    source = pathlib.Path(__file__).parent / "compare_cdt.cpp"
    subprocess.run(["g++", "-O2", "-std=c++17", f"-I{headers}", source, "-o", folder / "cdt"], check=True)
    return folder / "cdt"


def by_gmsh(rings, size):
    import gmsh
    gmsh.initialize()
    gmsh.option.setNumber("General.Terminal", 0)
    gmsh.option.setNumber("Mesh.Algorithm", 6)
    loops = []
    for ring in rings:
        corners = [gmsh.model.geo.addPoint(x, y, 0, size) for x, y in ring]
        lines = [gmsh.model.geo.addLine(a, b) for a, b in zip(corners, corners[1:] + corners[:1])]
        loops.append(gmsh.model.geo.addCurveLoop(lines))
    gmsh.model.geo.addPlaneSurface(loops)
    gmsh.model.geo.synchronize()
    start = time.process_time()
    gmsh.model.mesh.generate(2)
    seconds = time.process_time() - start
    tags, places, _ = gmsh.model.mesh.getNodes()
    number = np.zeros(int(tags.max()) + 1, int)
    number[tags.astype(int)] = np.arange(len(tags))
    triangles = number[gmsh.model.mesh.getElementsByType(2)[1].astype(int).reshape(-1, 3)]
    gmsh.finalize()
    return places.reshape(-1, 3)[:, :2], triangles, seconds


def by_jigsaw(program, folder, rings, size):
    points, segments = segments_of(rings)
    lines = ["MSHID=3;EUCLIDEAN-MESH", "NDIMS=2", f"POINT={len(points)}"]
    lines += [f"{float(x)!r};{float(y)!r};0" for x, y in points] + [f"EDGE2={len(segments)}"]
    (folder / "geom.msh").write_text("\n".join(lines + [f"{a};{b};0" for a, b in segments]) + "\n")
    (folder / "o.jig").write_text(
        f"GEOM_FILE={folder}/geom.msh\nMESH_FILE={folder}/mesh.msh\nMESH_DIMS=2\nGEOM_FEAT=true\n"
        f"HFUN_SCAL=absolute\nHFUN_HMAX={size}\nMESH_TOP1=true\nMESH_TOP2=true\nVERBOSITY=0\n")
    seconds = timed(program, folder / "o.jig")
    rows = (folder / "mesh.msh").read_text().split("\n")
    parts = {}
    for k, row in enumerate(rows):
        name, _, count = row.partition("=")
        if name in ("POINT", "TRIA3"):
            parts[name] = np.array([line.split(";") for line in rows[k + 1:k + 1 + int(count)]])
    return parts["POINT"][:, :2].astype(float), parts["TRIA3"][:, :3].astype(int), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cvtmesh", default="build/cvtmesh")
    parser.add_argument("--jigsaw")
    parser.add_argument("--cdt", help="the folder of CDT.h")
    given = parser.parse_args()
    print("| outline | mesher | triangles | least | 1 % | mean | below 30 | 5 % | 95 % | seconds |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, rings in OUTLINES.items():
        size = float(np.ptp(np.concatenate(rings), axis=0).max()) / 40
        area = math.sqrt(3) / 4 * size * size
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            own = given.cvtmesh, folder, rings
            rows = [("cvtmesh", by_cvtmesh, (*own, "--min-angle", 30)),
                    ("cvtmesh, area", by_cvtmesh, (*own, "--min-angle", 30, "--size", repr(size))),
                    ("cvtmesh, size", by_cvtmesh, (*own, "--size", repr(size)))]
            if importlib.util.find_spec("triangle"):
                rows += [("Triangle pq30", by_triangle, (rings, "pq30")),
                         ("Triangle, area", by_triangle, (rings, f"pq30a{area:.9f}"))]
            if given.cdt:
                rows.append(("CDT", by_cdt, (compile_cdt(given.cdt, folder), rings, 30)))
            if importlib.util.find_spec("gmsh"):
                rows.append(("gmsh, size", by_gmsh, (rings, size)))
                count = len(np.unique(by_gmsh(rings, size)[1]))
                rows.append(("cvtmesh, as many", by_cvtmesh, (*own, "-n", count)))
            if given.jigsaw:
                rows.append(("JIGSAW, size", by_jigsaw, (given.jigsaw, folder, rings, size)))
            for mesher, function, arguments in rows:
                try:
                    points, triangles, seconds = function(*arguments)
                except subprocess.SubprocessError as error:
                    print(f"| {name} | {mesher} | {type(error).__name__} |", flush=True)
                    continue
                angles = smallest_angles(points, triangles)
                lengths = " | "
                if mesher.endswith(", size"):
                    lengths = "{:.2f} | {:.2f}".format(*relative_lengths(points, triangles, size))
                print(f"| {name} | {mesher} | {len(triangles)} | {angles.min():.2f} |"
                      f" {np.percentile(angles, 1):.1f} | {angles.mean():.1f} |"
                      f" {int((angles < 30).sum())} | {lengths} | {seconds:.3f} |", flush=True)


if __name__ == "__main__":
    main()
