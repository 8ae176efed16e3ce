"""American puts as linear complementarity problems, beside the binomial tree of Cox, Ross & Rubinstein
(1979): the table of docs/papers.md. Needs the Python package and SciPy.

    python3 tests/bench/american_puts.py [INTERVALS]
"""

import sys

import numpy as np
import scipy.sparse

import cvtmesh

# Rate and volatility a year, years to expiry, price of the share, strike.
CASES = [(0.0488, 0.2, 7 / 12, 40, 45), (0.06, 0.2, 1, 36, 40), (0.06, 0.4, 2, 44, 40),
         (0.05, 0.2, 1, 100, 100), (0.08, 0.3, 0.5, 90, 100), (0.1, 0.1, 0.25, 100, 100),
         (0.12, 0.25, 3, 100, 120), (0, 0.3, 1, 90, 100), (0.02, 0.6, 0.1, 50, 45)]


def price(rate, volatility, expiry, spot, strike, intervals):
    """Central differences in x = ln(S/K), 10 standard deviations to both sides, and as many implicit
    Euler steps as intervals; the values are in units of the strike."""
    reach, n = 10 * volatility * np.sqrt(expiry), intervals - 1
    h, step = 2 * reach / intervals, expiry / intervals
    x = -reach + h * np.arange(intervals + 1)
    payoff = np.maximum(1 - np.exp(x), 0)
    diffusion = step * volatility**2 / h**2
    drift = step * (rate - volatility**2 / 2) / (2 * h)
    below, above = drift - diffusion / 2, -drift - diffusion / 2
    a = scipy.sparse.diags([below, 1 + diffusion + step * rate, above], offsets=[-1, 0, 1],
                           shape=(n, n), format="csr")
    value = payoff.copy()
    for _ in range(intervals):
        b = value[1:-1].copy()
        b[0] -= below * payoff[0]
        b[-1] -= above * payoff[-1]
        value[1:-1] = cvtmesh.lcp(a, b, lower=payoff[1:-1], tolerance=1e-14).x
    first = int(np.clip(np.searchsorted(x, np.log(spot / strike)) - 2, 0, intervals - 3))
    near = slice(first, first + 4)
    return strike * np.polyval(np.polyfit(x[near] - x[first], value[near], 3),
                               np.log(spot / strike) - x[first])


def binomial_price(rate, volatility, expiry, spot, strike, steps=10000):
    dt = expiry / steps
    up = np.exp(volatility * np.sqrt(dt))
    p, discount = (np.exp(rate * dt) - 1 / up) / (up - 1 / up), np.exp(-rate * dt)
    share = spot * up**(2.0 * np.arange(steps + 1) - steps)
    value = np.maximum(strike - share, 0)
    for _ in range(steps):
        share = share[:-1] * up
        value = np.maximum(discount * ((1 - p) * value[:-1] + p * value[1:]), strike - share)
    return value[0]


intervals = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
print("| R | S | T | S0 | K | binomial | LCPs |\n|---|---|---|---|---|---|---|")
for case in CASES:
    figures = " | ".join(f"{figure:g}" for figure in case)
    print(f"| {figures} | {binomial_price(*case):.5f} | {price(*case, intervals):.5f} |", flush=True)
