"""Minimisation of many problems at a time."""

import pathlib
import runpy

import numpy as np
import pytest

import cvtmesh
from cvtmesh.optimize import minimize


def rosenbrock(x, scale):
    """Chained Rosenbrock functions of the rows of x, whose valleys differ by `scale`."""
    rise, rest = x[..., 1:] - x[..., :-1] ** 2, 1 - x[..., :-1]
    scale = np.asarray(scale)[..., None]
    g = np.zeros_like(x)
    g[..., 1:] = 2 * scale * rise
    g[..., :-1] += -4 * scale * rise * x[..., :-1] - 2 * rest
    return (scale * rise**2 + rest**2).sum(axis=-1), g


@pytest.fixture
def problems():
    rng = np.random.default_rng(4)
    low = rng.uniform(-2, 0.5, (40, 5))
    bounds = np.stack([low, low + rng.uniform(0.3, 3, low.shape)], axis=-1)
    bounds[::4] = [-np.inf, np.inf]
    return rng.uniform(-2, 2, (40, 5)), bounds, np.geomspace(1, 1000, 40)


def test_a_batch_has_the_bits_of_its_problems_alone(problems):
    x0, bounds, scale = problems
    options = {"gradient_tolerance": 1e-9, "iterations": 300, "device": "cpu"}
    all_together = minimize(lambda x: rosenbrock(x, scale), x0, bounds, **options)
    assert all_together.x.shape == x0.shape and all_together.success.all()
    assert len(set(all_together.nit)) > 5  # each stops when it is done
    for k in range(len(x0)):
        alone = minimize(lambda x: rosenbrock(x, scale[k]), x0[k], bounds[k], **options)
        for name in ("x", "jac"):
            assert np.array_equal(alone[name], all_together[name][k])
        for name in ("fun", "nit", "nfev", "message", "status", "active", "projected_gradient"):
            assert alone[name] == all_together[name][k], name
    few = slice(7, 19)
    part = minimize(lambda x: rosenbrock(x, scale[few]), x0[few], bounds[few], threads=1, **options)
    assert np.array_equal(part.x, all_together.x[few])


def test_the_mask_names_the_problems_that_run(problems):
    x0, bounds, scale = problems
    seen = []

    def fun(x, running):
        seen.append(running.copy())
        f, g = rosenbrock(x, scale)
        return np.where(running, f, np.nan), np.where(running[:, None], g, np.nan)

    masked = minimize(fun, x0, bounds)
    plain = minimize(lambda x: rosenbrock(x, scale), x0, bounds)
    assert np.array_equal(masked.x, plain.x) and np.array_equal(masked.nit, plain.nit)
    assert seen[0].all() and seen[-1].all() and seen[0].dtype == bool  # the last is for `jac`
    counts = [mask.sum() for mask in seen[:-1]]
    assert counts == sorted(counts, reverse=True) and counts[-1] < counts[0]
    assert np.array_equal(np.sum(seen, axis=0), masked.nfev)


