"""The solvers: bound-constrained minimisation and complementarity problems."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any, Callable, Sequence

from . import _core
from ._arguments import check_callback, convert, host_array, is_array, with_options
from ._device import CuPy, Torch, adopt, framework_of, is_torch, ordinal_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Unpack

    from ._keywords import HlcpOptions, LcpOptions, MinimizeOptions


class Result(dict[str, Any]):
    """A dict with its keys as attributes, where SciPy's OptimizeResult is not installed."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def result(figures: dict[str, Any]) -> Any:
    try:
        from scipy.optimize import OptimizeResult  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return Result(figures)
    return OptimizeResult(figures)


def refuse(array: Any, wrong: Any, name: str) -> None:
    """A ValueError that names the first element that is wrong."""
    if wrong.any():
        k = int(wrong.argmax())
        raise ValueError(f"{name}[{k}] is {array[k]}")


def vector(value: Any, name: str, n: int) -> Any:
    """n numbers as float64; a scalar is repeated. None stays None."""
    import numpy as np

    if value is None:
        return None
    array = np.asarray(host_array(value, name), dtype=np.float64)
    if array.ndim == 0:
        array = np.full(n, float(array))
    array = np.ascontiguousarray(array.reshape(-1))
    if len(array) != n:
        raise ValueError(f"{name}: {len(array)} numbers for {n} unknowns")
    refuse(array, np.isnan(array), name)
    return array


# --- minimize -------------------------------------------------------------------------------------


def split_bounds(bounds: Any, n: int) -> tuple[Any, Any]:
    """Lower and upper bounds of SciPy's Bounds or of n pairs."""
    import numpy as np

    if bounds is None:
        return None, None
    if hasattr(bounds, "lb"):
        low, high = (np.broadcast_to(side, n) for side in (bounds.lb, bounds.ub))
        return vector(low, "bounds.lb", n), vector(high, "bounds.ub", n)
    if not is_array(bounds):
        inf = float("inf")
        try:
            bounds = [
                (-inf if low is None else low, inf if high is None else high) for low, high in bounds
            ]
        except (TypeError, ValueError):
            raise TypeError("bounds: not a sequence of pairs") from None
    pairs = np.asarray(host_array(bounds, "bounds"), dtype=np.float64)
    if pairs.shape != (n, 2):
        raise ValueError(f"bounds: shape {pairs.shape} is not ({n}, 2)")
    if np.isnan(pairs).any():
        row, side = map(int, np.argwhere(np.isnan(pairs))[0])
        raise ValueError(f"bounds[{row}, {side}] is nan")
    return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])


class HostSide:
    """Evaluations on arrays of NumPy; on CUDA x and g cross the bus."""

    def __init__(self, solver: _core.Minimizer, x0: Any, bounds: Any) -> None:
        import numpy as np

        self.solver, self.shape, self.is_first = solver, x0.shape, True
        solver.bound(*split_bounds(bounds, x0.size))
        solver.start(np.ascontiguousarray(x0, dtype=np.float64).reshape(-1))

    def x(self, wanted: bool) -> Any:
        if wanted and not self.solver.on_cuda:
            view: Any = self.solver.view(True)
            return view.reshape(self.shape)
        return self.solver.host(wanted).reshape(self.shape)

    def result(self, fun: Callable[[Any], Any]) -> tuple[Any, Any]:
        """x, and the gradient at x."""
        x = self.x(False)
        x.flags.writeable = False
        gradient = value_and_gradient(fun(x))[1]
        return self.x(False), gradient

    def evaluate(self, fun: Callable[[Any], Any]) -> bool:
        import numpy as np

        f, g = value_and_gradient(fun(self.x(True)))
        g = np.ascontiguousarray(host_array(g, "gradient"), dtype=np.float64).reshape(-1)
        check_size(g.size, self.shape)
        value = host_array(f, "value").reshape(-1)
        if len(value) != 1:
            raise ValueError(f"fun: {len(value)} values")
        if self.is_first:
            check_start(float(value[0]), g)
        self.is_first = False
        return self.solver.advance(float(value[0]), g)


