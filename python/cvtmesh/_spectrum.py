"""The noise of point sets: power spectrum, pair correlation, and figures of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

FREQUENCY, DISTANCE, GAP = 6, 6, 0.04  # the largest of each, and the width of a ring of distances
RINGS_MAX, SIDE_MAX, SHOWN = 2400, 257, 3
DIRECT_MAX = 8192  # sums over more points are faster by finufft than as products of matrices


@dataclass(frozen=True)
class Spectrum:
    """Power and pair correlation of points.

    Lengths are in units of the mean spacing s, the root of area over number, frequencies in units of
    1 / s. Independent points have power 1. A figure for which there are too few points is nan.

    Attributes
    ----------
    spacing : float
        s, in pixels.
    frequency, power, anisotropy : (rings,) float64 arrays
        The middle of each ring of frequencies, up to 6; the mean power in it, and its variance over
        the square of the mean (Ulichney 1987): 1, that is 0 dB, for one set of isotropic noise.
    plane : (side, side) float64 array
        The power at frequencies up to 3 along both axes: means over squares, frequency 0 (left out)
        in the middle.
    distance, pair_correlation : (gaps,) float64 arrays
        The middle of each range of distances, up to 6; the density of points there around a point
        over the mean density (Ohser & Stoyan 1981).
    least_distance, mean_distance : float
        Between nearest points, over the distance in the hexagonal lattice.
    low_frequency_power : float
        The mean power at frequencies up to 1/2.
    effective_nyquist : float
        The frequency up to which the mean power is 0.1 (Heck, Schlömer & Deussen 2013).
    oscillation : float
        10 times the root mean square of power less 1, from the first frequency where the power is
        0.98 over a width of 5 (Heck et al.), less the contribution of the scatter of the power.
    peak_power : float
        The largest mean power of a ring.
    anisotropy_db : float
        The mean anisotropy between 1/2 and 2, in decibels.
    dispersion : float
        The variance of numbers of points in squares of some 16 points over their mean: 1 for
        independent points; much more if the density is not uniform.
    """

    spacing: float
    frequency: NDArray[Any]
    power: NDArray[Any]
    anisotropy: NDArray[Any]
    plane: NDArray[Any]
    distance: NDArray[Any]
    pair_correlation: NDArray[Any]
    least_distance: float
    mean_distance: float
    low_frequency_power: float
    effective_nyquist: float
    oscillation: float
    peak_power: float
    anisotropy_db: float
    dispersion: float


def spectrum(points: ArrayLike, shape: tuple[int, int], *, periodic: bool = False) -> Spectrum:
    """The power spectrum and the pair correlation of points of uniform density.

    On a torus the power \\|sum exp(-2 pi i f x)\\|^2 / n is taken at all frequencies (k / width,
    l / height). Otherwise each point has the weight of Hann's window, sin^2(pi x / width)
    sin^2(pi y / height), the mean is subtracted, and the sum of the squared weights replaces n.
    More than 8,192 points need the package finufft (``pip install cvtmesh[spectrum]``); each takes
    2.3 kB.

    Parameters
    ----------
    points : (n, 2) array
        x and y in pixels, inside the domain; at least 2 points.
    shape : (height, width)
        The size of the domain.
    periodic : bool
        Opposite sides are joined.

    Returns
    -------
    Spectrum

    Raises
    ------
    ValueError
        If a point is outside, or there are fewer than 2.
    ImportError
        There are more than 8,192 points, and finufft is not installed.

    Examples
    --------
    >>> import cvtmesh, numpy
    >>> s = cvtmesh.spectrum(numpy.random.default_rng(1).random((500, 2)) * 10, (10, 10))
    >>> bool(0.7 < s.low_frequency_power < 1.3)
    True
    """
    import numpy as np

    x = np.asarray(points, np.float64)
    size = np.array([shape[1], shape[0]], np.float64)
    if x.ndim != 2 or x.shape[1] != 2 or len(x) < 2:
        raise ValueError(f"points: shape {x.shape} is not (n, 2) with n > 1")
    if not ((x >= 0) & (x <= size)).all():
        raise ValueError(f"points: some are outside the domain of {shape[1]} x {shape[0]}")
    spacing = float(np.sqrt(size.prod() / len(x)))
    found: dict[str, Any] = {"spacing": spacing}
    found.update(of_power(x, size, spacing, periodic))
    found.update(of_pairs(x, size, spacing, periodic))
    found["dispersion"] = dispersion(x, size, spacing)
    return Spectrum(**found)


def sums_of(turns: Any, weight: Any, most: Any) -> Any:
    """sum_j weight_j exp(-2 pi i (k, l) . turns_j), k = -most[0] .. most[0], l = 0 .. most[1]."""
    import numpy as np

    if len(turns) > DIRECT_MAX:
        try:
            import finufft  # type: ignore[import-not-found, unused-ignore]
        except ImportError as error:
            raise ImportError(
                f"the spectrum of {len(turns)} points needs finufft: pip install cvtmesh[spectrum]"
            ) from error
        shape = (2 * most[0] + 1, 2 * most[1] + 1)
        x, y = np.ascontiguousarray(2 * np.pi * turns.T)
        strength = weight.astype(np.complex128)
        all_sums = finufft.nufft2d1(x, y, strength, shape, isign=-1, eps=1e-12)
        return all_sums[:, most[1] :]
    k, m = np.arange(-most[0], most[0] + 1), np.arange(most[1] + 1)
    sums = np.zeros((len(k), len(m)), np.complex128)
    for at in range(0, len(turns), 512):
        part = -2j * np.pi * turns[at : at + 512]
        sums += (np.exp(np.outer(k, part[:, 0])) * weight[at : at + 512]) @ np.exp(
            np.outer(part[:, 1], m)
        )
    return sums


def of_power(x: Any, size: Any, spacing: float, periodic: bool) -> dict[str, Any]:
    import numpy as np

    most = (FREQUENCY * size / spacing).astype(int)
    k, m = np.arange(-most[0], most[0] + 1), np.arange(most[1] + 1)
    weight = np.ones(len(x))
    if not periodic:
        weight = (np.sin(np.pi * x / size) ** 2).prod(axis=1)
    sums = sums_of(x / size, weight, most)
    if not periodic:  # the window's transform times the density
        window = [np.choose(np.minimum(abs(part), 2), [0.5, -0.25, 0]) for part in (k, m)]
        sums -= 4 * weight.sum() * np.outer(*window)
    fx, fy = np.meshgrid(k * spacing / size[0], m * spacing / size[1], indexing="ij")
    frequency, power = np.hypot(fx, fy), abs(sums) ** 2 / (weight**2).sum()

    rings = int(np.ceil(min(FREQUENCY * np.sqrt(len(x)), RINGS_MAX)))
    step = FREQUENCY / rings
    ring = (frequency / step).astype(int)
    # Only one of f and -f, which have the same power.
    half = (ring < rings) & ((m > 0) | (k > 0)[:, None])
    ring, frequency, fx, fy, power = (part[half] for part in (ring, frequency, fx, fy, power))
    number = np.bincount(ring, minlength=rings)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(ring, power, rings) / number
        square = np.bincount(ring, power**2, rings)
        variance = np.maximum((square - number * mean**2) / (number - 1), 0)
        variance[number < 2] = np.nan
    low = power[frequency <= 0.5]

    side = min(2 * int(SHOWN * (size / spacing).min()) + 1, SIDE_MAX)
    scale, inside = side / (2 * SHOWN + step), [(-side / 2, side / 2)] * 2
    down, right = (np.concatenate([part, -part]) * scale for part in (fy, fx))
    count = np.histogram2d(down, right, side, inside)[0]
    plane = np.histogram2d(down, right, side, inside, weights=np.concatenate([power, power]))[0]
    return {
        "frequency": (np.arange(rings) + 0.5) * step,
        "power": mean,
        "anisotropy": variance / mean**2,
        "plane": plane / np.maximum(count, 1),
        "low_frequency_power": float(low.mean()) if len(low) else np.nan,
        **figures(mean, variance, number, step),
    }


def figures(power: Any, variance: Any, number: Any, step: float) -> dict[str, float]:
    """Figures from the mean power of each ring, its variance, and its number of frequencies."""
    import numpy as np

    rings = np.arange(len(power))
    middle, known = (rings + 0.5) * step, number > 0
    total, count = np.cumsum(np.where(known, power * number, 0)), np.cumsum(number)
    passed = np.flatnonzero(known & (total > 0.5 * count) & (rings * step >= 0.5))
    until = passed[0] if len(passed) else len(power)
    below = np.flatnonzero((known & (total < 0.1 * count))[:until])

    reached = np.flatnonzero(power >= 0.98)
    first = reached[0] if len(reached) else len(power)
    beyond = (rings >= first) & (middle < min(first * step + 5, FREQUENCY)) & (number > 1)
    excess = ((power - 1) ** 2 - variance / np.maximum(number, 1))[beyond]
    area = middle[beyond]
    with np.errstate(divide="ignore"):
        decibels = 10 * np.log10(np.maximum(variance / power**2, 1e-30))
    band = (middle >= 0.5) & (middle <= 2) & (number > 1)
    return {
        "effective_nyquist": float(below[-1] + 1) * step if len(below) else 0.0,
        "oscillation": float(10 * np.sqrt(max(excess @ area, 0) / area.sum())) if len(area) else np.nan,
        "peak_power": float(np.nanmax(power)),
        "anisotropy_db": float(decibels[band].mean()) if band.any() else np.nan,
    }


def of_pairs(x: Any, size: Any, spacing: float, periodic: bool) -> dict[str, Any]:
    """Distances between points, found by cells as wide as the largest distance wanted."""
    import numpy as np

    gap = GAP * spacing
    gaps = max(1, int(min(DISTANCE / GAP, 0.5 * size.min() / gap)))
    radius = gaps * gap
    shape = np.maximum(1, (size / radius).astype(int))
    cell = np.minimum((x / size * shape).astype(int), shape - 1)
    order = np.lexsort((cell[:, 0], cell[:, 1]))
    number = cell[:, 1] * shape[0] + cell[:, 0]
    start = np.searchsorted(number[order], np.arange(shape.prod() + 1))
    sums, nearest = np.zeros(gaps), np.full(len(x), np.inf)
    for c in np.unique(number):
        around = set()
        for dx, dy in np.ndindex(3, 3):
            column, row = c % shape[0] + dx - 1, c // shape[0] + dy - 1
            if periodic or (0 <= column < shape[0] and 0 <= row < shape[1]):
                around.add(row % shape[1] * shape[0] + column % shape[0])
        own = order[start[c] : start[c + 1]]
        others = np.concatenate([order[start[a] : start[a + 1]] for a in sorted(around)])
        for at in range(0, len(own), 256):
            part = own[at : at + 256]
            offset = x[others] - x[part, None]
            if periodic:
                offset -= np.round(offset / size) * size
            distance = np.hypot(offset[..., 0], offset[..., 1])
            distance[part[:, None] == others] = np.inf
            nearest[part] = distance.min(axis=1)
            near = distance < radius
            # The fraction of positions in a rectangle with both points of such a pair inside.
            share = 1.0 if periodic else (1 - abs(offset[near]) / size).prod(axis=1)
            bins = np.minimum((distance[near] / gap).astype(int), gaps - 1)
            sums += np.bincount(bins, 1 / share * np.ones(len(bins)), gaps)
    rings = np.pi * gap**2 * (2 * np.arange(gaps) + 1)
    nearest = nearest[np.isfinite(nearest)] / (np.sqrt(2 / np.sqrt(3)) * spacing)
    return {
        "distance": (np.arange(gaps) + 0.5) * GAP,
        "pair_correlation": sums * size.prod() / (len(x) * (len(x) - 1) * rings),
        "least_distance": float(nearest.min()) if len(nearest) else np.nan,
        "mean_distance": float(nearest.mean()) if len(nearest) else np.nan,
    }


def dispersion(x: Any, size: Any, spacing: float) -> float:
    import numpy as np

    shape = np.maximum(1, (size / (4 * spacing)).astype(int))
    if shape.prod() < 4:
        return float("nan")
    counts = np.histogram2d(x[:, 0], x[:, 1], shape, [(0, size[0]), (0, size[1])])[0]
    return float(counts.var(ddof=1) / counts.mean())


def bond_order(points: ArrayLike, triangles: ArrayLike) -> float:
    """The mean of \\|sum exp(6 i angle)\\| / degree over the edges at each interior point.

    1 for the hexagonal lattice (Heck, Schlömer & Deussen 2013); nan if no point is interior.

    Parameters
    ----------
    points : (n, 2) array
    triangles : (m, 3) integer array
        All of one orientation.

    Examples
    --------
    >>> import cvtmesh, numpy
    >>> p = [[0, 0]] + [[numpy.cos(k * numpy.pi / 3), numpy.sin(k * numpy.pi / 3)] for k in range(6)]
    >>> round(cvtmesh.bond_order(p, [[0, k + 1, (k + 1) % 6 + 1] for k in range(6)]), 12)
    1.0
    """
    import numpy as np

    x, corners = np.asarray(points, np.float64), np.asarray(triangles)
    # An interior point has each of its edges once as the first side of a triangle.
    start, end = corners.ravel(), np.roll(corners, -1, axis=1).ravel()
    before = np.roll(corners, 1, axis=1).ravel()
    edge = x[end] - x[start]
    angle = np.arctan2(edge[:, 1], edge[:, 0])
    n = len(x)
    degree = np.bincount(start, minlength=n)
    real, imag = (np.bincount(start, part(6 * angle), n) for part in (np.cos, np.sin))
    interior = (degree > 0) & (np.bincount(start, end - before, n) == 0)
    order = np.hypot(real, imag)[interior] / degree[interior]
    return float(order.mean()) if len(order) else float("nan")


__all__ = ["Spectrum", "bond_order", "spectrum"]
