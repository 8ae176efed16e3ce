"""CVT energy, moments of Voronoi cells, and cells of equal mass, as differentiable functions of PyTorch.

Gradients with respect to sites and density are exact: no finite differences and no smoothing. Second
derivatives, and domains that are tori, are not supported.

Where sites and density are on one CUDA device, all is computed there, in the order of the current
stream; else on the CPU. A density in double precision is computed as the sum of two in single. The
device keeps buffers for the last size of density, about 300 bytes a site. The CPU computes derivatives
by the density where more than 32 cells may meet a pixel, and those of moments by the sites where a cell
has more than 1024 corners. Cells of equal mass are computed on the CPU always.
"""

from __future__ import annotations

import atexit
import contextlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch  # type: ignore[import-not-found, unused-ignore]
from torch.autograd.function import (  # type: ignore[import-not-found, unused-ignore]
    once_differentiable,
)

from . import _core
from ._arguments import points_array
from ._device import Torch

__all__ = ["cvt_energy", "cvt_moments", "equal_mass"]

# --- arguments ------------------------------------------------------------------------------------

FARTHEST = 1e9  # a coordinate of a site


def density_array(density: Any) -> Any:
    """The density as float64 on the host."""
    rho = density.detach().cpu().numpy().astype(np.float64)
    if rho.ndim != 2 or rho.size == 0:
        raise ValueError(f"density: shape {rho.shape} is not (height, width)")
    wrong = ~(np.isfinite(rho) & (rho >= 0))
    if wrong.any():
        y, x = map(int, np.argwhere(wrong)[0])
        raise ValueError(f"density: {rho[y, x]} at pixel ({x}, {y})")
    return rho


def refuse(sites: Any, density: Any) -> None:
    density_array(density)  # says what is wrong
    if len(points_array(sites, "sites")) == 0:
        raise ValueError("sites: there are none")
    raise ValueError(f"sites: a coordinate is beyond {FARTHEST:g}, or a density beyond single precision")


def check_shapes(sites: Any, density: Any) -> None:
    shaped = sites.ndim == 2 and sites.shape[1] == 2 and density.ndim == 2
    if not shaped or sites.numel() == 0 or density.numel() == 0:
        refuse(sites, density)


def are_sound(sites: Any, density: Any) -> bool:
    """Waits for the caller's stream, once."""
    low, high = torch.aminmax(density)
    far = torch.stack([low.double(), high.double(), sites.abs().amax()])
    low, high, far = far.tolist()
    return bool(low >= 0 and math.isfinite(high) and far <= FARTHEST)


def like(array: Any, tensor: Any) -> Any:
    """The array as a tensor of the other's type and device."""
    return torch.from_numpy(np.asarray(array)).to(tensor)


def host(tensor: Any) -> Any:
    return tensor.detach().cpu().numpy().astype(np.float64)


# --- evaluations ----------------------------------------------------------------------------------

OTHER_CELLS = -1  # no evaluator has them
evaluators: dict[int, _core.Evaluator] = {}  # one for each device
atexit.register(evaluators.clear)


def computed(sites: Any, density: Any) -> tuple[Any, list[Any]]:
    """The sites as float64 and the density as float32, contiguous, where the integrals are computed.
    A density in double precision becomes the sum of two."""
    x, rho = sites.detach().double(), density.detach()
    if not (rho.is_cuda and x.device == rho.device and _core.cuda_devices()):
        x, rho = x.cpu(), rho.cpu()
    single = rho.float().contiguous()
    rest = (rho - single).float() if rho.dtype == torch.float64 else None
    parts = [single] if rest is None or not rest.any() else [single, rest.contiguous()]
    return x.contiguous(), parts


def evaluator_of(sites: Any, density: Any) -> _core.Evaluator:
    """An evaluator for such tensors. Calls on the CPU, which may run at the same time, share none."""
    if not density.is_cuda:
        return _core.Evaluator("cpu", density, len(sites))
    index = density.device.index
    height, width = density.shape
    evaluator = evaluators.get(index)
    if evaluator is None or not evaluator.fits(height, width, len(sites)):
        evaluators.pop(index, None)
        evaluator = _core.Evaluator(f"cuda:{index}", density, len(sites))
        evaluators[index] = evaluator
    return evaluator


@contextlib.contextmanager
def ordered(evaluator: _core.Evaluator, device: Any) -> Iterator[None]:
    """On CUDA what is enqueued here comes between the caller's work before and after it."""
    stream = Torch(device.index) if device.type == "cuda" else None
    if stream is not None:
        stream.follow(evaluator.stream)
    try:
        yield
    finally:
        if stream is not None:
            stream.lead(evaluator.stream)


def total(parts: Any) -> Any:
    return parts[0] if len(parts) == 1 else parts.sum(dim=0)


