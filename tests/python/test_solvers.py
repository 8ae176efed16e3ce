"""Minimisation and complementarity, beside SciPy."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import cvtmesh

optimize = pytest.importorskip("scipy.optimize")
sparse = pytest.importorskip("scipy.sparse")


def torsion(side, c=5.0):
    """Elastic-plastic torsion of MINPACK-2: |x| <= distance to the border."""
    h = 1 / (side + 1)
    inside = np.arange(1, side + 1) * h
    distance = np.minimum.outer(np.minimum(inside, 1 - inside), np.minimum(inside, 1 - inside))

    def fun(x):
        padded = np.pad(x, 1)
        laplacian = 4 * x - padded[:-2, 1:-1] - padded[2:, 1:-1] - padded[1:-1, :-2] - padded[1:-1, 2:]
        return 0.5 * (x * laplacian).sum() - c * h * h * x.sum(), laplacian - c * h * h

    return fun, np.stack([-distance.ravel(), distance.ravel()], axis=1), distance


def test_minimize_finds_the_minimum_that_scipy_finds():
    fun, bounds, start = torsion(40)
    ours = cvtmesh.minimize(fun, start, bounds=bounds)
    theirs = optimize.minimize(
        lambda x: fun(x.reshape(start.shape))[0], start.ravel(), bounds=bounds, method="L-BFGS-B",
        jac=lambda x: fun(x.reshape(start.shape))[1].ravel(),
        options={"ftol": 0, "gtol": 1e-10, "maxiter": 10000},
    )  # fmt: skip
    assert isinstance(ours, optimize.OptimizeResult) and ours.success
    assert ours.x.shape == start.shape
    assert ours.fun <= theirs.fun + 1e-12 * abs(theirs.fun)
    assert np.abs(ours.x.ravel() - theirs.x).max() < 1e-6
    assert np.allclose(ours.jac, fun(ours.x)[1])
    assert (np.abs(ours.x) <= bounds[:, 1].reshape(start.shape)).all()


def test_the_objective_is_that_of_the_program(program, tmp_path):
    import json

    program("minimize", "ept", "--nx", 40, "--ny", 40, "--report", "r.json")
    report = json.loads((tmp_path / "r.json").read_text())
    fun, bounds, start = torsion(40)
    ours = cvtmesh.minimize(fun, start, bounds=bounds)
    assert ours.fun == pytest.approx(report["objective"], rel=1e-9)


def test_as_a_method_of_scipy():
    seen = []
    r = optimize.minimize(
        optimize.rosen, np.full(50, 1.3), jac=optimize.rosen_der, method=cvtmesh.lbfgsb,
        bounds=optimize.Bounds(-2, 2), callback=seen.append, options={"maxiter": 500},
    )  # fmt: skip
    assert r.success and np.allclose(r.x, 1, atol=1e-5) and len(seen) > 3
    assert all(not np.shares_memory(a, b) for a, b in zip(seen, seen[1:]))
    with pytest.raises(ValueError, match="jac"):
        cvtmesh.lbfgsb(optimize.rosen, [0, 0], jac="cs")
    constraint = {"type": "eq", "fun": lambda x: x[0]}
    with pytest.raises(ValueError, match="constraints"):
        cvtmesh.lbfgsb(optimize.rosen, [0, 0], jac=optimize.rosen_der, constraints=[constraint])


def both_ways(x0, **given):
    """By our L-BFGS-B and by SciPy's."""
    given = {"jac": optimize.rosen_der, **given}
    return [optimize.minimize(optimize.rosen, x0, method=m, **given) for m in (cvtmesh.lbfgsb, "L-BFGS-B")]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"tol": 1e-3},
        {"tol": 1e-12},
        {"options": {"maxiter": 3}},
        {"options": {"maxiter": 2.1}},
        {"options": {"maxiter": 0}},
        {"options": {"maxfun": 8}},
        {"options": {"ftol": 0.5, "gtol": 0}},
        {"options": {"ftol": 0, "gtol": 1e-9, "maxcor": 3}},
        {"options": {"gtol": 1e9}},
        {"jac": None},
        {"jac": None, "bounds": [(-2, 0.5), (None, 2)]},
        {"jac": None, "bounds": [(0.3, 0.3), (0.1, 0.3)]},
    ],
)
def test_a_run_ends_as_in_scipy(given):
    ours, theirs = both_ways([-1.2, 1], **given)
    for name in ("message", "status", "success"):
        assert ours[name] == theirs[name]
    if "iterations" in ours.message.lower() or ours.nit == 0:
        assert ours.nit == theirs.nit
    elif "EVALUATIONS" in ours.message:
        assert 8 < ours.nfev <= 28
    elif given.get("options", {}).get("ftol") != 0.5:
        assert ours.fun == pytest.approx(theirs.fun, rel=1e-5, abs=1e-5)
    assert ours.nfev == ours.njev or given["jac"] is None
    if theirs.hess_inv is not None:  # it leaves out a variable whose bounds are equal
        assert type(ours.hess_inv) is type(theirs.hess_inv)


