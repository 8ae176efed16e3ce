"""The random problems of test_lbfgsb_random against SciPy's L-BFGS-B: convex ones have the same
minimiser; from a point found for a Rosenbrock function SciPy finds no lower one nearby."""

import json
import subprocess

import numpy as np
from scipy.optimize import fmin_l_bfgs_b

from conftest import BUILD


def quadratic(case):
    a, b, coupling = np.array(case["diagonal"]), np.array(case["linear"]), case["coupling"]

    def evaluate(x):
        difference = np.diff(x)
        gradient = a * x - b
        gradient[:-1] -= coupling * difference
        gradient[1:] += coupling * difference
        value = 0.5 * (a * x * x).sum() - (b * x).sum() + 0.5 * coupling * (difference**2).sum()
        return value, gradient

    return evaluate


def rosenbrock(_):
    def evaluate(x):
        t = x[1:] - x[:-1] ** 2
        gradient = np.zeros_like(x)
        gradient[:-1] = -400 * x[:-1] * t - 2 * (1 - x[:-1])
        gradient[1:] += 200 * t
        return (100 * t * t).sum() + ((1 - x[:-1]) ** 2).sum(), gradient

    return evaluate


def check_case(case):
    convex = case["kind"] == "quadratic"
    evaluate = quadratic(case) if convex else rosenbrock(case)
    lower, upper, x = (np.array(case[key]) for key in ("lower", "upper", "x"))
    assert ((x >= lower) & (x <= upper)).all(), "outside the box"
    f, _ = evaluate(x)
    assert abs(f - case["f"]) <= 1e-12 * max(1.0, abs(f)), f"f = {case['f']}, NumPy: {f}"
    start = np.clip(case["start"], lower, upper) if convex else x
    bounds = list(zip(lower, upper))
    peer, value, info = fmin_l_bfgs_b(evaluate, start, bounds=bounds, m=case["history"], factr=0,
                                      pgtol=1e-9, maxiter=20000, maxfun=100000)
    # Both stop at slopes near 1e-9 of those at the start; curvatures are at least 1, but small
    # ones of Rosenbrock's valley leave x less certain, so there f is compared.
    assert f <= value + 1e-11 * max(1.0, abs(value)), f"f = {f}, SciPy: {value}"
    if convex:
        error = abs(x - peer).max()
        assert error <= 1e-6, f"the minimisers differ by {error}"
    return info["nit"]


def test_random_problems():
    lines = subprocess.run([BUILD / "tests" / "test_lbfgsb_random", "--print"], check=True,
                           capture_output=True, text=True).stdout
    cases = [json.loads(line) for line in lines.splitlines()]
    assert len(cases) > 50
    ours = theirs = 0
    for case in cases:
        iterations = check_case(case)
        if case["kind"] == "quadratic":
            ours += case["iterations"]
            theirs += iterations
    # Not a matter of speed: a direction that is wrong somewhere still converges, but slowly.
    assert 0 < ours <= 1.5 * theirs
