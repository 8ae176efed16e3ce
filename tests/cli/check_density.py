"""cvtmesh density from outside: optimality of what it writes, domains, weights, refusals."""
import json
import pathlib
import sys
import tempfile

from program import EXAMPLES, expect, failures, run

try:
    import numpy as np
except ImportError:
    sys.exit(77)


def density(image, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "u.npy")
        run("density", image, *arguments, "-o", out)
        return np.load(out)


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


def check_solutions(folder):
    image = EXAMPLES / "camera.png"
    rho = density(image)
    everything = np.ones(rho.shape, bool)
    expect(rho.dtype == np.float64 and rho.max() <= 1, "the plain density")
    for lam in (1, 16):
        u = density(image, "--grade", lam)
        expect((u >= rho).all(), f"grading by {lam} falls below the density")
        expect(grading_residual(u, rho, everything, lam) < 1e-8, f"grading by {lam} is not optimal")
    u = density(image, "--grade", 16, "--grade-max", 0.5)
    expect((u >= rho).all() and (u <= np.maximum(rho, 0.5)).all(), "the box of grading")
    expect(grading_residual(u, rho, everything, 16, 0.5) < 1e-8, "grading in a box is not optimal")
    for p in (0.1, 0.5, 0.8):
        u = density(image, "--smooth", 16, "--bias", p)
        expect(bias_residual(u, rho, everything, 16, p) < 1e-8, f"bias {p} is not optimal")
    small = folder / "small.npy"
    np.save(small, rho[100:140, 200:250].astype(np.float32))
    newton = density(small, "--smooth", 1, "--bias", 0.1)
    sweeps = density(small, "--smooth", 1, "--bias", 0.1, "--bias-method", "mmgs")
    expect(abs(newton - sweeps).max() < 1e-8, "Newton and the sweeps differ")
    picture = folder / "p.png"
    run("density", image, "--grade", 16, "-o", picture)
    again = density(picture)
    u = density(image, "--grade", 16)
    expect(abs(again - u / u.max()).max() < 0.03, "the picture of a density does not read back")


def check_domains(folder):
    values = np.ones((40, 50), np.float32)
    values[:, 25:] = 0.0001
    image = folder / "v.npy"
    np.save(image, values)
    mask = np.zeros((40, 50), np.uint8)
    mask[5:35, 5:45] = 1
    np.save(folder / "mask.npy", mask)
    # A wall with rough ends in GeoJSON, in pixels.
    wall = {"type": "Polygon", "coordinates": [[[24, -5], [26, -5], [26, 60], [24, 60], [24, -5]]]}
    (folder / "wall.geojson").write_text(json.dumps(wall))
    inside = mask.astype(bool)
    inside[:, 24:26] = False
    domain = ("--within", folder / "mask.npy", "--obstacle", folder / "wall.geojson")
    rho = density(image, *domain)
    expect(np.array_equal(rho > 0, inside), "the domain of a mask and an obstacle")
    u = density(image, *domain, "--grade", 100)
    expect(np.array_equal(u > 0, inside), "grading leaves the domain")
    expect(abs(u - rho).max() < 1e-9, "grading leaks through an obstacle")
    u = density(image, *domain, "--grade-size", 0.1)
    expect(abs(u - rho).max() < 1e-9, "sizes leak through an obstacle")
    u = density(image, "--within", folder / "mask.npy", "--grade-size", 0.1)
    sizes = u[20, 26:45] ** -0.25
    expect(abs(sizes - np.minimum(10, 1 + 0.1 * np.arange(2, 21))).max() < 1e-9, "sizes on a line")
    # A wall a fifth of a pixel thick, across the picture: nothing leaks, and no site is in it.
    thin = [(-1, 3.3), (51, 30.3), (51, 30.5), (-1, 3.5)]
    block = [(5.2, 25.7), (21.3, 27.4), (18.6, 38.1)]
    walls = folder / "walls.csv"
    walls.write_text("\n\n".join("\n".join(f"{x},{y}" for x, y in ring) for ring in (thin, block)))
    y, x = np.mgrid[0:40, 0:50] + 0.5
    above = y < 3.4 + (x + 1) * 27 / 52
    np.save(folder / "sides.npy", np.where(above, 1, 1e-4).astype(np.float32))
    sides, wall = folder / "sides.npy", ("--obstacle", walls)
    rho = density(sides, *wall)
    expect(abs(density(sides, *wall, "--grade", 100) - rho).max() < 1e-9, "grading leaks through a thin wall")
    expect(abs(density(sides, *wall, "--grade-size", 0.1) - rho).max() < 1e-9, "sizes leak through a thin wall")
    run("run", image, "-n", 150, *wall, "-o", folder / "sites.npy", "--report", folder / "walls.json")
    sx, sy = np.load(folder / "sites.npy").T
    for name, ring in (("thin wall", thin), ("block", block)):
        turns = [(bx - ax) * (sy - ay) - (by - ay) * (sx - ax)
                 for (ax, ay), (bx, by) in zip(ring, ring[1:] + ring[:1])]
        within = (np.min(turns, axis=0) > 0) | (np.max(turns, axis=0) < 0)  # they are convex
        expect(not within.any(), f"{within.sum()} sites in the {name}")
    expect("moved_sites" in json.loads((folder / "walls.json").read_text()), "sites out of walls are not counted")
    weighted = density(image, "--weight", f"{folder}/wall.geojson=0.25")
    expect(np.allclose(weighted[:, 24], 0.25) and np.allclose(weighted[:, 23], 1), "a weight")
    horse = density(EXAMPLES / "horse.png", "--within", "alpha")
    expect((horse > 0).any(), "the alpha channel of horse.png")