class DeviceSide:
    """Evaluations on arrays of PyTorch or CuPy, which stay on the device, on the caller's stream."""

    def __init__(self, solver: _core.Minimizer, x0: Any, bounds: Any) -> None:
        self.solver, self.shape = solver, x0.shape
        self.framework = framework_of(x0, solver.ordinal)
        start = self.vector(x0, "x0")
        low, high = self.split(bounds, len(start))
        self.framework.follow(solver.stream)
        solver.bound_on_device(low, high)
        solver.start_on_device(start)

    def vector(self, value: Any, name: str) -> Any:
        return self.framework.array(value, "float64", name).reshape(-1)

    def split(self, bounds: Any, n: int) -> tuple[Any, Any]:
        """As split_bounds; an array on the device stays there."""
        if ordinal_of(bounds) is None:
            sides = zip(split_bounds(bounds, n), ("lower", "upper"))
            low, high = (None if side is None else self.vector(side, name) for side, name in sides)
            return low, high
        pairs = self.framework.array(bounds, "float64", "bounds")
        if tuple(pairs.shape) != (n, 2):
            raise ValueError(f"bounds: shape {tuple(pairs.shape)} is not ({n}, 2)")
        return self.vector(pairs[:, 0], "bounds"), self.vector(pairs[:, 1], "bounds")

    def x(self, wanted: bool) -> Any:
        return self.framework.view(self.solver.view(wanted)).reshape(self.shape)

    def result(self, fun: Callable[[Any], Any]) -> tuple[Any, Any]:
        x = self.framework.copy(self.x(False))
        gradient = value_and_gradient(fun(x))[1]
        self.framework.synchronize()  # the solver's memory is freed next
        return x, gradient

    def evaluate(self, fun: Callable[[Any], Any]) -> bool:
        f, g = value_and_gradient(fun(self.x(True)))
        f, g = self.vector(f, "value"), self.vector(g, "gradient")
        if len(f) != 1:
            raise ValueError(f"fun: {len(f)} values")
        check_size(len(g), self.shape)
        self.framework.follow(self.solver.stream)
        return self.solver.advance_on_device(f, g)


def value_and_gradient(returned: Any) -> tuple[Any, Any]:
    try:
        f, g = returned
    except (TypeError, ValueError):
        raise TypeError("fun must return the value and the gradient") from None
    return f, g


def check_start(value: float, gradient: Any) -> None:
    """Refuses values that are not finite; after the start they only shorten the step."""
    import numpy as np

    finite = np.isfinite(gradient)
    if not np.isfinite(value):
        raise FloatingPointError(f"fun: the value at x0 is {value}, not finite")
    if not finite.all():
        k = int(finite.argmin())
        raise FloatingPointError(f"fun: gradient[{k}] at x0 is {gradient[k]}, not finite")


def check_size(size: int, shape: tuple[int, ...]) -> None:
    if size != math.prod(shape):
        raise ValueError(f"fun: a gradient of {size} numbers for x of shape {tuple(shape)}")


