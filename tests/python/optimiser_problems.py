"""Problems for bound-constrained minimisation, from the literature.

`problems()` lists them as (name, fun, x0, bounds, memory), where fun returns value and gradient. Those
of More, Garbow & Hillstrom 1981 (TOMS 7, 17-41) are sums of squares; their Jacobian is found by the
complex step, which is exact to rounding.
"""

import numpy as np

STEP = 1e-30


def sum_of_squares(residuals):
    """The residuals take x[i] as arrays of any shape."""

    def fun(x):
        n = len(x)
        moved = np.broadcast_to(x[:, None], (n, n + 1)) + 0j
        moved[:, :n] += 1j * STEP * np.eye(n)
        r = np.array([np.broadcast_to(each, n + 1) for each in residuals(moved)])
        value = r[:, n].real
        return value @ value, 2 * (r[:, :n].imag / STEP).T @ value

    return fun


# --- More, Garbow & Hillstrom -----------------------------------------------------------------------

BARD = [0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.10, 4.39]
GAUSSIAN = [0.0009, 0.0044, 0.0175, 0.0540, 0.1295, 0.2420, 0.3521, 0.3989]
MEYER = [34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147, 4427, 3820, 3307, 2872]
KOWALIK = [0.1957, 0.1947, 0.1735, 0.1600, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246]
KOWALIK_U = [4, 2, 1, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625]
OSBORNE_1 = [
    0.844, 0.908, 0.932, 0.936, 0.925, 0.908, 0.881, 0.850, 0.818, 0.784, 0.751, 0.718, 0.685, 0.658, 0.628, 0.603,
    0.580, 0.558, 0.538, 0.522, 0.506, 0.490, 0.478, 0.467, 0.457, 0.448, 0.438, 0.431, 0.424, 0.420, 0.414, 0.411,
    0.406,
]  # fmt: skip
OSBORNE_2 = [
    1.366, 1.191, 1.112, 1.013, 0.991, 0.885, 0.831, 0.847, 0.786, 0.725, 0.746, 0.679, 0.608, 0.655, 0.616, 0.606,
    0.602, 0.626, 0.651, 0.724, 0.649, 0.649, 0.694, 0.644, 0.624, 0.661, 0.612, 0.558, 0.533, 0.495, 0.500, 0.423,
    0.395, 0.375, 0.372, 0.391, 0.396, 0.405, 0.428, 0.429, 0.523, 0.562, 0.607, 0.653, 0.672, 0.708, 0.633, 0.668,
    0.645, 0.632, 0.591, 0.559, 0.597, 0.625, 0.739, 0.710, 0.729, 0.720, 0.636, 0.581, 0.428, 0.292, 0.162, 0.098,
    0.054,
]  # fmt: skip


def helical_valley(x):
    turn = np.where(x[0].real > 0, 0.0, 0.5)
    theta = np.arctan(x[1] / x[0]) / (2 * np.pi) + turn
    return [10 * (x[2] - 10 * theta), 10 * (np.sqrt(x[0] ** 2 + x[1] ** 2) - 1), x[2]]


def gulf(x):
    t = np.arange(1, 100) / 100
    y = 25 + (-50 * np.log(t)) ** (2 / 3)
    return [np.exp(-((((b - x[1]) ** 2) ** 0.5) ** x[2]) / x[0]) - a for a, b in zip(t, y)]


def watson(x):
    rows = []
    for k in range(1, 30):
        t = k / 29
        slope = sum(j * x[j] * t ** (j - 1) for j in range(1, len(x)))
        value = sum(x[j] * t**j for j in range(len(x)))
        rows.append(slope - value**2 - 1)
    return [*rows, x[0], x[1] - x[0] ** 2 - 1]


