"""cvtmesh run --equal-mass: masses recomputed in numpy from the written sites and weights, by
clipping; the mesh is the regular triangulation, by its lifted convexity; the same files on every
run; options that do not go together are refused."""

import numpy as np
import pytest

from conftest import clip, read_obj

pytestmark = pytest.mark.usefixtures("two_threads")
WIDTH, HEIGHT = 60, 40


def area(polygon):
    if len(polygon) < 3:
        return 0.0
    x, y = (polygon - polygon[0]).T
    return abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2


def cell_mass(density, sites, weights, i):
    """Cut by all sites, then by the lines of pixels."""
    height, width = density.shape
    cell = np.array([[0.0, 0], [width, 0], [width, height], [0, height]])
    offsets = (np.sum(sites**2, 1) - weights - np.sum(sites[i]**2) + weights[i]) / 2
    for j in np.argsort(np.sum((sites - sites[i])**2, 1)):
        if j != i and len(cell):
            cell = clip(cell, sites[j] - sites[i], offsets[j])
    mass = 0.0
    if len(cell) < 3:
        return mass
    for row in range(int(cell[:, 1].min()), min(height, int(np.ceil(cell[:, 1].max())))):
        strip = clip(clip(cell, np.array([0.0, -1]), -row), np.array([0.0, 1]), row + 1)
        if len(strip) < 3:
            continue
        for column in range(int(strip[:, 0].min()), min(width, int(np.ceil(strip[:, 0].max())))):
            part = clip(clip(strip, np.array([-1.0, 0]), -column), np.array([1.0, 0]), column + 1)
            mass += float(density[row, column]) * area(part)
    return mass


def check_masses(cvtmesh, name, density, *options):
    cvtmesh.file("rho.npy", density.astype(np.float32))
    report = cvtmesh.report("run", "rho.npy", "-n", 50, "--equal-mass", "--mass-tolerance", 1e-9,
                            "-o", "p.npy", "-o", "m.obj", "--weights-out", "w.npy", *options)
    sites, weights = cvtmesh.array("p.npy"), cvtmesh.array("w.npy")
    target = density.astype(np.float32).sum(dtype=float) / len(sites)
    masses = np.array(
        [cell_mass(density.astype(np.float32), sites, weights, i) for i in range(len(sites))])
    # What was asked for, and the rounding of coordinates of cells beside steep densities.
    worst = abs(masses / target - 1).max()
    assert worst <= 1e-9 + 1e-11, f"{name}: masses off by {worst}"
    told = report["equal_mass"]
    assert told["converged"] and told["largest_deviation"] <= 1e-9, f"{name}: report {told}"
    assert abs(told["mass"] / target - 1) < 1e-12, f"{name}: mass {told['mass']}, not {target}"
    costs = [entry["energy"] for entry in report["history"]]
    assert all(b <= a * (1 + 1e-9) for a, b in zip(costs, costs[1:])), f"{name}: the cost rises"
    assert report["energy"] <= costs[0] * (1 + 1e-9), f"{name}: no better than the start"

    # Lifted to z = |x|^2 - w, a regular triangulation is the lower hull: no site below one.
    points, triangles = (np.array(part) for part in read_obj(cvtmesh.path("m.obj")))
    points = points * [1, -1] + [0, density.shape[0]]
    assert np.allclose(points, sites, atol=1e-6), f"{name}: the mesh has other sites"
    lifted = np.sum(sites**2, 1) - weights
    for triangle in triangles:
        corners = np.column_stack([sites[triangle], np.ones(3)])
        plane = np.linalg.solve(corners, lifted[triangle])
        below = lifted - np.column_stack([sites, np.ones(len(sites))]) @ plane
        assert below.min() > -1e-6, f"{name}: a site below triangle {triangle}"
    used = np.unique(triangles)
    assert len(used) == len(sites), f"{name}: {len(sites) - len(used)} sites have no triangle"
    return [cvtmesh.read(name) for name in ("p.npy", "w.npy", "m.obj")]


def test_masses(cvtmesh):
    x, y = np.meshgrid(np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5)
    graded = 1 + 99 * np.exp(-((x - 20)**2 + (y - 15)**2) / 60)
    first = check_masses(cvtmesh, "graded", graded)
    assert first == check_masses(cvtmesh, "graded", graded), "other files on a second run"
    check_masses(cvtmesh, "flat", np.ones((HEIGHT, WIDTH)), "--method", "lloyd", "--iterations", 30)
    check_masses(cvtmesh, "gap", np.where((x > 25) & (x < 40), 0.0, 1 + x / 20), "--effort", "low")


