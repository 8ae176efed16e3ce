#!/usr/bin/env python3
"""Tessellations of an even square beside geogram's, each on one thread: processor seconds of the whole process, and the
energy, which the program evaluates for both.

compare_geogram.py PROGRAM GEOGRAM BUILD [SITES ...]: GEOGRAM is the source, BUILD the folder where it was built with
GEOGRAM_LIB_ONLY and without graphics.
"""

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

SIDE = 512
OURS = (("random start, low effort", ["--effort", "low", "--start", "random"]),
        ("stratified start", ["--start", "stratified"]), ("default", []))


def processor_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def print_row(folder, sites, name, seconds):
    report = json.loads((folder / "r.json").read_text())
    share = 100 * (1 - report["quality"]["degree6_share"])
    print(f"| {sites} | {name} | {report['energy_ratio']:.5f} | {share:.1f} | {seconds:.1f} |", flush=True)


def main():
    program, source, build = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        square = folder / "square.pgm"
        square.write_bytes(f"P5 {SIDE} {SIDE} 255\n".encode() + bytes(SIDE * SIDE))
        theirs = folder / "geogram_cvt"
        subprocess.run(["c++", "-O2", "-std=c++17", f"-I{source}/src/lib", f"-I{build}/src/lib", "-o", theirs,
                        Path(__file__).with_suffix(".cpp"), f"{build}/lib/libgeogram.a", "-fopenmp", "-lpthread",
                        "-ldl"], check=True)
        common = [program, "run", square, "--threads", "1", "-q", "-o", folder / "o.csv", "--report", folder / "r.json"]
        print("| sites | | ratio | not six, % | s |\n|---|---|---|---|---|")
        for sites in sys.argv[4:] or ["10000"]:
            for iterations in ("50", "300"):
                seconds = processor_seconds([theirs, sites, "5", iterations, folder / "t.csv"])
                subprocess.run([*common, "--init", folder / "t.csv", "--iterations", "0"], check=True)
                print_row(folder, sites, f"geogram, {iterations} iterations", seconds)
            for label, options in OURS:
                print_row(folder, sites, label, processor_seconds([*common, "-n", sites, *options]))


if __name__ == "__main__":
    main()
