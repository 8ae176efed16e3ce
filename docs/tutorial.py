# %% [markdown]
# # cvtmesh in Python
# A notebook in the percent format: `jupytext --to ipynb --execute docs/tutorial.py` makes a notebook
# with its results (`pip install jupytext nbconvert ipykernel`), and `python docs/tutorial.py` runs
# it. The cells that need Matplotlib, scikit-fem with meshio, or PyTorch are skipped without them.

# %% [markdown]
# ## From a photograph to a mesh

# %%
import importlib.util
import pathlib
import tempfile

import numpy as np

import cvtmesh

here = pathlib.Path(__file__).parent if "__file__" in globals() else pathlib.Path("docs")
camera = here / "examples" / "camera.png"
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
    t.plot().figure.savefig(out / "camera.png")

# %% [markdown]
# ## A graded mesh of a part, and Poisson's equation on it
# The density asks for small triangles around the hole. The groups of the mesh, `outer` and `hole-1`,
# become boundaries of scikit-fem.

# %%
ring = np.array([[2, 2], [198, 2], [198, 98], [2, 98]], float)
angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
hole = np.stack([60 + 15 * np.cos(angle), 50 + 15 * np.sin(angle)], axis=1)
y, x = np.mgrid[0:100, 0:200] + 0.5
size = 2 + 0.08 * np.maximum(np.hypot(x - 60, y - 50) - 15, 0)


def part(points):
    return cvtmesh.mesh_domain(size**-4.0, points, domain=("polygon", [ring, hole]))


print(part(1200))

# %% [markdown]
# Heat flows from the hole outwards: `u = log(r / 15)`, with r the distance from the centre of the
# hole, has no sources. The value is given on the hole and the flux on the outer boundary. Linear
# elements are optimal if the error of u falls as the square of the size of the triangles, and that
# of its gradient as the size.

# %%
if has("skfem") and has("meshio"):
    import skfem
    from skfem.helpers import dot, grad
    from skfem.io.meshio import from_meshio

    def offset(x):
        return np.stack([x[0] - 60, x[1] - 50])

    def exact(x):
        return 0.5 * np.log((offset(x) ** 2).sum(axis=0) / 15**2)

    def exact_gradient(x):
        return offset(x) / (offset(x) ** 2).sum(axis=0)

    @skfem.BilinearForm
    def laplace(u, v, w):
        return dot(grad(u), grad(v))

    @skfem.LinearForm
    def flux(v, w):
        return dot(exact_gradient(w.x), w.n) * v

    @skfem.Functional
    def squared_error(w):
        return (w["u"] - exact(w.x)) ** 2

    @skfem.Functional
    def squared_error_of_gradient(w):
        difference = w["u"].grad - exact_gradient(w.x)
        return dot(difference, difference)

    def poisson(points):
        """Elements, u, and the errors of u and of its gradient."""
        mesh = from_meshio(part(points).to_meshio())
        basis = skfem.Basis(mesh, skfem.ElementTriP1(), intorder=4)
        outer = skfem.FacetBasis(mesh, skfem.ElementTriP1(), facets="outer", intorder=4)
        fixed = basis.get_dofs("hole-1").flatten()
        u = basis.zeros()
        u[fixed] = exact(basis.doflocs[:, fixed])
        system = skfem.condense(laplace.assemble(basis), flux.assemble(outer), x=u, D=fixed)
        u = skfem.solve(*system)
        errors = [f.assemble(basis, u=u) ** 0.5 for f in (squared_error, squared_error_of_gradient)]
        return mesh, u, errors

    results = [poisson(points) for points in (500, 2000, 8000)]
    errors = np.array([e for _, _, e in results])
    # 16 times the points: a quarter of the size. The values between the vertices of the hole err in the
    # other direction than those inside, so that a single step of the refinement says less.
    rates = np.log2(errors[0] / errors[-1]) / 2
    print("errors", errors.tolist(), "rates", rates.tolist())
    assert np.allclose(rates, [2, 1], atol=0.1)
    if has("matplotlib"):
        import matplotlib.pyplot as plt

        mesh, u, _ = results[0]
        figure, ax = plt.subplots(figsize=(8, 4))
        image = ax.tripcolor(*mesh.p, mesh.t.T, u, shading="gouraud")
        ax.triplot(*mesh.p, mesh.t.T, color="white", linewidth=0.2)
        ax.set_aspect("equal")
        figure.colorbar(image, label="u")
        figure.savefig(out / "poisson.png", dpi=150)

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