def test_refusals(cvtmesh):
    cvtmesh.file("flat.npy", np.ones((HEIGHT, WIDTH), np.float32))
    cvtmesh.file("twice.csv", "1,1\n5,5\n1,1\n")
    cvtmesh.file("corners.csv", f"0,0\n5,5\n{WIDTH},{HEIGHT}\n")
    for options in (("--preset", "paper"), ("--domain", "image"), ("--watch", "watch"),
                    ("--mass-tolerance", 0), ("--weights-out", "w.csv")):
        cvtmesh.refused("run", "flat.npy", "-n", 9, "--equal-mass", "-o", "x.csv", *options, code=2)
    for options in (("--mass-tolerance", 0.1), ("--weights-out", "w.npy")):
        cvtmesh.refused("run", "flat.npy", "-n", 9, "-o", "x.csv", *options, code=2)
    for options in (("--init", "twice.csv"), ("--init", "corners.csv", "--periodic")):
        cvtmesh.refused("run", "flat.npy", *options, "--equal-mass", "-o", "x.csv", code=3,
                        names=["sites 0 and 2 coincide"])


def test_row(cvtmesh):
    """A row of sites is a saddle. The way off it tries steps that lead outside, where several sites
    end in one corner of the domain: steps to shorten, no failure."""
    rng = np.random.default_rng(34)
    cvtmesh.file("rough.npy", rng.uniform(0.01, 1, (24, 32)).astype(np.float32))
    x = np.linspace(1, 31, 9)
    np.savetxt(cvtmesh.path("row.csv"), np.column_stack([x, np.full(9, 12.0)]), delimiter=",")
    cvtmesh.call("run", "rough.npy", "--init", "row.csv", "--equal-mass", "-o", "r.npy")
    assert np.ptp(cvtmesh.array("r.npy")[:, 1]) > 5, "the row is kept"


def test_kept_sites(cvtmesh):
    """With --iterations 0 no site moves; fixed sites never move."""
    cvtmesh.file("three.csv", "3,4\n50,30\n20,37.5\n")
    cvtmesh.file("flat.npy", np.ones((HEIGHT, WIDTH), np.float32))
    for n, options in ((3, ("--init", "three.csv", "--iterations", 0)),
                       (3, ("--fixed", "three.csv")), (12, ("--fixed", "three.csv", "--iterations",
                                                            20))):
        cvtmesh.call("run", "flat.npy", "-n", n, "--equal-mass", *options, "-o", "k.npy",
                     "--weights-out", "k_w.npy")
        sites, weights = cvtmesh.array("k.npy"), cvtmesh.array("k_w.npy")
        assert np.array_equal(sites[:3], [[3, 4], [50, 30], [20, 37.5]]), f"{options}: moved"
        masses = [cell_mass(np.ones((HEIGHT, WIDTH)), sites, weights, i) for i in range(n)]
        assert np.allclose(masses, WIDTH * HEIGHT / n, rtol=2e-6), f"{options}: {masses}"


def test_tone(cvtmesh):
    """Twice the tone gives twice the sites: the density of a picture is its tone."""
    picture = np.full((HEIGHT, WIDTH), 255, np.uint8)
    picture[:, :WIDTH // 2] = 188  # half the light, in sRGB
    picture[:, WIDTH // 2:] = 0
    cvtmesh.file("tone.pgm", b"P5 %d %d 255\n" % (WIDTH, HEIGHT) + picture.tobytes())
    cvtmesh.call("run", "tone.pgm", "-n", 90, "--equal-mass", "-o", "t.npy", "--density-out",
                 "t_rho.npy")
    left = (cvtmesh.array("t.npy")[:, 0] < WIDTH / 2).sum()
    rho = cvtmesh.array("t_rho.npy")
    assert abs(rho[0, 0] / rho[0, -1] - 0.5) < 0.01, f"tones {rho[0, 0]}, {rho[0, -1]}"
    assert 27 <= left <= 33, f"{left} sites of 90 on the lighter half, not about 30"