@with_options("minimize")
def minimize(
    fun: Callable[..., tuple[Any, Any]],
    x0: ArrayLike,
    *,
    args: tuple[Any, ...] = (),
    bounds: Any = None,
    callback: Callable[[dict[str, Any]], Any] | None = None,
    **options: Unpack[MinimizeOptions],
) -> Any:
    """Minimises a function of many variables within bounds, by L-BFGS-B.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` returns the value and the gradient, of the shape of `x0`. `x` is the
        solver's own memory: it may not be changed or kept. It is never outside the bounds.
    x0 : array
        The start, of any shape. If it is on a CUDA device, as an array of PyTorch or CuPy, x, value
        and gradient stay there, and `fun` works on the caller's stream.
    args : tuple
        Further arguments of `fun`; a single one need not be a tuple.
    bounds : (n, 2) array, list of pairs, or scipy.optimize.Bounds, optional
        None or an infinity: no bound. An array on the device stays there.
    callback : callable, optional
        Called with a dict (iteration, evaluations, fun, projected_gradient, step, active, and
        cauchy, the step to the generalized Cauchy point) after each iteration; true stops the run.
    {options}

    Returns
    -------
    scipy.optimize.OptimizeResult
        Without SciPy a dict with attributes: x, fun, jac (at x, by one more evaluation), success,
        status, message, nit, nfev, njev, projected_gradient (largest component), active (variables at a bound).

    Raises
    ------
    TypeError, ValueError
        An argument, or what `fun` returns, is wrong; the message names it.
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
    """
    import numpy as np

    if not callable(fun):
        raise TypeError("fun is not callable")
    check_callback(callback)
    if not isinstance(args, tuple):
        args = (args,)
    ordinal = ordinal_of(x0)
    if ordinal is None:
        start: Any = np.asarray(host_array(x0, "x0"), dtype=np.float64)
    else:
        start = adopt(x0)
        if options.get("device") in (None, "auto", "cuda"):
            options["device"] = f"cuda:{ordinal}"
    n = math.prod(start.shape)
    if n == 0:
        raise ValueError("x0 is empty")
    if ordinal is None and not np.isfinite(start).all():
        raise ValueError(f"x0: value {int(np.argmin(np.isfinite(start)))} is not finite")
    values, _ = convert("minimize", options)
    solver = _core.Minimizer(n, values)
    if ordinal is not None and not (solver.on_cuda and solver.ordinal == ordinal):
        raise ValueError(f"x0 is on the device cuda:{ordinal}, the solver is not")
    side = (HostSide if ordinal is None else DeviceSide)(solver, start, bounds)
    running, asked = True, False
    while running and not asked:
        running = side.evaluate(lambda x: fun(x, *args))
        for record in solver.take_records():
            asked = asked or (callback is not None and bool(callback(record)))
    figures = solver.finish()
    if asked:
        figures |= {"success": False, "message": "request"}
    x, gradient = side.result(lambda x: fun(x, *args))
    figures |= {"nfev": figures["nfev"] + 1, "njev": figures["njev"] + 1}
    return result({"x": x, **figures, "jac": gradient})


# Options of SciPy's L-BFGS-B.
SCIPY_NAMES = {
    "maxiter": "iterations",
    "maxfun": "evaluations",
    "maxcor": "memory",
    "gtol": "gradient_tolerance",
}


def lbfgsb(
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    jac: Any = None,
    bounds: Any = None,
    callback: Callable[..., Any] | None = None,
    constraints: Sequence[Any] = (),
    hess: Any = None,
    hessp: Any = None,
    tol: float | None = None,
    **options: Any,
) -> Any:
    """:func:`minimize` as a method of ``scipy.optimize.minimize``.

    The options are those of :func:`minimize`, of which four also go by the names of SciPy's
    L-BFGS-B: ``maxiter``, ``maxfun``, ``maxcor`` and ``gtol``, which `tol` sets too. A callback gets a
    copy of x, or, if its only parameter is called ``intermediate_result``, an OptimizeResult of x and
    fun. The run stops if it returns true or raises StopIteration.

    Examples
    --------
    >>> import cvtmesh, scipy.optimize
    >>> from scipy.optimize import rosen, rosen_der
    >>> r = scipy.optimize.minimize(rosen, [-1.2, 1], jac=rosen_der, method=cvtmesh.lbfgsb)
    >>> r.x.round(4).tolist()
    [1.0, 1.0]
    """
    if constraints:
        raise ValueError("constraints other than bounds are not supported")
    if not callable(jac):
        raise ValueError("jac must be a function, or True: the gradient is needed")
    if tol is not None:
        options.setdefault("gtol", tol)
    options = {SCIPY_NAMES.get(name, name): value for name, value in options.items()}
    last: list[Any] = []

    def both(x: NDArray[Any]) -> tuple[Any, Any]:
        if callback is not None:
            last[:] = [x.copy()]  # the solver overwrites x
        return fun(x, *args), jac(x, *args)

    check_callback(callback)
    if callback is None:
        return minimize(both, x0, bounds=bounds, **options)
    named = [*inspect.signature(callback).parameters] == ["intermediate_result"]

    def tell(record: dict[str, Any]) -> Any:
        try:
            if named:
                return callback(intermediate_result=result({"x": last[0], "fun": record["fun"]}))
            return callback(last[0])
        except StopIteration:
            return True

    return minimize(both, x0, bounds=bounds, callback=tell, **options)


