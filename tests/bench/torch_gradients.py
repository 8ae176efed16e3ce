#!/usr/bin/env python3
"""Forward and backward of cvtmesh.torch on a GPU, wall time in milliseconds, the median of 15: for
uniform random sites, and for the same after 40 steps of Lloyd's method. Needs PyTorch with CUDA and
the CUDA side of cvtmesh. torch_gradients.py [SITES [SIDE]]"""

import statistics
import sys
import time

import torch

import cvtmesh.torch

LLOYD_STEPS, WARM_UP, REPEATS = 40, 3, 15


def energy(sites, density, weights):
    cvtmesh.torch.cvt_energy(sites, density).backward()


def moments(sites, density, weights):
    torch.autograd.backward(cvtmesh.torch.cvt_moments(sites, density), weights)


def median(function, sites, density, by_density):
    weights = [torch.randn_like(sites[:, 0]), torch.randn_like(sites)]
    sites = sites.clone().requires_grad_()
    density = density.clone().requires_grad_(by_density)
    times = []
    for _ in range(WARM_UP + REPEATS):
        sites.grad = density.grad = None
        torch.cuda.synchronize()
        start = time.perf_counter()
        function(sites, density, weights)
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times[WARM_UP:])


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10**6
    side = int(sys.argv[2]) if len(sys.argv) > 2 else 8192
    torch.manual_seed(1)
    density = torch.rand(side, side, device="cuda") + 0.5
    random = torch.rand(count, 2, device="cuda", dtype=torch.double) * side
    relaxed = random
    for _ in range(LLOYD_STEPS):
        relaxed = cvtmesh.torch.cvt_moments(relaxed, density)[1]
    print(f"{torch.cuda.get_device_name()}, {count} sites, {side} x {side} pixels\n")
    print("| gradient by | relaxed sites | random sites |\n|---|---|---|")
    for function in (energy, moments):
        for by_density in (False, True):
            times = [median(function, sites, density, by_density) for sites in (relaxed, random)]
            what = "sites and density" if by_density else "sites"
            print(f"| `cvt_{function.__name__}`: {what} | {times[0]:.2f} | {times[1]:.2f} |")


main()
