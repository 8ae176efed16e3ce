"""cvtmesh minimize: starts and values against tests/bench/minpack2.py, whose gradients are checked too,
iterations against SciPy's L-BFGS-B, exit codes, reports and files."""

import io
import os
import sys

import numpy as np
from scipy.optimize import minimize as scipy_minimize

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests/bench"))

from minpack2 import PROBLEMS  # noqa: E402

# The allocator of a sanitizer then fails like any other where too much is asked for.
FAIL_LIKE_MALLOC = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "allocator_may_return_null=1")}
CONVEX = [("ept", 40, 40), ("ept", 70, 30), ("ept", 60, 60), ("pjb", 40, 40), ("pjb", 25, 60),
          ("pjb", 60, 50)]


def solve(cvtmesh, *arguments, code=0):
    """The report and the point."""
    report = cvtmesh.report("minimize", *arguments, "-q", "-o", "x.npy", code=code)
    return report, cvtmesh.array("x.npy")


def gradient_by_differences(function, x):
    g, step = np.empty(x.size), 1e-5
    for k in range(x.size):
        after, before = x.copy(), x.copy()
        after.flat[k] += step
        before.flat[k] -= step
        g[k] = (function(after) - function(before)) / (2 * step)
    return g


def check_value(cvtmesh, name, size, problem, parameters=(), tolerance=1e-11):
    """Sums of some thousand terms of either sign: 1e-11 of the value is far above rounding. The
    boundary of msa comes from Newton's method stopped at a residual of 1e-10."""
    given = [word for p in parameters for word in ("--param", p)]
    fun, standard, _ = problem
    # The start, and a point on the way: after a few iterations nothing is symmetric.
    for iterations in (0, 3):
        # Some of the smallest are solved by then (0), the others not yet (4).
        report, x = solve(cvtmesh, name, *size, *given, "--iterations", iterations, code=(0, 4))
        x = x.ravel()
        assert report["iterations"] <= iterations
        assert iterations > 0 or abs(x - standard).max() <= 1e-13 * max(1, abs(standard).max())
        value, gradient = fun(x)
        where = name, size, iterations
        assert abs(report["objective"] - value) <= tolerance * abs(value) + 1e-15, where
        if x.size > 70:
            continue
        # The second derivatives of odc jump, by less than 2; the third ones of lj are thousands.
        differences = gradient_by_differences(lambda at: fun(at)[0], x)
        slope = abs(differences).max()
        error = 1e-7 * slope + {"odc": 1e-5, "lj": 1e-7}.get(name, 1e-9 * abs(value) + 1e-10)
        assert abs(gradient - differences).max() <= error, where
        # No variable is at a bound here, so the projected gradient is the largest component.
        assert abs(report["projected_gradient"] - slope) <= error, where


def test_values(cvtmesh):
    given = {"ept": ({}, {"c": -2.5}), "pjb": ({}, {"e": 0.9, "b": 2}), "msa": ({},),
             "odc": ({},), "ssc": ({},), "gl2": ({}, {"vortices": 2, "kappa": 3})}
    for nx, ny in ((1, 1), (1, 6), (7, 1), (13, 22)):
        size = ("--nx", nx, "--ny", ny, "--bounds", "none")
        for name, kinds in given.items():
            for parameters in kinds:
                check_value(cvtmesh, name, size, PROBLEMS[name](nx, ny, **parameters),
                            [f"{key}={value}" for key, value in parameters.items()],
                            1e-9 if name == "msa" else 1e-11)
    for n in (4, 5, 101):
        for temperature in (5, 3):
            check_value(cvtmesh, "gl1", ("--n", n), PROBLEMS["gl1"](n, temperature),
                        [f"T={temperature}"])
    for atoms, dim in ((2, 2), (30, 2), (2, 3), (31, 3)):
        check_value(cvtmesh, "lj", ("--atoms", atoms, "--dim", dim), PROBLEMS["lj"](atoms, dim))


