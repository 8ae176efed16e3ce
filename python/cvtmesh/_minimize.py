"""Bound-constrained minimisation by L-BFGS-B, of one problem or of many at a time."""

from __future__ import annotations

import inspect
import math
import sys
import time
from typing import TYPE_CHECKING, Any, Callable

from . import _core
from ._arguments import check_callback, convert, host_array, is_array, with_options
from ._device import Torch, adopt, framework_of, is_jax, is_torch, ordinal_of
from ._solvers import result, vector

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from ._keywords import MinimizeOptions


# --- bounds ---------------------------------------------------------------------------------------


def each_problem(size: int, shape: tuple[int, ...]) -> int:
    """How often `size` numbers are repeated for x0 of this shape: once, or per problem; 0: the
    numbers have another shape."""
    n = math.prod(shape)
    if size == n:
        return 1
    return shape[0] if len(shape) > 1 and size * shape[0] == n else 0


def read_bounds(bounds: Any, shape: tuple[int, ...]) -> tuple[Any, Any, int]:
    """Lower and upper bounds of SciPy's Bounds or of pairs, flat, for x0 of this shape, and how often
    they are repeated."""
    import numpy as np

    n = math.prod(shape)
    if bounds is None:
        return None, None, 1
    if hasattr(bounds, "lb"):
        sides = [np.asarray(side, dtype=np.float64) for side in (bounds.lb, bounds.ub)]
        low, high = (
            side if side.size == n else np.broadcast_to(side, shape) for side in sides
        )
        return vector(low, "bounds.lb", n), vector(high, "bounds.ub", n), 1
    if not is_array(bounds):
        inf = float("inf")
        try:
            bounds = [
                (-inf if low is None else low, inf if high is None else high) for low, high in bounds
            ]
        except (TypeError, ValueError):
            raise TypeError("bounds: not a sequence of pairs") from None
    pairs = np.asarray(host_array(bounds, "bounds"), dtype=np.float64)
    given = pairs.shape
    pairs = pairs.reshape(-1, 2) if given == (*shape, 2) else pairs
    times = each_problem(len(pairs), shape) if pairs.shape[1:] == (2,) else 0
    if times == 0:
        raise ValueError(f"bounds: shape {given} is not ({n}, 2)")
    if np.isnan(pairs).any():
        place = np.argwhere(np.isnan(pairs.reshape(given)))[0].tolist()
        raise ValueError(f"bounds{place} is nan")
    return pairs[:, 0], pairs[:, 1], times


