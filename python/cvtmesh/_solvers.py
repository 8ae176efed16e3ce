"""Complementarity problems, and functions for all solvers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core
from ._arguments import convert, host_array, with_options
from ._device import CuPy, Torch, adopt, framework_of, is_torch, ordinal_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from ._keywords import HlcpOptions, LcpOptions


class Result(dict[str, Any]):
    """A dict with its keys as attributes, for use without SciPy's OptimizeResult."""

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
    """Raises a ValueError that names the first wrong element."""
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


def stored_on_host(value: Any) -> Any:
    """A sparse matrix of CuPy or PyTorch as one of SciPy; any other matrix unchanged."""
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
        Of SciPy, CuPy or PyTorch; a matrix on a device is copied to the host, where the solver is
        set up.
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
        As in :func:`lcp`; z and w are in the same memory.
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