def test_central_differences():
    inside = []

    def fun(x):
        inside.append(np.all((x >= [0.5, -1]) & (x <= [0.8, 2])))
        return np.exp(x[0]) + np.exp(-3 * x[1])

    bounds = [(0.5, 0.8), (-1, 2)]
    for start in ([0.6, 0.3], [0.5, -1], [0.8, 2]):  # free, at the lower bounds, at the upper ones
        r = cvtmesh.lbfgsb(fun, start, bounds=bounds, jac="3-point", maxiter=1)
        exact = np.array([np.exp(r.x[0]), -3 * np.exp(-3 * r.x[1])])
        assert np.allclose(r.jac, exact, rtol=1e-7, atol=1e-8) and all(inside)
    fixed = cvtmesh.lbfgsb(fun, [0.5, 0], bounds=[(0.5, 0.5), (-1, 2)], jac="3-point")
    assert fixed.x[0] == 0.5 and fixed.success


def test_the_evaluations_are_counted():
    calls = {"fun": 0, "jac": 0}

    def fun(x):
        calls["fun"] += 1
        x += 0.0  # it may write to its x
        return optimize.rosen(x)

    def jac(x):
        calls["jac"] += 1
        return optimize.rosen_der(x)

    r = optimize.minimize(fun, [-1.2, 1], jac=jac, method=cvtmesh.lbfgsb)
    assert calls == {"fun": r.nfev, "jac": r.njev}
    assert np.array_equal(r.jac, optimize.rosen_der(r.x)) and r.fun == optimize.rosen(r.x)
    calls["fun"] = 0
    r = optimize.minimize(fun, [-1.2, 1], method=cvtmesh.lbfgsb)
    assert calls["fun"] == r.nfev and r.success
    with pytest.raises(ValueError, match="maxls"):
        optimize.minimize(fun, [-1.2, 1], method=cvtmesh.lbfgsb, options={"maxls": 0})
    short = optimize.minimize(fun, [-1.2, 1], jac=jac, method=cvtmesh.lbfgsb, options={"maxls": 2, "gtol": 1e-8, "ftol": 0})
    assert np.allclose(short.x, 1) and short.nfev != r.njev


def test_the_inverse_hessian():
    hessian = np.array([[4.0, 1, 0], [1, 3, 0.5], [0, 0.5, 2]])
    r = optimize.minimize(
        lambda x: (0.5 * x @ hessian @ x, hessian @ x), [10.0, -20, 5], jac=True, method=cvtmesh.lbfgsb,
        options={"ftol": 0, "gtol": 1e-10},
    )  # fmt: skip
    assert np.allclose(r.hess_inv.todense(), np.linalg.inv(hessian), atol=5e-3)


def test_callbacks_of_scipy():
    keywords = {"jac": optimize.rosen_der, "method": cvtmesh.lbfgsb}
    seen = []

    def stop(intermediate_result):
        seen.append(intermediate_result)
        if len(seen) == 3:
            raise StopIteration

    r = optimize.minimize(optimize.rosen, [-1.2, 1], callback=stop, **keywords)
    assert len(seen) == r.nit == 3
    assert all(each.fun == optimize.rosen(each.x) for each in seen) and np.array_equal(seen[-1].x, r.x)
    seen.clear()
    theirs = optimize.minimize(
        optimize.rosen, [-1.2, 1], jac=optimize.rosen_der, method="L-BFGS-B", callback=stop
    )
    assert r.message == theirs.message and r.status == theirs.status == 99 and not r.success
    nowhere = optimize.minimize(lambda x: np.nan, [1.0], jac=lambda x: x, method=cvtmesh.lbfgsb)
    assert nowhere.status == 2 and nowhere.message == "ABNORMAL: " and np.isnan(nowhere.fun)


