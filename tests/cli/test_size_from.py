"""--size-from: sizes from a field on a mesh. The L-shaped domain converges at the optimal rate."""

import math
import runpy

import meshio
import numpy as np
import pytest

from conftest import EXAMPLES, PROGRAM, areas_of, cells_of

pytestmark = pytest.mark.usefixtures("two_threads")
WIDTH, HEIGHT = 120, 80


def test_l_shape(cvtmesh):
    """The error of the gradient falls like N^(-1/2), that in L2 like N^(-1); on even meshes the
    singularity makes it -1/3 and -2/3."""
    example = runpy.run_path(str(EXAMPLES / "l_shape.py"))
    folder = cvtmesh.path()
    pixels = example["PIXELS"]
    cvtmesh.file("frame.pgm", b"P5 %d %d 255\n" % (pixels, pixels) + bytes(pixels**2))
    cvtmesh.file("l.csv", "\n".join(f"{pixels * x},{pixels * y}" for x, y in example["OUTLINE"]))
    adapted = example["series"](PROGRAM, folder, 5, True)
    even = example["series"](PROGRAM, folder, 4, False)
    rate = example["rate"]
    assert rate(adapted, 2) < -0.48 and rate(adapted, 1) < -0.95, adapted
    assert -0.4 < rate(even, 2) < -0.28 and -0.8 < rate(even, 1) < -0.55, even
    assert adapted[3, 2] < 0.5 * even[3, 2]
    example["write_plot"](folder / "errors.svg", adapted, even)
    assert cvtmesh.read("errors.svg").count(b"polyline") > 4


def grid():
    """A mesh of the picture, y up, in pixels."""
    x, y = np.meshgrid(np.linspace(0, WIDTH, 31), np.linspace(0, HEIGHT, 21))
    points = np.stack([x.ravel(), y.ravel(), 0 * x.ravel()], axis=1)
    a = (np.arange(20)[:, None] * 31 + np.arange(30)).ravel()
    return points, np.concatenate([np.stack([a, a + 1, a + 32], 1), np.stack([a, a + 32, a + 31], 1)])


def spacing(points, triangles, where):
    """The mean length of edges whose triangles' centroids are `where`."""
    p = points[triangles][where(points[triangles].mean(axis=1))]
    return np.hypot(*(p - np.roll(p, 1, axis=1)).transpose(2, 0, 1)[:2]).mean()


def test_given_sizes(cvtmesh):
    """Sizes in the unit of the mesh, y up, by all formats; pixels, widths or real units."""
    points, triangles = grid()
    cvtmesh.file("flat.npy", np.ones((HEIGHT, WIDTH), np.float32))
    for name, scale, words in (("a", 1, []), ("b", 1 / WIDTH, ["--unit"]),
                               ("c", 0.5, ["--pixel-size", "0.5mm"])):
        size = scale * np.where(points[:, 1] > HEIGHT / 2, 3.0, 6.0)
        mesh = meshio.Mesh(scale * points, [("triangle", triangles)],
                           point_data={"other": size[::-1].copy(), "h": size})
        for extension, kind, more in (("vtu", "vtu", {"compression": "zlib"}),
                                      ("msh", "gmsh22", {"binary": False}),
                                      ("msh", "gmsh", {"binary": True}), ("npy", None, {})):
            field = f"{name}.{extension}"
            if extension == "npy":
                cvtmesh.file(field, np.c_[scale * points[:, :2], size])
            else:
                meshio.write(cvtmesh.path(field), mesh, kind, **more)
            named = ["--size-field", "h"] if extension != "npy" else []
            cvtmesh.call("run", "flat.npy", "--size-from", f"size={field}", *named, "-o", "m.vtu", *words)
            found = meshio.read(cvtmesh.path("m.vtu"))
            p = found.points[:, :2] / scale
            made = cells_of(found, "triangle")
            fine = spacing(p, made, lambda c: (c[:, 1] > 50) & (c[:, 1] < 74))
            coarse = spacing(p, made, lambda c: (c[:, 1] < 30) & (c[:, 1] > 8))
            assert abs(fine / 3 - 1) < 0.1 and abs(coarse / 6 - 1) < 0.15, (field, fine, coarse)


def corner_size(points):
    """Small around (1/2, 1/2), slope 0.1."""
    return 0.02 + 0.1 * np.hypot(points[..., 0] - 0.5, points[..., 1] - 0.5)


@pytest.mark.parametrize("scale, words", [(1, ["--min-angle", 30]), (2, ["--pixel-size", "2mm", "--min-angle", 33])])
def test_sizes_of_an_outline(cvtmesh, scale, words):
    """No triangle is larger than an equilateral one with the size at its centroid, and few are much
    smaller; a spot that is far smaller than the outline is found."""
    cvtmesh.file("o.csv", "0,0\n2,0\n2,1\n0,1\n\n1.4,0.4\n1.6,0.4\n1.5,0.6\n")
    x, y = (v.ravel() for v in np.meshgrid(np.linspace(0, 2, 81), np.linspace(0, 1, 41)))
    size = corner_size(np.stack([x, y], axis=1))
    cvtmesh.file("h.npy", scale * np.stack([x, y, size], axis=1))
    report = cvtmesh.report("mesh", "o.csv", "--size", "h.npy", *words,
                            "-o", "m.vtu")
    assert report["refinement"]["oversized"] == report["refinement"]["below_free"] == 0
    found = meshio.read(cvtmesh.path("m.vtu"))
    p, triangles = found.points[:, :2] / scale, cells_of(found, "triangle")
    area, most = areas_of(p, triangles), math.sqrt(3) / 4 * corner_size(p[triangles].mean(axis=1))**2
    assert (area > 0).all() and abs(area.sum() - 1.98) < 1e-9
    # The raster has cells of 2 / 1024, and the cone's tip is between its points.
    assert (area / most).max() < 1.05 and (area / most).mean() > 0.5
    spot = np.full(len(x), 0.5)
    spot[np.hypot(x - 1, y - 0.25).argmin()] = 0.004
    cvtmesh.file("spot.npy", np.stack([x, y, spot], axis=1))
    cvtmesh.call("mesh", "o.csv", "--size", "spot.npy", "--min-angle", 30, "-o", "s.vtu")
    found = meshio.read(cvtmesh.path("s.vtu"))
    at = np.hypot(*(found.points[:, :2] - (1, 0.25)).T)
    assert np.sort(at)[2] < 0.01 and len(at) < 600, (np.sort(at)[:3], len(at))


