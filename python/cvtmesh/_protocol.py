"""L-BFGS-B by the rules, options and messages of SciPy."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any, Callable, Sequence

from ._arguments import check_callback, host_array, refuse_unknown, table
from ._minimize import Objective, StartNotFinite, run, split_bounds
from ._solvers import result

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# The options of minimize by the names of SciPy's L-BFGS-B.
SCIPY_NAMES = {
    "iterations": "maxiter",
    "evaluations": "maxfun",
    "memory": "maxcor",
    "gradient_tolerance": "gtol",
}
# Options of SciPy that have no effect here, and mostly none in SciPy.
WITHOUT_EFFECT = {"disp", "iprint", "workers", "finite_diff_rel_step"}
GRADIENT = 0, "CONVERGENCE: NORM OF PROJECTED GRADIENT <= PGTOL"
DECREASE = 0, "CONVERGENCE: RELATIVE REDUCTION OF F <= FACTR*EPSMCH"
ITERATIONS = 1, "STOP: TOTAL NO. OF ITERATIONS REACHED LIMIT"
EVALUATIONS = 1, "STOP: TOTAL NO. OF F,G EVALUATIONS EXCEEDS LIMIT"
TIME = 1, "STOP: CPU EXCEEDING THE TIME LIMIT"
ABNORMAL = 2, "ABNORMAL: "
HALT = 99, "`callback` raised `StopIteration`."
VERDICTS = {"gradient": GRADIENT, "decrease": DECREASE, "time": TIME}


def differences(fun: Callable[[Any], float], bounds: Any, eps: Any, central: bool) -> Callable[..., Any]:
    """The gradient of fun by differences; a step that would leave the bounds goes the other way.
    central: of the second order, with steps that suit it."""
    import numpy as np

    def gradient(x: Any, value: float) -> Any:
        low, high = split_bounds(bounds, x.shape)
        low, high = (np.full(x.size, v) if s is None else s for s, v in ((low, -np.inf), (high, np.inf)))
        steps, g = np.broadcast_to(np.asarray(eps, dtype=np.float64), x.size), np.zeros(x.size)
        if central:
            steps = np.cbrt(np.finfo(float).eps) * np.maximum(1, abs(x.ravel()))
        for k, start in enumerate(x.ravel()):

            def at(to: float) -> float:
                moved = x.copy()
                moved.flat[k] = to  # noqa: B023
                return fun(moved)

            h = steps[k]
            one = start + h
            if one > high[k]:
                one = max(start - h, low[k]) if start - low[k] > high[k] - start else high[k]
            h = one - start
            if central and h > 0 and start - h >= low[k]:
                g[k] = (at(one) - at(start - h)) / (one - (start - h))
            elif central and h != 0 and low[k] <= start + 2 * h <= high[k]:
                g[k] = (4 * at(one) - 3 * value - at(start + 2 * h)) / (2 * h)
            elif h != 0:
                g[k] = (at(one) - value) / h
        return g.reshape(x.shape)

    return gradient


class Protocol:
    """Follows the evaluations and iterations of a run, and ends the run by SciPy's rules."""

    def __init__(self, both: Callable[..., Any], callback: Any, limits: dict[str, Any]) -> None:
        self.both, self.callback, self.limits = both, callback, limits
        self.evaluations = 0
        self.verdict: tuple[int, str] | None = None
        self.last: Any = None  # x, value and gradient of the last evaluation
        self.accepted: Any = None  # x, value and gradient of the last iteration
        self.pairs: list[tuple[Any, Any]] = []
        self.earlier = 0  # iterations before the last restart
        self.restarting = False
        self.restart_value: float | None = None
        self.named = callback is not None and [*inspect.signature(callback).parameters] == [
            "intermediate_result"
        ]

    def evaluate(self, x: Any) -> tuple[Any, Any]:
        import numpy as np

        if self.accepted is not None and (x is self.accepted[0] or np.array_equal(x, self.accepted[0])):
            return self.accepted[1:]  # type: ignore[no-any-return]
        self.evaluations += 1
        self.last = (x.copy(), *self.both(x.copy()))  # fun may write to its x
        return self.last[1:]  # type: ignore[no-any-return]

    def halts(self, value: float) -> bool:
        if self.callback is None:
            return False
        x = self.accepted[0].copy()
        try:
            if self.named:
                return bool(self.callback(intermediate_result=result({"x": x, "fun": value})))
            return bool(self.callback(x))
        except StopIteration:
            return True

    def remember(self) -> None:
        """Stores the pair of an iteration, for the inverse Hessian."""
        import numpy as np

        old, new = self.accepted, self.last
        s = (new[0] - old[0]).ravel()
        y = np.subtract(new[2], old[2], dtype=np.float64).ravel()
        if s @ y > np.finfo(float).eps * (y @ y):
            self.pairs = [*self.pairs, (s, y)][-self.limits["maxcor"] :]

    def iterate(self, record: dict[str, Any]) -> bool:
        """Called after each iteration; true ends the run."""
        at, value, limits = self.earlier + record["iteration"], record["fun"], self.limits
        if record["iteration"] == 0:
            self.accepted, self.value = self.last, value
            return False
        self.remember()
        self.accepted = self.last
        decrease = self.value - value
        scale, self.value = max(abs(self.value), abs(value), 1.0), value
        if self.halts(value):
            self.verdict = HALT
        elif at >= limits["maxiter"]:
            self.verdict = ITERATIONS
        elif self.evaluations > limits["maxfun"]:
            self.verdict = EVALUATIONS
        elif record["projected_gradient"] <= limits["gtol"]:
            self.verdict = GRADIENT
        elif decrease <= limits["ftol"] * scale:
            self.verdict = DECREASE
        if self.verdict is DECREASE and decrease <= 0:
            # Only the history can be at fault, unless nothing was gained since it was dropped before.
            self.restarting = self.restart_value is None or value < self.restart_value
        if self.restarting:
            self.verdict, self.earlier, self.restart_value = None, at, value
        return self.restarting or self.verdict is not None

    def inverse(self, n: int) -> Any:
        """The inverse Hessian as an operator of SciPy; None where SciPy is not installed."""
        import numpy as np

        try:
            from scipy.optimize import LbfgsInvHessProduct  # type: ignore[import-untyped, unused-ignore]
        except ImportError:
            return None
        s, y = (np.array([pair[k] for pair in self.pairs]).reshape(-1, n) for k in (0, 1))
        return LbfgsInvHessProduct(s, y)


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
    *,
    ftol: float | None = None,
    eps: Any = 1e-8,
    maxls: int = 20,
    **options: Any,
) -> Any:
    """:func:`minimize` as a method of ``scipy.optimize.minimize``, by the rules of its L-BFGS-B.

    The options are those of SciPy's L-BFGS-B with their defaults: ``maxcor`` (10), ``ftol`` (2.2e-9),
    ``gtol`` (1e-5), ``maxfun`` and ``maxiter`` (15000), ``maxls`` (20) and ``eps`` (1e-8); `tol` sets
    ftol and gtol. ``device``, ``threads``, ``cauchy`` and ``time_limit`` are those of
    :func:`minimize`; but the Cauchy point is exact, as SciPy's. A run ends, and
    status and message say so, as in SciPy, with two exceptions. A line search of ``maxls`` evaluations
    takes its best point. After an iteration that gains nothing while the gradient is above gtol, the
    run goes on without its history. `jac` is the gradient, True if `fun` returns it too, None for forward
    differences, or '3-point' for central ones. A callback gets a copy of x, or, if its only parameter is called
    ``intermediate_result``, an OptimizeResult of x and fun. The run stops if it returns true or raises
    StopIteration.

    Returns
    -------
    scipy.optimize.OptimizeResult
        x, fun, jac, success, status, message, nit, nfev, njev, hess_inv (a LinearOperator).

    Examples
    --------
    >>> import cvtmesh, scipy.optimize
    >>> from scipy.optimize import rosen, rosen_der
    >>> r = scipy.optimize.minimize(rosen, [-1.2, 1], jac=rosen_der, method=cvtmesh.lbfgsb)
    >>> r.x.round(4).tolist(), r.message[:11]
    ([1.0, 1.0], 'CONVERGENCE')
    """
    import numpy as np

    if constraints:
        raise ValueError("constraints other than bounds are not supported")
    if not maxls > 0:
        raise ValueError(f"maxls: {maxls} is not positive")
    check_callback(callback)
    args = args if isinstance(args, tuple) else (args,)
    limits: dict[str, Any] = {"maxiter": 15000, "maxfun": 15000, "maxcor": 10}
    limits |= {"gtol": 1e-5 if tol is None else tol}
    limits |= {"ftol": ftol if ftol is not None else 2.2204460492503131e-09 if tol is None else tol}
    others = {}
    for name, value in options.items():
        name = SCIPY_NAMES.get(name, name)
        if name in limits:
            limits[name] = value
        elif name not in WITHOUT_EFFECT:
            others[name] = value
    counts = {"nfev": 0}

    def value_at(x: Any) -> float:
        counts["nfev"] += 1
        value = np.asarray(fun(x, *args))
        if value.size != 1:
            raise ValueError(f"fun: {value.size} values")
        return float(value.reshape(-1)[0])

    if callable(jac):
        both = lambda x: (value_at(x.copy()), np.array(jac(x, *args)))  # noqa: E731
    elif jac is True:

        def both(x: Any) -> tuple[Any, Any]:
            counts["nfev"] += 1
            f, g = fun(x, *args)
            return f, np.array(g)

    elif jac in (None, False, "2-point", "3-point"):
        gradient = differences(value_at, bounds, eps, jac == "3-point")

        def both(x: Any) -> tuple[Any, Any]:
            f = value_at(x.copy())
            return f, gradient(x, f)

    else:
        raise ValueError(f"jac: {jac!r} is neither a function, True, None, '2-point' nor '3-point'")
    protocol = Protocol(both, callback, limits)
    start: Any = np.asarray(host_array(x0, "x0"), dtype=np.float64)
    settings = {
        "iterations": max(min(math.ceil(limits["maxiter"]), 10**15), 1),
        "memory": limits["maxcor"],
        "gradient_tolerance": limits["gtol"],
        "cauchy": "exact",
        **others,
    }
    objective = Objective(protocol.evaluate, True, (), start)
    refuse_unknown(settings, table("minimize"))
    try:
        r = run(objective, start, bounds, protocol.iterate, settings, maxls)
        while protocol.restarting:
            protocol.restarting = False
            r = run(objective, r["x"], bounds, protocol.iterate, settings, maxls)
        r = {**r, "nit": protocol.earlier + r["nit"]}
    except StartNotFinite:
        x, f, g = protocol.last
        r = {"x": x, "fun": float(np.asarray(f).reshape(-1)[0]), "nit": 0, "jac": g, "message": "not finite"}
    status, message = protocol.verdict or VERDICTS.get(r["message"], ABNORMAL)
    figures = {**r, "nfev": counts["nfev"], "njev": protocol.evaluations}
    figures |= {"status": status, "message": message, "success": status == 0}
    return result({**figures, "hess_inv": protocol.inverse(start.size)})