def test_what_fun_returns_tells_a_batch_from_one_problem():
    centre = np.arange(12.0).reshape(4, 3)
    together = minimize(lambda x: (((x - centre) ** 2).sum(), 2 * (x - centre)), np.zeros((4, 3)))
    assert np.ndim(together.fun) == 0 and np.allclose(together.x, centre)
    for shape in ((4, 3), (1, 12), (12, 1), (4, 3, 1)):
        c = centre.reshape(shape)
        rest = tuple(range(1, len(shape)))
        each = minimize(lambda x: (((x - c) ** 2).sum(axis=rest), 2 * (x - c)), np.zeros(shape), [(0, 9.5)] * (12 // shape[0]))
        assert each.fun.shape == each.message.shape == shape[:1]
        assert np.allclose(each.x, np.minimum(c, 9.5)) and each.success.all()


def test_bounds_of_rows_and_of_single_problems():
    optimize = pytest.importorskip("scipy.optimize")
    centre = np.arange(6.0).reshape(3, 2)

    def fun(x):
        return ((x - centre) ** 2).sum(axis=1), 2 * (x - centre)

    high = np.array([[1, 1], [9, 2.5], [4, 4]])
    pairs = np.stack([np.full_like(high, -1), high], axis=-1)
    for bounds in (pairs, pairs.reshape(-1, 2), optimize.Bounds(-1, high)):
        assert np.allclose(minimize(fun, np.zeros((3, 2)), bounds).x, np.minimum(centre, high))
    for bounds in ([(-1, 2), (None, 4)], optimize.Bounds([-1, -np.inf], [2, 4])):
        assert np.allclose(minimize(fun, np.zeros((3, 2)), bounds).x, np.minimum(centre, [2, 4]))
    with pytest.raises(ValueError, match=r"bounds: shape \(3, 2\) is not \(6, 2\)"):
        minimize(fun, np.zeros((3, 2)), pairs[:, 0])
    with pytest.raises(ValueError, match=r"bounds\[1, 0, 1\] is nan"):
        pairs[1, 0, 1] = np.nan
        minimize(fun, np.zeros((3, 2)), pairs)


def test_a_problem_that_fails_leaves_the_others():
    def fun(x):
        f, g = (x**2).sum(axis=1), 2 * x
        f[1] = np.nan
        return f, g

    r = minimize(fun, np.ones((3, 2)))
    assert r.success.tolist() == [True, False, True] and r.message[1] == "not finite"
    assert np.allclose(r.x, [[0, 0], [1, 1], [0, 0]])


def test_wrong_batches_are_refused():
    good = np.ones((3, 2))
    for fun, message in (
        (lambda x: (np.ones((3, 1)), x), "fun: 3 values"),
        (lambda x: (np.ones(3), x[:, 0]), "gradient of 3 numbers"),
        (lambda x: (np.ones(2), x), "fun: 2 values"),
        (lambda x, running: (1.0, x), "fun: 1 values for 3 problems"),
    ):
        with pytest.raises(ValueError, match=message):
            minimize(fun, good)
    with pytest.raises(ValueError, match="no batch"):
        minimize(lambda x, running: (1.0, x), [1.0, 2.0])
    with pytest.raises(ValueError, match="callback"):
        minimize(lambda x: ((x * x).sum(axis=1), 2 * x), good, callback=print)
    with pytest.raises(ValueError, match="graph: x0 is not a tensor of PyTorch on a CUDA device"):
        minimize(lambda x: ((x * x).sum(axis=1), 2 * x), good, graph=True)
    with pytest.raises(TypeError, match="'numeric' is neither"):
        minimize(lambda x: 1.0, good, jac="numeric")


def test_long_histories_and_limits(problems):
    x0, bounds, scale = problems
    long = minimize(lambda x: rosenbrock(x, scale), x0, bounds, memory=30)
    short = minimize(lambda x: rosenbrock(x, scale), x0, bounds)
    assert np.allclose(long.fun, short.fun, rtol=1e-6, atol=1e-9)
    limited = minimize(lambda x: rosenbrock(x, scale), x0, bounds, iterations=3)
    assert limited.nit.max() == 3 and "iterations" in limited.message


def test_a_function_of_the_gradient():
    r = minimize(lambda x: (x**4).sum(), [1.0, -2.0], jac=lambda x: 4 * x**3)
    assert r.success and abs(r.x).max() < 1e-2


def test_tensors_and_their_gradients(problems):
    torch = pytest.importorskip("torch")
    x0, bounds, scale = problems
    weight = torch.tensor(scale)[:, None]

    def value(x):
        assert isinstance(x, torch.Tensor) and x.dtype == torch.double
        return (weight * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2).sum(dim=1)

    r = minimize(value, torch.tensor(x0), torch.tensor(bounds), jac="autograd")
    reference = minimize(lambda x: rosenbrock(x, scale), x0, bounds)
    assert isinstance(r.x, torch.Tensor) and isinstance(r.jac, torch.Tensor)
    assert np.allclose(r.fun, reference.fun, rtol=1e-6, atol=1e-9)
    one = minimize(lambda x: value(x[None]).sum(), torch.tensor(x0[5], requires_grad=True), jac="autograd")
    assert np.ndim(one.fun) == 0 and not one.x.requires_grad
    constant = minimize(lambda x: torch.tensor(3.0), torch.ones(2), jac="autograd")
    assert constant.success and constant.nit == 0


def test_arrays_of_jax(problems):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    x0, bounds, scale = problems
    weight = jax.numpy.asarray(scale)[:, None]

    @jax.jit
    def value(x, running):
        assert isinstance(x, jax.Array) and x.dtype == "float64" and running.dtype == bool
        return (weight * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2).sum(axis=1)

    r = minimize(value, jax.numpy.asarray(x0), jax.numpy.asarray(bounds), jac="autograd")
    reference = minimize(lambda x: rosenbrock(x, scale), x0, bounds)
    assert isinstance(r.x, jax.Array)
    assert np.allclose(r.fun, reference.fun, rtol=1e-6, atol=1e-9)


def test_autograd_needs_a_library_that_differentiates():
    with pytest.raises(TypeError, match="autograd"):
        cvtmesh.minimize(lambda x: x.sum(), np.ones(3), jac="autograd")


def test_the_notebook_of_the_solvers_runs(capsys):
    pytest.importorskip("scipy")
    example = pathlib.Path(__file__).parents[2] / "docs/examples/optimiser.py"
    found = runpy.run_path(str(example))
    assert found["many"].success.all() and abs(found["many"].x.mean(axis=0) - found["one"].x).max() < 0.2
    assert "LCP" in capsys.readouterr().out