def scipy_path(name, nx, ny):
    fun, start, bounds = PROBLEMS[name](nx, ny)
    path = [fun(start)[0]]
    done = scipy_minimize(fun, start, jac=True, method="L-BFGS-B", bounds=bounds,
                          callback=lambda x: path.append(fun(x)[0]),
                          options=dict(maxcor=8, maxiter=5000, maxfun=20000, ftol=0, gtol=1e-9))
    return done, path


def test_iterations_beside_scipy(cvtmesh):
    """Iterations on the convex problems until f is within 1e-8 of the minimum, beside those of the
    reference code that SciPy wraps, m = 8 on both sides: with the exact Cauchy point the paths are
    the same but for rounding, with the approximate one they are at most 10 % longer in all."""
    for cauchy in ("exact", "approximate"):
        ours = theirs = 0
        for name, nx, ny in CONVEX:
            size = ("--nx", nx, "--ny", ny)
            report, x = solve(cvtmesh, name, *size, "--cauchy", cauchy, "--history")
            done, path = scipy_path(name, nx, ny)
            assert abs(report["objective"] - done.fun) <= 1e-11 * abs(done.fun)
            # Strong convexity: at f - f* of 1e-15 the points are some 1e-6 apart at most.
            assert abs(x.ravel() - done.x).max() <= 1e-5
            goal = min(report["objective"], done.fun)
            goal += 1e-8 * abs(goal)
            own = [record["objective"] for record in report["history"]]
            steps = next(k for k, f in enumerate(own) if f <= goal)
            reference = next(k for k, f in enumerate(path) if f <= goal)
            if cauchy == "exact":
                assert abs(steps - reference) <= 3, (name, nx, ny)
            ours += steps
            theirs += reference
        assert ours <= 1.1 * theirs


def test_report(cvtmesh):
    report, x = solve(cvtmesh, "ept", "--nx", 20, "--ny", 10, "--history")
    assert x.shape == (10, 20)
    for key in ("objective", "iterations", "evaluations", "projected_gradient", "active",
                "stop_reason", "seconds", "start_projected", "options", "device", "history"):
        assert key in report
    history = report["history"]
    assert len(history) == report["iterations"] + 1
    assert [r["iteration"] for r in history] == list(range(len(history)))
    assert history[-1]["objective"] == report["objective"]
    assert report["options"]["nx"] == 20
    assert report["parameters"] == {"c": 5}
    assert report["converged"]
    j, i = np.mgrid[1:11, 1:21]
    bound = np.minimum(np.minimum(i, 21 - i) / 21, np.minimum(j, 11 - j) / 11)
    assert (abs(x) <= bound + 1e-15).all()
    assert report["active"] == int((abs(abs(x) - bound) < 1e-14).sum())


def test_shapes(cvtmesh):
    for name, size, shape in (("gl2", ("--nx", 6, "--ny", 5), (4, 5, 6)),
                              ("gl1", ("--n", 30), (30,)), ("lj", ("--atoms", 7, "--dim", 3), (7,
                                                                                               3))):
        report, x = solve(cvtmesh, name, *size, "--iterations", 2, code=4)
        assert x.shape == shape
        assert report["variables"] == x.size
        assert "history" not in report


def test_stream(cvtmesh):
    done = cvtmesh.call("minimize", "pjb", "--nx", 8, "--ny", 12, "-o", "-")
    x = np.load(io.BytesIO(done.stdout))
    assert abs(PROBLEMS["pjb"](8, 12)[0](x.ravel())[0] + 0.183437) < 1e-6


def test_box(cvtmesh):
    report, x = solve(cvtmesh, "gl1", "--n", 100, "--bounds", "box")
    assert abs(x).max() <= 1
    assert abs(report["objective"] + 2.85087402488) < 1e-9
    report, x = solve(cvtmesh, "ept", "--nx", 10, "--ny", 10, "--bounds", "none")
    assert report["active"] == 0
    assert abs(report["objective"] + 0.427745) < 1e-6


