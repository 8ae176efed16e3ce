"""CVT energy, moments of Voronoi cells, and cells of equal mass, as differentiable functions of PyTorch;
and an optimiser of parameters within bounds.

Gradients with respect to sites and density are exact: no finite differences and no smoothing. Second
derivatives, and domains that are tori, are not supported.

If sites and density are on one CUDA device, all computations run there, in the order of the current
stream; else on the CPU. A density in double precision is computed as the sum of two in single. The
device keeps buffers for the last size of density, about 300 bytes a site. The CPU computes
derivatives by the density where more than 32 cells may meet a pixel, and those of moments by the
sites where a cell has more than 1024 corners. Cells of equal mass are always computed on the CPU.
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
from ._arguments import convert, points_array
from ._device import Torch
from ._minimize import DeviceSide, HostSide

__all__ = ["LBFGSB", "cvt_energy", "cvt_moments", "equal_mass"]

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
    """The array as a tensor with the type and device of the other."""
    return torch.from_numpy(np.asarray(array)).to(tensor)


def host(tensor: Any) -> Any:
    return tensor.detach().cpu().numpy().astype(np.float64)


# --- evaluations ----------------------------------------------------------------------------------

OTHER_CELLS = -1  # no evaluator has them
evaluators: dict[int, _core.Evaluator] = {}  # one for each device
atexit.register(evaluators.clear)


def computed(sites: Any, density: Any) -> tuple[Any, list[Any]]:
    """The sites as float64 and the density as float32, contiguous, on the device of the
    computation. A density in double precision becomes the sum of two."""
    x, rho = sites.detach().double(), density.detach()
    if not (rho.is_cuda and x.device == rho.device and _core.cuda_devices()):
        x, rho = x.cpu(), rho.cpu()
    single = rho.float().contiguous()
    rest = (rho - single).float() if rho.dtype == torch.float64 else None
    parts = [single] if rest is None or not rest.any() else [single, rest.contiguous()]
    return x.contiguous(), parts


def evaluator_of(sites: Any, density: Any) -> _core.Evaluator:
    """An evaluator for such tensors. Calls on the CPU share no evaluator, since they may run at the
    same time."""
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
    """On CUDA orders the work enqueued here after the caller's earlier work and before the later
    work."""
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
    site) + c |x - site|^2 as (n, 4) float64: by the sites, float64, and by the density, if wanted.
    cells: the number that :func:`evaluate` returned."""
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
        The site itself if the mass is 0. Both have the type of `sites` and are differentiable by
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
        x and y in pixels, y down, inside the density; no two sites coincide.
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
        As in :func:`cvt_energy`; a site is outside, two sites coincide, or the density does not
        determine the weights, for example because it is zero between two of its parts.

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


# --- an optimiser ---------------------------------------------------------------------------------