def evaluate(sites: Any, density: Any) -> tuple[Any, Any, int]:
    """The energy; of each cell the integrals of density, density (x - site) and density
    |x - site|^2, (n, 4) float64, where they were computed; and the number of the cells."""
    check_shapes(sites, density)
    x, parts = computed(sites, density)
    evaluator = evaluator_of(x, parts[0])
    value, moments = x.new_empty(len(parts)), x.new_empty(len(parts), len(x), 4)
    with ordered(evaluator, x.device):
        for k, part in enumerate(parts):
            cells = evaluator.evaluate(part, x, value[k : k + 1], moments[k])
        sound = are_sound(x, parts[0])  # meanwhile; the evaluation accepts any values
    if not sound:
        refuse(sites, density)
    return total(value), total(moments), cells


def pull_back(
    cells: int, sites: Any, density: Any, phi: Any, wanted: tuple[bool, bool]
) -> tuple[Any, Any]:
    """Derivatives of the sum of the integrals of density * phi over the cells, where phi = a + b . (x -
    site) + c |x - site|^2 as (n, 4) float64: by the sites, float64, and by the density, as far as
    wanted. cells: the number that :func:`evaluate` returned."""
    x, parts = computed(sites, density)
    phi = phi.to(x).contiguous()
    evaluator = evaluator_of(x, parts[0])
    by_sites = x.new_empty(len(parts), *x.shape) if wanted[0] else None
    number = torch.float64 if density.dtype == torch.float64 else torch.float32
    by_density = torch.empty_like(parts[0], dtype=number) if wanted[1] else None
    done = True
    with ordered(evaluator, x.device):
        for k, part in enumerate(parts if wanted[0] else parts[:1]):
            to = {torch.float32: None, torch.float64: None, number: by_density if k == 0 else None}
            done = done and evaluator.pull_back(
                cells,
                part,
                x,
                phi,
                by_density=to[torch.float32],
                by_density_double=to[torch.float64],
                by_sites=None if by_sites is None else by_sites[k],
            )
    if not done and not x.is_cuda:
        raise MemoryError("no memory for the derivatives")
    if not done:
        of_sites, by_density = pull_back(OTHER_CELLS, sites.cpu(), density.cpu(), phi, wanted)
    else:
        of_sites = None if by_sites is None else total(by_sites)
    return (
        None if of_sites is None else of_sites.to(x),
        None if by_density is None else by_density.to(density),
    )


# --- functions ------------------------------------------------------------------------------------


def require_tensors(sites: Any, density: Any) -> None:
    for name, value in (("sites", sites), ("density", density)):
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"{name}: {type(value).__name__} is not a tensor")


class Energy(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    @staticmethod
    def forward(ctx: Any, sites: Any, density: Any) -> Any:
        ctx.save_for_backward(sites, density)
        energy, moments, ctx.cells = evaluate(sites, density)
        ctx.first = moments[:, 1:3]
        return energy.to(sites)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator, misc, unused-ignore]
    def backward(ctx: Any, gradient: Any) -> Any:
        sites, density = ctx.saved_tensors
        by_sites = by_density = None
        if ctx.needs_input_grad[0]:
            by_sites = (-2 * gradient.to(ctx.first) * ctx.first).to(sites)
        if ctx.needs_input_grad[1]:
            phi = ctx.first.new_zeros(len(sites), 4)
            phi[:, 3] = gradient
            _, by_density = pull_back(ctx.cells, sites, density, phi, (False, True))
        return by_sites, by_density


class Moments(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    @staticmethod
    def forward(ctx: Any, sites: Any, density: Any) -> Any:
        ctx.save_for_backward(sites, density)
        _, moments, ctx.cells = evaluate(sites, density)
        mass, first = moments[:, 0], moments[:, 1:3]
        ctx.mass = mass
        ctx.offset = torch.where(mass[:, None] > 0, first / mass[:, None], torch.zeros_like(first))
        centroid = sites.detach().to(ctx.offset) + ctx.offset
        return mass.to(sites, copy=True), centroid.to(sites)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator, misc, unused-ignore]
    def backward(ctx: Any, by_mass: Any, by_centroid: Any) -> Any:
        """d mass = d integral of rho; d centroid = d (integral of rho x - centroid mass) / mass."""
        sites, density = ctx.saved_tensors
        g = by_centroid.to(ctx.offset)
        full = ctx.mass[:, None] > 0
        slope = torch.where(full, g / ctx.mass[:, None], torch.zeros_like(g))
        value = by_mass.to(g) - (slope * ctx.offset).sum(dim=1)
        phi = torch.column_stack([value, slope, torch.zeros_like(value)])
        by_sites, by_density = pull_back(ctx.cells, sites, density, phi, ctx.needs_input_grad)
        if by_sites is not None:
            moved = torch.where(full, torch.zeros_like(g), g)  # an empty cell's centroid is its site
            by_sites = (by_sites.to(g) + moved).to(sites)
        return by_sites, by_density


