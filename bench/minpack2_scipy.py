#!/usr/bin/env python3
"""Iterations of cvtmesh.minimize beside SciPy's L-BFGS-B on the MINPACK-2 problems, which are
written here in NumPy: both get the same functions, bounds and starts, which differ from the standard
one by up to 1e-3 in each variable. Means over the starts; the last column is the median of our final
f less SciPy's, relative to it. Without tolerances both go on until f no longer decreases. Needs the packages cvtmesh and scipy. minpack2_scipy.py [--starts 20] [--size 10000] [PROBLEM ...]"""

import argparse

import numpy as np
from scipy.optimize import fmin_l_bfgs_b

import cvtmesh

MEMORY, LIMIT = 8, 10**6

# Averick, Carter, More & Xue 1992, "The MINPACK-2 test problem collection". A problem is a function
# of x that returns value and gradient, the standard start, and bounds. Grids have m x m interior
# nodes; in two dimensions arrays are indexed [j, i], for y and x.


def distance(m):
    """Of the interior nodes of the unit square to its boundary."""
    i = np.arange(1, m + 1)
    to_side = np.minimum(i, m + 1 - i) / (m + 1)
    return np.minimum(to_side[:, None], to_side)


def links(v, across, up):
    """0.5 sum of weight * difference^2 over the links of a grid with boundary values 0, of which
    those in x have the weights `across` (m + 1) and those in y `up` (m); and its gradient."""
    v = np.pad(v, 1)
    dx, dy = np.diff(v[1:-1], axis=1), np.diff(v[:, 1:-1], axis=0)
    value = 0.5 * ((across * dx * dx).sum() + (up * dy * dy).sum())
    return value, -np.diff(across * dx, axis=1) - np.diff(up * dy, axis=0)


def triangles(v, h, integrand):
    """The integral of integrand(|gradient|) over the two triangles of each cell of a grid of width h,
    v with its boundary values; and its gradient at the interior nodes. The integrand returns its
    derivative divided by |gradient| too."""
    gradient, value = np.zeros_like(v), 0.0
    dx, dy = np.diff(v, axis=1) / h, np.diff(v, axis=0) / h
    for gx, gy, corner in ((dx[:-1], dy[:, :-1], 0), (dx[1:], dy[:, 1:], 1)):
        each, rate = integrand(np.sqrt(gx * gx + gy * gy))
        value += 0.5 * h * h * each.sum()
        x, y = 0.5 * h * rate * gx, 0.5 * h * rate * gy
        rows, columns = slice(corner, len(v) - 1 + corner), slice(corner, v.shape[1] - 1 + corner)
        gradient[rows, 1:] += x
        gradient[rows, :-1] -= x
        gradient[1:, columns] += y
        gradient[:-1, columns] -= y
    return value, gradient[1:-1, 1:-1]


def ept(n):
    """Elastic-plastic torsion, c = 5."""
    m = round(n**0.5)
    load, one = 5 / (m + 1) ** 2, np.ones(m + 1)

    def fun(x):
        value, gradient = links(x.reshape(m, m), one, one[1:])
        return value - load * x.sum(), (gradient - load).ravel()

    d = distance(m).ravel()
    return fun, d, np.stack([-d, d], axis=1)


def pjb(n):
    """Pressure in a journal bearing, e = 0.1, b = 10."""
    m, e = round(n**0.5), 0.1
    hx, hy = 2 * np.pi / (m + 1), 20 / (m + 1)
    film = (1 + e * np.cos(hx * np.arange(-1, m + 2))) ** 3  # columns -1 .. m + 1
    across = hy / hx * (film[1:-1] + film[2:]) / 2
    up = hx / hy * (4 * film[2:-1] + film[1:-2] + film[3:]) / 6
    xi = hx * np.arange(1, m + 1)
    load = e * hx * hy * np.sin(xi)

    def fun(x):
        v = x.reshape(m, m)
        value, gradient = links(v, across, up)
        return value - (load * v).sum(), (gradient - load).ravel()

    start = np.tile(np.maximum(np.sin(xi), 0), m)
    return fun, start, np.tile([0, np.inf], (m * m, 1))


def enneper(x, y):
    """The height of Enneper's surface over (x, y)."""
    u, v = x, -y
    for _ in range(5):
        fx, fy = u + u * v**2 - u**3 / 3 - x, -v - u**2 * v + v**3 / 3 - y
        if np.hypot(fx, fy) <= 1e-10:
            break
        xu, xv, yu, yv = 1 + v**2 - u**2, 2 * u * v, -2 * u * v, v**2 - u**2 - 1
        determinant = xu * yv - xv * yu
        u, v = u - (yv * fx - xv * fy) / determinant, v - (xu * fy - yu * fx) / determinant
    return u**2 - v**2


