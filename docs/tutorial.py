# %% [markdown]
# # cvtmesh in Python
# A notebook in the percent format: `jupytext --to ipynb docs/tutorial.py` converts it, and
# `python docs/tutorial.py` runs it. Without Matplotlib, SciPy or PyTorch the cells that need it are
# skipped.

# %% [markdown]
# ## From a photograph to a mesh

# %%
import importlib.util
import pathlib
import tempfile

import numpy as np

import cvtmesh

here = pathlib.Path(__file__).parent if "__file__" in globals() else pathlib.Path("docs")
camera = here.parent / "examples" / "camera.png"
out = pathlib.Path(tempfile.mkdtemp())
print("files are written to", out)


def has(name):
    return importlib.util.find_spec(name) is not None


t = cvtmesh.tessellate(camera, 2000)
print(t)
print("smallest angle", t.quality["min_angle"], "of", t.quality["triangles"], "triangles")
t.save(out / "camera.vtu")
t.save(out / "camera.svg")
if has("matplotlib"):
    import matplotlib

    matplotlib.use("Agg")
    t.plot().figure.savefig(out / "camera.png")

# %% [markdown]
# ## A graded mesh of a part, and Poisson's equation on it
# The density asks for small triangles around the hole. Linear elements are assembled with NumPy.

# %%
ring = np.array([[2, 2], [198, 2], [198, 98], [2, 98]], float)
angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
hole = np.stack([60 + 15 * np.cos(angle), 50 + 15 * np.sin(angle)], axis=1)
y, x = np.mgrid[0:100, 0:200] + 0.5
size = 2 + 0.08 * np.maximum(np.hypot(x - 60, y - 50) - 15, 0)
geometry = cvtmesh.mesh_domain([ring, hole], 1200, shape=(100, 200))
mesh = cvtmesh.mesh_domain(size**-4.0, 1200, polygon=[ring, hole])
print(mesh, sorted(mesh.to_meshio().field_data) if has("meshio") else "")


def poisson(mesh):
    """-laplace u = 1, u = 0 on the boundary."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.linalg import spsolve

    p, t = mesh.points, mesh.triangles
    a, b, c = (p[t[:, k]] for k in range(3))
    edges = np.stack([c - b, a - c, b - a], axis=1)
    area = 0.5 * np.abs((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0])
    local = np.einsum("tid,tjd->tij", edges, edges) / (4 * area[:, None, None])
    rows, columns = np.repeat(t, 3, axis=1).ravel(), np.tile(t, 3).ravel()
    A = coo_matrix((local.ravel(), (rows, columns)), (len(p), len(p))).tocsr()
    f = np.bincount(t.ravel(), np.repeat(area / 3, 3), len(p))
    pairs = np.sort(np.vstack([t[:, [0, 1]], t[:, [1, 2]], t[:, [2, 0]]]), axis=1)
    pair, uses = np.unique(pairs, axis=0, return_counts=True)
    free = np.setdiff1d(np.arange(len(p)), pair[uses == 1])
    u = np.zeros(len(p))
    u[free] = spsolve(A[free][:, free], f[free])
    return u


if has("scipy"):
    u = poisson(mesh)
    print("largest u", u.max())
    assert abs(u.max() / poisson(geometry).max() - 1) < 0.02
    if has("matplotlib"):
        ax = mesh.plot(linewidth=0.2)
        ax.tricontourf(mesh.points[:, 0], mesh.points[:, 1], mesh.triangles, u, 20, zorder=0)
        ax.figure.savefig(out / "poisson.png")

# %% [markdown]
# ## Samples of equal mass

# %%
samples = cvtmesh.tessellate(camera, 1000, equal_mass=True)
print("masses equal to", np.ptp(samples.mass) / samples.mass.mean())

# %% [markdown]
# ## A function of a million variables

# %%
n = 10**6
scale = np.linspace(1, 100, n)
r = cvtmesh.minimize(
    lambda v: (0.5 * (scale * v * v).sum() - v.sum(), scale * v - 1),
    np.zeros(n),
    bounds=np.tile([0.0, 0.5], (n, 1)),
)
print(r.message, r.nit, "iterations;", "error", np.abs(r.x - np.minimum(1 / scale, 0.5)).max())

# %% [markdown]
# ## Sites by gradient descent in PyTorch

# %%
if has("torch"):
    import torch

    import cvtmesh.torch

    density = torch.tensor(np.exp(-((x - 60) ** 2 + (y - 50) ** 2) / 2000))
    sites = torch.tensor(np.random.default_rng(0).uniform([0, 0], [200, 100], (200, 2)))
    sites.requires_grad_()
    optimizer = torch.optim.Adam([sites], lr=0.5)
    for step in range(100):
        optimizer.zero_grad()
        energy = cvtmesh.torch.cvt_energy(sites, density)
        energy.backward()
        optimizer.step()
    print("energy", energy.item())
