#!/usr/bin/env python3
"""The weights with which given sites have cells of equal mass, beside pysdot's semi-discrete transport, in processor
seconds on one thread; ours are those of the whole process.

compare_pysdot.py PROGRAM SITES PICTURE ...: needs the package pysdot (0.2.16 has wheels) and SciPy. The sites are those
of a plain tessellation; both end at a largest relative deviation of a mass below 1e-6.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy
import pysdot
from pysdot.domain_types import ScaledImage


def transport_seconds(density, sites):
    """Of pysdot, and its largest relative deviation of a mass."""
    height, width = density.shape
    count = len(sites)
    domain = ScaledImage([0, 0], [width, height], density / density.sum())
    transport = pysdot.OptimalTransport(sites, numpy.zeros(count), domain, numpy.full(count, 1 / count), obj_max_dw=0,
                                        obj_max_dm=1e-6 / count, linear_solver="Scipy")
    start = time.process_time()
    transport.adjust_weights()
    return time.process_time() - start, abs(count * numpy.array(transport.pd.integrals()) - 1).max()


def main():
    program, count = sys.argv[1:3]
    print("| density | ours, s | deviation | pysdot, s | deviation |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for picture in sys.argv[3:]:
            common = [program, "run", picture, "--threads", "1", "-q", "--report", folder / "r.json"]
            subprocess.run([*common, "-n", count, "-o", folder / "s.npy", "--density-out", folder / "d.npy"], check=True)
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            subprocess.run([*common, "--init", folder / "s.npy", "--iterations", "0", "--equal-mass", "-o",
                            folder / "e.npy"], check=True)
            ours = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
            found = json.loads((folder / "r.json").read_text())["equal_mass"]["largest_deviation"]
            density = numpy.load(folder / "d.npy").astype(float)
            theirs, deviation = transport_seconds(density, numpy.load(folder / "s.npy")[:, :2])
            print(f"| {Path(picture).stem} | {ours:.2f} | {found:.0e} | {theirs:.1f} | {deviation:.0e} |", flush=True)


if __name__ == "__main__":
    main()
