"""cvtmesh run --equal-mass from outside: masses recomputed in numpy from the sites and weights that
were written, by clipping; the mesh is the regular triangulation, by its lifted convexity; the same
files on every run; options that do not go together are refused."""
import json
import pathlib
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

from program import expect, failures, run

WIDTH, HEIGHT = 60, 40


def clip(polygon, normal, offset):
    """The part of a convex polygon where normal . x <= offset."""
    side = polygon @ normal - offset
    kept = []
    for k in range(len(polygon)):
        n = (k + 1) % len(polygon)
        if side[k] <= 0:
            kept.append(polygon[k])
        if side[k] * side[n] < 0:
            kept.append(polygon[k] + (polygon[n] - polygon[k]) * side[k] / (side[k] - side[n]))
    return np.array(kept).reshape(-1, 2)


def area(polygon):
    if len(polygon) < 3:
        return 0.0
    x, y = (polygon - polygon[0]).T
    return abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2


def cell_mass(density, sites, weights, i):
    """Cut by all sites, then by the lines of pixels."""
    height, width = density.shape
    cell = np.array([[0.0, 0], [width, 0], [width, height], [0, height]])
    offsets = (np.sum(sites**2, 1) - weights - np.sum(sites[i] ** 2) + weights[i]) / 2
    for j in np.argsort(np.sum((sites - sites[i]) ** 2, 1)):
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


def read_obj(path):
    lines = path.read_text().split("\n")
    points = np.array([l.split()[1:3] for l in lines if l.startswith("v ")], float)
    triangles = np.array([[int(c.split("/")[0]) - 1 for c in l.split()[1:]]
                          for l in lines if l.startswith("f ")])
    return points, triangles


def check_masses(folder, name, density, *options):
    image = folder / f"{name}.npy"
    np.save(image, density.astype(np.float32))
    files = [folder / f"{name}_{end}" for end in ("p.npy", "w.npy", "r.json", "m.obj")]
    run("run", image, "-n", 50, "--equal-mass", "--mass-tolerance", 1e-9, "-o", files[0],
        "-o", files[3], "--weights-out", files[1], "--report", files[2], *options)
    sites, weights = np.load(files[0]), np.load(files[1])
    report = json.loads(files[2].read_text())
    target = density.astype(np.float32).sum(dtype=float) / len(sites)
    masses = np.array([cell_mass(density.astype(np.float32), sites, weights, i)
                       for i in range(len(sites))])
    # What was asked for, and the rounding of coordinates of cells beside steep densities.
    worst = abs(masses / target - 1).max()
    expect(worst <= 1e-9 + 1e-11, f"{name}: masses off by {worst}")
    told = report["equal_mass"]
    expect(told["converged"] and told["largest_deviation"] <= 1e-9, f"{name}: report {told}")
    expect(abs(told["mass"] / target - 1) < 1e-12, f"{name}: mass {told['mass']}, not {target}")
    costs = [entry["energy"] for entry in report["history"]]
    expect(all(b <= a * (1 + 1e-9) for a, b in zip(costs, costs[1:])), f"{name}: the cost rises")
    expect(report["energy"] <= costs[0] * (1 + 1e-9), f"{name}: no better than the start")

    # Lifted to z = |x|^2 - w, a regular triangulation is the lower hull: no site below any triangle.
    points, triangles = read_obj(files[3])
    points = points * [1, -1] + [0, density.shape[0]]
    expect(np.allclose(points, sites, atol=1e-6), f"{name}: the mesh has other sites")
    lifted = np.sum(sites**2, 1) - weights
    for triangle in triangles:
        corners = np.column_stack([sites[triangle], np.ones(3)])
        plane = np.linalg.solve(corners, lifted[triangle])
        below = lifted - np.column_stack([sites, np.ones(len(sites))]) @ plane
        expect(below.min() > -1e-6, f"{name}: a site below triangle {triangle}")
    used = np.unique(triangles)
    expect(len(used) == len(sites), f"{name}: {len(sites) - len(used)} sites have no triangle")
    return [f.read_bytes() for f in (files[0], files[1], files[3])]