def msa(n):
    """Minimal surface area over Enneper's boundary values."""
    m = round(n**0.5)
    t = np.linspace(0, 1, m + 2)
    surface = np.zeros((m + 2, m + 2))
    for k, (x, y) in ((0, (t, 0)), (-1, (t, 1))):
        surface[k] = [enneper(a - 0.5, y - 0.5) for a in x]
        surface[:, k] = [enneper(y - 0.5, a - 0.5) for a in x]

    def area(slope):
        each = np.sqrt(1 + slope**2)
        return each, 1 / each

    def fun(x):
        v = surface.copy()
        v[1:-1, 1:-1] = x.reshape(m, m)
        value, gradient = triangles(v, 1 / (m + 1), area)
        return value, gradient.ravel()

    y, x = t[1:-1, None], t[1:-1]
    bottom, top, left, right = surface[0], surface[-1], surface[:, :1], surface[:, -1:]
    vertical = y * top[1:-1] + (1 - y) * bottom[1:-1]
    return fun, (vertical + x * right[1:-1] + (1 - x) * left[1:-1]).ravel() / 2, None


def odc(n):
    """Optimal design with composite materials, lambda = 0.008."""
    m, weight = round(n**0.5), 0.008
    h, t1, t2 = 1 / (m + 1), weight**0.5, (4 * weight) ** 0.5

    def psi(t):
        inner, outer = t <= t1, t >= t2
        middle = 2 * t1 / np.maximum(t, t1)
        value = np.where(inner, t * t, np.where(outer, t * t / 2 + weight, 2 * t1 * t - weight))
        return value, np.where(inner, 2.0, np.where(outer, 1.0, middle))

    def fun(x):
        v = x.reshape(m, m)
        value, gradient = triangles(np.pad(v, 1), h, psi)
        return value + h * h * v.sum(), (gradient + h * h).ravel()

    return fun, -(distance(m).ravel() ** 2), None


def gl1(n):
    """Ginzburg-Landau equations in a chain of two materials, T = 5."""
    critical, field, depth = np.array([[3.73, 7.32], [309, 803], [3.4e-6, 3.7e-6]])
    mass, charge, planck = 9.11e-28, 4.80e-10 / 2.99e10, 1.05459e-27
    q, s = charge**2 / mass, (5 / critical) ** 2
    quarter = n // 4
    a = -2e18 * q * (field * depth) ** 2 * (1 - s) / (1 + s)
    b = 16e36 * np.pi * q**2 * (field * depth**2) ** 2 / (1 + s) ** 2
    h = np.array([2.2 / quarter, 2 / (n - 2 * quarter)])
    i = np.arange(n)
    inside = ((i >= quarter) & (i < n - quarter)).astype(int)
    stiffness = 1e30 * planck**2 / (4 * mass)
    a3, b10, width = a[inside] / 3, b[inside] / 10, h[inside]

    def fun(u):
        v = np.roll(u, -1)
        slope = (v - u) / width
        flux = 2 * stiffness * slope / width
        each = a3 * (u * u + u * v + v * v) + stiffness * slope**2
        each += b10 * (u**4 + u**3 * v + (u * v) ** 2 + u * v**3 + v**4)
        by_u = a3 * (2 * u + v) + b10 * (4 * u**3 + 3 * u * u * v + 2 * u * v * v + v**3) - flux
        by_v = a3 * (u + 2 * v) + b10 * (u**3 + 2 * u * u * v + 3 * u * v * v + 4 * v**3) + flux
        return (width * each).sum(), width * by_u + np.roll(width * by_v, 1)

    return fun, np.full(n, (b.sum() / (2 * abs(a).sum())) ** 0.5), None


