"""What the program writes, seen by readers that are not ours: meshio, gmsh, numpy, an XML
parser; and what meshio writes, read back by the program."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

try:
    import meshio
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROGRAM = os.environ.get("CVTMESH_PROGRAM") or str(pathlib.Path(sys.argv[1]).parent / "cvtmesh")
WIDTH, HEIGHT, SITES = 160, 90, 500
FORMATS = ["obj", "off", "ply", "stl", "vtk", "vtu", "msh"]
failures = 0


def check(holds, text):
    global failures
    if not holds:
        failures += 1
        print("FAILED:", text)


def run(*arguments, **keywords):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, **keywords)


def mesh(points, output, *options):
    done = run("mesh", points, "-o", output, "--width", WIDTH, "--height", HEIGHT, "-q", *options)
    check(done.returncode == 0, f"{output.name} {options}: {done.stderr.decode()}")
    return done.returncode == 0


def read(path):
    """Points and triangles as meshio sees them."""
    # Some readers of meshio talk about what they skip.
    found = meshio.read(path)
    triangles = [cell.data for cell in found.cells if cell.type == "triangle"]
    kinds = {cell.type for cell in found.cells if len(cell.data)}
    check(kinds <= {"triangle", "vertex"}, f"{path.name}: cells of kinds {kinds}")
    return found.points, np.concatenate(triangles) if triangles else np.empty((0, 3), int)


def areas(points, triangles):
    a, b, c = (points[triangles[:, k], :2] for k in range(3))
    (ux, uy), (vx, vy) = (b - a).T, (c - a).T
    return (ux * vy - uy * vx) / 2


def hull_area(points):
    """By Andrew's monotone chain."""
    def chain(ordered):
        kept = []
        for p in ordered:
            while len(kept) > 1 and np.linalg.det([kept[-1] - kept[-2], p - kept[-2]]) <= 0:
                kept.pop()
            kept.append(p)
        return kept[:-1]

    ordered = sorted(points[:, :2], key=tuple)
    hull = np.array(chain(ordered) + chain(ordered[::-1]))
    x, y = hull.T
    return (x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def corner_places(points, triangles):
    """Triangles as sets of places, for formats that number the vertices anew."""
    rounded = np.round(points[:, :2], 3)
    return sorted(sorted(map(tuple, rounded[t])) for t in triangles)


def check_formats(work, points_file, sites):
    expected = sites * [1, -1] + [0, HEIGHT]
    reference = None
    for extension in FORMATS:
        for options in [(), ("--ascii",), ("--unit",), ("--ascii", "--unit")]:
            name = f"{extension} {' '.join(options)}"
            path = work / f"mesh.{extension}"
            if not mesh(points_file, path, *options):
                continue
            points, triangles = read(path)
            scale = WIDTH if "--unit" in options else 1
            single = extension == "stl" and "--ascii" not in options
            check(np.all(points[:, 2] == 0), f"{name}: z is not 0")
            check(np.all(areas(points, triangles) > 0), f"{name}: a triangle is not counterclockwise")
            area = areas(points, triangles).sum() * scale**2
            check(abs(area / hull_area(expected) - 1) < 1e-5, f"{name}: the hull is not covered")
            if extension == "stl":
                check(len(points) == SITES, f"{name}: {len(points)} vertices")
                if scale == 1 and reference is not None and not single:
                    check(corner_places(points, triangles) == corner_places(*reference),
                          f"{name}: other triangles")
                continue
            # The vertices are the sites in order, snapped to the triangulation's grid.
            check(np.abs(points[:, :2] * scale - expected).max() < 1e-6, f"{name}: other vertices")
            if scale != 1:
                continue
            if reference is None:
                reference = points, triangles
            check(np.array_equal(points, reference[0]), f"{name}: not the same bits")
            check(np.array_equal(triangles, reference[1]), f"{name}: other triangles")


def check_gmsh(work, points_file):
    gmsh = shutil.which("gmsh")
    if gmsh is None:
        print("gmsh is missing: its check is left out")
        return
    path = work / "mesh.msh"
    mesh(points_file, path)
    done = subprocess.run([gmsh, "-check", path], capture_output=True, text=True)
    said = done.stdout + done.stderr
    check(done.returncode == 0, f"gmsh -check: {said}")
    check("Error" not in said and "Warning" not in said, f"gmsh -check: {said}")


def check_few_sites(work):
    """One site, two, three on a line, and two at one place."""
    for case in ["3.5,4.5", "3.5,4.5\n9,1", "1,1\n2,2\n3,3", "1,1\n9,2\n4,7\n9,2"]:
        points_file = work / "few.csv"
        points_file.write_text("x,y\n" + case + "\n")
        for extension in FORMATS:
            for options in [(), ("--ascii",)]:
                path = work / f"few.{extension}"
                if not mesh(points_file, path, *options) or extension == "stl":
                    continue
                # numpy.loadtxt, which meshio uses for text PLY, drops a dimension for one row.
                if extension == "ply" and options and case.count("\n") == 0:
                    continue
                points, _ = read(path)
                check(len(points) == case.count("\n") + 1, f"few.{extension} {case!r}")


def check_picture(work, points_file):
    path = work / "mesh.svg"
    mesh(points_file, path, "--svg", "mesh")
    picture = ElementTree.parse(path).getroot()
    check(picture.get("viewBox") == f"0 0 {WIDTH} {HEIGHT}", "svg: viewBox")
    mesh(points_file, path, "--svg", "stipples")
    circles = ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}circle")
    check(len(list(circles)) == SITES, "svg: one circle for each site")