class EqualMass(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    @staticmethod
    def forward(ctx: Any, sites: Any, density: Any) -> Any:
        rho, points = density_array(density), points_array(sites, "sites")
        outside = ~((points >= 0) & (points <= rho.shape[::-1])).all(axis=1)
        if outside.any():
            row = int(np.flatnonzero(outside)[0])
            raise ValueError(f"sites[{row}]: {points[row].tolist()} is outside the density")
        if not rho.sum() > 0:
            raise ValueError("density: it is zero everywhere")
        ctx.save_for_backward(sites, density)
        ctx.cells = _core.EqualMass(rho, points)
        return like(ctx.cells.weights(), sites), like(ctx.cells.centroids(), sites)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator, misc, unused-ignore]
    def backward(ctx: Any, by_weights: Any, by_centroids: Any) -> Any:
        sites, density = ctx.saved_tensors
        weights, centroids = (np.ascontiguousarray(host(g)) for g in (by_weights, by_centroids))
        by_sites, by_density = ctx.cells.pull_back(weights, centroids)
        return like(by_sites, sites), like(by_density, density)


def cvt_energy(sites: Any, density: Any) -> Any:
    """The CVT energy: the sum over all cells of the integral of density * |x - site|^2.

    Parameters
    ----------
    sites : (n, 2) tensor
        x and y in pixels, y down.
    density : (height, width) tensor
        Constant on each pixel, not negative.

    Returns
    -------
    scalar tensor
        It has the type of `sites` and is differentiable by both arguments.

    Raises
    ------
    ValueError
        A shape is wrong, or a number is not finite or negative; the message names it.
    TypeError
        An argument is not a tensor.

    Examples
    --------
    >>> import torch, cvtmesh.torch
    >>> sites = torch.tensor([[1.0, 2.0], [3.0, 2.0]], dtype=torch.double, requires_grad=True)
    >>> energy = cvtmesh.torch.cvt_energy(sites, torch.ones(4, 4))
    >>> energy.backward()
    >>> round(energy.item(), 6), sites.grad.abs().max().item() < 1e-12
    (26.666667, True)
    """
    require_tensors(sites, density)
    return Energy.apply(sites, density)


def cvt_moments(sites: Any, density: Any) -> Any:
    """Mass and centroid of each cell.

    Parameters
    ----------
    sites, density : tensors
        As in :func:`cvt_energy`.

    Returns
    -------
    mass : (n,) tensor
    centroid : (n, 2) tensor
        The site itself where the mass is 0. Both are of the type of `sites` and differentiable by
        both arguments.

    Raises
    ------
    ValueError, TypeError
        As in :func:`cvt_energy`.

    Examples
    --------
    >>> import torch, cvtmesh.torch
    >>> sites = torch.tensor([[1.0, 2.0], [3.0, 2.0]])
    >>> mass, centroid = cvtmesh.torch.cvt_moments(sites, torch.ones(4, 4))
    >>> mass.tolist(), centroid.tolist()
    ([8.0, 8.0], [[1.0, 2.0], [3.0, 2.0]])
    """
    require_tensors(sites, density)
    return Moments.apply(sites, density)


def equal_mass(sites: Any, density: Any) -> Any:
    """Weights and centroids of the power cells of the sites that share the density equally.

    The cell of site i is where ``|x - sites[i]|^2 - weights[i]`` is least, and holds the n-th part of
    the density's mass. The gradient takes the solution of one linear system with the graph Laplacian
    of the cells.

    Parameters
    ----------
    sites : (n, 2) tensor
        x and y in pixels, y down, inside the density; no two at one place.
    density : (height, width) tensor
        Constant on each pixel, not negative.

    Returns
    -------
    weights : (n,) tensor
        In square pixels; their mean is 0.
    centroid : (n, 2) tensor
        Both are of the type of `sites` and differentiable by both arguments.

    Raises
    ------
    ValueError, TypeError
        As in :func:`cvt_energy`; a site is outside, two are at one place, or the density does not
        determine the weights, as where it is zero between two of its parts.

    Examples
    --------
    >>> import torch, cvtmesh.torch
    >>> sites = torch.tensor([[1.0, 2.0], [2.0, 2.0]], dtype=torch.double, requires_grad=True)
    >>> weights, centroid = cvtmesh.torch.equal_mass(sites, torch.ones(4, 4))
    >>> weights.tolist(), centroid[1].tolist()
    ([0.5, -0.5], [3.0, 2.0])
    >>> weights[0].backward()
    >>> sites.grad[:, 0].tolist()
    [-1.0, 0.0]
    """
    require_tensors(sites, density)
    return EqualMass.apply(sites, density)
