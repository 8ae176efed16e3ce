"""Time of an iteration of bound-constrained minimisers by the number of variables, and its picture.

usage: optimiser_sizes.py [--device cuda] --record FIGURES.json
       optimiser_sizes.py --plot PICTURE.svg FIGURES.json ...

The problem is a chain of Rosenbrock functions in [-2, 0.8], where most variables end at a bound; 10
pairs are kept. The time includes the objective, which is that of NumPy for cvtmesh, SciPy and PETSc TAO (BLMVM,
5 pairs, its default) on the CPU, of PyTorch for cvtmesh on a GPU and pytorch-minimize, and of JAX for optax,
which compiles before the timed run. pytorch-minimize has no bounds in its L-BFGS, and optax only a
projection after each step: they are measured as they are. On the CPU it is processor time, with one
thread each, on a GPU wall time. A package that is missing is left out.
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


def by_cvtmesh_graph(n):
    import torch
    from cvtmesh.optimize import minimize

    x0 = torch.tensor(start(n), device="cuda")
    bounds = torch.tensor([[LOW, HIGH]], device="cuda", dtype=torch.double).expand(n, 2)
    r = minimize(lambda x: rosenbrock(x, torch.zeros_like), x0, bounds, iterations=ITERATIONS, memory=10, graph=True)
    torch.cuda.synchronize()
    return r.nit


def by_scipy(n):
    from scipy.optimize import Bounds, minimize

    options = {"maxiter": ITERATIONS, "maxcor": 10, "ftol": 0, "gtol": 0}
    both = lambda x: rosenbrock(x, np.zeros_like)  # noqa: E731
    return minimize(both, start(n), jac=True, bounds=Bounds(LOW, HIGH), method="L-BFGS-B", options=options).nit


def by_optax(n):
    import jax
    import optax

    jax.config.update("jax_enable_x64", True)

    def value(x):
        rise, rest = x[1:] - x[:-1] ** 2, 1 - x[:-1]
        return 100 * (rise * rise).sum() + (rest * rest).sum()

    method = optax.lbfgs(memory_size=10)
    both = optax.value_and_grad_from_state(value)

    def step(_, carry):
        x, state = carry
        f, g = both(x, state=state)
        move, state = method.update(g, state, x, value=f, grad=g, value_fn=value)
        return optax.projections.projection_box(optax.apply_updates(x, move), LOW, HIGH), state

    x0 = jax.numpy.asarray(start(n))
    if ("optax", n) not in compiled:
        compiled["optax", n] = jax.jit(lambda x: jax.lax.fori_loop(0, ITERATIONS, step, (x, method.init(x))))
    jax.block_until_ready(compiled["optax", n](x0))
    return ITERATIONS


def by_pytorch_minimize(n):
    import torch
    import torchmin

    torch.set_num_threads(1)

    def value(x):
        rise, rest = x[1:] - x[:-1] ** 2, 1 - x[:-1]
        return 100 * (rise * rise).sum() + (rest * rest).sum()

    options = {"history_size": 10, "gtol": 0.0, "xtol": 0.0}
    x0 = torch.tensor(start(n), device=arguments.device)
    return torchmin.minimize(value, x0, method="l-bfgs", max_iter=ITERATIONS, options=options).nit


def by_tao(n):
    from petsc4py import PETSc

    x, low, high = (PETSc.Vec().createWithArray(a) for a in (start(n), np.full(n, LOW), np.full(n, HIGH)))

    def both(tao, at, gradient):
        f, gradient.array[:] = rosenbrock(at.array_r, np.zeros_like)
        return f

    tao = PETSc.TAO().create(PETSc.COMM_SELF)
    tao.setType("blmvm")
    tao.setObjectiveGradient(both, x.duplicate())
    tao.setVariableBounds((low, high))
    tao.setTolerances(gatol=0, grtol=0, gttol=0)
    tao.setMaximumIterations(ITERATIONS)
    tao.solve(x)
    return tao.getIterationNumber()


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
        ax.loglog(*zip(*points), "o-" if "GPU" in name else "s--", markersize=4, label=name)
    ax.set_xlabel("variables")
    ax.set_ylabel("seconds an iteration")
    ax.grid(which="major", alpha=0.4)
    ax.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    fig.savefig(path, bbox_inches="tight", metadata={"Date": None})


parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
parser.add_argument("--record")
parser.add_argument("--plot")
parser.add_argument("figures", nargs="*")
arguments = parser.parse_args()
if arguments.device == "cpu":
    os.environ["JAX_PLATFORMS"] = "cpu"
if arguments.record:
    figures = []
    if arguments.device == "cpu":
        measure("cvtmesh, CPU", by_cvtmesh, figures)
        measure("SciPy", by_scipy, figures)
        measure("PETSc TAO, BLMVM", by_tao, figures)
        measure("pytorch-minimize, CPU", by_pytorch_minimize, figures)
        measure("optax, CPU", by_optax, figures)
    else:
        measure("cvtmesh, GPU", by_cvtmesh_cuda, figures)
        measure("cvtmesh, GPU, CUDA graph", by_cvtmesh_graph, figures)
        measure("pytorch-minimize, GPU", by_pytorch_minimize, figures)
        measure("optax, GPU", by_optax, figures)
    with open(arguments.record, "w") as out:
        json.dump(figures, out, indent=1)
if arguments.plot:
    plot(arguments.plot, [row for name in arguments.figures for row in json.load(open(name))])