# --- complementarity ------------------------------------------------------------------------------


def stored_on_host(value: Any) -> Any:
    """A sparse matrix of CuPy or PyTorch as one of SciPy; any other matrix as it is."""
    if is_torch(value) and str(value.layout) != "torch.strided":
        from scipy.sparse import csr_matrix  # type: ignore[import-untyped, unused-ignore]

        csr = value.detach().cpu().to_sparse_csr()
        parts = (csr.values(), csr.col_indices(), csr.crow_indices())
        return csr_matrix(tuple(part.numpy() for part in parts), shape=tuple(csr.shape))
    return value.get() if hasattr(value, "tocsr") and hasattr(value, "get") else value


def matrix(value: Any, name: str) -> tuple[Any, Any, Any, int]:
    """Row starts, columns, values and width of a sparse or dense matrix."""
    import numpy as np

    value = stored_on_host(value)
    if hasattr(value, "tocsr"):
        csr = value.tocsr()
    else:
        from scipy.sparse import csr_matrix  # type: ignore[import-untyped, unused-ignore]

        array = host_array(value, name)
        if array.ndim != 2:
            raise ValueError(f"{name}: shape {array.shape} is not square")
        csr = csr_matrix(array)
    if csr.shape[0] != csr.shape[1]:
        raise ValueError(f"{name}: shape {csr.shape} is not square")
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    if csr.dtype.kind not in "fiu":
        raise TypeError(f"{name}: a matrix of dtype {csr.dtype} holds no real numbers")
    finite = np.isfinite(csr.data)
    if not finite.all():
        k = int(finite.argmin())
        row = int(np.searchsorted(csr.indptr, k, "right")) - 1
        raise ValueError(f"{name}[{row}, {csr.indices[k]}] is {csr.data[k]}")
    return (
        np.ascontiguousarray(csr.indptr, np.int64),
        np.ascontiguousarray(csr.indices, np.int32),
        np.ascontiguousarray(csr.data, np.float64),
        csr.shape[1],
    )


class Vectors:
    """The vectors of a problem of n unknowns: on the host; or on the CUDA device that holds `q`,
    unless the options name another device."""

    def __init__(self, q: Any, n: int, options: Any) -> None:
        if q is None:
            raise TypeError("q: None is not an array")
        self.n = n
        self.framework: Torch | CuPy | None = None
        ordinal = ordinal_of(q)
        devices = (None, "auto", "cuda", f"cuda:{ordinal}")
        if ordinal is not None and options.get("device") in devices and _core.cuda_devices():
            self.framework = framework_of(adopt(q), ordinal)
            options["device"] = f"cuda:{ordinal}"

    def given(self, value: Any, name: str) -> Any:
        """A scalar is repeated. None stays None."""
        if value is None:
            return None
        if self.framework is None or ordinal_of(value) is None:
            array = vector(value, name, self.n)
            if name == "q":
                refuse(array, abs(array) == float("inf"), name)
            if self.framework is None:
                return array
            return self.framework.array(array, "float64", name)
        array = self.framework.array(adopt(value), "float64", name).reshape(-1)
        if len(array) != self.n:
            raise ValueError(f"{name}: {len(array)} numbers for {self.n} unknowns")
        return array

    def result(self) -> Any:
        """Memory for a result; None: the solver returns an array of NumPy."""
        if self.framework is None:
            return None
        return self.framework.empty((self.n,), "float64")

    def settle(self) -> None:
        """Waits for the work on the caller's stream."""
        if self.framework is not None:
            self.framework.synchronize()


