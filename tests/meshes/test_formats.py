"""What the program writes, seen by independent readers: meshio, gmsh, numpy, an XML parser;
and what meshio writes, read back by the program."""

import json
import xml.etree.ElementTree as ElementTree

import meshio
import numpy as np
import pytest

from conftest import check_gmsh

WIDTH, HEIGHT, SITES = 160, 90, 500
FORMATS = ["obj", "off", "ply", "stl", "vtk", "vtu", "msh"]


@pytest.fixture
def sites():
    return np.random.default_rng(3).uniform([0, 0], [WIDTH, HEIGHT], (SITES, 2))


@pytest.fixture
def points_file(cvtmesh, sites):
    path = cvtmesh.path("points.csv")
    np.savetxt(path, sites, fmt="%.17g", delimiter=",", header="x,y", comments="")
    return path


def mesh(cvtmesh, points, output, *options):
    cvtmesh.call("mesh", points, "-o", output, "--width", WIDTH, "--height", HEIGHT, "-q", *options)
    return cvtmesh.path(output)


def read(path):
    """Points and triangles as meshio sees them."""
    # Some readers of meshio talk about what they skip.
    found = meshio.read(path)
    triangles = [cell.data for cell in found.cells if cell.type == "triangle"]
    kinds = {cell.type for cell in found.cells if len(cell.data)}
    assert kinds <= {"triangle", "vertex"}, f"{path.name}: cells of kinds {kinds}"
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


def test_every_reader_sees_the_same_mesh(cvtmesh, points_file, sites):
    expected = sites * [1, -1] + [0, HEIGHT]
    reference = None
    for extension in FORMATS:
        for options in [(), ("--format", "ascii"), ("--unit",), ("--format", "ascii", "--unit")]:
            name = f"{extension} {' '.join(options)}"
            path = mesh(cvtmesh, points_file, f"mesh.{extension}", *options)
            points, triangles = read(path)
            scale = WIDTH if "--unit" in options else 1
            single = extension == "stl" and "ascii" not in options
            assert np.all(points[:, 2] == 0), f"{name}: z is not 0"
            assert np.all(
                areas(points, triangles) > 0), f"{name}: a triangle is not counterclockwise"
            area = areas(points, triangles).sum() * scale**2
            assert abs(area / hull_area(expected) - 1) < 1e-5, f"{name}: the hull is not covered"
            if extension == "stl":
                assert len(points) == SITES, f"{name}: {len(points)} vertices"
                if scale == 1 and reference is not None and not single:
                    assert corner_places(
                        points, triangles) == corner_places(*reference), f"{name}: other triangles"
                continue
            # The vertices are the sites in order, snapped to the triangulation's grid.
            assert np.abs(points[:, :2] * scale - expected).max() < 1e-6, f"{name}: other vertices"
            if scale != 1:
                continue
            if reference is None:
                reference = points, triangles
            assert np.array_equal(points, reference[0]), f"{name}: not the same bits"
            assert np.array_equal(triangles, reference[1]), f"{name}: other triangles"


def test_gmsh(cvtmesh, points_file):
    check_gmsh(mesh(cvtmesh, points_file, "mesh.msh"))


def test_few_sites(cvtmesh):
    """One site, two, three on a line, and two at one place."""
    for case in ["3.5,4.5", "3.5,4.5\n9,1", "1,1\n2,2\n3,3", "1,1\n9,2\n4,7\n9,2"]:
        cvtmesh.file("few.csv", "x,y\n" + case + "\n")
        for extension in FORMATS:
            for options in [(), ("--format", "ascii")]:
                path = mesh(cvtmesh, "few.csv", f"few.{extension}", *options)
                if extension == "stl":
                    continue
                # numpy.loadtxt, which meshio uses for text PLY, drops a dimension for one row.
                if extension == "ply" and options and case.count("\n") == 0:
                    continue
                points, _ = read(path)
                assert len(points) == case.count("\n") + 1, f"few.{extension} {case!r}"


def test_picture(cvtmesh, points_file):
    path = mesh(cvtmesh, points_file, "mesh.svg", "--svg", "mesh")
    picture = ElementTree.parse(path).getroot()
    assert picture.get("viewBox") == f"0 0 {WIDTH} {HEIGHT}", "svg: viewBox"
    mesh(cvtmesh, points_file, "mesh.svg", "--svg", "stipples")
    circles = ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}circle")
    assert len(list(circles)) == SITES, "svg: one circle for each site"


def test_point_files(cvtmesh, sites):
    """The same sites as NPY of several kinds, XYZ and CSV give the same mesh."""
    meshes = []
    cvtmesh.file("little.npy", sites)
    cvtmesh.file("big.npy", sites.astype(">f8"))
    cvtmesh.file("fortran.npy", np.asfortranarray(sites))
    np.savetxt(cvtmesh.path("plain.xyz"), np.c_[sites, np.zeros(len(sites))], fmt="%.17g")
    np.savetxt(cvtmesh.path("semicolons.csv"), sites, fmt="%.17g", delimiter=";")
    for name in ["little.npy", "big.npy", "fortran.npy", "plain.xyz", "semicolons.csv"]:
        meshes.append(mesh(cvtmesh, name, "points.off").read_bytes())
    assert all(m == meshes[0] for m in meshes), "point files: not the same mesh"


def test_reading(cvtmesh, points_file):
    """meshio's own files, as `stats` reads them."""
    found = meshio.read(mesh(cvtmesh, points_file, "mesh.vtu"))
    triangles = sum(len(cell.data) for cell in found.cells)
    variants = {
        "vtu": [("vtu", {"binary": False}), ("vtu", {"binary": True, "compression": None})],
        "msh": [("gmsh", {"binary": False}), ("gmsh", {"binary": True}),
                ("gmsh22", {"binary": False}), ("gmsh22", {"binary": True})],
        "obj": [("obj", {})],
    }
    for extension, ways in variants.items():
        for file_format, keywords in ways:
            path = cvtmesh.path(f"theirs.{extension}")
            meshio.write(path, meshio.Mesh(found.points, found.cells), file_format, **keywords)
            quality = json.loads(cvtmesh.call("stats", path, "--json").stdout)["quality_all"]
            assert quality["triangles"] == triangles, f"{file_format} {keywords}: {quality}"
    path = cvtmesh.path("packed.vtu")
    meshio.write(path, found, "vtu", compression="lzma")
    cvtmesh.refused("stats", path, code=3, names=["vtkLZMADataCompressor"])


def test_refusals(cvtmesh, points_file):
    cvtmesh.file("bad.csv", "x,y\n1,2\n3,nan\n")
    cvtmesh.refused("mesh", "bad.csv", "-o", "bad.ply", code=3, names=["bad.csv", "line 3"])
    cvtmesh.refused("mesh", points_file, "-o", "absent/m.ply", code=1)
    cvtmesh.refused("mesh", points_file, "-o", "m.unknown", code=2)
