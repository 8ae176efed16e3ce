"""Time of an iteration of bound-constrained minimisers by the number of variables, and its picture.

usage: optimiser_sizes.py [--device cuda] --record FIGURES.json
       optimiser_sizes.py --plot PICTURE.svg FIGURES.json ...

The problem is a chain of Rosenbrock functions in [-2, 0.8], where most variables end at a bound; 10
pairs are kept. The time includes the objective, which is that of NumPy for cvtmesh and SciPy on the
CPU, of PyTorch for cvtmesh on a GPU, and of JAX for jaxopt, which compiles before the timed run. On the
CPU it is processor time, with one thread each, on a GPU wall time.
"""

import argparse
import json
import os
import time

import numpy as np

ITERATIONS, LOW, HIGH = 30, -2.0, 0.8
SIZES = [10**k for k in range(2, 8)]
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[threads] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def rosenbrock(x, zeros_like):
    rise, rest = x[1:] - x[:-1] ** 2, 1 - x[:-1]
    g = zeros_like(x)
    g[1:] = 200 * rise
    g[:-1] -= 400 * rise * x[:-1] + 2 * rest
    return 100 * (rise * rise).sum() + (rest * rest).sum(), g


def start(n):
    return np.where(np.arange(n) % 2, 0.8, -1.2)


def by_cvtmesh(n):
    from cvtmesh.optimize import minimize

    r = minimize(
        lambda x: rosenbrock(x, np.zeros_like), start(n), [(LOW, HIGH)] * n if n < 10**4 else np.tile([LOW, HIGH], (n, 1)),
        iterations=ITERATIONS, memory=10, device="cpu", threads=1,
    )  # fmt: skip
    return r.nit


def by_cvtmesh_cuda(n):
    import torch
    from cvtmesh.optimize import minimize

    x0 = torch.tensor(start(n), device="cuda")
    bounds = torch.tensor([[LOW, HIGH]], device="cuda", dtype=torch.double).expand(n, 2)
    r = minimize(lambda x: rosenbrock(x, torch.zeros_like), x0, bounds, iterations=ITERATIONS, memory=10)
    torch.cuda.synchronize()
    return r.nit


def by_scipy(n):
    from scipy.optimize import Bounds, minimize

    options = {"maxiter": ITERATIONS, "maxcor": 10, "ftol": 0, "gtol": 0}
    both = lambda x: rosenbrock(x, np.zeros_like)  # noqa: E731
    return minimize(both, start(n), jac=True, bounds=Bounds(LOW, HIGH), method="L-BFGS-B", options=options).nit


def by_jaxopt(n):
    import jax
    import jaxopt

    jax.config.update("jax_enable_x64", True)

    def value(x):
        rise, rest = x[1:] - x[:-1] ** 2, 1 - x[:-1]
        return 100 * (rise * rise).sum() + (rest * rest).sum()

    solver = jaxopt.LBFGSB(value, maxiter=ITERATIONS, history_size=10, tol=0.0)
    x0 = jax.numpy.asarray(start(n))
    bounds = (jax.numpy.full(n, LOW), jax.numpy.full(n, HIGH))
    if n not in compiled:
        compiled[n] = jax.jit(solver.run)
    found = compiled[n](x0, bounds=bounds)
    return int(found.state.iter_num.block_until_ready())


compiled = {}


def measure(name, run, figures):
    clock = time.process_time if arguments.device == "cpu" else time.perf_counter
    for n in SIZES[:5] if arguments.device == "cpu" else SIZES:
        try:
            best = np.inf
            for _ in range(3):
                before = clock()
                iterations = run(n)
                took = clock() - before
                best = min(best, took / max(iterations, 1))
                if took > 20:
                    break
        except (ImportError, MemoryError) as error:
            print(f"{name}: {error}")
            return
        print(f"{name:24} n = {n:9} {best * 1e3:10.3f} ms an iteration", flush=True)
        figures.append({"name": name, "n": n, "seconds": best})
        if took > 20:
            return


def plot(path, figures):
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "cvtmesh"
    fig, ax = plt.subplots(figsize=(7, 4.2))
    for name in dict.fromkeys(f["name"] for f in figures):
        points = sorted((f["n"], f["seconds"]) for f in figures if f["name"] == name)
        ax.loglog(*zip(*points), marker="o", label=name)
    ax.set_xlabel("variables")
    ax.set_ylabel("seconds an iteration")
    ax.grid(which="major", alpha=0.4)
    ax.legend()
    fig.savefig(path, bbox_inches="tight", metadata={"Date": None})


parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
parser.add_argument("--record")
parser.add_argument("--plot")
parser.add_argument("figures", nargs="*")
arguments = parser.parse_args()
if arguments.record:
    figures = []
    if arguments.device == "cpu":
        measure("cvtmesh, CPU", by_cvtmesh, figures)
        measure("SciPy", by_scipy, figures)
        measure("jaxopt.LBFGSB, CPU", by_jaxopt, figures)
    else:
        measure("cvtmesh, GPU", by_cvtmesh_cuda, figures)
        measure("jaxopt.LBFGSB, GPU", by_jaxopt, figures)
    with open(arguments.record, "w") as out:
        json.dump(figures, out, indent=1)
if arguments.plot:
    plot(arguments.plot, [row for name in arguments.figures for row in json.load(open(name))])
