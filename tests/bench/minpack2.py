"""The MINPACK-2 problems in NumPy (Averick, Carter, More & Xue 1992, "The MINPACK-2 test problem
collection"). A problem is a function of a vector x that returns value and gradient, the standard start,
and bounds, an (n, 2) array or None. Grids have nx x ny interior nodes; their arrays are indexed [j, i],
for y and x."""

import numpy as np


def distance(nx, ny):
    """Of the interior nodes of the unit square to its boundary."""
    across, up = (np.minimum(np.arange(1, m + 1), np.arange(m, 0, -1)) / (m + 1) for m in (nx, ny))
    return np.minimum(up[:, None], across)


def links(v, across, up):
    """0.5 sum of weight * difference^2 over the links of a grid with boundary values 0, of which
    those in x have the weights `across` (nx + 1) and those in y `up` (nx); and its gradient."""
    v = np.pad(v, 1)
    dx, dy = np.diff(v[1:-1], axis=1), np.diff(v[:, 1:-1], axis=0)
    value = 0.5 * ((across * dx * dx).sum() + (up * dy * dy).sum())
    return value, -np.diff(across * dx, axis=1) - np.diff(up * dy, axis=0)


def triangles(v, hx, hy, integrand):
    """The integral of integrand(|gradient|) over the two triangles of each cell, of hx x hy, of a grid,
    v with its boundary values; and its gradient at the interior nodes. The integrand returns its
    derivative divided by |gradient| too."""
    gradient, value = np.zeros_like(v), 0.0
    dx, dy = np.diff(v, axis=1) / hx, np.diff(v, axis=0) / hy
    for gx, gy, corner in ((dx[:-1], dy[:, :-1], 0), (dx[1:], dy[:, 1:], 1)):
        each, rate = integrand(np.sqrt(gx * gx + gy * gy))
        value += 0.5 * hx * hy * each.sum()
        x, y = 0.5 * hy * rate * gx, 0.5 * hx * rate * gy
        rows, columns = slice(corner, len(v) - 1 + corner), slice(corner, v.shape[1] - 1 + corner)
        gradient[rows, 1:] += x
        gradient[rows, :-1] -= x
        gradient[1:, columns] += y
        gradient[:-1, columns] -= y
    return value, gradient[1:-1, 1:-1]


def unit_links(nx, ny):
    """The weights of links for half the integral of |gradient|^2 over the unit square."""
    across = (nx + 1) / (ny + 1)
    return np.full(nx + 1, across), np.full(nx, 1 / across)


def ept(nx, ny, c=5):
    """Elastic-plastic torsion."""
    load, weights = c / ((nx + 1) * (ny + 1)), unit_links(nx, ny)

    def fun(x):
        value, gradient = links(x.reshape(ny, nx), *weights)
        return value - load * x.sum(), (gradient - load).ravel()

    d = distance(nx, ny).ravel()
    return fun, d, np.stack([-d, d], axis=1)


def pjb(nx, ny, e=0.1, b=10):
    """Pressure in a journal bearing."""
    hx, hy = 2 * np.pi / (nx + 1), 2 * b / (ny + 1)
    film = (1 + e * np.cos(hx * np.arange(-1, nx + 2))) ** 3  # columns -1 .. nx + 1
    across = hy / hx * (film[1:-1] + film[2:]) / 2
    up = hx / hy * (4 * film[2:-1] + film[1:-2] + film[3:]) / 6
    xi = hx * np.arange(1, nx + 1)
    load = e * hx * hy * np.sin(xi)

    def fun(x):
        v = x.reshape(ny, nx)
        value, gradient = links(v, across, up)
        return value - (load * v).sum(), (gradient - load).ravel()

    start = np.tile(np.maximum(np.sin(xi), 0), ny)
    return fun, start, np.tile([0, np.inf], (nx * ny, 1))


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


def msa(nx, ny):
    """Minimal surface area over Enneper's boundary values."""
    s, t = np.linspace(0, 1, nx + 2), np.linspace(0, 1, ny + 2)
    surface = np.zeros((ny + 2, nx + 2))
    for k, side in ((0, 0), (-1, 1)):
        surface[k] = [enneper(x - 0.5, side - 0.5) for x in s]
        surface[:, k] = [enneper(side - 0.5, y - 0.5) for y in t]

    def area(slope):
        each = np.sqrt(1 + slope**2)
        return each, 1 / each

    def fun(x):
        v = surface.copy()
        v[1:-1, 1:-1] = x.reshape(ny, nx)
        value, gradient = triangles(v, 1 / (nx + 1), 1 / (ny + 1), area)
        return value, gradient.ravel()

    y, x = t[1:-1, None], s[1:-1]
    bottom, top, left, right = surface[0], surface[-1], surface[:, :1], surface[:, -1:]
    vertical = y * top[1:-1] + (1 - y) * bottom[1:-1]
    return fun, (vertical + x * right[1:-1] + (1 - x) * left[1:-1]).ravel() / 2, None