def test_a_named_size_of_an_outline(cvtmesh):
    cvtmesh.file("o.csv", f"0,0\n{WIDTH},0\n{WIDTH},{HEIGHT}\n0,{HEIGHT}\n")
    points, triangles = grid()
    size = 3 + 6 * points[:, 1] / HEIGHT
    meshio.write(cvtmesh.path("h.vtu"), meshio.Mesh(
        points, [("triangle", triangles)], point_data={"other": 12 - size, "h": size}))
    middle = {}
    for field in ("h", "other"):
        cvtmesh.call("mesh", "o.csv", "--size", "h.vtu", "--size-field", field, "-o", "m.vtu")
        middle[field] = np.median(meshio.read(cvtmesh.path("m.vtu")).points[:, 1]) / HEIGHT
    assert middle["h"] < 0.45 and middle["other"] > 0.55, middle


def test_sizes_of_an_outline_that_are_refused(cvtmesh):
    cvtmesh.file("o.csv", "0,0\n2,0\n2,1\n")
    cvtmesh.file("h.npy", np.array([[0.0, 0, 1], [2, 0, 1], [2, 1, -1]]))
    ends = ["-o", "no.vtu"]
    for words in (["--size-from", "h.npy"], ["--size-from", "indicator=h.npy"],
                  ["--size-from", "size="], ["--size-field", "h", "--min-angle", 30],
                  ["--size", "h.npy", "--size-field", "h"]):
        cvtmesh.refused("mesh", "o.csv", *words, *ends, code=2, names=["--size"])
    cvtmesh.refused("mesh", "o.csv", "--size", "h.npy", *ends, code=3,
                    names=["h.npy", "-1"])


def test_solution_and_indicator(cvtmesh):
    """Of u = x^3 / 6 the second derivative is x: sizes are x^(-1/2). An indicator asks for sizes
    that are the old ones over its root."""
    points, triangles = grid()
    cvtmesh.file("flat.npy", np.ones((HEIGHT, WIDTH), np.float32))
    data = {"u": (points[:, 0] + 20)**3, "eta": (points[:, 0] + 20)}
    meshio.write(cvtmesh.path("f.vtu"), meshio.Mesh(points, [("triangle", triangles)], point_data=data))
    for words in (["f.vtu", "--size-field", "u"], ["indicator=f.vtu", "--size-field", "eta"]):
        cvtmesh.call("run", "flat.npy", "--size-from", *words, "-n", 900, "--iterations", 0,
                     "-o", "m.csv", "--density-out", "rho.npy")
        root = np.sqrt(cvtmesh.array("rho.npy").astype(float))  # h^-2
        x = np.arange(WIDTH) + 20.5
        ratio = (root.mean(axis=0) / x)[8:-8]
        assert ratio.std() / ratio.mean() < 0.02, words
        assert np.ptp(root, axis=0).max() < 0.05 * root.max(), words


def test_refusals(cvtmesh):
    points, triangles = grid()
    cvtmesh.file("flat.npy", np.ones((HEIGHT, WIDTH), np.float32))
    data = {"u": points[:, 0]**2, "linear": points[:, 0], "bad": np.full(len(points), np.nan),
            "v": points.copy()}
    mesh = meshio.Mesh(points, [("triangle", triangles)], point_data=data)
    meshio.write(cvtmesh.path("f.vtu"), mesh)
    run = ("run", "flat.npy", "-o", "m.csv")
    for words, code, said in (
            (["--size-from", "f.vtu"], 2, "--points"),
            (["--size-field", "u"], 2, "--size-from"),
            (["--size-from", "f.vtu", "-n", 90, "--density-from", "size"], 2, "--density-from"),
            (["--size-from", "f.vtu", "-n", 90, "--size-field", "w"], 3, "no field w"),
            (["--size-from", "f.vtu", "-n", 90, "--size-field", "v"], 3, "no field v"),
            (["--size-from", "f.vtu", "-n", 90, "--size-field", "bad"], 3, "not a valid number"),
            (["--size-from", "f.vtu", "-n", 90, "--size-field", "linear"], 3, "determines sizes"),
            (["--size-from", "size=f.vtu", "--size-field", "u"], 3, "not a valid size"),
            (["--size-from", "absent.vtu", "-n", 90], 3, "absent.vtu"),
            (["--size-from", "flat.npy", "-n", 90], 3, "rows of x, y"),
            (["--size-from", "flat.npy", "-n", 90, "--size-field", "u"], 2, "no names")):
        cvtmesh.refused(*run, *words, code=code, names=[said])
    meshio.write(cvtmesh.path("f.vtk"), mesh)
    cvtmesh.refused(*run, "--size-from", "f.vtk", "-n", 90, code=3, names=["f.vtk", "vtu and msh"])
    mesh.points[:, 0] += 1000
    meshio.write(cvtmesh.path("far.vtu"), mesh)
    cvtmesh.refused(*run, "--size-from", "far.vtu", "-n", 90, code=3, names=["covers no pixel"])