def penalty_2(x):
    n, a = len(x), 1e-5**0.5
    e = np.exp(np.arange(1, n + 1) / 10)
    first = [a * (np.exp(x[i] / 10) + np.exp(x[i - 1] / 10) - e[i] - e[i - 1]) for i in range(1, n)]
    second = [a * (np.exp(x[i] / 10) - np.exp(-0.1)) for i in range(1, n)]
    return [x[0] - 0.2, *first, *second, sum((n - j) * x[j] ** 2 for j in range(n)) - 1]


def variably_dimensioned(x):
    s = sum((j + 1) * (x[j] - 1) for j in range(len(x)))
    return [*(x - 1), s, s**2]


def trigonometric(x):
    n, c = len(x), sum(np.cos(x))
    return [n - c + (i + 1) * (1 - np.cos(x[i])) - np.sin(x[i]) for i in range(n)]


def padded(x):
    zero = np.zeros_like(x[:1])
    return np.concatenate([zero, x, zero])


def boundary_value(x):
    n, p = len(x), padded(x)
    h = 1 / (n + 1)
    t = np.arange(1, n + 1)[:, None] * h
    return 2 * x - p[:-2] - p[2:] + h * h * (x + t + 1) ** 3 / 2


def integral_equation(x):
    n = len(x)
    h = 1 / (n + 1)
    t = np.arange(1, n + 1) * h
    cubes = (x + t[:, None] + 1) ** 3
    kernel = np.minimum.outer(t, t) * (1 - np.maximum.outer(t, t))
    return x + h / 2 * (kernel @ cubes)


def broyden_tridiagonal(x):
    p = padded(x)
    return (3 - 2 * x) * x - p[:-2] - 2 * p[2:] + 1


def broyden_banded(x):
    n = len(x)
    near = [[j for j in range(max(0, i - 5), min(n, i + 2)) if j != i] for i in range(n)]
    return [x[i] * (2 + 5 * x[i] ** 2) + 1 - sum(x[j] * (1 + x[j]) for j in near[i]) for i in range(n)]


def chebyquad(x):
    before, now, rows = np.ones_like(x), 2 * x - 1, []
    shifted = now
    for i in range(1, len(x) + 1):
        rows.append(now.mean(axis=0) - (0 if i % 2 else -1 / (i * i - 1)))
        before, now = now, 2 * shifted * now - before
    return rows


def brown_dennis(x):
    t = np.arange(1, 21) / 5
    return [(x[0] + s * x[1] - np.exp(s)) ** 2 + (x[2] + x[3] * np.sin(s) - np.cos(s)) ** 2 for s in t]


def biggs(x):
    t = np.arange(1, 14) / 10
    y = np.exp(-t) - 5 * np.exp(-10 * t) + 3 * np.exp(-4 * t)
    return [x[2] * np.exp(-s * x[0]) - x[3] * np.exp(-s * x[1]) + x[5] * np.exp(-s * x[4]) - v for s, v in zip(t, y)]


def osborne_2(x):
    t = np.arange(65) / 10
    return [
        v - x[0] * np.exp(-s * x[4]) - sum(x[k] * np.exp(-((s - x[k + 7]) ** 2) * x[k + 4]) for k in (1, 2, 3))
        for s, v in zip(t, OSBORNE_2)
    ]


def osborne_1(x):
    t = 10 * np.arange(33)
    return [v - x[0] - x[1] * np.exp(-s * x[3]) - x[2] * np.exp(-s * x[4]) for s, v in zip(t, OSBORNE_1)]