class LBFGSB(torch.optim.Optimizer):  # type: ignore[misc, unused-ignore]
    """L-BFGS-B for parameters of PyTorch, as ``torch.optim.LBFGS`` but with bounds.

    All parameters are one vector in double precision, on the device of the first. A step continues
    the run of the previous step, with its history, if the parameters have not changed since; else,
    and after the run has ended, it begins a new run. So the closure must be the same function at
    every step.

    Parameters
    ----------
    params : iterable of tensors
        All on one device.
    lower, upper : number, tensor, or a sequence with one of them or None for each parameter, optional
        None: no bound. A tensor has the shape of its parameter, or one that broadcasts to it.
    max_iter : int
        The largest number of iterations of a step.
    options
        Those of :func:`cvtmesh.minimize`: memory, gradient_tolerance, tolerance, cauchy, ...

    Attributes
    ----------
    message : str
        Why the run ended, as in :func:`cvtmesh.minimize`; "running" before its end.
    iterations, evaluations : int
        Of the run.

    Examples
    --------
    >>> import torch, cvtmesh.torch
    >>> weights = torch.zeros(3, dtype=torch.double, requires_grad=True)
    >>> optimizer = cvtmesh.torch.LBFGSB([weights], lower=0.0, upper=[torch.tensor([9.0, 9.0, 0.5])])
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((weights - torch.tensor([-1.0, 2.0, 3.0])) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> loss = optimizer.step(closure)
    >>> [round(w, 6) for w in weights.tolist()], round(loss.item(), 6), optimizer.message
    ([0.0, 2.0, 0.5], 7.25, 'gradient')
    """

    def __init__(
        self,
        params: Any,
        lower: Any = None,
        upper: Any = None,
        *,
        max_iter: int = 20,
        **options: Any,
    ) -> None:
        if not max_iter > 0:
            raise ValueError(f"max_iter: {max_iter} is not positive")
        super().__init__(params, {"max_iter": max_iter})
        if len(self.param_groups) != 1:
            raise ValueError("params: all parameters are in one group")
        self._params: list[Any] = self.param_groups[0]["params"]
        self._device = self._params[0].device
        if any(p.device != self._device for p in self._params):
            raise ValueError("params: they are on several devices")
        sides = [self._side(side, name, sign) for side, name, sign in ((lower, "lower", -1), (upper, "upper", 1))]
        self._bounds = None if sides == [None, None] else torch.stack([self._flat(s) for s in sides], dim=1)
        options.setdefault("iterations", 10**15)
        options.setdefault("device", str(self._device))
        self._options, _ = convert("minimize", options)
        self._run: HostSide | DeviceSide | None = None
        self._left: Any = None  # the parameters after the last step
        self._value = math.nan
        self.message, self.iterations, self.evaluations = "running", 0, 0

    def _side(self, bound: Any, name: str, sign: int) -> Any:
        """A bound as a list of tensors, in the precision of the parameters."""
        if bound is None:
            return None
        single = isinstance(bound, torch.Tensor) or not isinstance(bound, (list, tuple))
        each = [bound] * len(self._params) if single else list(bound)
        if len(each) != len(self._params):
            raise ValueError(f"{name}: {len(each)} bounds for {len(self._params)} parameters")
        made = []
        for k, (value, p) in enumerate(zip(each, self._params)):
            value = torch.as_tensor(sign * math.inf if value is None else value, device=self._device)
            try:
                made.append(value.to(p.dtype).expand(p.shape))
            except RuntimeError:
                shapes = f"{tuple(value.shape)} for a parameter of shape {tuple(p.shape)}"
                raise ValueError(f"{name}[{k}]: shape {shapes}") from None
        return made

    def _flat(self, tensors: Any) -> Any:
        return torch.cat([t.detach().reshape(-1).double() for t in tensors])

    def _set(self, x: Any) -> None:
        """Gives the parameters the numbers of x."""
        x = x if isinstance(x, torch.Tensor) else torch.tensor(x)
        parts = x.split([p.numel() for p in self._params])
        for p, part in zip(self._params, parts):
            p.copy_(part.reshape(p.shape))

    def _begin(self, x: Any) -> HostSide | DeviceSide:
        solver = _core.Minimizer(0, len(x), self._options)
        self.message, self.iterations, self.evaluations = "running", 0, 0
        if x.is_cuda:
            return DeviceSide(solver, x, self._bounds, 0)
        return HostSide(solver, x.numpy(), None if self._bounds is None else self._bounds.numpy(), 0)

    def _point(self, run: HostSide | DeviceSide) -> Any:
        if isinstance(run, HostSide):
            return run.solver.host("point")
        return run.framework.view(run.solver.view("point"))

    @torch.no_grad()  # type: ignore[untyped-decorator, misc, unused-ignore]
    def step(self, closure: Any) -> Any:
        """Up to `max_iter` iterations. closure: computes the loss and its gradients, as for
        torch.optim.LBFGS. Returns the loss at the parameters that it leaves."""
        closure = torch.enable_grad()(closure)
        before = self._flat(self._params)
        run, self._run = self._run, None  # an exception ends the run
        if run is None or not torch.equal(before, self._left):
            run = self._begin(before)
        running, done, loss = True, 0, None
        while running and done < self.param_groups[0]["max_iter"]:
            self._set(run.x())
            loss = closure()
            gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in self._params]
            running = run.advance(loss.detach().double(), self._flat(gradients))
            for record in run.solver.take_records():
                done += record["iteration"] > 0
                self.iterations, self.evaluations = record["iteration"], record["evaluations"]
                self._value = record["fun"]
        self._set(self._point(run))
        self._left = self._flat(self._params)
        if running:
            self._run = run
        else:
            self.message = _core.stop_reasons()[run.solver.finish()["status"]]
        return torch.full_like(loss, self._value)