def odc(nx, ny, weight=0.008):
    """Optimal design with composite materials; weight: lambda."""
    hx, hy, t1, t2 = 1 / (nx + 1), 1 / (ny + 1), weight**0.5, (4 * weight) ** 0.5

    def psi(t):
        inner, outer = t <= t1, t >= t2
        middle = 2 * t1 / np.maximum(t, t1)
        value = np.where(inner, t * t, np.where(outer, t * t / 2 + weight, 2 * t1 * t - weight))
        return value, np.where(inner, 2.0, np.where(outer, 1.0, middle))

    def fun(x):
        value, gradient = triangles(np.pad(x.reshape(ny, nx), 1), hx, hy, psi)
        return value + hx * hy * x.sum(), (gradient + hx * hy).ravel()

    return fun, -(distance(nx, ny).ravel() ** 2), None


def gl1(n, temperature=5):
    """Ginzburg-Landau equations in a chain of two materials."""
    critical, field, depth = np.array([[3.73, 7.32], [309, 803], [3.4e-6, 3.7e-6]])
    mass, charge, planck = 9.11e-28, 4.80e-10 / 2.99e10, 1.05459e-27
    q, s = charge**2 / mass, (temperature / critical) ** 2
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


def lj(atoms, dimension=2):
    """A cluster of atoms with the potential of Lennard and Jones."""
    side = int(round(atoms ** (1 / dimension), 9))
    first, second = np.triu_indices(atoms, 1)

    def fun(x):
        p = x.reshape(atoms, dimension)
        away = p[first] - p[second]
        inverse = 1 / (away * away).sum(axis=1)
        q = inverse**3
        force = (12 * q * (1 - q) * inverse)[:, None] * away
        gradient = np.stack(
            [np.bincount(first, f, atoms) - np.bincount(second, f, atoms) for f in force.T], axis=1
        )
        return (q * (q - 2)).sum(), gradient.ravel()

    k = np.arange(atoms)
    places = [k // side**axis % (side if axis + 1 < dimension else atoms) for axis in range(dimension)]
    return fun, np.stack(places, axis=1).astype(float).ravel(), None


def ssc(nx, ny, heat=1):
    """Steady-state combustion; heat: lambda."""
    load, weights = heat / ((nx + 1) * (ny + 1)), unit_links(nx, ny)

    def fun(x):
        value, gradient = links(x.reshape(ny, nx), *weights)
        source = load * np.exp(x)
        return value - source.sum() - load * (nx + ny + 1), gradient.ravel() - source

    return fun, np.sqrt(distance(nx, ny)).ravel() * heat / (heat + 1), None


def gl2(nx, ny, vortices=8, kappa=5):
    """Ginzburg-Landau equations in a lattice of vortices: psi and the potential (a, b)."""
    kappa2 = kappa**2
    hx, hy = 3 * (vortices / 2) ** 0.5 / nx, 3 * (1.5 * vortices) ** 0.5 / ny
    share, jump = 1 / (nx * ny), 2 * np.pi * vortices / (ny * hy)
    px, py = 2 * share / hx**2, 2 * share / hy**2
    phase = np.exp(2j * np.pi * vortices * np.arange(ny) / ny)

    def to_right(z, factor):
        z = np.roll(z, -1, axis=1)
        z[:, -1] *= factor
        return z

    def fun(x):
        re, im, a, b = x.reshape(4, ny, nx)
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

    y, x = hy * np.arange(ny)[:, None], hx * np.arange(nx)
    wave = np.sin(vortices**0.5 * np.pi * x / 6) * np.sin(vortices**0.5 * np.pi * y / 108**0.5)
    start = np.zeros((4, ny, nx))
    start[0] = 1 - wave**2
    start[3] = 2 * np.pi * vortices * x / (nx * ny * hx * hy)
    return fun, start.ravel(), None


PROBLEMS = {each.__name__: each for each in (ept, pjb, msa, ssc, odc, gl1, lj, gl2)}


def of_size(name, n):
    """A problem of about n variables."""
    if name in ("gl1", "lj"):
        return PROBLEMS[name](n if name == "gl1" else n // 2)
    side = round((n / (4 if name == "gl2" else 1)) ** 0.5)
    return PROBLEMS[name](side, side)
