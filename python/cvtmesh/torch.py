"""CVT energy and moments of Voronoi cells as differentiable functions of PyTorch.

Gradients with respect to sites and density are exact: no finite differences and no smoothing. All is
computed in double precision on the CPU; tensors on a GPU are copied there and back. Second
derivatives, and domains that are tori, are not supported.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch  # type: ignore[import-not-found, unused-ignore]
from torch.autograd.function import (  # type: ignore[import-not-found, unused-ignore]
    once_differentiable,
)

from . import _core
from ._arguments import points_array

__all__ = ["cvt_energy", "cvt_moments"]


def diagram(sites: Any, density: Any) -> _core.Differential:
    rho = density.detach().cpu().numpy().astype(np.float64)
    if rho.ndim != 2 or rho.size == 0:
        raise ValueError(f"density: shape {rho.shape} is not (height, width)")
    wrong = ~(np.isfinite(rho) & (rho >= 0))
    if wrong.any():
        y, x = map(int, np.argwhere(wrong)[0])
        raise ValueError(f"density: {rho[y, x]} at pixel ({x}, {y})")
    return _core.Differential(rho, points_array(sites, "sites"))


def like(array: Any, tensor: Any) -> Any:
    """The array as a tensor of the other's type and device."""
    return torch.from_numpy(np.asarray(array)).to(tensor)


def host(tensor: Any) -> Any:
    return tensor.detach().cpu().numpy().astype(np.float64)


class Energy(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    @staticmethod
    def forward(ctx: Any, sites: Any, density: Any) -> Any:
        ctx.cells = diagram(sites, density)
        ctx.save_for_backward(sites, density)
        _, ctx.first, second = ctx.cells.moments()
        return like(second.sum(), sites)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator, misc, unused-ignore]
    def backward(ctx: Any, gradient: Any) -> Any:
        sites, density = ctx.saved_tensors
        g = float(gradient)
        by_sites = by_density = None
        if ctx.needs_input_grad[0]:
            by_sites = like(-2 * g * ctx.first, sites)
        if ctx.needs_input_grad[1]:
            phi = np.zeros((len(ctx.first), 4))
            phi[:, 3] = g
            by_density = like(ctx.cells.by_density(phi), density)
        return by_sites, by_density


class Moments(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    @staticmethod
    def forward(ctx: Any, sites: Any, density: Any) -> Any:
        ctx.cells = diagram(sites, density)
        ctx.save_for_backward(sites, density)
        ctx.mass, first, _ = ctx.cells.moments()
        full = ctx.mass > 0
        ctx.offset = np.zeros_like(first)
        np.divide(first, ctx.mass[:, None], out=ctx.offset, where=full[:, None])
        return like(ctx.mass, sites), like(host(sites) + ctx.offset, sites)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator, misc, unused-ignore]
    def backward(ctx: Any, by_mass: Any, by_centroid: Any) -> Any:
        """d mass = d integral of rho; d centroid = d (integral of rho x - centroid mass) / mass."""
        sites, density = ctx.saved_tensors
        full = ctx.mass > 0
        phi = np.zeros((len(ctx.mass), 4))
        g = host(by_centroid)
        np.divide(g, ctx.mass[:, None], out=phi[:, 1:3], where=full[:, None])
        phi[:, 0] = host(by_mass) - (phi[:, 1:3] * ctx.offset).sum(axis=1)
        by_sites = by_density = None
        if ctx.needs_input_grad[0]:
            moved = np.where(full[:, None], 0, g)  # the centroid of an empty cell is its site
            by_sites = like(ctx.cells.by_sites(phi) + moved, sites)
        if ctx.needs_input_grad[1]:
            by_density = like(ctx.cells.by_density(phi), density)
        return by_sites, by_density


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
        Of the type of `sites`, differentiable by both arguments.

    Raises
    ------
    ValueError
        A shape is wrong, or a number is not finite or negative; the message names it.

    Examples
    --------
    >>> import torch, cvtmesh.torch
    >>> sites = torch.tensor([[1.0, 2.0], [3.0, 2.0]], dtype=torch.double, requires_grad=True)
    >>> energy = cvtmesh.torch.cvt_energy(sites, torch.ones(4, 4))
    >>> energy.backward()
    >>> round(energy.item(), 6), sites.grad.abs().max().item() < 1e-12
    (26.666667, True)
    """
    return Energy.apply(sites, density)


def cvt_moments(sites: Any, density: Any) -> Any:
    """Mass and centroid of each cell.

    Parameters
    ----------
    sites, density : tensors
        As of :func:`cvt_energy`.

    Returns
    -------
    mass : (n,) tensor
    centroid : (n, 2) tensor
        The site itself where the mass is 0. Both are of the type of `sites` and differentiable by
        both arguments.

    Raises
    ------
    ValueError
        As of :func:`cvt_energy`.

    Examples
    --------
    >>> import torch, cvtmesh.torch
    >>> sites = torch.tensor([[1.0, 2.0], [3.0, 2.0]])
    >>> mass, centroid = cvtmesh.torch.cvt_moments(sites, torch.ones(4, 4))
    >>> mass.tolist(), centroid.tolist()
    ([8.0, 8.0], [[1.0, 2.0], [3.0, 2.0]])
    """
    return Moments.apply(sites, density)
