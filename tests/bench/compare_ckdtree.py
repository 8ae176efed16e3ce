#!/usr/bin/env python3
"""One exact evaluation on the CPU against assigning the pixels with SciPy's cKDTree, on as many
threads, one right after the other: compare_ckdtree.py BENCH_CVT [THREADS]."""

import os
import subprocess
import sys
import time

import numpy
from scipy.spatial import cKDTree

SIDE, SITES, LLOYD_STEPS, REPEATS = 1024, 10000, 5, 3


def main():
    program = sys.argv[1]
    threads = int(sys.argv[2]) if len(sys.argv) > 2 else len(os.sched_getaffinity(0))
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
    table = subprocess.run(
        [program, "--device", "cpu", "--what", "evaluation", "--side", str(SIDE)], env=environment, check=True, capture_output=True, text=True
    ).stdout
    row = next(r for r in table.splitlines() if r.startswith(f"| {SIDE}^2 | {SITES} | uniform"))
    exact = float(row.split("|")[4])

    axis = numpy.arange(SIDE) + 0.5
    pixels = numpy.stack(numpy.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    sites = numpy.random.default_rng(1).random((SITES, 2)) * SIDE
    for _ in range(LLOYD_STEPS):  # relaxed sites are the easier case for the tree too
        labels = cKDTree(sites).query(pixels, workers=threads)[1]
        count = numpy.maximum(numpy.bincount(labels, minlength=SITES), 1)
        for k in range(2):
            sites[:, k] = numpy.bincount(labels, pixels[:, k], SITES) / count
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        cKDTree(sites).query(pixels, workers=threads)
        best = min(best, 1e3 * (time.perf_counter() - start))
    print(f"{SIDE}^2, {SITES} sites, {threads} threads, milliseconds")
    print(f"exact evaluation {exact:.2f}, cKDTree labels {best:.2f}, ratio {best / exact:.1f}")


main()
