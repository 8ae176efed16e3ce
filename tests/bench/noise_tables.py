"""The tables of docs/noise.md: figures of spectra, and errors of integrals.

    python3 tests/bench/noise_tables.py build/cvtmesh [NAME ...]

NAME: of a set; all by default. Needs the Python package. Sets on the unit torus: independent points, one point in each square of a grid, Poisson
discs (darts until the number is reached, radius 0.7 of the hexagonal lattice's distance), the
program's tessellations and its blue noise."""

import pathlib
import subprocess
import sys
import tempfile

import cvtmesh
import numpy as np

SIDE = 512  # pixels; only its ratio to the spacing matters
SEEDS = 3


def white(count, random, _):
    return random.random((count, 2))


def jittered(count, random, _):
    side = int(count**0.5)
    grid = np.stack(np.divmod(np.arange(count), side), axis=1)
    return (grid + random.random((count, 2))) / side


def poisson_discs(count, random, _):
    radius = 0.7 * np.sqrt(2 / np.sqrt(3) / count)
    cells = int(1 / radius)
    inside = {}
    points = []
    while len(points) < count:
        p = random.random(2)
        x, y = (p * cells).astype(int)
        near = (q for i in (-1, 0, 1) for j in (-1, 0, 1)
                for q in inside.get(((x + i) % cells, (y + j) % cells), []))
        if all(((p - q - np.round(p - q))**2).sum() >= radius**2 for q in near):
            inside.setdefault((x, y), []).append(p)
            points.append(p)
    return np.array(points)


def program(*options):
    def make(count, random, folder):
        np.save(folder / "flat.npy", np.ones((SIDE, SIDE), np.float32))
        np.save(folder / "random.npy", SIDE * random.random((count, 2)))
        subprocess.run([PROGRAM, "run", folder / "flat.npy", "-n", str(count), "--periodic", "-q",
                        "--seed", str(random.integers(1, 10**6)), "-o", folder / "made.npy",
                        *options], check=True, cwd=folder)
        return np.load(folder / "made.npy") / SIDE

    return make


SETS = {
    "independent": white,
    "jittered": jittered,
    "Poisson discs": poisson_discs,
    "default": program(),
    "descent from random points": program("--effort", "low", "--init", "random.npy"),
    "`--equal-mass`": program("--equal-mass", "--effort", "low", "--init", "random.npy"),
    "`--noise blue`": program("--noise", "blue"),
}
KEYS = ("least_distance", "low_frequency_power", "effective_nyquist", "oscillation", "peak_power",
        "anisotropy_db")


def figures(points):
    found = cvtmesh.spectrum(points * SIDE, (SIDE, SIDE), periodic=True)
    order = cvtmesh.bond_order(points, cvtmesh.delaunay(points * SIDE).triangles)
    return [*(getattr(found, key) for key in KEYS), order]


def distances(points, centre):
    offset = points - centre
    offset -= np.round(offset)
    return np.hypot(*offset.T)


def mean_square_errors(points, random, functions=400):
    """Of a disc's indicator and a Gaussian, at random places and of random sizes."""
    errors = []
    for _ in range(functions):
        r = distances(points, random.random(2))
        radius, width = random.uniform(0.1, 0.3), random.uniform(0.04, 0.08)
        errors.append(((r < radius).mean() - np.pi * radius**2,
                       np.exp(-r**2 / (2 * width**2)).mean() - 2 * np.pi * width**2))
    return (np.array(errors)**2).mean(axis=0)


def main(folder):
    counts = (256, 1024, 4096)
    print("| points | " + " | ".join(KEYS) + " | bond_order |")
    for name, make in SETS.items():
        sets = [make(4096, np.random.default_rng(seed), folder) for seed in range(SEEDS)]
        mean = np.mean([figures(points) for points in sets], axis=0)
        print(f"| {name} | " + " | ".join("%.3g" % value for value in mean) + " |", flush=True)
    print("| points | " + " | ".join(f"disc {n}" for n in counts) + " | slope | " +
          " | ".join(f"Gaussian {n}" for n in counts) + " | slope |")
    for name, make in SETS.items():
        errors = np.array([[mean_square_errors(make(n, np.random.default_rng(seed), folder),
                                               np.random.default_rng(100 + seed))
                            for seed in range(SEEDS)] for n in counts]).mean(axis=1)
        row = []
        for column in errors.T:
            slope = np.polyfit(np.log(counts), np.log(column), 1)[0]
            row += ["%.1e" % value for value in column] + ["%.2f" % slope]
        print(f"| {name} | " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    PROGRAM, *names = sys.argv[1:]
    SETS = {name: SETS[name] for name in names or SETS}
    with tempfile.TemporaryDirectory() as temporary:
        main(pathlib.Path(temporary))