def more_garbow_hillstrom():
    """Name, residuals, start."""
    i10 = np.arange(1, 11)
    bard_u = np.arange(1, 16)
    gauss = np.array(GAUSSIAN + GAUSSIAN[-2::-1])
    t10 = np.arange(1, 11) / 10
    kowalik = list(zip(KOWALIK, KOWALIK_U))
    n = 10
    grid = np.arange(1, n + 1) / (n + 1)
    return [
        ("Rosenbrock", lambda x: [10 * (x[1] - x[0] ** 2), 1 - x[0]], [-1.2, 1]),
        ("Freudenstein-Roth", lambda x: [-13 + x[0] + ((5 - x[1]) * x[1] - 2) * x[1],
                                         -29 + x[0] + ((x[1] + 1) * x[1] - 14) * x[1]], [0.5, -2]),
        ("Powell badly scaled", lambda x: [1e4 * x[0] * x[1] - 1, np.exp(-x[0]) + np.exp(-x[1]) - 1.0001], [0, 1]),
        ("Brown badly scaled", lambda x: [x[0] - 1e6, x[1] - 2e-6, x[0] * x[1] - 2], [1, 1]),
        ("Beale", lambda x: [c - x[0] * (1 - x[1] ** k) for c, k in ((1.5, 1), (2.25, 2), (2.625, 3))], [1, 1]),
        ("Jennrich-Sampson", lambda x: [2 + 2 * i - (np.exp(i * x[0]) + np.exp(i * x[1])) for i in i10], [0.3, 0.4]),
        ("helical valley", helical_valley, [-1, 0, 0]),
        ("Bard", lambda x: [y - (x[0] + u / ((16 - u) * x[1] + min(u, 16 - u) * x[2]))
                            for y, u in zip(BARD, bard_u)], [1, 1, 1]),
        ("Gaussian", lambda x: [x[0] * np.exp(-x[1] * ((8 - i) / 2 - x[2]) ** 2 / 2) - y
                                for i, y in zip(range(1, 16), gauss)], [0.4, 1, 0]),
        ("Meyer", lambda x: [x[0] * np.exp(x[1] / (45 + 5 * i + x[2])) - y
                             for i, y in enumerate(MEYER, 1)], [0.02, 4000, 250]),
        ("gulf", gulf, [5, 2.5, 0.15]),
        ("Box", lambda x: [np.exp(-t * x[0]) - np.exp(-t * x[1]) - x[2] * (np.exp(-t) - np.exp(-10 * t))
                           for t in t10], [0, 10, 20]),
        ("Powell singular", lambda x: [x[0] + 10 * x[1], 5**0.5 * (x[2] - x[3]), (x[1] - 2 * x[2]) ** 2,
                                       10**0.5 * (x[0] - x[3]) ** 2], [3, -1, 0, 1]),
        ("Wood", lambda x: [10 * (x[1] - x[0] ** 2), 1 - x[0], 90**0.5 * (x[3] - x[2] ** 2), 1 - x[2],
                            10**0.5 * (x[1] + x[3] - 2), (x[1] - x[3]) / 10**0.5], [-3, -1, -3, -1]),
        ("Kowalik-Osborne", lambda x: [y - x[0] * (u * u + u * x[1]) / (u * u + u * x[2] + x[3])
                                       for y, u in kowalik], [0.25, 0.39, 0.415, 0.39]),
        ("Brown-Dennis", brown_dennis, [25, 5, -5, -1]),
        ("Osborne 1", osborne_1, [0.5, 1.5, -1, 0.01, 0.02]),
        ("Biggs EXP6", biggs, [1, 2, 1, 1, 1, 1]),
        ("Osborne 2", osborne_2, [1.3, 0.65, 0.65, 0.7, 0.6, 3, 5, 7, 2, 4.5, 5.5]),
        ("Watson 6", watson, [0] * 6),
        ("Watson 9", watson, [0] * 9),
        ("extended Rosenbrock", lambda x: [*(10 * (x[1::2] - x[::2] ** 2)), *(1 - x[::2])], [-1.2, 1] * 10),
        ("extended Powell", lambda x: [*(x[::4] + 10 * x[1::4]), *(5**0.5 * (x[2::4] - x[3::4])),
                                       *((x[1::4] - 2 * x[2::4]) ** 2), *(10**0.5 * (x[::4] - x[3::4]) ** 2)],
         [3, -1, 0, 1] * 5),
        ("penalty 1", lambda x: [*(1e-5**0.5 * (x - 1)), (x * x).sum(axis=0) - 0.25], np.arange(1, 11)),
        ("penalty 2", penalty_2, [0.5] * 10),
        ("variably dimensioned", variably_dimensioned, 1 - np.arange(1, 11) / 10),
        ("trigonometric", trigonometric, [0.1] * 10),
        ("Brown almost linear", lambda x: [*(x[:-1] + x.sum(axis=0) - (n + 1)), x.prod(axis=0) - 1], [0.5] * n),
        ("discrete boundary value", boundary_value, grid * (grid - 1)),
        ("discrete integral equation", integral_equation, grid * (grid - 1)),
        ("Broyden tridiagonal", broyden_tridiagonal, [-1] * n),
        ("Broyden banded", broyden_banded, [-1] * n),
        ("linear, full rank", lambda x: [*(x - 2 / 20 * x.sum(axis=0) - 1),
                                         *([-2 / 20 * x.sum(axis=0) - 1] * 10)], [1] * n),
        ("linear, rank 1", lambda x: [i * sum((j + 1) * x[j] for j in range(n)) - 1 for i in range(1, 21)], [1] * n),
        ("Chebyquad", chebyquad, grid),
    ]  # fmt: skip


