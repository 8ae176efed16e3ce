"""cvtmesh segment from outside: reference values, coins, files, refusals."""
import json
import pathlib
import sys
import tempfile
import xml.etree.ElementTree

from program import EXAMPLES, expect, failures, run

try:
    import numpy as np
except ImportError:
    sys.exit(77)


def ring_area(text):
    """Signed areas of the rings of an SVG path of M, L and Z."""
    area = 0.0
    for ring in text.replace("M", "").split("Z"):
        points = np.array([[float(v) for v in p.split()] for p in ring.strip().split("L") if p.strip()])
        if len(points):
            x, y = points.T
            area += 0.5 * float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))
    return abs(area)


def check_disc(folder):
    """The synthetic image of a disc with a gap, from a circle around it."""
    m = 128
    t = (np.arange(m) + 0.5) / m
    x, y = np.meshgrid(t - 0.5, t - 0.5)
    r = np.hypot(x, y)
    image = ((r < 0.3) & ~((abs(np.arctan2(y, x)) < 0.35) & (r > 0.22))).astype(np.float32)
    np.save(folder / "disc.npy", image)
    options = ("--initial", f"64,64,{0.4 * m}", "--sigma", 0, "--inside", f"{0.76 * m},64,{0.03 * m}")
    run("segment", folder / "disc.npy", *options, "--steps", 10, "--tolerance", 0, "-o", folder / "u.npy",
        "--report", folder / "r.json")
    report = json.loads((folder / "r.json").read_text())["segmentation"]
    # The start is a distance between pixels here, exact in the reference: 0.29834 after ten steps.
    expect(abs(report["area"] - 0.29834) < 2e-3, f"area {report['area']} after ten steps")
    expect(report["steps"] == 10 and len(report["history"]) == 11, "ten steps")
    energies = [row["energy"] for row in report["history"]]
    expect(all(b <= a * (1 + 1e-9) for a, b in zip(energies, energies[1:])), "the energy grows")
    u = np.load(folder / "u.npy")
    expect(u.shape == (m, m) and (u[np.hypot(x - 0.26, y) < 0.03] <= -0.05).all(), "the seed is not inside")


def check_coins(folder):
    """A seed in a coin gives that coin: its place and its radius, read off the picture."""
    for place, radius in (((102.5, 126), 19), ((270.5, 119.5), 25), ((334.5, 43.5), 28.7)):
        mask, contour, out = folder / "m.png", folder / "m.svg", folder / "u.npy"
        run("segment", EXAMPLES / "coins.png", "--inside", f"{place[0]},{place[1]},4", "-o", mask, "-o", contour,
            "-o", out, "--steps", 12)
        inside = np.load(out) < 0
        j, i = np.nonzero(inside)
        centre = (i.mean() + 0.5, j.mean() + 0.5)
        expect(np.hypot(centre[0] - place[0], centre[1] - place[1]) < 3, f"coin at {place}: found at {centre}")
        found = np.sqrt(inside.sum() / np.pi)
        expect(abs(found - radius) < 1.5, f"coin at {place}: radius {found}")
        # The mask as a domain: what is white.
        run("density", EXAMPLES / "coins.png", "--within", mask, "--density-from", "density", "--invert", "--floor",
            1e-3, "-o", folder / "d.npy")
        expect(np.array_equal(np.load(folder / "d.npy") > 0, inside), "the mask is not the level set's inside")
        path = xml.etree.ElementTree.parse(contour).getroot().find("{http://www.w3.org/2000/svg}path")
        expect(abs(ring_area(path.get("d")) - inside.sum()) < 0.02 * inside.sum(), "the area of the contour")


def check_run(folder):
    run("run", EXAMPLES / "coins.png", "--segment", "--inside", "270,120,5", "--invert", "-n", 200, "--iterations", 5,
        "-o", folder / "p.csv", "--density-out", folder / "d.npy")
    points = np.loadtxt(folder / "p.csv", delimiter=",", skiprows=1)[:, :2]
    expect((np.hypot(points[:, 0] - 270.5, points[:, 1] - 119.5) < 28).all(), "sites outside the coin")
    run("run", EXAMPLES / "coins.png", "--segment", "--inside", "270,120,5", "--invert", "--domain", "segment", "-n",
        200, "--iterations", 5, "-o", folder / "p.msh", "--report", folder / "r.json")
    area = json.loads((folder / "r.json").read_text())["domain"]["mesh_area"]
    expect(abs(area - np.count_nonzero(np.load(folder / "d.npy"))) < 0.02 * area, f"a mesh of area {area}")


def check_refusals(folder):
    image, out = EXAMPLES / "coins.png", folder / "no.png"
    np.save(folder / "zero.npy", np.zeros((303, 384), np.float32))
    np.save(folder / "nan.npy", np.full((20, 20), np.nan, np.float32))
    done = run("segment", folder / "nan.npy", "--inside", "10,10,3", "-o", out, code=3)
    expect("not finite" in done.stderr, done.stderr)
    for arguments, code, part in (
            ((), 2, "--inside"),
            (("--inside", "1,2"), 2, "X,Y,RADIUS"),
            (("--inside", "500,10,5"), 3, "outside the image of 384 x 303"),
            (("--inside", "100,100,9", "--outside", "105,100,9"), 3, "contradict"),
            (("--seeds", folder / "zero.npy"), 3, "no pixel is marked"),
            (("--seeds", EXAMPLES / "camera.png"), 3, "512 x 512"),
            (("--inside", "100,100,5", "--initial", "-900,0,5"), 3, "encloses nothing")):
        done = run("segment", image, *arguments, "-o", out, code=code)
        expect(part in done.stderr, f"{arguments}: {done.stderr}")
    expect(not out.exists(), "a refused run leaves a file")
    run("segment", image, "--inside", "100,100,5", "-o", folder / "a.obj", code=2)


with tempfile.TemporaryDirectory() as name:
    for check in (check_disc, check_coins, check_run, check_refusals):
        check(pathlib.Path(name))
print("\n".join(failures) or "segment: all well")
sys.exit(bool(failures))