def split_bounds(bounds: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Lower and upper bounds of each variable."""
    import numpy as np

    low, high, times = read_bounds(bounds, shape)
    return (low, high) if low is None else (np.tile(low, times), np.tile(high, times))


# --- the objective --------------------------------------------------------------------------------


def copied_to(x0: Any) -> Callable[[Any], Any]:
    """A function that makes an array of the package one of the library of x0, which the caller may
    keep; the identity if that is NumPy on the host or the same library on the device."""
    if is_jax(x0):
        import jax  # type: ignore[import-not-found, unused-ignore]

        if ordinal_of(x0) is None:
            return lambda x: jax.device_put(x.copy(), x0.sharding)

        def to_jax(x: Any) -> Any:
            contiguous = x.ravel().reshape(x.shape)
            return jax.numpy.array(jax.dlpack.from_dlpack(contiguous)).block_until_ready()

        return to_jax
    if is_torch(x0) and ordinal_of(x0) is None:
        return sys.modules["torch"].tensor  # type: ignore[no-any-return]
    return lambda x: x


def by_autograd(fun: Callable[..., Any], x0: Any) -> Callable[..., tuple[Any, Any]]:
    """fun with its gradient by PyTorch or JAX. The values of a batch are differentiated together:
    each depends on its own problem alone."""
    if is_torch(x0):
        torch = sys.modules["torch"]

        def by_torch(x: Any, *args: Any, **given: Any) -> tuple[Any, Any]:
            with torch.enable_grad():
                x = x.detach().requires_grad_()
                value = fun(x, *args, **given)
                if not value.requires_grad:
                    return value, torch.zeros_like(x)
                (gradient,) = torch.autograd.grad(value.sum(), x)
            return value.detach(), gradient

        return by_torch
    if not is_jax(x0):
        raise TypeError("jac='autograd': x0 is neither a tensor of PyTorch nor an array of JAX")
    import jax

    def by_jax(x: Any, *args: Any, **given: Any) -> tuple[Any, Any]:
        value, pull_back = jax.vjp(lambda at: fun(at, *args, **given), x)
        return value, pull_back(jax.numpy.ones_like(value))[0]

    return by_jax


class Objective:
    """The caller's function, on arrays of the library of x0. `masked`: it takes a mask of the
    problems of a batch that run."""

    def __init__(self, fun: Any, jac: Any, args: tuple[Any, ...], x0: Any) -> None:
        if not callable(fun):
            raise TypeError("fun is not callable")
        try:
            self.masked = "running" in inspect.signature(fun).parameters
        except (TypeError, ValueError):  # compiled functions
            self.masked = False
        if jac == "autograd":
            fun = by_autograd(fun, x0)
        elif callable(jac):
            value = fun
            fun = lambda x, *args, **given: (value(x, *args, **given), jac(x, *args))  # noqa: E731
        elif jac is not True:
            raise TypeError(f"jac: {jac!r} is neither True, 'autograd' nor a function")
        self.fun, self.args, self.own = fun, args, copied_to(x0)

    def __call__(self, x: Any, running: Any) -> tuple[Any, Any]:
        """running: an integer for each problem."""
        given = {"running": self.own(running) != 0} if self.masked else {}
        returned = self.fun(self.own(x), *self.args, **given)
        try:
            f, g = returned
        except (TypeError, ValueError):
            raise TypeError("fun must return the value and the gradient") from None
        return f, g


# --- evaluations ----------------------------------------------------------------------------------


class HostSide:
    """Evaluations on arrays of the host; on CUDA x and g cross the bus."""

    def __init__(self, solver: _core.Minimizer, x0: Any, bounds: Any, problems: int) -> None:
        import numpy as np

        self.solver, self.shape, self.problems = solver, x0.shape, problems
        self.is_first = True
        solver.bound(*split_bounds(bounds, x0.shape))
        solver.start(np.ascontiguousarray(x0, dtype=np.float64).reshape(-1))

    def x(self) -> Any:
        found: Any = self.solver.host("x") if self.solver.on_cuda else self.solver.view("x")
        return found.reshape(self.shape)

    def running(self) -> Any:
        return self.solver.host_running()

    def result(self) -> Any:
        return self.solver.host("result").reshape(self.shape)

    def finish(self) -> dict[str, Any]:
        return self.solver.finish()

    def gradient(self, objective: Objective) -> Any:
        """The gradient of all problems at the result."""
        x = self.result()
        x.flags.writeable = False
        return objective(x, self.running() + 1 if objective.masked else None)[1]

    def advance(self, f: Any, g: Any) -> bool:
        import numpy as np

        g = np.ascontiguousarray(host_array(g, "gradient"), dtype=np.float64).reshape(-1)
        check_size(g.size, self.shape)
        value = np.asarray(host_array(f, "value"), dtype=np.float64).reshape(-1)
        check_values(len(value), self.problems)
        if self.problems == 0 and self.is_first:
            check_start(float(value[0]), g)
        self.is_first = False
        return self.solver.advance(np.repeat(value, 2) if self.problems > 0 else value, g)


class DeviceSide:
    """Evaluations on arrays of PyTorch or CuPy, which stay on the device, on the caller's stream."""

    MOST = 4  # rounds between two looks at the device

    def __init__(self, solver: _core.Minimizer, x0: Any, bounds: Any, problems: int) -> None:
        self.solver, self.shape, self.problems = solver, tuple(x0.shape), problems
        self.framework = framework_of(x0, solver.ordinal)
        start = self.vector(x0, "x0")
        low, high = self.split(bounds)
        self.framework.follow(solver.stream)
        solver.bound_on_device(low, high)
        solver.start_on_device(start)
        self.at_x, self.at_f, self.at_g = (self.framework.view(solver.view(name)) for name in "xfg")
        self.at_x = self.at_x.reshape(self.shape)
        self.states = self.framework.view(solver.running()) if problems > 0 else None
        self.rounds, self.unseen, self.seen = 1, 0, time.perf_counter()
        self.stream = solver.stream
        self.graph: Any = None

    def vector(self, value: Any, name: str) -> Any:
        value = value if ordinal_of(value) is None else adopt(value)
        return self.framework.array(value, "float64", name).reshape(-1)

    def flat(self, value: Any, name: str) -> Any:
        return value.reshape(-1) if self.framework.is_double(value) else self.vector(value, name)

    def split(self, bounds: Any) -> tuple[Any, Any]:
        """split_bounds for bounds that may be an array on the device, which stays there."""
        if ordinal_of(bounds) is None:
            low, high, times = read_bounds(bounds, self.shape)
            return (low, high) if low is None else self.repeated(low, high, times)
        pairs = self.framework.array(adopt(bounds), "float64", "bounds")
        given = tuple(pairs.shape)
        pairs = pairs.reshape(-1, 2) if given == (*self.shape, 2) else pairs
        times = each_problem(len(pairs), self.shape) if tuple(pairs.shape[1:]) == (2,) else 0
        if times == 0:
            raise ValueError(f"bounds: shape {given} is not ({math.prod(self.shape)}, 2)")
        return self.repeated(pairs[:, 0], pairs[:, 1], times)

    def repeated(self, low: Any, high: Any, times: int) -> tuple[Any, Any]:
        low, high = (self.framework.repeat(self.vector(side, "bounds"), times) for side in (low, high))
        return low, high

    def x(self) -> Any:
        return self.at_x

    def running(self) -> Any:
        return self.states

    def result(self) -> Any:
        return self.framework.copy(self.framework.view(self.solver.view("result"))).reshape(self.shape)

    def finish(self) -> dict[str, Any]:
        if not self.solver.is_large:
            return self.solver.finish()
        import numpy as np

        self.solver.finish_on_device()
        view, copy = self.framework.view, self.framework.copy
        names = ("fun", "status", "nit", "nfev", "projected_gradient", "active", "restarts")
        figures = {name: host_array(copy(view(self.solver.figure(name))), name) for name in names}
        converged = [self.solver.has_converged(stop) for stop in range(len(_core.stop_reasons()))]
        success = np.array(converged)[figures["status"]]
        return {**figures, "success": success, "njev": figures["nfev"]}

    def gradient(self, objective: Objective) -> Any:
        gradient = objective(self.result(), self.running() + 1 if objective.masked else None)[1]
        self.framework.synchronize()  # the solver's memory is freed next
        return gradient

    def advance(self, f: Any, g: Any) -> bool:
        self.give(f, g)
        other = self.framework.stream() != self.stream  # than the solver's
        if other:
            self.framework.follow(self.stream)
        self.unseen += 1
        if self.unseen < self.rounds:
            self.solver.advance_on_device(False)
            if other:
                self.framework.lead(self.stream)
            return True
        running = self.solver.advance_on_device(True)
        # While the device works on a short round of a batch, the next evaluations are enqueued; the
        # last ones may be in vain.
        now = time.perf_counter()
        short = (now - self.seen) / self.unseen < 1e-3
        several = short and self.states is not None
        self.rounds, self.unseen, self.seen = self.MOST if several else 1, 0, now
        return running

    def give(self, f: Any, g: Any) -> None:
        f, g = self.flat(f, "value"), self.flat(g, "gradient")
        check_values(len(f), self.problems)
        check_size(len(g), self.shape)
        self.framework.assign(self.at_f, f)
        self.framework.assign(self.at_g, g)

    def replay(self, objective: Objective) -> bool:
        """Some rounds, which the first call records."""

        def round_() -> None:
            self.give(*objective(self.at_x, self.states))
            self.solver.advance_on_device(False)

        if self.graph is None and isinstance(self.framework, Torch):
            self.graph = self.framework.record(round_)
        for _ in range(self.MOST):
            self.graph.replay()
        return self.solver.poll()


class StartNotFinite(FloatingPointError):
    pass


def check_start(value: float, gradient: Any) -> None:
    """Refuses values at the start that are not finite; later such values only shorten the step."""
    import numpy as np

    finite = np.isfinite(gradient)
    if not np.isfinite(value):
        raise StartNotFinite(f"fun: the value at x0 is {value}, not finite")
    if not finite.all():
        k = int(finite.argmin())
        raise StartNotFinite(f"fun: gradient[{k}] at x0 is {gradient[k]}, not finite")


def check_size(size: int, shape: tuple[int, ...]) -> None:
    if size != math.prod(shape):
        raise ValueError(f"fun: a gradient of {size} numbers for x of shape {tuple(shape)}")


def check_values(count: int, problems: int) -> None:
    if count != max(problems, 1):
        raise ValueError(f"fun: {count} values" + (f" for {problems} problems" if problems else ""))


def problems_of(value: Any, shape: tuple[int, ...]) -> int:
    """The number of problems if fun returned a value for each row of x0; else 0."""
    import numpy as np

    found = tuple(value.shape) if hasattr(value, "shape") else np.shape(value)
    return shape[0] if len(shape) > 1 and found == shape[:1] else 0


def run(
    objective: Objective,
    x0: Any,
    bounds: Any,
    callback: Callable[[dict[str, Any]], Any] | None,
    options: dict[str, Any],
    search: int = 0,
    graph: bool = False,
) -> Any:
    """minimize, with a limit on the evaluations of a line search."""
    import numpy as np

    ordinal = ordinal_of(x0)
    if ordinal is None:
        start: Any = np.asarray(host_array(x0, "x0"), dtype=np.float64)
    else:
        start = adopt(x0)
        if options.get("device") in (None, "auto", "cuda"):
            options["device"] = f"cuda:{ordinal}"
    shape = tuple(start.shape)
    n = math.prod(shape)
    if n == 0:
        raise ValueError("x0 is empty")
    if ordinal is None and not np.isfinite(start).all():
        raise ValueError(f"x0: value {int(np.argmin(np.isfinite(start)))} is not finite")
    values, _ = convert("minimize", options)

    def begin(problems: int) -> HostSide | DeviceSide:
        stream = None if ordinal is None else framework_of(start, ordinal).stream()
        solver = _core.Minimizer(problems, n // max(problems, 1), values, search, stream)
        if ordinal is not None and not (solver.on_cuda and solver.ordinal == ordinal):
            raise ValueError(f"x0 is on the device cuda:{ordinal}, the solver is not")
        return (HostSide if ordinal is None else DeviceSide)(solver, start, bounds, problems)

    if objective.masked and len(shape) < 2:
        raise ValueError(f"fun has a parameter `running`, but x0 of shape {shape} is no batch")
    side = begin(shape[0] if objective.masked else 0)
    f, g = objective(side.x(), side.running() if objective.masked else None)
    if side.problems == 0 and problems_of(f, shape) > 0:
        side = begin(shape[0])  # from the same point
    if callback is not None and side.problems > 0:
        raise ValueError("callback: a batch has none")
    running, asked, recorded = side.advance(f, g), False, False
    while True:
        for record in side.solver.take_records():
            asked = asked or (callback is not None and bool(callback(record)))
        if asked or not running:
            break
        if recorded and isinstance(side, DeviceSide):
            running = side.replay(objective)
        else:
            f, g = objective(side.x(), side.running() if objective.masked else None)
            running, recorded = side.advance(f, g), graph
    figures = side.finish()
    reasons: Any = _core.stop_reasons()
    reasons = np.array(reasons, dtype=object) if side.problems > 0 else reasons
    figures["message"] = reasons[figures["status"]]
    if asked:
        figures |= {"success": False, "message": "request"}
    figures |= {"nfev": figures["nfev"] + 1, "njev": figures["njev"] + 1}
    x, gradient = objective.own(side.result()), side.gradient(objective)
    return result({"x": x, **figures, "jac": gradient})


@with_options("minimize")
def minimize(
    fun: Callable[..., Any],
    x0: ArrayLike,
    bounds: Any = None,
    *,
    args: tuple[Any, ...] = (),
    jac: Any = True,
    callback: Callable[[dict[str, Any]], Any] | None = None,
    graph: bool = False,
    **options: Unpack[MinimizeOptions],
) -> Any:
    """Minimises a function of many variables within bounds, by L-BFGS-B; or many functions, each of
    its own variables, at a time.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` returns the value and the gradient, of the shape of `x0`. If it returns
        a value for each row of `x0`, of shape ``x0.shape[:1]``, the rows are a batch: independent
        problems, each with a step, a history and a stop reason of its own, and the result of a row
        has the same bits for any other rows. A parameter called `running` gets a mask of the
        rows that still run; values and gradients of the others are not used.
        `x` is an array of the library of `x0`, in double precision, and never outside the bounds.
        An array of NumPy, or of CuPy or PyTorch on a device, is the solver's own memory and may not
        be changed or kept.
    x0 : array
        The start, of any shape. If it is on a CUDA device, as an array of PyTorch, CuPy or JAX, x,
        value and gradient stay there, and `fun` works on the caller's stream.
    bounds : (n, 2) array, list of pairs, or scipy.optimize.Bounds, optional
        None or an infinity: no bound. An array on the device stays there. Pairs for one row of `x0`
        hold for every row; those of a batch may also have the shape ``(*x0.shape, 2)``.
    args : tuple
        Further arguments of `fun`; a single one need not be a tuple.
    jac : True, 'autograd' or callable
        'autograd': `fun` returns the value alone, and PyTorch or JAX, whose array `x0` is,
        differentiates it. A function: `jac` returns the gradient, `fun` the value alone.
    callback : callable, optional
        Called with a dict (iteration, evaluations, fun, projected_gradient, step, active, and
        cauchy, the step to the generalized Cauchy point) after each iteration; true stops the run.
        Not for a batch.
    graph : bool
        Of tensors of PyTorch on a CUDA device: after two evaluations `fun` is recorded as a CUDA graph, which
        is replayed. That is faster where `fun` is many short kernels. `fun` must not wait for the
        device, and what it reads on the host must not change. A callback may come some iterations late.
    {options}

    Returns
    -------
    scipy.optimize.OptimizeResult
        Without SciPy a dict with attributes: x, fun, jac (at x, by one more evaluation), success,
        status, message, nit, nfev, njev, projected_gradient (largest component), active (variables at a
        bound). For a batch each has one element per row; a row whose function is not finite at its
        start ends with the message 'not finite'.

    Raises
    ------
    TypeError, ValueError
        An argument or a result of `fun` is wrong; the message names it.
    FloatingPointError
        The function is not finite at the start.
    MemoryError, cvtmesh.DeviceError, KeyboardInterrupt
        As in :func:`tessellate`.

    Examples
    --------
    >>> import cvtmesh, numpy
    >>> r = cvtmesh.minimize(lambda x: (((x - 3) ** 2).sum(), 2 * (x - 3)), numpy.zeros(4),
    ...                      bounds=[(0, 1), (0, None), (None, 2), (None, None)])
    >>> r.x.round(6).tolist(), r.success
    ([1.0, 3.0, 2.0, 3.0], True)

    A batch of three problems of two variables:

    >>> centre = numpy.array([[1, 2], [3, 4], [5, 6]])
    >>> def fun(x):
    ...     return ((x - centre) ** 2).sum(axis=1), 2 * (x - centre)
    >>> r = cvtmesh.minimize(fun, numpy.zeros((3, 2)), bounds=[(0, 4), (0, 4)])
    >>> r.x.round(6).tolist(), r.success.tolist()
    ([[1.0, 2.0], [3.0, 4.0], [4.0, 4.0]], [True, True, True])
    """
    check_callback(callback)
    objective = Objective(fun, jac, args if isinstance(args, tuple) else (args,), x0)
    if not graph:
        return run(objective, x0, bounds, callback, {**options})
    ordinal = ordinal_of(x0)
    if not is_torch(x0) or ordinal is None:
        raise ValueError("graph: x0 is not a tensor of PyTorch on a CUDA device")
    with Torch(ordinal).side_stream() as results:
        return results(run(objective, x0, bounds, callback, {**options}, graph=True))
