#!/usr/bin/env python3
"""Delaunay triangulations by cvtmesh, CGAL, Delaunator, geogram and Triangle: processor seconds.

    python3 tests/bench/compare_delaunay.py [--build build] [--delaunator FOLDER] [--points 1000000]
                                      [--geogram SOURCE --geogram-build FOLDER] [--threads 1]

Each triangulates the same points, which lie on a grid of 2^30 steps, so that exact predicates have
one result: random points, clusters, a lattice, a circle and a parabola. Rounds alternate between the
programs, and the least time of each counts. Triangles are compared with those of cvtmesh, corner by
corner ("same"); where four points lie on a circle the diagonals are free, and the numbers of triangles
are compared ("as many"). "none": the program failed, or took more than 20 s.
CGAL is a package (libcgal-dev), Delaunator the header delaunator.hpp in FOLDER
(github.com/delfrrr/delaunator-cpp), Triangle a Python package (pip install triangle), geogram
github.com/BrunoLevy/geogram, built with GEOGRAM_LIB_ONLY and without graphics. What is missing is left
out. --threads is for cvtmesh, the others have one. Needs numpy and a build with the targets cvtmesh_meshes and cvtmesh_base."""

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
GRID = 2**30
MOST_SECONDS = 20  # of a program


def on_grid(points):
    low, span = points.min(axis=0), np.ptp(points, axis=0).max()
    return np.unique(np.round((points - low) * (GRID / span)), axis=0)


def shuffled(points):
    return np.random.default_rng(2).permutation(points)


def make_sets(count):
    rng = np.random.default_rng(1)
    side = int(count**0.5)
    centres = rng.random((100, 2))
    x, y = np.meshgrid(np.arange(side), np.arange(side))
    angle = 2 * np.pi * rng.random(count)
    steps = np.arange(min(count, 2**15))  # so many have exact squares on the grid
    return {
        "random": shuffled(on_grid(rng.random((count, 2)))),
        "clusters of 1e-4": shuffled(
            on_grid(centres[rng.integers(100, size=count)] + 1e-4 * rng.standard_normal((count, 2)))),
        "lattice": shuffled(np.stack([x.ravel(), y.ravel()], axis=1) * float(GRID // side)),
        "circle": shuffled(on_grid(np.stack([np.cos(angle), np.sin(angle)], axis=1))),
        "parabola": shuffled(np.stack([steps, steps**2], axis=1).astype(float)),
    }


def compile_rival(name, flags, folder):
    program = folder / name
    source = str(HERE / "compare_delaunay.cpp")
    command = ["c++", "-O3", "-DNDEBUG", "-std=c++17", f"-I{HERE.parent.parent}", source, "-o", str(program), *flags]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode != 0:
        print(f"{name} is left out: {made.stderr.strip().splitlines()[0]}")
        return None
    return [program]


def run_program(command, folder, threads):
    """The processor seconds that it prints, and the triangles; None if it takes too long."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))

    done = subprocess.run([*command, folder / "points.bin", folder / "corners.bin"], capture_output=True,
                          text=True, env={**os.environ, "OMP_NUM_THREADS": str(threads)}, preexec_fn=limit)
    if done.returncode != 0:
        return None
    return float(done.stdout.split()[-1]), np.fromfile(folder / "corners.bin", dtype=np.int32).reshape(-1, 3)


TRIANGLE = """
import sys, time, triangle
import numpy as np
points = np.fromfile(sys.argv[1]).reshape(-1, 2)
start = time.process_time()
found = triangle.triangulate({"vertices": points}, "Qz")
print(time.process_time() - start)
np.asarray(found["triangles"], dtype=np.int32).tofile(sys.argv[2])
"""


def find_rivals(options, folder):
    libraries = [str(options.build / f"libcvtmesh_{room}.a") for room in ("meshes", "base")]
    rivals = {
        "cvtmesh": compile_rival("cvtmesh", ["-DUSE_CVTMESH", *libraries, "-fopenmp", "-lm"], folder),
        "CGAL": compile_rival("cgal", ["-DUSE_CGAL", "-lgmp", "-lmpfr"], folder),
        "Delaunator": compile_rival("delaunator", ["-DUSE_DELAUNATOR", f"-I{options.delaunator}"], folder),
    }
    if options.geogram:
        built = options.geogram_build
        rivals["geogram"] = compile_rival(
            "geogram", ["-DUSE_GEOGRAM", f"-I{options.geogram}/src/lib", f"-I{built}/src/lib",
                        str(built / "lib/libgeogram.a"), "-fopenmp", "-lpthread", "-ldl", "-lz"], folder)
    try:
        import triangle  # noqa: F401
        rivals["Triangle"] = [sys.executable, "-c", TRIANGLE]
    except ImportError:
        print("Triangle is left out: no module triangle")
    return {name: run for name, run in rivals.items() if run}


def canonical(triangles):
    first = np.argmin(triangles, axis=1)
    turned = np.stack([triangles[np.arange(len(first)), (first + k) % 3] for k in range(3)], axis=1)
    clockwise = turned[:, 1] > turned[:, 2]  # orientation is dropped: some list them clockwise
    turned[clockwise] = turned[clockwise][:, [0, 2, 1]]
    return turned[np.lexsort(turned.T[::-1])]


def verdict(triangles, reference):
    if len(triangles) != len(reference):
        return f"{len(triangles) - len(reference):+d} triangles"
    return "same" if np.array_equal(triangles, reference) else "as many"


def compare(points, rivals, options, folder):
    points.astype(np.float64).tofile(folder / "points.bin")
    seconds, triangles = {}, {}
    for _ in range(options.rounds):
        for name, command in rivals.items():
            result = run_program(command, folder, options.threads)
            if result:
                seconds[name] = min(result[0], seconds.get(name, result[0]))
                triangles[name] = result[1]
    reference = canonical(triangles["cvtmesh"])
    return [
        f"{seconds[name]:.2f}, {verdict(canonical(triangles[name]), reference)}"
        if name in seconds else "none" for name in rivals
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--delaunator", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--points", type=int, default=1000000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--geogram", type=pathlib.Path)
    parser.add_argument("--geogram-build", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rivals = find_rivals(options, folder)
        print("| points | number | " + " | ".join(rivals) + " |")
        print("|---" * (len(rivals) + 2) + "|", flush=True)
        for kind, points in make_sets(options.points).items():
            found = compare(points, rivals, options, folder)
            print(f"| {kind} | {len(points)} | " + " | ".join(found) + " |", flush=True)


if __name__ == "__main__":
    main()