def test_start_outside(cvtmesh):
    report, _ = solve(cvtmesh, "gl2", "--nx", 8, "--ny", 8, "--bounds", "box", "--iterations", 1,
                      code=4)
    assert report["start_projected"] > 0


def test_same_bits(cvtmesh):
    texts = []
    for threads in (1, 2):
        solve(cvtmesh, "msa", "--nx", 90, "--ny", 80, "--iterations", 30, "--threads", threads,
              code=4)
        texts.append(cvtmesh.read("x.npy"))
    assert texts[0] == texts[1]


def test_memory(cvtmesh):
    values = [
        solve(cvtmesh, "ept", "--nx", 30, "--ny", 30, *how)[0]["objective"]
        for how in (("-m", 1), ("-m", 20))
    ]
    assert max(values) - min(values) < 1e-10


def test_limits(cvtmesh):
    for limit, reason in ((("--iterations", 3), "iterations"),
                          (("--evaluations", 3), "evaluations"), (("--time-limit", 1e-9), "time")):
        report, _ = solve(cvtmesh, "ept", "--nx", 40, "--ny", 40, *limit, code=4)
        assert report["stop_reason"] == reason
        assert not report["converged"]
    report, _ = solve(cvtmesh, "ept", "--nx", 40, "--ny", 40, "--gradient-tolerance", 1e-4)
    assert report["stop_reason"] == "gradient"
    assert report["projected_gradient"] <= 1e-4


def test_interrupted(cvtmesh):
    cvtmesh.interrupted("minimize", "gl1", "--n", 40000, "--iterations", 100000000, "-v", "-o",
                        "x.npy", "--report", "cut.json",
                        when=lambda process: process.stderr.readline())
    assert cvtmesh.array("x.npy").shape == (40000,)
    assert cvtmesh.json("cut.json")["stop_reason"] == "interrupted"


def test_usage(cvtmesh):
    for words, name in ((("torsion",), "no problem 'torsion'"),
                        (("ept", "--param", "lambda=1"), "no parameter 'lambda'"),
                        (("ept", "--param", "c"), "name=value"),
                        (("ept", "--param", "c=five"), "'five' is not a number"),
                        (("pjb", "--param", "e=1"), "e = 1"),
                        (("ssc", "--param", "lambda=nan"), "lambda = nan"),
                        (("gl2", "--param", "vortices=1.5"), "vortices = 1.5"),
                        (("ept", "--n", 5), "--n"),
                        (("gl1", "--nx", 5), "--nx"),
                        (("gl1", "--n", 3), "3 variables"),
                        (("ept", "--dim", 3), "--dim"),
                        (("ept", "--nx", 0), "--nx"),
                        (("ept", "--nx", 10**15, "--ny", 10**15), "1000000000000000 x"),
                        (("ept", "-m", 129), "--memory"),
                        (("ept", "--bounds", "loose"), "--bounds")):
        cvtmesh.refused("minimize", *words, "-o", "x.npy", code=2, names=[name])
    cvtmesh.refused("minimize", "ept", "-o", "x.obj", code=2, names=["x.obj"])


def test_not_finite(cvtmesh):
    # The lattice of lj is pressed onto a few points, and a pair at distance 0 has no energy.
    cvtmesh.refused("minimize", "lj", "--atoms", 20, "--bounds", "box", "-o", "x.npy", code=3,
                    names=["not finite at the start"])
    cvtmesh.refused("minimize", "ept", "--nx", 9, "--ny", 9, "--param", "c=1e400", "-o", "x.npy",
                    code=2, names=["c = inf"])


def test_too_large(cvtmesh):
    done = cvtmesh.call("minimize", "gl1", "--n", 10**15, "-o", "x.npy", code=1,
                        environment=FAIL_LIKE_MALLOC)
    assert "memory" in done.stderr.decode()


def test_full_disk(cvtmesh):
    cvtmesh.call("minimize", "ept", "--nx", 5, "--ny", 5, "-q", "--report", "/dev/full", code=1)