def test_a_million_variables():
    n = 10**6
    scale = np.linspace(1, 10, n)
    r = cvtmesh.minimize(lambda x: (0.5 * (scale * x * x).sum() - x.sum(), scale * x - 1), np.zeros(n))
    assert r.success and np.allclose(r.x, 1 / scale, atol=1e-6)


def quadratic(x):
    return float((x * x).sum()), 2 * x


def test_callback_args_and_limits():
    records = []
    r = cvtmesh.minimize(lambda x, s: (s * (x @ x), 2 * s * x), np.ones(5), args=3.0)
    assert r.success
    r = cvtmesh.minimize(lambda x, s: (s * (x**4).sum(), 4 * s * x**3), np.ones(5), args=(3.0,),
                         iterations=7, callback=records.append)  # fmt: skip
    assert r.nit == 7 and not r.success and [q["iteration"] for q in records] == list(range(8))
    r = cvtmesh.minimize(lambda x: ((x**4).sum(), 4 * x**3), np.ones(5),
                         callback=lambda q: q["iteration"] == 2)  # fmt: skip
    assert r.message == "request" and r.nit <= 3


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: cvtmesh.minimize(3, [1.0]), TypeError, "fun"),
        (lambda: cvtmesh.minimize(lambda x: 3.0, [1.0]), TypeError, "value and the gradient"),
        (lambda: cvtmesh.minimize(lambda x: (0.0, [1, 2]), [1.0]), ValueError, "gradient of 2"),
        (lambda: cvtmesh.minimize(lambda x: (x, x), [1.0, 2.0]), ValueError, "fun: 2 values"),
        (lambda: cvtmesh.minimize(quadratic, [1.0], bounds=[None]), TypeError, "bounds: not"),
        (lambda: cvtmesh.minimize(quadratic, []), ValueError, "empty"),
        (lambda: cvtmesh.minimize(quadratic, [np.nan]), ValueError, "x0: value 0"),
        (lambda: cvtmesh.minimize(quadratic, [1.0], bounds=[(2, 1)]), ValueError, "0"),
        (lambda: cvtmesh.minimize(quadratic, [1.0], bounds=[(0, 1)] * 2), ValueError, "bounds"),
        (lambda: cvtmesh.minimize(quadratic, [1.0], bounds=[(0, np.nan)]), ValueError, r"bounds\[0, 1\]"),
        (lambda: cvtmesh.minimize(lambda x: (0.0, [1, np.nan]), [1.0, 2.0]), FloatingPointError, r"gradient\[1\] at x0 is nan"),
        (lambda: cvtmesh.minimize(quadratic, [1.0], memory=10**6), ValueError, "memory"),
        (lambda: cvtmesh.minimize(quadratic, [1.0], momentum=1), TypeError, "momentum"),
        (lambda: cvtmesh.minimize(lambda x: (np.nan, x), [1.0]), FloatingPointError, "finite"),
        (lambda: cvtmesh.minimize(lambda x: 1 / 0, [1.0]), ZeroDivisionError, "zero"),
        (lambda: cvtmesh.minimize(quadratic, [1.0], bounds=[(0, "a")]), TypeError, "bounds: an array"),
        (lambda: cvtmesh.lcp(np.ones((2, 3)), [1, 2]), ValueError, "A: shape"),
        (lambda: cvtmesh.lcp(5, [1]), ValueError, r"A: shape \(\) is not square"),
        (lambda: cvtmesh.lcp(np.ones((2, 2, 2)), [1, 2]), ValueError, "A: shape"),
        (lambda: cvtmesh.lcp(np.eye(2), None), TypeError, "q: None"),
        (lambda: cvtmesh.lcp(np.eye(2), [1, 2], strike=3.0), TypeError, "no option 'strike'"),
        (lambda: cvtmesh.lcp(np.eye(2), [1, 2, 3]), ValueError, "q: 3 numbers for 2"),
        (lambda: cvtmesh.lcp(-np.eye(2), [1, 2], method="psor"), ValueError, "matrix: row 1: the diagonal"),
        (lambda: cvtmesh.lcp(np.eye(2), [1, 2], 3, 2), ValueError, "lower"),
        (lambda: cvtmesh.lcp(np.eye(2), [np.nan, 2]), ValueError, r"q\[0\]"),
        (lambda: cvtmesh.lcp(np.eye(2), [1, -np.inf]), ValueError, r"q\[1\] is -inf"),
        (lambda: cvtmesh.lcp([[1, 0], [np.nan, 2]], [1, 2]), ValueError, r"A\[1, 0\] is nan"),
        (lambda: cvtmesh.lcp(np.eye(2), [1, 2], [0, 3], 2), ValueError, r"lower\[1\] is 3.0"),
        (lambda: cvtmesh.hlcp(np.eye(2), np.eye(3), [1, 2]), ValueError, "B"),
        (lambda: cvtmesh.hlcp(np.eye(2), None, [1, 2], splits=0), ValueError, "splits"),
        (lambda: cvtmesh.hlcp(1j * np.eye(2), None, [1, 2]), TypeError, "complex"),
    ],
)
def test_wrong_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("n", [100, 10**6])
def test_ctrl_c_interrupts_minimize(n):
    """A solver of many variables works in a thread of its own."""

    def fall(x):
        time.sleep(0.02)
        return -float(np.log1p(x * x).sum()), -2 * x / (1 + x * x)

    # A shell that starts the tests in the background lets them ignore SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(100):
            cvtmesh.minimize(fall, np.ones(n), iterations=10**9, tolerance=0)
    signal.signal(signal.SIGINT, before)
    r = cvtmesh.minimize(quadratic, np.full(n, 5.0), bounds=np.tile([-9.0, 9.0], (n, 1)))
    assert r.success and abs(r.jac).max() < 1e-5
    if n > 100:
        with pytest.raises(ValueError, match=r"bounds of variable 3: lower 2, upper 1"):
            bounds = np.tile([0.0, 9.0], (n, 1))
            bounds[3] = 2, 1
            cvtmesh.minimize(quadratic, np.ones(n), bounds=bounds)


