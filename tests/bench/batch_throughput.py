#!/usr/bin/env python3
"""Images per second of `cvtmesh batch`, on images that it makes itself.

    tests/bench/batch_throughput.py [--program PATH] [--device NAME] [--size 512] [--sites 5000]
                              [--counts 10,1000] [--jobs 16,8] [-- options of run]

Prints a row for every count and --jobs: seconds, images per second, the largest resident
memory, the seconds that the lanes spent reading, waiting for a device, solving and writing,
and on a GPU the share of time in which kernels ran and the most memory in use (nvidia-smi,
sampled). The default takes seconds on a CPU; the figures of docs/benchmarks.md name theirs."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image


def image(size, number):
    """Smooth waves whose lengths and phases follow the number; never white."""
    a, b = 1 + number % 7, 1 + number % 5
    at = 2 * np.pi * np.arange(size) / size
    row, scale = 127 + 120 * np.sin(a * at + number), 0.55 + 0.4 * np.sin(b * at + 0.37 * number)
    return Image.fromarray((scale[:, None] * row).astype(np.uint8))


DISTINCT = 100  # images; more jobs than that use them again


class Gpu:
    """nvidia-smi beside a run; does nothing where there is none."""
    def __enter__(self):
        self.process = None
        if shutil.which("nvidia-smi"):
            self.process = subprocess.Popen(
                ["nvidia-smi", "--query-gpu=utilization.gpu,memory.used",
                 "--format=csv,noheader,nounits", "-lms", "100"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return self

    def __exit__(self, *_):
        self.busy = self.memory = None
        if self.process is None:
            return
        self.process.terminate()
        rows = [line.split(",") for line in self.process.communicate()[0].splitlines()]
        rows = [(float(a), float(b)) for a, b in (r for r in rows if len(r) == 2)]
        if rows:
            self.busy = sum(a for a, _ in rows) / len(rows)
            self.memory = max(b for _, b in rows)


def measure(program, folder, count, jobs, options):
    outputs = os.path.join(folder, "out")
    shutil.rmtree(outputs, ignore_errors=True)
    os.mkdir(outputs)
    listed = os.path.join(folder, "jobs.jsonl")
    with open(listed, "w", encoding="utf-8") as stream:
        for k in range(count):
            stream.write(json.dumps({"input": "%s/in/%05d.png" % (folder, k % DISTINCT),
                                     "output": "%s/%05d.msh" % (outputs, k)}) + "\n")
    report = os.path.join(folder, "report.json")
    with Gpu() as gpu:
        subprocess.run([program, "batch", listed, "-q", "--jobs", str(jobs), "--report", report,
                        *options], check=True)
    with open(report, encoding="utf-8") as stream:
        result = json.load(stream)
    assert result["done"] == count == len(os.listdir(outputs)), result
    return result, gpu


def main():
    parser = argparse.ArgumentParser()
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("--program", default=os.environ.get("CVTMESH_PROGRAM",
                                                            os.path.join(root, "build", "cvtmesh")))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--sites", type=int, default=300)
    parser.add_argument("--counts", default="10,40")
    parser.add_argument("--jobs", default="0")
    parser.add_argument("--folder", default=None, help="where images and meshes lie for the while")
    parser.add_argument("options", nargs="*")
    arguments = parser.parse_args()
    counts = [int(c) for c in arguments.counts.split(",")]
    folder = tempfile.mkdtemp(prefix="cvtmesh-bench-", dir=arguments.folder)
    options = ["-n", str(arguments.sites), "--device", arguments.device, *arguments.options]
    try:
        os.mkdir(os.path.join(folder, "in"))
        for k in range(min(max(counts), DISTINCT)):
            image(arguments.size, k).save("%s/in/%05d.png" % (folder, k), compress_level=1)
        print("images of %d^2, %s" % (arguments.size, " ".join(options)))
        print("| images | at a time | seconds | a second | memory MB | read | wait | solve | write |"
              " GPU at work % | GPU memory MB |")
        print("|---|---|---|---|---|---|---|---|---|---|---|")
        for jobs in (int(j) for j in arguments.jobs.split(",")):
            for count in counts:
                result, gpu = measure(arguments.program, folder, count, jobs, options)
                seconds = result["seconds"]
                print("| %d | %d | %.2f | %.1f | %.0f | %.2f | %.2f | %.2f | %.2f | %s | %s |" % (
                    count, sum(d["runs_at_a_time"] for d in result["devices"]), seconds["total"],
                    count / seconds["total"], result["peak_memory"] / 1e6, seconds["read"],
                    seconds["wait"], seconds["solve"], seconds["write"],
                    "-" if gpu.busy is None else "%.0f" % gpu.busy,
                    "-" if gpu.memory is None else "%.0f" % gpu.memory), flush=True)
    finally:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
