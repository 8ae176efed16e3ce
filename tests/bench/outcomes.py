"""Writes docs/reference/outcomes.md: the problems of tests/python/optimiser_problems.py by cvtmesh and
by SciPy, until they are solved.

usage: outcomes.py FOLDER-OF-THE-REPOSITORY
"""

import pathlib
import sys

import numpy as np
import scipy
from scipy.optimize import minimize

import cvtmesh

root = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(root / "tests/python"))
from optimiser_problems import problems  # noqa: E402
from test_outcomes import LIMITS, is_solved  # noqa: E402


def values_of(method, fun, x0, bounds, memory):
    values = []

    def both(x):
        value, gradient = fun(x)
        values.append(float(value))
        return value, gradient

    with np.errstate(all="ignore"):
        minimize(both, x0, jac=True, bounds=bounds, method=method, options={**LIMITS, "maxcor": memory})
    return values


def by_chance(name, fun, x0, bounds, memory, least):
    """Evaluations in the mean over starts that differ by rounding."""
    rng, counts = np.random.default_rng(0), []
    for _ in range(30):
        start = x0 + 1e-13 * rng.standard_normal(len(x0))
        for method in (cvtmesh.lbfgsb, "L-BFGS-B"):
            values = values_of(method, fun, start, bounds, memory)
            solved = [k for k, v in enumerate(values, 1) if is_solved(v, values[0], least)]
            counts.append(solved[0] if solved else np.nan)
    counts = np.reshape(counts, (-1, 2))
    mean, times = np.nanmean(counts, axis=0), np.isfinite(counts).sum(axis=0)
    return (
        f'"{name}" is solved {times[0]} times with {mean[0]:.0f} evaluations in the mean, by SciPy {times[1]} times '
        f"with {mean[1]:.0f}"
    )


HEAD = """# L-BFGS-B beside SciPy, problem by problem

{count} problems: those of Moré, Garbow & Hillstrom (1981), free and in a box around the start in which some
bounds are active at the end; robust, logistic, Poisson and nonnegative regression; quadratic programs with
bounds, also degenerate; Rosenbrock's function in chains with active bounds, fixed variables and starts
outside; values and variables of 1e-8 to 1e8; functions whose second derivatives jump; likelihoods of Gaussian
processes; histories of 1 to 50 pairs. `tests/python/optimiser_problems.py` has them all.

A run has solved a problem at the first evaluation after which at most 1e-6 of the possible decrease is left:
f - f* <= 1e-6 (f0 - f*), where f* is the least value that either of the two finds. Both have the same limits
and tolerances (`ftol` 0, `gtol` 1e-10) and the same memory, which is 10 where the name says nothing.

* `cvtmesh.lbfgsb` solves {ours} of the {count} problems, SciPy {version} {theirs}.
* On those that both solve, cvtmesh takes {mean:.3f} times as many evaluations in the geometric mean; on the
  {long} for which SciPy takes 6 or more, {mean_long:.3f} times.
* {equal} take the same number of evaluations, {fewer} take fewer with cvtmesh, {more} take more.

For these, cvtmesh takes over 5 % more evaluations than SciPy, and at least two more:

{exceptions}

The two runs agree to rounding until the approximate Cauchy point differs from the exact one, or a line search
ends elsewhere. cvtmesh uses the approximate Cauchy point min(t*, t1) of Fei et al. (2014) unless
`cauchy="exact"` is set: "Watson 9, in a box" then takes {watson} evaluations. The others are long runs on
ill-conditioned problems, where rounding separates the iterates and each of the two is ahead by chance: from 30
starts that differ by 1e-13, {chance}.

`tests/python/test_outcomes.py` solves all of them again and compares with this table.

| problem | n | bounds | least value | cvtmesh | SciPy |
|---|---|---|---|---|---|
"""

rows, found, ratios, exceptions, chance = [], [], [], [], []
for name, fun, x0, bounds, memory in problems():
    ours = values_of(cvtmesh.lbfgsb, fun, x0, bounds, memory)
    theirs = values_of("L-BFGS-B", fun, x0, bounds, memory)
    least = min(np.nanmin(ours), np.nanmin(theirs))
    needed = []
    for values in (ours, theirs):
        solved = [k for k, value in enumerate(values, 1) if is_solved(value, values[0], least)]
        needed.append(solved[0] if solved else None)
    found.append(needed)
    finite = 0 if bounds is None else int(np.isfinite(bounds).sum())
    rows.append(f"| {name} | {len(x0)} | {finite} | {least:.13g} | {needed[0] or 'no'} | {needed[1] or 'no'} |")
    print(rows[-1])
    if None not in needed:
        ratios.append(needed)
        if needed[0] > 1.05 * needed[1] and needed[0] >= needed[1] + 2:
            exceptions.append(f"* {name}: {needed[0]}, SciPy {needed[1]}")
            if name != "Watson 9, in a box":
                chance.append(by_chance(name, fun, x0, bounds, memory, least))
    elif needed[0] is None:
        exceptions.append(f"* {name}: not solved")
    if name == "Watson 9, in a box":
        exact = values_of(
            lambda *given, **options: cvtmesh.lbfgsb(*given, cauchy="exact", **options), fun, x0, bounds, memory
        )
        watson = next(k for k, value in enumerate(exact, 1) if is_solved(value, exact[0], least))
a, b = np.array(ratios).T
far = b >= 6
text = HEAD.format(
    count=len(rows), version=scipy.__version__, ours=sum(f[0] is not None for f in found),
    theirs=sum(f[1] is not None for f in found), mean=np.exp(np.log(a / b).mean()),
    long=far.sum(), mean_long=np.exp(np.log(a / b)[far].mean()), equal=(a == b).sum(), fewer=(a < b).sum(),
    more=(a > b).sum(), exceptions="\n".join(exceptions), watson=watson, chance=";\n".join(chance),
)  # fmt: skip
(root / "docs/reference/outcomes.md").write_text(text + "\n".join(rows) + "\n")