# --- statistics -----------------------------------------------------------------------------------


def regression(loss, rows, columns, seed, outliers=0.1):
    """Robust linear regression. loss: values and derivatives of residuals."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((rows, columns))
    b = a @ rng.standard_normal(columns) + 0.1 * rng.standard_normal(rows)
    wrong = rng.random(rows) < outliers
    b[wrong] += 100 * rng.standard_normal(wrong.sum())

    def fun(x):
        value, slope = loss(a @ x - b)
        return value.sum(), a.T @ slope

    return fun, np.zeros(columns)


def huber(width):
    def loss(r):
        far = np.abs(r) > width
        return np.where(far, width * (np.abs(r) - width / 2), r * r / 2), np.clip(r, -width, width)

    return loss


def pseudo_huber(width):
    def loss(r):
        root = np.sqrt(1 + (r / width) ** 2)
        return width**2 * (root - 1), r / root

    return loss


def huber_far(start):
    """Huber's function of two variables whose minimum is far: no curvature on the way."""
    target = np.array([start, start / 2])

    def fun(x):
        value, slope = huber(1.0)(x - target)
        return value.sum(), slope

    return fun


def logistic(rows, columns, seed, weight, scale=1.0):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((rows, columns)) * scale
    y = np.where(rng.random(rows) < 1 / (1 + np.exp(-a @ rng.standard_normal(columns) / scale)), 1.0, -1.0)

    def fun(x):
        z = y * (a @ x)
        return np.logaddexp(0, -z).sum() + weight / 2 * x @ x, a.T @ (-y / (1 + np.exp(z))) + weight * x

    return fun, np.zeros(columns)


def poisson(rows, columns, seed):
    """Counts whose rates are positive combinations; the likelihood is not defined at 0."""
    rng = np.random.default_rng(seed)
    a = rng.random((rows, columns)) + 0.05
    x = rng.random(columns) * (rng.random(columns) < 0.5)
    y = rng.poisson(20 * (a @ x))

    def fun(x):
        rate = 20 * (a @ x) + 1e-3
        return (rate - y * np.log(rate)).sum(), 20 * (a.T @ (1 - y / rate))

    return fun, np.full(columns, 0.5)


def least_squares(rows, columns, seed, condition=1e2):
    rng = np.random.default_rng(seed)
    u, _ = np.linalg.qr(rng.standard_normal((rows, columns)))
    v, _ = np.linalg.qr(rng.standard_normal((columns, columns)))
    a = u * np.geomspace(1, 1 / condition, columns) @ v.T
    b = a @ rng.standard_normal(columns) + 0.1 * rng.standard_normal(rows)

    def fun(x):
        r = a @ x - b
        return r @ r / 2, a.T @ r

    return fun, np.zeros(columns)


