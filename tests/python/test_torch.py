"""Differentiable energy and moments; with PyTorch on the CPU."""

import subprocess
import sys

import numpy as np
import pytest

import cvtmesh

torch = pytest.importorskip("torch")
import cvtmesh.torch  # noqa: E402


def problem(n=12, shape=(9, 11), seed=0):
    rng = np.random.default_rng(seed)
    sites = torch.tensor(rng.uniform(0, 1, (n, 2)) * [shape[1], shape[0]], requires_grad=True)
    density = torch.tensor(rng.uniform(0.1, 2, shape), requires_grad=True)
    return sites, density


@pytest.mark.parametrize(
    "function", [cvtmesh.torch.cvt_energy, cvtmesh.torch.cvt_moments, cvtmesh.torch.equal_mass]
)
def test_gradcheck_in_double(function):
    """Derivatives have kinks where a corner of a cell meets the border of a pixel; none is there."""
    assert torch.autograd.gradcheck(function, problem(), eps=1e-6, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("n", [12, 3000])
def test_gradients_by_a_density_are_in_double_precision(n):
    """The energy is linear in the density. Many of 3000 cells meet one pixel."""
    sites, density = problem(n)
    energy = cvtmesh.torch.cvt_energy(sites, density)
    energy.backward()
    assert (density.grad * density).sum().item() == pytest.approx(energy.item(), rel=1e-13)


def test_values_are_those_of_the_library(image):
    t = cvtmesh.tessellate(image, 200, iterations=5)
    sites, density = torch.tensor(t.points), torch.tensor(image)
    assert cvtmesh.torch.cvt_energy(sites, density).item() == pytest.approx(t.energy, rel=1e-12)
    mass, centroid = cvtmesh.torch.cvt_moments(sites, density)
    assert np.allclose(mass.numpy(), t.mass, rtol=1e-11)
    assert np.allclose(centroid.numpy(), t.centroids, rtol=0, atol=1e-10)


def test_equal_masses_are_those_of_the_library(image):
    t = cvtmesh.tessellate(image, 60, equal_mass=True, mass_tolerance=1e-9)
    weights, centroid = cvtmesh.torch.equal_mass(torch.tensor(t.points), torch.tensor(image))
    assert np.allclose(weights.numpy(), t.weights - t.weights.mean(), rtol=0, atol=1e-4)
    assert np.allclose(centroid.numpy(), t.centroids, rtol=0, atol=1e-4)


def test_wrong_input_of_equal_masses_is_named():
    sites, density = (a.detach() for a in problem())
    with pytest.raises(ValueError, match=r"sites\[3\]: .* is outside"):
        cvtmesh.torch.equal_mass(sites.index_fill(0, torch.tensor([3]), -1.0), density)
    with pytest.raises(ValueError, match="sites 3 and 4 coincide"):
        cvtmesh.torch.equal_mass(sites.index_fill(0, torch.tensor([3, 4]), 1.0), density)
    with pytest.raises(ValueError, match="zero everywhere"):
        cvtmesh.torch.equal_mass(sites, 0 * density)


@pytest.mark.parametrize("name", ["cvt_energy", "cvt_moments", "equal_mass"])
def test_results_may_live_until_the_end(name):
    code = (
        "import torch, cvtmesh.torch\n"
        "sites = (10 * torch.rand(5, 2, dtype=torch.double)).requires_grad_()\n"
        f"result = cvtmesh.torch.{name}(sites, torch.ones(10, 10))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_types_follow_the_arguments():
    sites, density = (a.detach().float().requires_grad_() for a in problem())
    energy = cvtmesh.torch.cvt_energy(sites, density)
    energy.backward()
    assert energy.dtype == sites.grad.dtype == density.grad.dtype == torch.float32
    assert density.grad.shape == density.shape


def test_a_site_without_mass():
    sites, density = problem()
    with torch.no_grad():
        sites[1] = sites[0]
    mass, centroid = cvtmesh.torch.cvt_moments(sites, density)
    assert mass[1] == 0 and torch.equal(centroid[1], sites[1])
    centroid.sum().backward()
    assert sites.grad[1].tolist() == [1, 1]


def test_gradient_descent_lowers_the_energy():
    sites, density = problem(40, (30, 40))
    optimizer = torch.optim.Adam([sites], lr=0.1)
    energies = []
    for _ in range(100):
        optimizer.zero_grad()
        energy = cvtmesh.torch.cvt_energy(sites, density.detach())
        energy.backward()
        optimizer.step()
        energies.append(energy.item())
    assert energies[-1] < 0.8 * energies[0]


def test_wrong_input_is_named():
    sites, density = problem()
    with pytest.raises(ValueError, match="density: shape"):
        cvtmesh.torch.cvt_energy(sites, density[0])
    with torch.no_grad():
        density[3, 5] = -1
    with pytest.raises(ValueError, match=r"density: -1.0 at pixel \(5, 3\)"):
        cvtmesh.torch.cvt_energy(sites, density)
    with pytest.raises(TypeError, match="density: ndarray is not a tensor"):
        cvtmesh.torch.cvt_moments(sites, np.ones((3, 3)))
    with pytest.raises(ValueError, match="sites: shape"):
        cvtmesh.torch.cvt_energy(sites[:, 0], density.detach().abs())


def test_torch_tensors_are_images(image):
    t = cvtmesh.tessellate(torch.tensor(image, requires_grad=True), 50, iterations=2)
    assert np.array_equal(t.points, cvtmesh.tessellate(image, 50, iterations=2).points)


# --- the optimiser --------------------------------------------------------------------------------


def valley(dtype=torch.double):
    """Rosenbrock's function of two parameters of different shapes, and an optimiser's closure."""
    a = torch.full((2, 3), -1.2, dtype=dtype, requires_grad=True)
    b = torch.full((6,), 1.0, dtype=dtype, requires_grad=True)

    def loss():
        x = a.reshape(-1)
        return (100 * (b - x**2) ** 2 + (1 - x) ** 2).sum()

    def closure_of(optimizer):
        def closure():
            optimizer.zero_grad()
            value = loss()
            value.backward()
            return value

        return closure

    return a, b, loss, closure_of


def test_steps_are_a_run_of_minimize():
    a, b, loss, closure_of = valley()
    lower, upper = [-2.0, None], [torch.linspace(0.5, 2, 3, dtype=torch.double), 9.0]
    optimizer = cvtmesh.torch.LBFGSB([a, b], lower, upper, max_iter=3, gradient_tolerance=1e-9)
    assert isinstance(optimizer, torch.optim.Optimizer)
    values = [optimizer.step(closure_of(optimizer))]
    assert optimizer.message == "running" and optimizer.iterations == 3
    assert values[0].item() == loss().item()  # at the parameters that the step leaves
    while optimizer.message == "running":
        values.append(optimizer.step(closure_of(optimizer)))
    assert all(y <= x for x, y in zip(values, values[1:])) and optimizer.message == "gradient"

    def fun(x):
        x = torch.tensor(x, requires_grad=True)
        y, z = x[:6], x[6:]
        value = (100 * (z - y**2) ** 2 + (1 - y) ** 2).sum()
        value.backward()
        return value.item(), x.grad.numpy()

    high = np.concatenate([np.tile(np.linspace(0.5, 2, 3), 2), np.full(6, 9.0)])
    low = np.concatenate([np.full(6, -2.0), np.full(6, -np.inf)])
    r = cvtmesh.minimize(fun, np.repeat([-1.2, 1.0], 6), np.stack([low, high], axis=1), gradient_tolerance=1e-9,
                         device="cpu")  # as the parameters
    assert np.array_equal(np.concatenate([a.detach().numpy().ravel(), b.detach().numpy()]), r.x)
    assert (optimizer.iterations, optimizer.evaluations) == (r.nit, r.nfev - 1)


def test_a_moved_parameter_begins_a_new_run():
    a, b, loss, closure_of = valley()
    optimizer = cvtmesh.torch.LBFGSB([a, b], max_iter=5)
    optimizer.step(closure_of(optimizer))
    optimizer.step(closure_of(optimizer))
    assert optimizer.iterations == 10
    with torch.no_grad():
        a += 0.25
    optimizer.step(closure_of(optimizer))
    assert optimizer.iterations == 5


def test_single_precision_and_parameters_without_gradient():
    a, b, loss, closure_of = valley(torch.float32)
    unused = torch.ones(3, requires_grad=True)
    optimizer = cvtmesh.torch.LBFGSB([a, b, unused], -1.5, [0.3, 2.0, 1.0], max_iter=100)
    optimizer.step(closure_of(optimizer))
    assert a.max() <= torch.tensor(0.3) and torch.allclose(a, torch.tensor(0.3))
    assert torch.allclose(b, torch.tensor(0.09), atol=1e-4) and unused.tolist() == [1, 1, 1]


def test_wrong_bounds_of_parameters():
    a, b, loss, closure_of = valley()
    with pytest.raises(ValueError, match="lower: 1 bounds for 2 parameters"):
        cvtmesh.torch.LBFGSB([a, b], lower=[0.0])
    with pytest.raises(ValueError, match=r"upper\[1\]: shape \(2,\) for a parameter of shape \(6,\)"):
        cvtmesh.torch.LBFGSB([a, b], upper=[1.0, torch.ones(2)])
    with pytest.raises(TypeError, match="momentum"):
        cvtmesh.torch.LBFGSB([a, b], momentum=0.9)
    with pytest.raises(ValueError, match="max_iter"):
        cvtmesh.torch.LBFGSB([a, b], max_iter=0)
    with pytest.raises(ValueError, match="lower 2, upper 1"):
        optimizer = cvtmesh.torch.LBFGSB([a, b], 2.0, 1.0)
        optimizer.step(closure_of(optimizer))
