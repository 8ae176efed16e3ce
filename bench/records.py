#!/usr/bin/env python3
"""The table of docs/records.md: the least energies found for public densities.

records.py [--program build/cvtmesh] [--device cpu] [--points 1000 10000] [--effort normal high best]
           [--seconds 0] [--kick-rounds 200] [--restarts 0]

The densities are written to the folder "records" as PFM; the pictures are those of examples/.
"""

import argparse
import json
import math
import struct
import subprocess
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SIDE = 512
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


def row(picture, points, effort, report):
    share = 100 * (1 - report["quality"]["degree6_share"])
    kicks = f"{report['kick_rounds']} / {report['kicks_kept']}" if "kick_rounds" in report else ""
    return (f"| {picture.stem} | {points} | {effort} | {report['energy']:.9g} | {report['energy_ratio']:.5f} | "
            f"{share:.1f} | {kicks} | {report['seconds']['optimize']:.2f} |")


def restarted(given, picture, points, folder):
    """The row of the least energy among the default's runs from several seeds."""
    jobs = folder / f"{picture.stem}-{points}-restarts.csv"
    names = [folder.resolve() / f"{jobs.stem}-{seed}" for seed in range(1, given.restarts + 1)]
    jobs.write_text("input,output,points,seed,report\n" + "".join(
        f"{picture.resolve()},{name}.npy,{points},{seed},{name}.json\n" for seed, name in enumerate(names, 1)))
    subprocess.run([given.program, "batch", jobs, "--device", given.device, "-q"], check=True)
    reports = [json.loads(Path(f"{name}.json").read_text()) for name in names]
    least = min(reports, key=lambda report: report["energy"])
    least["seconds"]["optimize"] = sum(report["seconds"]["optimize"] for report in reports)
    return row(picture, points, f"{given.restarts} seeds", least)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/cvtmesh")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--points", type=int, nargs="*", default=[1000, 10000])
    parser.add_argument("--effort", nargs="*", default=["normal", "high", "best"])
    parser.add_argument("--seconds", type=float, default=0, help="time limit of the best effort; 0: none")
    parser.add_argument("--kick-rounds", type=int, default=200, help="of the best effort")
    parser.add_argument("--restarts", type=int, default=0, help="add the best of so many seeds of the default")
    given = parser.parse_args()
    folder = Path("records")
    pictures = write_densities(folder)
    print("| density | sites | effort | energy | ratio | not six, % | kicks, kept | s |\n|---|---|---|---|---|---|---|---|")
    for picture in pictures:
        for points in given.points:
            for effort in given.effort:
                out = folder / f"{picture.stem}-{points}-{effort}"
                best = ["--time-limit", str(given.seconds), "--kick-rounds", str(given.kick_rounds)]
                subprocess.run([given.program, "run", picture, "-n", str(points), "--effort", effort, "--device",
                                given.device, "-q", "-o", f"{out}.csv", "--report", f"{out}.json",
                                *(best if effort == "best" else [])], check=True)
                print(row(picture, points, effort, json.loads(Path(f"{out}.json").read_text())), flush=True)
            if given.restarts > 0:
                print(restarted(given, picture, points, folder), flush=True)


if __name__ == "__main__":
    main()