def lj(n):
    """A cluster of atoms in the plane with the potential of Lennard and Jones."""
    atoms = n // 2
    side = int(atoms**0.5)
    first, second = np.triu_indices(atoms, 1)

    def fun(x):
        p = x.reshape(atoms, 2)
        away = p[first] - p[second]
        inverse = 1 / (away * away).sum(axis=1)
        q = inverse**3
        force = (12 * q * (1 - q) * inverse)[:, None] * away
        gradient = np.stack(
            [np.bincount(first, f, atoms) - np.bincount(second, f, atoms) for f in force.T], axis=1
        )
        return (q * (q - 2)).sum(), gradient.ravel()

    k = np.arange(atoms)
    return fun, np.stack([k % side, k // side], axis=1).astype(float).ravel(), None


def ssc(n):
    """Steady-state combustion, lambda = 1."""
    m = round(n**0.5)
    load, one = 1 / (m + 1) ** 2, np.ones(m + 1)

    def fun(x):
        value, gradient = links(x.reshape(m, m), one, one[1:])
        heat = load * np.exp(x)
        return value - heat.sum() - load * (2 * m + 1), gradient.ravel() - heat

    return fun, np.sqrt(distance(m)).ravel() / 2, None


def gl2(n):
    """Ginzburg-Landau equations in a lattice of 8 vortices, kappa = 5: psi and the potential (a, b)."""
    vortices, kappa2, m = 8, 25, round((n / 4) ** 0.5)
    hx, hy = 3 * (vortices / 2) ** 0.5 / m, 3 * (1.5 * vortices) ** 0.5 / m
    share, jump = 1 / m**2, 2 * np.pi * vortices / (m * hy)
    px, py = 2 * share / hx**2, 2 * share / hy**2
    phase = np.exp(2j * np.pi * vortices * np.arange(m) / m)

    def to_right(z, factor):
        z = np.roll(z, -1, axis=1)
        z[:, -1] *= factor
        return z

    def fun(x):
        re, im, a, b = x.reshape(4, m, m)
        psi = re + 1j * im
        over, up = psi * np.exp(1j * hx * a), psi * np.exp(1j * hy * b)
        dx, dy = to_right(psi, phase) - over, np.roll(psi, -1, axis=0) - up
        right = np.roll(b, -1, axis=1)
        right[:, -1] += jump
        curl = (right - b) / hx - (np.roll(a, -1, axis=0) - a) / hy
        square = abs(psi) ** 2
        value = share * (square * (0.5 * square - 1) + kappa2 * curl**2).sum()
        value += 0.5 * px * (abs(dx) ** 2).sum() + 0.5 * py * (abs(dy) ** 2).sum()
        from_left = dx.copy()
        from_left[:, -1] *= phase.conj()
        by_psi = 2 * share * (square - 1) * psi
        by_psi += px * (np.roll(from_left, 1, axis=1) - dx * np.exp(-1j * hx * a))
        by_psi += py * (np.roll(dy, 1, axis=0) - dy * np.exp(-1j * hy * b))
        field = 2 * share * kappa2 * curl
        by_a = (field - np.roll(field, 1, axis=0)) / hy + hx * px * (dx.conj() * over).imag
        by_b = (np.roll(field, 1, axis=1) - field) / hx + hy * py * (dy.conj() * up).imag
        return value, np.stack([by_psi.real, by_psi.imag, by_a, by_b]).ravel()

    y, x = hy * np.arange(m)[:, None], hx * np.arange(m)
    wave = np.sin(vortices**0.5 * np.pi * x / 6) * np.sin(vortices**0.5 * np.pi * y / 108**0.5)
    start = np.zeros((4, m, m))
    start[0] = 1 - wave**2
    start[3] = 2 * np.pi * vortices * x / (m * m * hx * hy)
    return fun, start.ravel(), None


PROBLEMS = {each.__name__: each for each in (ept, pjb, msa, ssc, odc, gl1, lj, gl2)}
SIZES = {"gl1": 300, "lj": 1000}  # of others --size


def compare(name, size, starts):
    fun, standard, bounds = PROBLEMS[name](SIZES.get(name, size))
    random = np.random.default_rng(1)
    counts, difference = [], []
    for _ in range(starts):
        start = standard + random.uniform(-1e-3, 1e-3, standard.size)
        ours = cvtmesh.minimize(
            fun, start, bounds=bounds, memory=MEMORY, cauchy="exact", iterations=LIMIT, device="cpu"
        )
        _, value, theirs = fmin_l_bfgs_b(
            fun, start, bounds=bounds, m=MEMORY, factr=0, pgtol=0, maxiter=LIMIT, maxfun=LIMIT
        )
        counts.append([ours.nit, theirs["nit"], ours.nfev, theirs["funcalls"]])
        difference.append((ours.fun - value) / abs(value))
    means = " | ".join(f"{mean:.0f}" for mean in np.mean(counts, axis=0))
    print(f"| {name} | {standard.size} | {means} | {np.median(difference):.0e} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", choices=[*PROBLEMS, []], metavar="PROBLEM")
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--size", type=int, default=10000)
    options = parser.parse_args()
    print("| problem | n | iterations | SciPy | evaluations | SciPy | difference of f |")
    print("|---|---|---|---|---|---|---|")
    for name in options.problems or PROBLEMS:
        compare(name, options.size, options.starts)


if __name__ == "__main__":
    main()