def check_point_files(work, sites):
    """The same sites as NPY of several kinds, XYZ and CSV give the same mesh."""
    meshes = []
    np.save(work / "little.npy", sites)
    np.save(work / "big.npy", sites.astype(">f8"))
    np.save(work / "fortran.npy", np.asfortranarray(sites))
    np.savetxt(work / "plain.xyz", np.c_[sites, np.zeros(len(sites))], fmt="%.17g")
    np.savetxt(work / "semicolons.csv", sites, fmt="%.17g", delimiter=";")
    for name in ["little.npy", "big.npy", "fortran.npy", "plain.xyz", "semicolons.csv"]:
        path = work / "points.off"
        mesh(work / name, path)
        meshes.append(path.read_bytes())
    check(all(m == meshes[0] for m in meshes), "point files: not the same mesh")


def check_reading(work, points_file):
    """meshio's own files, as `stats` reads them."""
    mesh(points_file, work / "mesh.vtu")
    found = meshio.read(work / "mesh.vtu")
    triangles = sum(len(cell.data) for cell in found.cells)
    variants = {
        "ply": [("ply", {"binary": False}), ("ply", {"binary": True})],
        "vtk": [("vtk", {"binary": False}), ("vtk", {"binary": True}),
                ("vtk42", {"binary": False}), ("vtk42", {"binary": True})],
        "vtu": [("vtu", {"binary": False}), ("vtu", {"binary": True, "compression": None})],
        "msh": [("gmsh", {"binary": False}), ("gmsh", {"binary": True}),
                ("gmsh22", {"binary": False})],
        "stl": [("stl", {"binary": False}), ("stl", {"binary": True})],
        "obj": [("obj", {})],
        "off": [("off", {})],
    }
    for extension, ways in variants.items():
        for file_format, keywords in ways:
            path = work / f"theirs.{extension}"
            meshio.write(path, meshio.Mesh(found.points, found.cells), file_format, **keywords)
            done = run("stats", path, "--json")
            check(done.returncode == 0, f"{file_format} {keywords}: {done.stderr.decode()}")
            if done.returncode == 0:
                quality = json.loads(done.stdout)
                quality = quality.get("quality_all") or quality.get("quality") or quality
                check(quality["triangles"] == triangles, f"{file_format} {keywords}: {quality}")
    compressed = work / "compressed.vtu"
    meshio.write(compressed, found, "vtu", compression="zlib")
    done = run("stats", compressed)
    check(done.returncode == 3, f"compressed VTU: exit {done.returncode}")
    check(b"compressed" in done.stderr, f"compressed VTU: {done.stderr.decode()}")


def check_refusals(work, points_file):
    bad = work / "bad.csv"
    bad.write_text("x,y\n1,2\n3,nan\n")
    done = run("mesh", bad, "-o", work / "bad.ply")
    check(done.returncode == 3, f"NaN: exit {done.returncode}")
    check(b"bad.csv" in done.stderr and b"line 3" in done.stderr, done.stderr.decode())
    check(not (work / "bad.ply").exists(), "NaN: a file was written")
    done = run("mesh", points_file, "-o", work / "absent" / "m.ply")
    check(done.returncode == 1, f"unwritable: exit {done.returncode}")
    done = run("mesh", points_file, "-o", work / "m.unknown")
    check(done.returncode == 2, f"unknown extension: exit {done.returncode}")
    left = [path.name for path in work.iterdir() if path.name.startswith(".")]
    check(not left, f"left behind: {left}")


def main():
    random = np.random.default_rng(3)
    sites = random.uniform([0, 0], [WIDTH, HEIGHT], (SITES, 2))
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory)
        points_file = work / "points.csv"
        np.savetxt(points_file, sites, fmt="%.17g", delimiter=",", header="x,y", comments="")
        check_formats(work, points_file, sites)
        check_gmsh(work, points_file)
        check_few_sites(work)
        check_picture(work, points_file)
        check_point_files(work, sites)
        check_reading(work, points_file)
        check_refusals(work, points_file)
    print("formats:", f"{failures} failures" if failures else "all readers agree")
    sys.exit(bool(failures))


main()