def gaussian_process(points, seed):
    """Minus the log likelihood by the logarithms of amplitude, lengths and noise."""
    rng = np.random.default_rng(seed)
    x = rng.random((points, 2))
    y = np.sin(6 * x[:, 0]) + 0.1 * rng.standard_normal(points)
    squares = (x[:, None] - x[None]) ** 2

    def fun(p):
        amplitude, noise, lengths = np.exp(p[0]), np.exp(p[3]), np.exp(p[1:3])
        scaled = squares / lengths**2
        k = amplitude * np.exp(-0.5 * scaled.sum(axis=-1))
        inverse = np.linalg.inv(k + noise * np.eye(points))
        weights = inverse @ y
        by_k = 0.5 * (inverse - np.outer(weights, weights))
        value = 0.5 * y @ weights - 0.5 * np.linalg.slogdet(inverse)[1]
        return value, np.array([
            (by_k * k).sum(), *((by_k * k)[..., None] * scaled).sum(axis=(0, 1)), noise * np.trace(by_k)
        ])  # fmt: skip

    return fun, np.zeros(4)


# --- quadratics and others ------------------------------------------------------------------------


def quadratic(n, seed, condition, degenerate=0.0, scale=1.0):
    """With bounds of 0 and 1 its minimum is known; `degenerate`: the share of active bounds whose
    multiplier is 0. Returns bounds, too."""
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    h = q * np.geomspace(1, condition, n) @ q.T
    kind = rng.integers(0, 3, n)  # free, lower, upper
    at = np.where(kind == 0, rng.uniform(0.1, 0.9, n), np.where(kind == 1, 0.0, 1.0))
    size = rng.random(n) * (rng.random(n) >= degenerate)
    linear = h @ at - np.where(kind == 0, 0.0, np.where(kind == 1, size, -size))

    def fun(x):
        return scale * (0.5 * x @ h @ x - linear @ x), scale * (h @ x - linear)

    return fun, np.full(n, 0.5), np.tile([0.0, 1.0], (n, 1))


def chained_rosenbrock(x):
    rise, rest = x[1:] - x[:-1] ** 2, 1 - x[:-1]
    g = np.zeros_like(x)
    g[1:] = 200 * rise
    g[:-1] -= 400 * rise * x[:-1] + 2 * rest
    return 100 * rise @ rise + rest @ rest, g


def scaled(fun, by, of=1.0):
    """The problem in y = x / by, times `of`."""
    def fun_scaled(y):
        f, g = fun(y * by)
        return of * f, of * g * by

    return fun_scaled


def hinge(x):
    """Squared hinges: its second derivative jumps."""
    t = np.arange(1, len(x) + 1)
    over, under = np.maximum(x - 1 / t, 0), np.maximum(0.5 / t - x, 0)
    coupled = x[1:] + x[:-1] - 1 / t[1:]
    g = 2 * t * (over - under)
    g[1:] += 2 * coupled
    g[:-1] += 2 * coupled
    return (t * (over**2 + under**2)).sum() + coupled @ coupled, g


def power(exponent):
    def fun(x):
        r = x - np.arange(len(x))
        return (np.abs(r) ** exponent).sum(), exponent * np.sign(r) * np.abs(r) ** (exponent - 1)

    return fun


