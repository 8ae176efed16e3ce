"""cvtmesh density: optimality of what it writes, domains, weights, refusals."""

import json

import numpy as np
import pytest

from conftest import EXAMPLES

pytestmark = pytest.mark.usefixtures("two_threads")


def density(cvtmesh, image, *arguments):
    cvtmesh.call("density", image, *arguments, "-o", "u.npy")
    return cvtmesh.array("u.npy")


def laplacian(u, mask):
    """L u with links between pixels of the domain alone."""
    sum_ = np.zeros_like(u)
    across = mask[:, 1:] & mask[:, :-1]
    step = np.where(across, u[:, 1:] - u[:, :-1], 0)
    sum_[:, 1:] += step
    sum_[:, :-1] -= step
    down = mask[1:] & mask[:-1]
    step = np.where(down, u[1:] - u[:-1], 0)
    sum_[1:] += step
    sum_[:-1] -= step
    return sum_


def grading_residual(u, rho, mask, lam, upper=np.inf):
    f = u - rho + lam * laplacian(u, mask)
    return np.linalg.norm((u - np.clip(u - f, rho, np.maximum(upper, rho)))[mask])


def bias_residual(u, rho, mask, lam, p):
    above, below = (1, (1 - p) / p) if p <= 0.5 else (p / (1 - p), 1)
    d = u - rho
    return np.linalg.norm((np.where(d > 0, above, below) * d + lam * laplacian(u, mask))[mask])


def test_solutions(cvtmesh):
    image = EXAMPLES / "camera.png"
    rho = density(cvtmesh, image)
    everything = np.ones(rho.shape, bool)
    assert rho.dtype == np.float64 and rho.max() <= 1, "the plain density"
    for lam in (1, 16):
        u = density(cvtmesh, image, "--grade", lam)
        assert (u >= rho).all(), f"grading by {lam} falls below the density"
        assert grading_residual(u, rho, everything, lam) < 1e-8, f"grading by {lam} is not optimal"
    u = density(cvtmesh, image, "--grade", "16,0.5")
    assert (u >= rho).all() and (u <= np.maximum(rho, 0.5)).all(), "the box of grading"
    assert grading_residual(u, rho, everything, 16, 0.5) < 1e-8, "grading in a box is not optimal"
    for p in (0.1, 0.5, 0.8):
        u = density(cvtmesh, image, "--smooth", f"16,{p}")
        assert bias_residual(u, rho, everything, 16, p) < 1e-8, f"bias {p} is not optimal"
    picture = "p.png"
    cvtmesh.call("density", image, "--grade", 16, "-o", picture)
    again = density(cvtmesh, picture)
    u = density(cvtmesh, image, "--grade", 16)
    assert abs(again - u / u.max()).max() < 0.03, "the picture of a density does not read back"


