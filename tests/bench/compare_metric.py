#!/usr/bin/env python3
"""Interpolation errors on meshes of `cvtmesh mesh --metric` and of Mmg, for the same metric.

    python3 tests/bench/compare_metric.py [--cvtmesh build/cvtmesh] [--mmg2d mmg2d_O3]

Three functions with layers on the unit square, 1000 and 4000 vertices. The metric is the one that is
optimal in L2, of exact Hessians at 257 x 257 points; even: with equal eigenvalues (ratio 1). Mmg
starts from the mesh of these points and gets the metric scaled until its number of vertices is
within 1 %. mmg2d is in the Python package mmgpy. Times are processor times of the programs. Needs
numpy, meshio and matplotlib."""

import argparse
import os
import pathlib
import subprocess
import tempfile

import meshio
import numpy as np
from matplotlib.tri import LinearTriInterpolator, Triangulation

FUNCTIONS = {
    "ring": lambda x, y: np.tanh(60 * (np.hypot(x - 0.5, y - 0.5) - 0.3)),
    "wave": lambda x, y: (np.tanh(-100 * (y - 0.5 - 0.25 * np.sin(2 * np.pi * x))) +
                          np.tanh(100 * (y - x))),
    "layers": lambda x, y: np.exp(-x / 0.01) + np.exp(-(1 - y) / 0.02),
}
GRID = 257


def metric_of(function, ratio, count):
    """Points and matrices: det(|H|)^(-1/6) |H|, scaled for so many vertices."""
    at, h = np.linspace(0, 1, GRID), 1e-4
    x, y = (g.ravel() for g in np.meshgrid(at, at))
    f = function
    xx = (f(x + h, y) - 2 * f(x, y) + f(x - h, y)) / h**2
    yy = (f(x, y + h) - 2 * f(x, y) + f(x, y - h)) / h**2
    xy = (f(x + h, y + h) + f(x - h, y - h) - f(x + h, y - h) - f(x - h, y + h)) / (4 * h * h)
    value, axes = np.linalg.eigh(np.stack([np.stack([xx, xy], -1), np.stack([xy, yy], -1)], -2))
    value = np.maximum(abs(value), 1e-12)
    value = np.maximum(value, value.max(-1, keepdims=True) / ratio**2)
    value *= value.prod(-1, keepdims=True)**(-1 / 6)
    value = np.maximum(value, np.sqrt(value.prod(-1)).mean() / 32**2)
    value = np.maximum(value, value.max(-1, keepdims=True) / ratio**2)
    value *= count * np.sqrt(3) / 2 / np.sqrt(value.prod(-1)).mean()
    return np.stack([x, y], 1), np.einsum("nij,nj,nkj->nik", axes, value, axes)


def run(*command):
    before = os.times()
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user - before.children_user


def read(path):
    mesh = meshio.read(path)
    return mesh.points[:, :2], np.concatenate([c.data for c in mesh.cells if c.type == "triangle"])


def by_cvtmesh(program, folder, points, metric, count):
    np.save(folder / "m.npy", np.c_[points, metric[:, 0, 0], metric[:, 0, 1], metric[:, 1, 1]])
    (folder / "o.csv").write_text("0,0\n1,0\n1,1\n0,1\n")
    seconds = run(program, "mesh", folder / "o.csv", "--metric", folder / "m.npy", "--metric-ratio", 1000,
                  "-n", count, "-q", "-o", folder / "o.msh")
    return *read(folder / "o.msh"), seconds


def by_mmg(program, folder, points, metric, count):
    first = (np.arange(GRID - 1)[:, None] * GRID + np.arange(GRID - 1)).ravel() + 1
    cells = np.concatenate([np.stack([first, first + 1, first + GRID + 1, 0 * first + 1], 1),
                            np.stack([first, first + GRID + 1, first + GRID, 0 * first + 1], 1)])
    with open(folder / "b.mesh", "w", encoding="ascii") as out:
        out.write(f"MeshVersionFormatted 2\nDimension 2\nVertices\n{len(points)}\n")
        np.savetxt(out, np.c_[points, 0 * points[:, 0]], fmt="%.15g %.15g %d")
        out.write(f"Triangles\n{len(cells)}\n")
        np.savetxt(out, cells, fmt="%d")
        out.write(f"Corners\n4\n1\n{GRID}\n{GRID * GRID}\n{GRID * GRID - GRID + 1}\nEnd\n")
    for _ in range(5):
        with open(folder / "b.sol", "w", encoding="ascii") as out:
            out.write(f"MeshVersionFormatted 2\nDimension 2\nSolAtVertices\n{len(points)}\n1 3\n")
            np.savetxt(out, metric[:, [0, 0, 1], [0, 1, 1]], fmt="%.15g")
            out.write("End\n")
        seconds = run(program, "-v", 0, "-hgrad", -1, "-hmin", 1e-5, "-hmax", 1, "-in", folder / "b.mesh",
                      "-sol", folder / "b.sol", "-out", folder / "o.mesh")
        found = read(folder / "o.mesh")
        if abs(len(found[0]) / count - 1) < 0.01:
            break
        metric = metric * (count / len(found[0]))
    return *found, seconds


def errors(points, triangles, function):
    """Root mean square and largest on 1024 x 1024 places."""
    at = (np.arange(1024) + 0.5) / 1024
    x, y = np.meshgrid(at, at)
    mesh = Triangulation(points[:, 0], points[:, 1], triangles)
    off = LinearTriInterpolator(mesh, function(points[:, 0], points[:, 1]))(x, y) - function(x, y)
    return float(np.sqrt((off**2).mean())), float(abs(off).max())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cvtmesh", default="build/cvtmesh")
    parser.add_argument("--mmg2d", default="mmg2d_O3")
    options = parser.parse_args()
    print(f"{'':8}{'':7}{'':9}{'vertices':>9}{'L2':>10}{'largest':>10}{'seconds':>9}")
    with tempfile.TemporaryDirectory() as name:
        for label, function in FUNCTIONS.items():
            for count in (1000, 4000):
                for kind, ratio in (("even", 1), ("", 100)):
                    for mesher, program in ((by_cvtmesh, options.cvtmesh), (by_mmg, options.mmg2d)):
                        points, triangles, seconds = mesher(program, pathlib.Path(name),
                                                            *metric_of(function, ratio, count), count)
                        l2, largest = errors(points, triangles, function)
                        print(f"{label:8}{kind:7}{mesher.__name__[3:]:9}{len(points):9}{l2:10.2e}"
                              f"{largest:10.1e}{seconds:9.2f}", flush=True)


if __name__ == "__main__":
    main()