def problems():
    listed = []

    def add(name, fun, x0, bounds=None, memory=10):
        x0 = np.array(x0, dtype=float)
        pairs = None if bounds is None else np.broadcast_to(np.asarray(bounds, dtype=float), (len(x0), 2))
        listed.append((name, fun, x0, pairs, memory))

    inf = np.inf
    for name, residuals, x0 in more_garbow_hillstrom():
        fun, x0 = sum_of_squares(residuals), np.array(x0, dtype=float)
        add(name, fun, x0)
        if name in ("gulf", "helical valley", "Meyer"):
            continue
        reach = 0.4 * np.maximum(np.abs(x0), 0.5)
        add(f"{name}, in a box", fun, x0, np.stack([x0 - 0.5 * reach, x0 + reach], axis=1))
    for target in (10, 1000, 1e4):
        add(f"Huber, minimum at {target:g}, far bound", huber_far(target), [0, 0], [-1, inf])
    for seed, (rows, columns) in enumerate([(50, 3), (200, 10), (500, 30)]):
        add(f"Huber regression {rows} x {columns}", *regression(huber(1.0), rows, columns, seed), [-10, inf])
        add(f"pseudo-Huber regression {rows} x {columns}", *regression(pseudo_huber(1.0), rows, columns, seed), [0, 1])
        add(f"logistic regression {rows} x {columns}", *logistic(rows, columns, seed, 1e-2), [-1, 1])
        add(f"Poisson regression {rows} x {columns}", *poisson(rows, columns, seed), [0, inf])
        add(f"NNLS {rows} x {columns}", *least_squares(rows, columns, seed), [0, inf])
        add(f"NNLS {rows} x {columns}, condition 1e4", *least_squares(rows, columns, seed, 1e4), [0, inf])
    add("logistic regression, no penalty, columns of 1e3", *logistic(300, 8, 7, 0.0, 1e3))
    for n, condition in ((10, 1e1), (50, 1e2), (100, 1e4), (30, 1e6)):
        fun, x0, box = quadratic(n, n, condition)
        add(f"QP {n}, condition {condition:g}", fun, x0, box)
        add(f"QP {n}, condition {condition:g}, from a corner", fun, np.zeros(n), box)
        fun, x0, box = quadratic(n, n, condition, degenerate=0.7)
        add(f"QP {n}, condition {condition:g}, degenerate", fun, x0, box)
    for scale in (1e-8, 1e-4, 1e4, 1e8):
        fun, x0, box = quadratic(20, 3, 1e2, scale=scale)
        add(f"QP 20, values of {scale:g}", fun, x0, box)
        add(f"Rosenbrock, variables of {scale:g}", scaled(chained_rosenbrock, 1 / scale), np.array([-1.2, 1]) * scale)
    add("Rosenbrock, variables of 1 and 1e4", scaled(chained_rosenbrock, np.array([1, 1e4])), [-1.2, 1e-4])
    alternating = np.where(np.arange(25) % 2, 1.0, -1.2)
    for low, high in ((-2, 0.8), (1.1, 3), (-inf, 0.5), (-0.5, 2)):
        add(f"chained Rosenbrock in [{low}, {high}]", chained_rosenbrock, alternating, [low, high])
    add("chained Rosenbrock 100, every third variable bounded", chained_rosenbrock, np.full(100, -1.0),
        np.where(np.arange(100)[:, None] % 3 == 0, [-1.5, 0.5], [-inf, inf]))  # fmt: skip
    add("chained Rosenbrock, start outside", chained_rosenbrock, np.full(10, 9.0), [-2, 2])
    add("chained Rosenbrock, start at all bounds", chained_rosenbrock, np.full(10, -2.0), [-2, 2])
    fixed = np.tile([-2.0, 2.0], (10, 1))
    fixed[::3] = 0.7
    add("chained Rosenbrock, fixed variables", chained_rosenbrock, np.zeros(10), fixed)
    add("all variables fixed", chained_rosenbrock, np.zeros(4), np.tile([0.3, 0.3], (4, 1)))
    for memory in (1, 2, 3, 5, 20, 50):
        add(f"chained Rosenbrock, m = {memory}", chained_rosenbrock, alternating, [-2, 2], memory)
    add("squared hinges", hinge, np.full(20, 2.0))
    add("squared hinges in a box", hinge, np.full(20, 2.0), [0.1, 3])
    add("powers of 1.5", power(1.5), np.full(6, 20.0), [0.5, inf])
    add("powers of 4", power(4), np.full(6, 20.0), [0.5, inf])
    for seed in range(4):
        add(f"Gaussian process {seed}", *gaussian_process(25, seed), [-6, 4])
    return listed
