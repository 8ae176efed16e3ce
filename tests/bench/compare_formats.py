#!/usr/bin/env python3
"""Mesh files written and read by cvtmesh and by meshio: megabytes a second.

    python3 tests/bench/compare_formats.py [--bench build/bench/bench_mesh] [--points 200000] [--rounds 2]

cvtmesh (bench_mesh, one thread) triangulates random points, and writes and reads the mesh in each
format. meshio then reads the same file and writes the mesh again in that format, binary where that
is what cvtmesh writes ("msh" is text, "msh binary" is not). Each figure is the best of the rounds, in
processor time of one thread, and counts the bytes of the program's own file. Needs numpy and meshio."""

import argparse
import os
import re
import subprocess
import tempfile
import time

import meshio

BINARY = {"ply": {"binary": True}, "stl": {"binary": True}, "vtk": {"binary": True},
          "vtu": {"binary": True, "compression": None}}
ROW = re.compile(r"([\d.]+) s +([\d.]+) MB/s +([\d.]+) MB(?: +read +([\d.]+) s +([\d.]+) MB/s)?")


def of_cvtmesh(arguments, form, binary, folder):
    """Megabytes a second of writing and reading; leaves the file in the folder."""
    made = subprocess.run([arguments.bench, "--points", str(arguments.points), "--threads", "1",
                           "--rounds", str(arguments.rounds), "--folder", folder, "--only", form,
                           "--processor", "1", "--binary", str(int(binary))],
                          capture_output=True, text=True, check=True)
    row = ROW.search(made.stdout.split("triangles", 1)[1])
    return float(row[2]), float(row[5])


def best_seconds(rounds, work):
    least = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        result = work()
        least = min(least, time.process_time() - start)
    return least, result


def of_meshio(arguments, form, binary, folder):
    source = os.path.join(folder, f"bench_mesh.{form}")
    target = os.path.join(folder, f"meshio.{form}")
    options = {"file_format": "gmsh", "binary": binary} if form == "msh" else BINARY.get(form, {})
    read, mesh = best_seconds(arguments.rounds, lambda: meshio.read(source))
    write, _ = best_seconds(arguments.rounds, lambda: meshio.write(target, mesh, **options))
    return os.path.getsize(target) * 1e-6 / write, os.path.getsize(source) * 1e-6 / read


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bench", default="build/bench/bench_mesh")
    parser.add_argument("--points", type=int, default=200000)
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    print("| format | cvtmesh writes | meshio writes | cvtmesh reads | meshio reads |")
    print("|---|---|---|---|---|")
    for name in ("obj", "off", "ply", "stl", "vtk", "vtu", "msh", "msh binary"):
        form, binary = name.split()[0], "binary" in name
        with tempfile.TemporaryDirectory() as folder:
            ours = of_cvtmesh(arguments, form, binary, folder)
            try:
                theirs = [f"{speed:.0f}" for speed in of_meshio(arguments, form, binary, folder)]
            except (meshio.ReadError, meshio.WriteError, SystemExit, ValueError) as error:
                theirs = [f"none ({type(error).__name__})"] * 2
        print(f"| {name} | {ours[0]:.0f} | {theirs[0]} | {ours[1]:.0f} | {theirs[1]} |", flush=True)


if __name__ == "__main__":
    main()
