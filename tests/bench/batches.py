"""Many small bounded problems at a time: cvtmesh.optimize.minimize beside a loop over SciPy, and
beside itself one problem at a time. With --device cuda the arrays are those of PyTorch.

usage: batches.py [--device cuda] [--large] [--repeat N]

The first problem is that of Bayesian optimisation: 1,000 starts of an acquisition function, which is
the upper confidence bound of a Gaussian process in 20 variables with 50 points, in the unit cube.
--large: a million Rosenbrock functions of 2 to 10 variables in a box, too.
"""

import argparse
import time

import numpy as np

from cvtmesh.optimize import minimize

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cpu")
parser.add_argument("--large", action="store_true")
parser.add_argument("--problems", type=int, default=1000)
parser.add_argument("--repeat", type=int, default=3)
arguments = parser.parse_args()

if arguments.device == "cpu":
    xp, put, wait = np, np.asarray, lambda: None
else:
    import torch

    xp, wait = torch, torch.cuda.synchronize
    put = lambda a: torch.tensor(a, device=arguments.device)  # noqa: E731

rng = np.random.default_rng(0)
VARIABLES, POINTS = 20, 50
points = rng.random((POINTS, VARIABLES))
values = np.sin(3 * points).sum(axis=1) + 0.1 * rng.standard_normal(POINTS)
values = (values - values.mean()) / values.std()
squares = ((points[:, None] - points) ** 2).sum(axis=-1)
inverse = np.linalg.inv(np.exp(-0.5 * squares) + 1e-2 * np.eye(POINTS))
on_device = [put(a) for a in (points, inverse, inverse @ values)]


def acquisition(x, running=None, at=on_device, library=xp):
    """Minus the upper confidence bound at the rows of x, and its gradient. On the host, only at
    those that run: on a GPU to pick them takes longer than to compute the others."""
    if library is np and running is not None and not running.all():
        f, g = np.zeros(len(x)), np.zeros_like(x)
        f[running], g[running] = acquisition(x[running], None, at, library)
        return f, g
    centres, solved, weights = at
    squared = (x * x).sum(-1)[:, None] - 2 * (x @ centres.T) + (centres * centres).sum(-1)
    k = library.exp(-0.5 * squared)
    ks = k @ solved
    deviation = library.sqrt(1.01 - (ks * k).sum(-1))
    by_k = -weights + 2 * ks / deviation[:, None]
    by_k = by_k * k
    return -(k @ weights) - 2 * deviation, by_k @ centres - by_k.sum(-1)[:, None] * x


def rosenbrock(x):
    rise, rest = x[:, 1:] - x[:, :-1] ** 2, 1 - x[:, :-1]
    g = xp.zeros_like(x)
    g[:, 1:] = 200 * rise
    g[:, :-1] += -400 * rise * x[:, :-1] - 2 * rest
    return (100 * rise**2 + rest**2).sum(-1), g


def timed(work):
    """Wall and processor seconds, least of several, and the result of the last."""
    best = (np.inf, np.inf)
    for _ in range(arguments.repeat):
        wait()
        before = time.perf_counter(), time.process_time()
        found = work()
        wait()
        best = min(best, (time.perf_counter() - before[0], time.process_time() - before[1]))
    return *best, found


def show(name, wall, processor, nfev, values):
    figures = f"{name:42} {wall:9.3f} s  {processor:9.3f} s of processor time"
    print(f"{figures}  {nfev / len(values):7.1f} evaluations  mean value {np.mean(values):.9f}", flush=True)


def alone(name, fun, x, rounds):
    """The time of the evaluations alone: as many calls as the batch has rounds."""
    wall, processor, _ = timed(lambda: [fun(x) for _ in range(rounds)])
    print(f"{name:42} {wall:9.3f} s  {processor:9.3f} s of processor time  {rounds:7} calls", flush=True)


options = {"gradient_tolerance": 1e-5, "memory": 10, "device": arguments.device}
starts = rng.random((arguments.problems, VARIABLES))
bounds = np.tile([0.0, 1.0], (VARIABLES, 1))
wall, processor, r = timed(lambda: minimize(acquisition, put(starts), bounds, **options))
print(f"{arguments.problems} acquisition functions of {VARIABLES} variables, {arguments.device}")
show("one batch", wall, processor, r.nfev.sum(), r.fun)
if arguments.device != "cpu":
    recorded = timed(lambda: minimize(acquisition, put(starts), bounds, graph=True, **options))
    show("one batch, recorded as a CUDA graph", *recorded[:2], recorded[2].nfev.sum(), recorded[2].fun)
alone("its objective alone, of all rows", acquisition, put(starts), int(r.nfev.max()))

try:
    from scipy.optimize import minimize as scipy_minimize
except ImportError:
    scipy_minimize = None
if scipy_minimize is not None:
    host = [points, inverse, inverse @ values]

    def single(x):
        f, g = acquisition(x[None], None, host, np)
        return float(f[0]), g[0]

    def loop():
        return [
            scipy_minimize(single, x, jac=True, bounds=bounds, method="L-BFGS-B", options={"gtol": 1e-5, "ftol": 0})
            for x in starts
        ]

    def stacked():
        """As BoTorch: one problem of all variables."""

        def total(x):
            f, g = acquisition(x.reshape(starts.shape), None, host, np)
            return f.sum(), g.ravel()

        return scipy_minimize(
            total, starts.ravel(), jac=True, bounds=np.tile(bounds, (len(starts), 1)), method="L-BFGS-B",
            options={"gtol": 1e-5, "ftol": 0, "maxiter": 2000, "maxfun": 4000},
        )  # fmt: skip

    loop_wall, loop_processor, found = timed(loop)
    show("loop over SciPy on the host", loop_wall, loop_processor, sum(s.nfev for s in found), [s.fun for s in found])
    print(f"{'':42} {loop_wall / wall:9.1f} times the wall time of the batch")
    stacked_wall, stacked_processor, s = timed(stacked)
    f = acquisition(s.x.reshape(starts.shape), None, host, np)[0]
    show("SciPy, all in one problem, on the host", stacked_wall, stacked_processor, s.nfev * len(starts), f)

if arguments.large:
    for n in (2, 4, 6, 8, 10):
        x0 = put(rng.uniform(-2, 2, (10**6, n)))
        box = np.tile([-2.0, 2.0], (n, 1))
        wall, processor, r = timed(lambda: minimize(rosenbrock, x0, box, **options))
        show(f"10^6 Rosenbrock functions of {n} variables", wall, processor, r.nfev.sum(), r.fun)
        recorded = timed(lambda: minimize(rosenbrock, x0, box, graph=True, **options))  # noqa: B023
        show("recorded as a CUDA graph", *recorded[:2], recorded[2].nfev.sum(), recorded[2].fun)
        alone("their objective alone", rosenbrock, x0, int(r.nfev.max()))