@with_options("lcp")
def lcp(
    A: Any,
    q: ArrayLike,
    lower: ArrayLike | None = 0.0,
    upper: ArrayLike | None = None,
    **options: Unpack[LcpOptions],
) -> Any:
    """A linear complementarity problem with bounds: with F = A x - q, find x between `lower` and
    `upper` such that F >= 0 at the lower bound, F <= 0 at the upper one, and F = 0 between.

    Parameters
    ----------
    A : (n, n) sparse matrix or array
        Of SciPy, CuPy or PyTorch; one on a device is copied to the host, where the solver is set up.
    q : (n,) array
        The right side, as ``--rhs`` of the program. If it is on a CUDA device, as an array of
        PyTorch or CuPy, the problem is solved there, and bounds and x stay there.
    lower, upper : (n,) array or number, optional
        None: no bound.
    {options}

    Returns
    -------
    scipy.optimize.OptimizeResult
        x, success, message, method, nit, natural_residual, natural_residual_max, active_lower,
        active_upper, energy.

    Raises
    ------
    ValueError, TypeError, MemoryError, cvtmesh.DeviceError, KeyboardInterrupt
        As in :func:`tessellate`; rows in messages count from 1.

    Examples
    --------
    >>> import cvtmesh
    >>> r = cvtmesh.lcp([[2, -1], [-1, 2]], [1, -4])
    >>> r.x.tolist(), r.success
    ([0.5, 0.0], True)
    """
    a = matrix(A, "A")
    n = len(a[0]) - 1
    vectors = Vectors(q, n, options)
    values, inputs = convert("lcp", options)
    right, low, high = map(vectors.given, (q, lower, upper), ("q", "lower", "upper"))
    if low is not None and high is not None and vectors.framework is None:
        refuse(low, low > high, "lower is above upper: lower")
    x = vectors.result()
    vectors.settle()
    figures = _core.lcp(a, right, low, high, x, values, inputs)
    return result(figures if x is None else {**figures, "x": x})


@with_options("hlcp")
def hlcp(A: Any, B: Any, q: ArrayLike, **options: Unpack[HlcpOptions]) -> Any:
    """A horizontal linear complementarity problem: A z - B w = q, z >= 0, w >= 0, z'w = 0.

    Parameters
    ----------
    A, B : (n, n) sparse matrices or arrays
        B = None is the identity. As in :func:`lcp`.
    q : (n,) array
        As in :func:`lcp`; z and w are where it is.
    {options}

    Returns
    -------
    scipy.optimize.OptimizeResult
        z, w, success, message, nit, splits, residual, max_complementarity.

    Raises
    ------
    ValueError, TypeError, MemoryError, cvtmesh.DeviceError, KeyboardInterrupt
        As in :func:`tessellate`; rows in messages count from 1.

    Examples
    --------
    >>> import cvtmesh
    >>> r = cvtmesh.hlcp([[2, -1], [-1, 2]], None, [1, -4], method="newton")
    >>> r.z.round(9).tolist(), r.w.round(9).tolist()
    ([0.5, 0.0], [0.0, 3.5])
    """
    import numpy as np

    a = matrix(A, "A")
    n = len(a[0]) - 1
    if B is None:
        b = (np.arange(n + 1), np.arange(n, dtype=np.int32), np.ones(n), n)
    else:
        b = matrix(B, "B")
    vectors = Vectors(q, n, options)
    values, inputs = convert("hlcp", options)
    right, z, w = vectors.given(q, "q"), vectors.result(), vectors.result()
    vectors.settle()
    figures = _core.hlcp(a, b, right, z, w, values, inputs)
    return result(figures if z is None else {**figures, "z": z, "w": w})