def test_domains(cvtmesh):
    values = np.ones((40, 50), np.float32)
    values[:, 25:] = 0.0001
    image = "v.npy"
    cvtmesh.file(image, values)
    mask = np.zeros((40, 50), np.uint8)
    mask[5:35, 5:45] = 1
    cvtmesh.file("mask.npy", mask)
    # A wall with rough ends in GeoJSON, in pixels.
    wall = {"type": "Polygon", "coordinates": [[[24, -5], [26, -5], [26, 60], [24, 60], [24, -5]]]}
    cvtmesh.file("wall.geojson", json.dumps(wall))
    inside = mask.astype(bool)
    inside[:, 24:26] = False
    domain = ("--within", "mask.npy", "--obstacle", "wall.geojson")
    rho = density(cvtmesh, image, *domain)
    assert np.array_equal(rho > 0, inside), "the domain of a mask and an obstacle"
    u = density(cvtmesh, image, *domain, "--grade", 100)
    assert np.array_equal(u > 0, inside), "grading leaves the domain"
    assert abs(u - rho).max() < 1e-9, "grading leaks through an obstacle"
    u = density(cvtmesh, image, *domain, "--grade-size", 0.1)
    assert abs(u - rho).max() < 1e-9, "sizes leak through an obstacle"
    u = density(cvtmesh, image, "--within", "mask.npy", "--grade-size", 0.1)
    sizes = u[20, 26:45]**-0.25
    assert abs(sizes - np.minimum(10, 1 + 0.1 * np.arange(2, 21))).max() < 1e-9, "sizes on a line"
    # A wall a fifth of a pixel thick, across the picture: nothing leaks, and no site is in it.
    thin = [(-1, 3.3), (51, 30.3), (51, 30.5), (-1, 3.5)]
    block = [(5.2, 25.7), (21.3, 27.4), (18.6, 38.1)]
    walls = "walls.csv"
    cvtmesh.file(walls,
                 "\n\n".join("\n".join(f"{x},{y}" for x, y in ring) for ring in (thin, block)))
    y, x = np.mgrid[0:40, 0:50] + 0.5
    above = y < 3.4 + (x + 1) * 27 / 52
    cvtmesh.file("sides.npy", np.where(above, 1, 1e-4).astype(np.float32))
    sides, wall = "sides.npy", ("--obstacle", walls)
    rho = density(cvtmesh, sides, *wall)
    assert abs(density(cvtmesh, sides, *wall, "--grade", 100) -
               rho).max() < 1e-9, "grading leaks through a thin wall"
    assert abs(density(cvtmesh, sides, *wall, "--grade-size", 0.1) -
               rho).max() < 1e-9, "sizes leak through a thin wall"
    cvtmesh.call("run", image, "-n", 150, *wall, "-o", "sites.npy", "--report", "walls.json")
    sx, sy = cvtmesh.array("sites.npy").T
    for name, ring in (("thin wall", thin), ("block", block)):
        turns = [(bx - ax) * (sy - ay) - (by - ay) * (sx - ax)
                 for (ax, ay), (bx, by) in zip(ring, ring[1:] + ring[:1])]
        within = (np.min(turns, axis=0) > 0) | (np.max(turns, axis=0) < 0)  # they are convex
        assert not within.any(), f"{within.sum()} sites in the {name}"
    assert "moved_sites" in cvtmesh.json("walls.json"), "sites out of walls are not counted"
    weighted = density(cvtmesh, image, "--weight", "wall.geojson=0.25")
    assert np.allclose(weighted[:, 24], 0.25) and np.allclose(weighted[:, 23], 1), "a weight"
    horse = density(cvtmesh, EXAMPLES / "horse.png", "--within", "alpha")
    assert (horse > 0).any(), "the alpha channel of horse.png"


def test_run(cvtmesh):
    image, out = EXAMPLES / "camera.png", "d.npy"
    options = ("--grade", 16, "--smooth", 2, "--grade-size", 0.5)
    cvtmesh.call("run", image, "-n", 50, "--iterations", 2, *options, "--density-out", out,
                 "--report", "r.json")
    assert np.array_equal(cvtmesh.array(out),
                          density(cvtmesh, image, *options).astype(np.float32)), "run's density"
    report = cvtmesh.json("r.json")
    assert report["grading"]["natural_residual"] < 1e-8 and report["smoothing"][
        "residual"] < 1e-8, "run's report"


def test_refusals(cvtmesh):
    image = EXAMPLES / "camera.png"
    cvtmesh.file("none.npy", np.zeros((512, 512), np.uint8))
    cvtmesh.file("bad.csv", "0,0\n10,10\n10,0\n0,10\n")
    for arguments, code, part in ((("--within", "none.npy"), 3, "leave no pixel"),
                                  (("--within", "alpha"), 3, "alpha"), (("--within", "bad.csv"), 3,
                                                                        "bad.csv"),
                                  (("--within", EXAMPLES / "coins.png"), 3,
                                   "384 x 303"), (("--within", "absent.png"), 3, "absent.png"),
                                  (("--weight", "a.png"), 2,
                                   "FILE=FACTOR"), (("--weight", "a.png=-1"), 2, "FILE=FACTOR"),
                                  (("--weight", f"{EXAMPLES}/camera.png=1e300"), 3,
                                   "single precision"), (("--smooth", "1,1"), 2, "--smooth"), (("--grade", "1,-1"), 2, "--grade"),
                                  (("--grade", "nan"), 2,
                                                            "--grade")):
        cvtmesh.refused("density", image, *arguments, "-o", "no.npy", code=code, names=[part])
    cvtmesh.refused("density", image, "-o", "a.msh", code=2)
