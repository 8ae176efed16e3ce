#!/usr/bin/env python3
"""The table of docs/records.md: the least energies found for public densities.

records.py [--program build/cvtmesh] [--device cpu] [--densities NAME ...] [--points 1000 10000]
           [--effort normal high best] [--seconds 0] [--restarts 0] [--rivals SECONDS]

The rivals displace all sites of the default's run, let them descend, and go on from the result if it is accepted:
"monte carlo" at random, accepted by Metropolis's criterion (Lu, Sun, Pan & Wang 2012), "nearest" away from the
nearest other site, always accepted (Gonzalez, Choksi & Nave 2021). Seconds are those of the optimisation on a GPU, of
all processors on a CPU. The densities are written to the folder "records" as PFM; the pictures are those of examples/.
"""

import argparse
import json
import math
import random
import resource
import struct
import subprocess
from pathlib import Path

import numpy
from scipy.spatial import cKDTree

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SIDE = 512
REACH = 0.4  # of the rivals' displacements, in spacings of the sites
TEMPERATURE = 1e-5  # of the Metropolis criterion, of relative changes of the energy
DENSITIES = {
    "square": lambda x, y: 1,
    "disc": lambda x, y: 1 if math.hypot(x, y) < 0.5 else 0,
    "linear": lambda x, y: 1 + 99 * (x + 0.5),  # 1 to 100
    "gaussian": lambda x, y: math.exp(-20 * (x * x + y * y)),
    "ripple": lambda x, y: math.exp(-20 * (x * x + y * y)) + 0.05 * math.sin(2 * math.pi * x) ** 2
    * math.sin(2 * math.pi * y) ** 2,
    "step": lambda x, y: 1 if x < 0 else 100,
    "ring": lambda x, y: 0.01 + math.exp(-200 * (math.hypot(x, y) - 0.3) ** 2),
    "corner": lambda x, y: 1 / (0.01 + (x + 0.5) ** 2 + (y + 0.5) ** 2),
    "waves": lambda x, y: 1.1 + math.sin(6 * math.pi * x),
}
PICTURES = ["camera.png", "coins.png", "horse.png"]


def write_densities(folder):
    folder.mkdir(exist_ok=True)
    for name, density in DENSITIES.items():
        rows = []
        for j in range(SIDE):
            y = (j + 0.5) / SIDE - 0.5
            rows.append(struct.pack(f"<{SIDE}f", *(density((i + 0.5) / SIDE - 0.5, y) for i in range(SIDE))))
        header = f"Pf\n{SIDE} {SIDE}\n-1.0\n".encode()
        (folder / f"{name}.pfm").write_bytes(header + b"".join(reversed(rows)))
    return [folder / f"{name}.pfm" for name in DENSITIES] + [EXAMPLES / name for name in PICTURES]


def run(given, command, reports):
    """Runs the program. The reports, with the seconds of the optimisation, or of processors where these did it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([given.program, *command, "--device", given.device, "-q"], check=True)
    processors = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    found = [json.loads(Path(report).read_text()) for report in reports]
    for report in found:
        report["took"] = processors / len(found) if given.device == "cpu" else report["seconds"]["optimize"]
    return found


def row(picture, points, effort, report):
    share = 100 * (1 - report["quality"]["degree6_share"])
    return (f"| {picture.stem} | {points} | {effort} | {report['energy']:.9g} | {report['energy_ratio']:.5f} | "
            f"{share:.1f} | {report.get('anneal_rounds', '')} | {report['took']:.2f} |")


def restarted(given, picture, points, folder):
    """The row of the least energy among the default's runs from several seeds."""
    jobs = folder / f"{picture.stem}-{points}-restarts.csv"
    names = [folder.resolve() / f"{jobs.stem}-{seed}" for seed in range(1, given.restarts + 1)]
    jobs.write_text("input,output,points,seed,report\n" + "".join(
        f"{picture.resolve()},{name}.npy,{points},{seed},{name}.json\n" for seed, name in enumerate(names, 1)))
    reports = run(given, ["batch", jobs], [f"{name}.json" for name in names])
    least = min(reports, key=lambda report: report["energy"])
    least["took"] = sum(report["took"] for report in reports)
    return row(picture, points, f"{given.restarts} seeds", least)


def displaced_at_random(sites, spacing, number):
    generator = numpy.random.default_rng(number)
    return sites + generator.uniform(-REACH, REACH, sites.shape) * spacing[:, None]


def displaced_from_nearest(sites, spacing, _):
    distance, index = cKDTree(sites).query(sites, 2)
    return sites + REACH * (spacing / distance[:, 1])[:, None] * (sites - sites[index[:, 1]])


RIVALS = {"monte carlo": (displaced_at_random, TEMPERATURE), "nearest": (displaced_from_nearest, math.inf)}


def rival(given, picture, points, folder, name):
    """The row of the least energy that displacements and descents reach within the seconds of the descents."""
    displace, temperature = RIVALS[name]
    out = folder / f"{picture.stem}-{points}-rival"
    least, seconds, rounds = None, 0, 0
    sites, energy = None, math.inf
    while seconds < given.rivals:
        start = []
        if sites is not None:
            distance, _ = cKDTree(sites).query(sites, 7)
            moved = displace(sites, numpy.median(distance[:, 1:], 1), rounds)
            numpy.save(f"{out}-start.npy", moved.clip(0, (report["width"], report["height"])))
            start = ["--init", f"{out}-start.npy", "--effort", "low"]
        report = run(given, ["run", picture, "-n", str(points), "-o", f"{out}.npy", "--report", f"{out}.json", *start],
                     [f"{out}.json"])[0]
        seconds += report["took"]
        rise = (report["energy"] - energy) / report["energy"]
        if rise <= 0 or random.Random(rounds).random() < math.exp(-rise / temperature):
            sites, energy = numpy.load(f"{out}.npy")[:, :2], report["energy"]
        if least is None or report["energy"] < least["energy"]:
            least = report
        rounds += 1
    least.update(took=seconds, anneal_rounds=rounds - 1)
    return row(picture, points, name, least)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/cvtmesh")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--points", type=int, nargs="*", default=[1000, 10000])
    parser.add_argument("--effort", nargs="*", default=["normal", "high", "best"])
    parser.add_argument("--seconds", type=float, default=0, help="time limit of the best effort; 0: none")
    parser.add_argument("--restarts", type=int, default=0, help="add the best of so many seeds of the default")
    parser.add_argument("--rivals", type=float, default=0, help="add the rivals' rows, with so many seconds each")
    parser.add_argument("--densities", nargs="*", help="only these")
    given = parser.parse_args()
    folder = Path("records")
    pictures = [p for p in write_densities(folder) if not given.densities or p.stem in given.densities]
    print("| density | sites | effort | energy | ratio | not six, % | rounds | s |\n|---|---|---|---|---|---|---|---|")
    for picture in pictures:
        for points in given.points:
            for effort in given.effort:
                out = folder / f"{picture.stem}-{points}-{effort}"
                best = ["--time-limit", str(given.seconds)]
                command = ["run", picture, "-n", str(points), "--effort", effort, "-o", f"{out}.csv", "--report",
                           f"{out}.json", *(best if effort == "best" else [])]
                print(row(picture, points, effort, run(given, command, [f"{out}.json"])[0]), flush=True)
            if given.restarts > 0:
                print(restarted(given, picture, points, folder), flush=True)
            for name in RIVALS if given.rivals > 0 else []:
                print(rival(given, picture, points, folder, name), flush=True)


if __name__ == "__main__":
    main()
