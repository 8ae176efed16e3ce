#!/usr/bin/env python3
"""The share of sites without six neighbours that a crystal without strain needs for a density (docs/records.md).

needed_defects.py DENSITY.npy [--points 1000 10000 100000] [--grid 64]

DENSITY.npy is what `cvtmesh density IMAGE -o DENSITY.npy` writes. Prints the share in percent without disclinations,
and the least one found with some, and their number.
"""

import argparse

import numpy as np
from scipy.ndimage import gaussian_filter, zoom

WIDTH = 0.7  # of the Gaussian that smooths the density, in spacings
STEPS = 4000  # of the primal-dual method
BATCH = 8  # disclinations that are added at a time, at first


def spacing_of(density, points, grid):
    """The spacing of hexagons on `grid` nodes along the width, in nodes; each sees the density of its surroundings."""
    sites = np.sqrt(density)
    sites *= points / sites.sum()
    widths = np.geomspace(0.4, 60, 40)
    smooth = np.array([gaussian_filter(sites, width, mode="nearest") for width in widths])
    wide = WIDTH * np.sqrt(2 / np.sqrt(3) / np.maximum(smooth, 1e-12)) < widths[:, None, None]
    chosen = np.where(wide.any(0), wide.argmax(0), len(widths) - 1)
    sites = np.take_along_axis(smooth, chosen[None], 0)[0]
    step = density.shape[1] / grid
    rows = round(density.shape[0] / step)
    coarse = zoom(gaussian_filter(sites, 0.4 * step), (rows / density.shape[0], grid / density.shape[1]), order=1,
                  grid_mode=True, mode="nearest")
    return np.sqrt(2 / np.sqrt(3) / coarse) / step


def transport(spacing, charges, steps, potential=None, flow=None):
    """The least sum of 2 |flow| / spacing, sites of dislocations, with div flow = the Laplacian of -log(spacing) less
    pi / 3 times the charges; the border takes any flow (Beckmann's problem, by Chambolle & Pock's method). Returns the
    sum, the potential and the flow."""
    phi, cost = -np.log(spacing), 2 / spacing
    x = np.pad(np.diff(phi, axis=1), ((0, 0), (1, 1)), mode="edge")
    y = np.pad(np.diff(phi, axis=0), ((1, 1), (0, 0)), mode="edge")
    source = np.diff(x, axis=1) + np.diff(y, axis=0) - np.pi / 3 * charges
    ratio = 0.3 * np.sqrt(len(phi)) * cost.mean() / (np.abs(x).mean() + np.abs(y).mean() + 1e-9)
    u = np.zeros_like(phi) if potential is None else potential
    x, y = (x, y) if flow is None else flow
    for _ in range(steps):
        around = np.pad(u, 1)
        trial_x = x + 0.5 / ratio * np.diff(around, axis=1)[1:-1]
        trial_y = y + 0.5 / ratio * np.diff(around, axis=0)[:, 1:-1]
        new_x, new_y = shrink(trial_x, trial_y, 0.5 / ratio * cost)
        u = u + 0.25 * ratio * (np.diff(2 * new_x - x, axis=1) + np.diff(2 * new_y - y, axis=0) - source)
        x, y = new_x, new_y
    return (cost * np.hypot(x[:, :-1], y[:-1])).sum() + (cost[:, -1] * np.abs(x[:, -1])).sum() + (
        cost[-1] * np.abs(y[-1])).sum(), u, (x, y)


def shrink(x, y, by):
    """Shortens the flow through the left and upper side of each node together, and those of the last sides alone."""
    length = np.hypot(x[:, :-1], y[:-1])
    share = np.maximum(0, 1 - by / np.maximum(length, 1e-300))
    last_x = np.sign(x[:, -1:]) * np.maximum(0, np.abs(x[:, -1:]) - by[:, -1:])
    last_y = np.sign(y[-1:]) * np.maximum(0, np.abs(y[-1:]) - by[-1:])
    return np.hstack([share * x[:, :-1], last_x]), np.vstack([share * y[:-1], last_y])


def add_charges(charges, potential, spacing, most):
    """Adds up to `most` disclinations where the potential is largest, apart from each other."""
    added, left = charges.copy(), np.abs(potential)
    row, column = np.indices(charges.shape)
    for _ in range(most):
        at = np.unravel_index(left.argmax(), left.shape)
        if left[at] * np.pi / 3 < 1.2:  # a disclination is a site, too
            break
        added[at] -= np.sign(potential[at])
        left[np.hypot(row - at[0], column - at[1]) < max(2, 0.3 * np.abs(potential[at]) * spacing[at])] = 0
    return added


def least_share(density, points, grid):
    spacing = spacing_of(density, points, grid)
    charges = np.zeros_like(spacing)
    plain, potential, flow = transport(spacing, charges, STEPS)
    least, batch = plain, BATCH
    while batch > 0:
        tried = add_charges(charges, potential, spacing, batch)
        total, *state = transport(spacing, tried, STEPS, potential, flow)
        total += np.abs(tried).sum()
        if total < least - 0.3:
            least, charges, (potential, flow) = total, tried, state
        else:
            batch //= 2
    return 100 * plain / points, 100 * least / points, int(np.abs(charges).sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("density")
    parser.add_argument("--points", type=int, nargs="*", default=[1000, 10000, 100000])
    parser.add_argument("--grid", type=int, default=64)
    given = parser.parse_args()
    for points in given.points:
        plain, least, charges = least_share(np.load(given.density).astype(float), points, given.grid)
        print(f"{points} sites: {plain:.2f} %, with {charges} disclinations {least:.2f} %", flush=True)


if __name__ == "__main__":
    main()
