#!/usr/bin/env python3
"""The table of docs/records.md: the least energies found for public densities.

records.py [--program build/cvtmesh] [--device cpu] [--points 1000 10000] [--effort normal high best]

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
            f"{share:.1f} | {kicks} | {report['timings']['optimize']:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/cvtmesh")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--points", type=int, nargs="*", default=[1000, 10000])
    parser.add_argument("--effort", nargs="*", default=["normal", "high", "best"])
    given = parser.parse_args()
    folder = Path("records")
    pictures = write_densities(folder)
    print("| density | sites | effort | energy | ratio | not six, % | kicks, kept | s |\n|---|---|---|---|---|---|---|---|")
    for picture in pictures:
        for points in given.points:
            for effort in given.effort:
                out = folder / f"{picture.stem}-{points}-{effort}"
                subprocess.run([given.program, "run", picture, "-n", str(points), "--effort", effort, "--device",
                                given.device, "-q", "-o", f"{out}.csv", "--report", f"{out}.json"], check=True)
                print(row(picture, points, effort, json.loads(Path(f"{out}.json").read_text())), flush=True)


if __name__ == "__main__":
    main()
