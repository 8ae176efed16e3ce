#!/usr/bin/env python3
"""The table of docs/records.md: the least energies found for public densities.

records.py [--program build/cvtmesh] [--device cpu] [--densities NAME ...] [--points 1000 10000] [--effort normal high]

Seconds are those of the optimisation on a GPU, of all processors on a CPU. The densities are written to the folder
"records" as PFM; the pictures are those of docs/examples/.
"""

import argparse
import json
import math
import resource
import struct
import subprocess
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "docs/examples"
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


def measure(given, picture, points, effort, out):
    """The report, and the seconds of the optimisation, or of processors where these did it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([given.program, "run", picture, "-n", str(points), "--effort", effort, "-o", f"{out}.csv",
                    "--report", f"{out}.json", "--device", given.device, "-q"], check=True)
    report = json.loads(Path(f"{out}.json").read_text())
    processors = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return report, processors if given.device == "cpu" else report["seconds"]["optimize"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/cvtmesh")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--points", type=int, nargs="*", default=[1000, 10000])
    parser.add_argument("--effort", nargs="*", default=["normal", "high"])
    parser.add_argument("--densities", nargs="*", help="only these")
    given = parser.parse_args()
    folder = Path("records")
    print("| density | sites |" + "".join(f" energy, {effort} effort | ratio | not six, % | s |" for effort in given.effort))
    print("|---|---|" + "---|---|---|---|" * len(given.effort))
    for picture in write_densities(folder):
        if given.densities and picture.stem not in given.densities:
            continue
        for points in given.points:
            cells = [picture.stem, str(points)]
            for effort in given.effort:
                report, seconds = measure(given, picture, points, effort, folder / f"{picture.stem}-{points}-{effort}")
                share = 100 * (1 - report["quality"]["degree6_share"])
                cells += [f"{report['energy']:.9g}", f"{report['energy_ratio']:.5f}", f"{share:.1f}", f"{seconds:.2f}"]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