def check_refusals(folder):
    image = folder / "graded.npy"
    out = folder / "x.csv"
    equal = ("--equal-mass", "-o", out)
    run("run", image, "-n", 9, *equal, "--energy", "pixel", code=2)
    run("run", image, "-n", 9, *equal, "--domain", "image", code=2)
    run("run", image, "-n", 9, *equal, "--watch", folder / "watch", code=2)
    run("run", image, "-n", 9, *equal, "--mass-tolerance", 0, code=2)
    run("run", image, "-n", 9, *equal, "--weights-out", folder / "w.csv", code=2)
    run("run", image, "-n", 9, "-o", out, "--mass-tolerance", 0.1, code=2)
    run("run", image, "-n", 9, "-o", out, "--weights-out", folder / "w.npy", code=2)
    (folder / "twice.csv").write_text("1,1\n5,5\n1,1\n")
    refused = run("run", image, "--init", folder / "twice.csv", *equal, code=3)
    expect("sites 0 and 2 share a place" in refused.stderr, f"coincident sites: {refused.stderr}")
    (folder / "corners.csv").write_text(f"0,0\n5,5\n{WIDTH},{HEIGHT}\n")
    refused = run("run", image, "--init", folder / "corners.csv", "--periodic", *equal, code=3)
    expect("sites 0 and 2 share a place" in refused.stderr, f"corners of a torus: {refused.stderr}")
    expect(not out.exists(), "a refused run wrote a file")


def check_row(folder):
    """A row of sites is a saddle. The way off it tries steps that lead outside, where several sites
    end in one corner of the domain: steps to shorten, no failure."""
    rng = np.random.default_rng(34)
    np.save(folder / "rough.npy", rng.uniform(0.01, 1, (24, 32)).astype(np.float32))
    x = np.linspace(1, 31, 9)
    np.savetxt(folder / "row.csv", np.column_stack([x, np.full(9, 12.0)]), delimiter=",")
    run("run", folder / "rough.npy", "--init", folder / "row.csv", "--equal-mass",
        "-o", folder / "r.npy")
    expect(np.ptp(np.load(folder / "r.npy")[:, 1]) > 5, "the row is kept")


def check_kept_sites(folder):
    """--iterations 0 keeps sites where they are; fixed ones stay in any case."""
    (folder / "three.csv").write_text("3,4\n50,30\n20,37.5\n")
    np.save(folder / "flat.npy", np.ones((HEIGHT, WIDTH), np.float32))
    for n, options in ((3, ("--init", folder / "three.csv", "--iterations", 0)),
                       (3, ("--fixed", folder / "three.csv")),
                       (12, ("--fixed", folder / "three.csv", "--iterations", 20))):
        run("run", folder / "flat.npy", "-n", n, "--equal-mass", *options, "-o", folder / "k.npy",
            "--weights-out", folder / "k_w.npy")
        sites, weights = np.load(folder / "k.npy"), np.load(folder / "k_w.npy")
        expect(np.array_equal(sites[:3], [[3, 4], [50, 30], [20, 37.5]]), f"{options}: moved")
        masses = [cell_mass(np.ones((HEIGHT, WIDTH)), sites, weights, i) for i in range(n)]
        expect(np.allclose(masses, WIDTH * HEIGHT / n, rtol=2e-6), f"{options}: {masses}")


def check_tone(folder):
    """Twice the tone, twice the sites: of a picture the density is the tone itself."""
    picture = np.full((HEIGHT, WIDTH), 255, np.uint8)
    picture[:, : WIDTH // 2] = 188  # half the light, in sRGB
    picture[:, WIDTH // 2 :] = 0
    (folder / "tone.pgm").write_bytes(b"P5 %d %d 255\n" % (WIDTH, HEIGHT) + picture.tobytes())
    run("run", folder / "tone.pgm", "-n", 90, "--equal-mass", "-o", folder / "t.npy",
        "--density-out", folder / "t_rho.npy")
    left = (np.load(folder / "t.npy")[:, 0] < WIDTH / 2).sum()
    rho = np.load(folder / "t_rho.npy")
    expect(abs(rho[0, 0] / rho[0, -1] - 0.5) < 0.01, f"tones {rho[0, 0]}, {rho[0, -1]}")
    expect(27 <= left <= 33, f"{left} sites of 90 on the lighter half, not about 30")


with tempfile.TemporaryDirectory() as place:
    place = pathlib.Path(place)
    x, y = np.meshgrid(np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5)
    graded = 1 + 99 * np.exp(-((x - 20) ** 2 + (y - 15) ** 2) / 60)
    first = check_masses(place, "graded", graded)
    expect(first == check_masses(place, "graded", graded), "other files on a second run")
    check_masses(place, "flat", np.ones((HEIGHT, WIDTH)), "--method", "lloyd", "--iterations", 30)
    gap = np.where((x > 25) & (x < 40), 0.0, 1 + x / 20)
    check_masses(place, "gap", gap, "--effort", "low")
    check_refusals(place)
    check_row(place)
    check_kept_sites(place)
    check_tone(place)
print("\n".join(failures) or "equal masses: all good")
sys.exit(bool(failures))