def test_x_is_read_only_and_outlives_the_solver():
    kept = []

    def fun(x):
        kept.append(x)
        with pytest.raises(ValueError):
            x[0] = 3
        return quadratic(x)

    cvtmesh.minimize(fun, np.ones(1000))
    assert all(np.isfinite(x).all() for x in kept)


def natural_residual(A, q, x, lower, upper):
    return np.abs(x - np.clip(x - (A @ x - q), lower, upper)).max()


@pytest.mark.parametrize("method", ["auto", "psor", "tnnmg", "pdas"])
def test_lcp_of_an_obstacle(method):
    side = 31
    line = sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], (side, side))
    A = sparse.kron(line, sparse.eye(side)) + sparse.kron(sparse.eye(side), line)
    q = np.random.default_rng(0).normal(-0.1, 1, side * side)
    r = cvtmesh.lcp(A, q, 0, 0.5, method=method, tolerance=1e-10)
    assert r.success, r.message
    assert natural_residual(A, q, r.x, 0, 0.5) < 1e-7
    grid = cvtmesh.lcp(A, q, 0, 0.5, method=method, tolerance=1e-10, width=side, height=side)
    assert np.allclose(r.x, grid.x, atol=1e-6)


def test_lcp_without_bounds_is_a_linear_system():
    A = sparse.diags([-1.0, 3, -1], [-1, 0, 1], (50, 50)).tocoo()
    q = np.arange(50.0)
    r = cvtmesh.lcp(A, q, None, None, tolerance=1e-12)
    assert np.allclose(A @ r.x, q)


@pytest.mark.parametrize("method", ["mmsor", "newton"])
def test_hlcp(method):
    rng = np.random.default_rng(3)
    A = sparse.diags([-1.0, 4, -1], [-1, 0, 1], (200, 200))
    B = sparse.diags([-0.5, 3, -0.5], [-1, 0, 1], (200, 200))
    z = np.where(rng.random(200) < 0.5, rng.random(200), 0)
    w = np.where(z == 0, rng.random(200), 0)
    r = cvtmesh.hlcp(A, B, A @ z - B @ w, method=method, tolerance=1e-10)
    assert r.success and np.allclose(r.z, z, atol=1e-8) and np.allclose(r.w, w, atol=1e-8)