def check_run(folder):
    image, out = EXAMPLES / "camera.png", folder / "d.npy"
    options = ("--grade", 16, "--smooth", 2, "--grade-size", 0.5)
    run("run", image, "-n", 50, "--iterations", 2, *options, "--density-out", out, "--report", folder / "r.json")
    expect(np.array_equal(np.load(out), density(image, *options).astype(np.float32)), "run's density")
    report = json.loads((folder / "r.json").read_text())
    expect(report["grading"]["natural_residual"] < 1e-8 and report["smoothing"]["residual"] < 1e-8, "run's report")


def check_refusals(folder):
    image, out = EXAMPLES / "camera.png", folder / "no.npy"
    np.save(folder / "none.npy", np.zeros((512, 512), np.uint8))
    (folder / "bad.csv").write_text("0,0\n10,10\n10,0\n0,10\n")
    for arguments, code, part in (
            (("--within", folder / "none.npy"), 3, "leave no pixel"),
            (("--within", "alpha"), 3, "alpha"),
            (("--within", folder / "bad.csv"), 3, "bad.csv"),
            (("--within", EXAMPLES / "coins.png"), 3, "384 x 303"),
            (("--within", folder / "absent.png"), 3, "absent.png"),
            (("--weight", "a.png"), 2, "FILE=FACTOR"),
            (("--weight", "a.png=-1"), 2, "FILE=FACTOR"),
            (("--weight", f"{EXAMPLES}/camera.png=1e300"), 3, "single precision"),
            (("--bias", 0.1), 2, "--smooth"),
            (("--grade-max", 1), 2, "--grade"),
            (("--smooth", 1, "--bias", 1), 2, "--bias"),
            (("--grade", "nan"), 2, "--grade"),
            (("--inside", "1,2,3"), 2, "--segment")):
        done = run("density", image, *arguments, "-o", out, code=code)
        expect(part in done.stderr, f"{arguments}: {done.stderr}")
    expect(not out.exists(), "a refused run leaves a file")
    run("density", image, "-o", folder / "a.msh", code=2)


with tempfile.TemporaryDirectory() as name:
    for check in (check_solutions, check_domains, check_run, check_refusals):
        check(pathlib.Path(name))
print("\n".join(failures) or "density: all well")
sys.exit(bool(failures))
