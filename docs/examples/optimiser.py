# %% [markdown]
# # L-BFGS-B on arrays: one problem, many problems, SciPy's protocol, PyTorch, complementarity
#
# Jupyter opens this file with jupytext. It needs NumPy; SciPy and PyTorch are used if they are installed.

# %%
import numpy as np

from cvtmesh import optimize

# %% [markdown]
# A robust regression with coefficients between 0 and 1. The function returns value and gradient.

# %%
rng = np.random.default_rng(0)
a = rng.standard_normal((500, 20))
b = a @ rng.uniform(-0.5, 1.5, 20) + np.where(rng.random(500) < 0.1, 50.0, 0.1) * rng.standard_normal(500)


def huber(x):
    r = a @ x - b
    return np.where(abs(r) < 1, r * r / 2, abs(r) - 0.5).sum(), a.T @ np.clip(r, -1, 1)


one = optimize.minimize(huber, np.zeros(20), [(0, 1)] * 20)
print(f"Huber: {one.fun:.6f}, {one.active} of 20 at a bound, {one.nfev} evaluations, {one.message}")

# %% [markdown]
# A batch: the rows of x are problems of their own, and the function returns a value for each. Here the
# same regression from 1,000 samples of the rows (a bootstrap). A parameter called `running` says which
# problems still run; the others need no evaluation.

# %%
weights = rng.multinomial(500, np.full(500, 1 / 500), size=1000)


def resampled(x, running):
    f, g = np.zeros(len(x)), np.zeros_like(x)
    r = x[running] @ a.T - b
    f[running] = (weights[running] * np.where(abs(r) < 1, r * r / 2, abs(r) - 0.5)).sum(axis=1)
    g[running] = (weights[running] * np.clip(r, -1, 1)) @ a
    return f, g


many = optimize.minimize(resampled, np.zeros((1000, 20)), [(0, 1)] * 20)
low, high = np.quantile(many.x, [0.05, 0.95], axis=0)
print(f"bootstrap: {many.success.sum()} of 1000 solved, {many.nit.min()} to {many.nit.max()} iterations")
print(f"coefficient 0: {one.x[0]:.3f}, 90 % of the samples in [{low[0]:.3f}, {high[0]:.3f}]")

# %% [markdown]
# As a method of SciPy: the options, the stop rules and the words of its L-BFGS-B.

# %%
try:
    from scipy.optimize import minimize, rosen, rosen_der
except ImportError:
    print("SciPy is not installed")
else:
    r = minimize(rosen, [-1.2, 1.0], jac=rosen_der, method=optimize.lbfgsb)
    print(f"SciPy: {r.message}, {r.nfev} evaluations")

# %% [markdown]
# PyTorch differentiates the function. With `device = "cuda"` nothing leaves the GPU.

# %%
try:
    import torch
except ImportError:
    print("PyTorch is not installed")
else:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rows, target = torch.tensor(a, device=device), torch.tensor(b, device=device)
    loss = torch.nn.HuberLoss(reduction="sum")
    r = optimize.minimize(
        lambda x: loss(rows @ x, target), torch.zeros(20, device=device), [(0, 1)] * 20, jac="autograd"
    )
    print(f"PyTorch on {device}: {r.fun:.6f}")

# %% [markdown]
# A linear complementarity problem: F = A x - q >= 0 where x is 0, F <= 0 where x is 2, F = 0 between.

# %%
try:
    from scipy.sparse import diags
except ImportError:
    pass
else:
    A = diags([-1.0, 2.0, -1.0], [-1, 0, 1], (100, 100))
    r = optimize.lcp(A, np.linspace(-0.1, 0.1, 100), lower=0.0, upper=2.0)
    print(f"LCP: {r.active_lower} at the lower bound, {r.active_upper} at the upper, by {r.method}")
