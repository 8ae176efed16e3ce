"""cvtmesh minimize: values at the start against the finite element sums written with numpy,
iterations against SciPy's L-BFGS-B, exit codes, reports and files."""

import io
import os

import numpy as np
from scipy.optimize import minimize as scipy_minimize

# The allocator of a sanitizer then fails like any other where too much is asked for.
FAIL_LIKE_MALLOC = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "allocator_may_return_null=1")}
CONVEX = [("ept", 40, 40), ("ept", 70, 30), ("ept", 60, 60), ("pjb", 40, 40), ("pjb", 25, 60),
          ("pjb", 60, 50)]


def solve(cvtmesh, *arguments, code=0):
    """The report and the point."""
    report = cvtmesh.report("minimize", *arguments, "-q", "-o", "x.npy", code=code)
    return report, cvtmesh.array("x.npy")


def start(cvtmesh, *arguments):
    """The value at the start, and the start: what is left when no iteration is allowed."""
    report, x = solve(cvtmesh, *arguments, "--iterations", 0, code=4)
    assert report["iterations"] == 0
    assert report["objective"] == report["start_objective"]
    return report["objective"], x


def triangles(v, hx, hy):
    """Gradients of the lower and the upper triangles of a grid with its boundary."""
    across, up = np.diff(v, axis=1) / hx, np.diff(v, axis=0) / hy
    return (across[:-1], up[:, :-1]), (across[1:], up[:, 1:])


def enneper(x, y):
    """The height of Enneper's surface, by Newton's method from (x, -y)."""
    u, v = x + 0.0, -y + 0.0
    for _ in range(20):
        f, g = u + u * v**2 - u**3 / 3 - x, -v - u**2 * v + v**3 / 3 - y
        a, b, c, d = 1 + v**2 - u**2, 2 * u * v, -2 * u * v, -1 - u**2 + v**2
        determinant = a * d - b * c
        u, v = u - (d * f - b * g) / determinant, v - (a * g - c * f) / determinant
    return u**2 - v**2


def torsion(x, c):
    (ny, nx), v = x.shape, np.pad(x, 1)
    hx, hy = 1 / (nx + 1), 1 / (ny + 1)
    energy = sum((gx**2 + gy**2).sum() for gx, gy in triangles(v, hx, hy)) / 4
    return hx * hy * (energy - c * x.sum())


def bearing(x, e, b):
    (ny, nx), v = x.shape, np.pad(x, 1)
    hx, hy = 2 * np.pi / (nx + 1), 2 * b / (ny + 1)
    p = (1 + e * np.cos(np.arange(nx + 2) * hx))**3
    (lx, ly), (ux, uy) = triangles(v, hx, hy)
    energy = ((2 * p[:-1] + p[1:]) / 6 * (lx**2 + ly**2)).sum()
    energy += ((2 * p[1:] + p[:-1]) / 6 * (ux**2 + uy**2)).sum()
    load = (np.sin(np.arange(1, nx + 1) * hx) * x).sum()
    return hx * hy * (energy / 2 - e * load)


def surface(x):
    ny, nx = x.shape
    s, t = np.linspace(-0.5, 0.5, nx + 2), np.linspace(-0.5, 0.5, ny + 2)
    v = enneper(*np.meshgrid(s, t))
    v[1:-1, 1:-1] = x
    hx, hy = 1 / (nx + 1), 1 / (ny + 1)
    return hx * hy / 2 * sum(np.sqrt(1 + gx**2 + gy**2).sum() for gx, gy in triangles(v, hx, hy))


def design(x, lam):
    (ny, nx), v = x.shape, np.pad(x, 1)
    hx, hy, total = 1 / (nx + 1), 1 / (ny + 1), 0
    t1, t2 = np.sqrt(lam), np.sqrt(4 * lam)
    for gx, gy in triangles(v, hx, hy):
        t = np.hypot(gx, gy)
        total += np.where(t <= t1, t**2, np.where(t < t2, 2 * t1 * t - lam, t**2 / 2 + lam)).sum()
    return hx * hy * (total / 2 + x.sum())


def combustion(x, lam):
    (ny, nx), v = x.shape, np.pad(x, 1)
    hx, hy = 1 / (nx + 1), 1 / (ny + 1)
    e = np.exp(v)
    heat = (e[:-1, :-1] + e[:-1, 1:] + e[1:, :-1]).sum() + (e[1:, 1:] + e[1:, :-1] +
                                                            e[:-1, 1:]).sum()
    energy = sum((gx**2 + gy**2).sum() for gx, gy in triangles(v, hx, hy)) / 2
    return hx * hy / 2 * (energy - lam * heat / 3)


def layers(x, temperature):
    n, q = len(x), (4.80e-10 / 2.99e10)**2 / 9.11e-28

    def constants(critical, field, depth):
        s = (temperature / critical)**2
        return (-2 * q * (field * depth)**2 * (1 - s) / (1 + s) * 1e18,
                16 * np.pi * (q * field * depth**2 / (1 + s))**2 * 1e36)

    n1 = n // 4
    normal = (np.arange(n) < n1) | (np.arange(n) >= n - n1)
    (an, bn), (as_, bs) = constants(3.73, 309, 3.4e-6), constants(7.32, 803, 3.7e-6)
    h = np.where(normal, 2.2 / n1, 2.0 / (n - 2 * n1))
    a, b, g = np.where(normal, an, as_), np.where(normal, bn,
                                                  bs), 1.05459e-27**2 / 4 / 9.11e-28 * 1e30
    u, v = x, np.roll(x, -1)
    return (h * (a / 3 * (u * u + u * v + v * v) + g *
                 ((v - u) / h)**2 + b / 10 * sum(u**k * v**(4 - k) for k in range(5)))).sum()


def cluster(x):
    i, j = np.triu_indices(len(x), 1)
    s = ((x[i] - x[j])**2).sum(axis=1)
    return (s**-6 - 2 * s**-3).sum()


def vortices(x, count, kappa):
    _, ny, nx = x.shape
    hx, hy = 3 * np.sqrt(count / 2) / nx, 3 * np.sqrt(3 * count / 2) / ny
    psi, a, b = x[0] + 1j * x[1], x[2], x[3]
    turn = np.exp(2j * np.pi * count * np.arange(ny) / ny)[:, None]
    right = np.hstack([psi[:, 1:], psi[:, :1] * turn])
    b_right = np.hstack([b[:, 1:], b[:, :1] + 2 * np.pi * count / (ny * hy)])
    dx = abs(right - psi * np.exp(1j * hx * a))**2 / hx**2
    dy = abs(np.roll(psi, -1, axis=0) - psi * np.exp(1j * hy * b))**2 / hy**2
    curl = (b_right - b) / hx - (np.roll(a, -1, axis=0) - a) / hy
    return (-abs(psi)**2 + abs(psi)**4 / 2 + dx + dy + kappa**2 * curl**2).mean()


def gradient_by_differences(function, x):
    g, step = np.empty(x.size), 1e-5
    for k in range(x.size):
        after, before = x.copy(), x.copy()
        after.flat[k] += step
        before.flat[k] -= step
        g[k] = (function(after) - function(before)) / (2 * step)
    return g


def check_value(cvtmesh, name, size, function, *, parameters=(), tolerance=1e-11):
    """Sums of some thousand terms of either sign: 1e-11 of the value is far above rounding. The
    boundary of msa comes from Newton's method stopped at a residual of 1e-10."""
    given = [word for p in parameters for word in ("--param", p)]
    # The start, and a point on the way: after a few iterations nothing is symmetric.
    for iterations in (0, 3):
        # Some of the smallest are solved by then (0), the others not yet (4).
        report, x = solve(cvtmesh, name, *size, *given, "--iterations", iterations, code=(0, 4))
        assert report["iterations"] <= iterations
        value = function(x)
        assert abs(report["objective"] - value) <= tolerance * abs(value) + 1e-15, (name, size,
                                                                                    iterations,
                                                                                    value)
        if x.size > 70:
            continue
        # No variable is at a bound here, so the projected gradient is the largest component. The
        # second derivatives of odc jump, by less than 2; the third ones of lj are thousands.
        slope = abs(gradient_by_differences(function, x)).max()
        error = 1e-7 * slope + {"odc": 1e-5, "lj": 1e-7}.get(name, 1e-9 * abs(value) + 1e-10)
        assert abs(report["projected_gradient"] - slope) <= error, (name, size, iterations, slope)


def test_values(cvtmesh):
    for nx, ny in ((1, 1), (1, 6), (7, 1), (23, 11), (10, 40)):
        size = ("--nx", nx, "--ny", ny, "--bounds", "none")
        check_value(cvtmesh, "ept", size, lambda x: torsion(x, 5))
        check_value(cvtmesh, "ept", size, lambda x: torsion(x, -2.5), parameters=["c=-2.5"])
        check_value(cvtmesh, "pjb", size, lambda x: bearing(x, 0.1, 10))
        check_value(cvtmesh, "pjb", size, lambda x: bearing(x, 0.9, 2), parameters=["e=0.9", "b=2"])
        check_value(cvtmesh, "msa", size, surface, tolerance=1e-9)
        check_value(cvtmesh, "odc", size, lambda x: design(x, 0.008))
        check_value(cvtmesh, "ssc", size, lambda x: combustion(x, 1))
        check_value(cvtmesh, "gl2", size, lambda x: vortices(x, 8, 5))
        check_value(cvtmesh, "gl2", size, lambda x: vortices(x, 2, 3),
                    parameters=["vortices=2", "kappa=3"])
    for n in (4, 5, 101):
        check_value(cvtmesh, "gl1", ("--n", n), lambda x: layers(x, 5))
        check_value(cvtmesh, "gl1", ("--n", n), lambda x: layers(x, 3), parameters=["T=3"])
    for atoms, dim in ((2, 2), (30, 2), (2, 3), (31, 3)):
        check_value(cvtmesh, "lj", ("--atoms", atoms, "--dim", dim), cluster)


def torsion_gradient(x, nx, ny, c):
    v, hx, hy = np.pad(x.reshape(ny, nx), 1), 1 / (nx + 1), 1 / (ny + 1)
    here = v[1:-1, 1:-1]
    g = ((2 * here - v[1:-1, :-2] - v[1:-1, 2:]) / hx**2 +
         (2 * here - v[:-2, 1:-1] - v[2:, 1:-1]) / hy**2 - c)
    return hx * hy * g.ravel()


def bearing_gradient(x, nx, ny, e, b):
    v, hx, hy = np.pad(x.reshape(ny, nx), 1), 2 * np.pi / (nx + 1), 2 * b / (ny + 1)
    p = (1 + e * np.cos(np.arange(nx + 2) * hx))**3
    w, here = hx * hy, v[1:-1, 1:-1]
    h = w * (p[:-1] + p[1:]) / (2 * hx**2)
    up = w * (4 * p[1:-1] + p[:-2] + p[2:]) / (6 * hy**2)
    g = (h[1:] * (here - v[1:-1, 2:]) + h[:-1] * (here - v[1:-1, :-2]) + up *
         (2 * here - v[:-2, 1:-1] - v[2:, 1:-1]) - e * w * np.sin(np.arange(1, nx + 1) * hx))
    return g.ravel()


def scipy_path(name, nx, ny, start):
    (value, gradient), bounds = {
        "ept": ((lambda x: torsion(x.reshape(ny, nx), 5), lambda x: torsion_gradient(x, nx, ny, 5)),
                list(zip(-start, start))),
        "pjb": ((lambda x: bearing(x.reshape(ny, nx), 0.1, 10),
                 lambda x: bearing_gradient(x, nx, ny, 0.1, 10)), [(0, None)] * len(start)),
    }[name]
    path = [value(start)]
    done = scipy_minimize(value, start, jac=gradient, method="L-BFGS-B", bounds=bounds,
                          callback=lambda x: path.append(value(x)),
                          options=dict(maxcor=8, maxiter=5000, maxfun=20000, ftol=0, gtol=1e-9))
    return done, path


def test_iterations_beside_scipy(cvtmesh):
    """Iterations on the convex problems until f is within 1e-8 of the minimum, beside those of the
    reference code that SciPy wraps, m = 8 on both sides: with the exact Cauchy point the paths are
    the same but for rounding, with the approximate one they are at most 10 % longer in all."""
    for cauchy in ("exact", "approximate"):
        ours = theirs = 0
        for name, nx, ny in CONVEX:
            size = ("--nx", nx, "--ny", ny)
            report, x = solve(cvtmesh, name, *size, "--cauchy", cauchy, "--history")
            _, origin = start(cvtmesh, name, *size)
            done, path = scipy_path(name, nx, ny, origin.ravel())
            assert abs(report["objective"] - done.fun) <= 1e-11 * abs(done.fun)
            # Strong convexity: at f - f* of 1e-15 the points are some 1e-6 apart at most.
            assert abs(x.ravel() - done.x).max() <= 1e-5
            goal = min(report["objective"], done.fun)
            goal += 1e-8 * abs(goal)
            own = [record["objective"] for record in report["history"]]
            steps = next(k for k, f in enumerate(own) if f <= goal)
            reference = next(k for k, f in enumerate(path) if f <= goal)
            if cauchy == "exact":
                assert abs(steps - reference) <= 3, (name, nx, ny)
            ours += steps
            theirs += reference
        assert ours <= 1.1 * theirs


def test_report(cvtmesh):
    report, x = solve(cvtmesh, "ept", "--nx", 20, "--ny", 10, "--history")
    assert x.shape == (10, 20)
    for key in ("objective", "iterations", "evaluations", "projected_gradient", "active",
                "stop_reason", "seconds", "start_projected", "options", "device", "history"):
        assert key in report
    history = report["history"]
    assert len(history) == report["iterations"] + 1
    assert [r["iteration"] for r in history] == list(range(len(history)))
    assert history[-1]["objective"] == report["objective"]
    assert report["options"]["nx"] == 20
    assert report["parameters"] == {"c": 5}
    assert report["converged"]
    j, i = np.mgrid[1:11, 1:21]
    bound = np.minimum(np.minimum(i, 21 - i) / 21, np.minimum(j, 11 - j) / 11)
    assert (abs(x) <= bound + 1e-15).all()
    assert report["active"] == int((abs(abs(x) - bound) < 1e-14).sum())


def test_shapes(cvtmesh):
    for name, size, shape in (("gl2", ("--nx", 6, "--ny", 5), (4, 5, 6)),
                              ("gl1", ("--n", 30), (30,)), ("lj", ("--atoms", 7, "--dim", 3), (7,
                                                                                               3))):
        report, x = solve(cvtmesh, name, *size, "--iterations", 2, code=4)
        assert x.shape == shape
        assert report["variables"] == x.size
        assert "history" not in report


def test_stream(cvtmesh):
    done = cvtmesh.call("minimize", "pjb", "--nx", 8, "--ny", 12, "-o", "-")
    x = np.load(io.BytesIO(done.stdout))
    assert abs(bearing(x, 0.1, 10) + 0.183437) < 1e-6


def test_box(cvtmesh):
    report, x = solve(cvtmesh, "gl1", "--n", 100, "--bounds", "box")
    assert abs(x).max() <= 1
    assert abs(report["objective"] + 2.85087402488) < 1e-9
    report, x = solve(cvtmesh, "ept", "--nx", 10, "--ny", 10, "--bounds", "none")
    assert report["active"] == 0
    assert abs(report["objective"] + 0.427745) < 1e-6


def test_start_outside(cvtmesh):
    report, _ = solve(cvtmesh, "gl2", "--nx", 8, "--ny", 8, "--bounds", "box", "--iterations", 1,
                      code=4)
    assert report["start_projected"] > 0


def test_same_bits(cvtmesh):
    texts = []
    for threads in (1, 2):
        solve(cvtmesh, "msa", "--nx", 90, "--ny", 80, "--iterations", 30, "--threads", threads,
              code=4)
        texts.append(cvtmesh.read("x.npy"))
    assert texts[0] == texts[1]


def test_memory(cvtmesh):
    values = [
        solve(cvtmesh, "ept", "--nx", 30, "--ny", 30, *how)[0]["objective"]
        for how in (("-m", 1), ("-m", 20))
    ]
    assert max(values) - min(values) < 1e-10


def test_limits(cvtmesh):
    for limit, reason in ((("--iterations", 3), "iterations"),
                          (("--evaluations", 3), "evaluations"), (("--time-limit", 1e-9), "time")):
        report, _ = solve(cvtmesh, "ept", "--nx", 40, "--ny", 40, *limit, code=4)
        assert report["stop_reason"] == reason
        assert not report["converged"]
    report, _ = solve(cvtmesh, "ept", "--nx", 40, "--ny", 40, "--gradient-tolerance", 1e-4)
    assert report["stop_reason"] == "gradient"
    assert report["projected_gradient"] <= 1e-4


def test_interrupted(cvtmesh):
    cvtmesh.interrupted("minimize", "gl1", "--n", 40000, "--iterations", 100000000, "-v", "-o",
                        "x.npy", "--report", "cut.json",
                        when=lambda process: process.stderr.readline())
    assert cvtmesh.array("x.npy").shape == (40000,)
    assert cvtmesh.json("cut.json")["stop_reason"] == "interrupted"


def test_usage(cvtmesh):
    cvtmesh.refused("minimize", "torsion", "-o", "x.npy", code=2, names=["no problem 'torsion'"])
    cvtmesh.refused("minimize", "ept", "--param", "lambda=1", "-o", "x.npy", code=2,
                    names=["no parameter 'lambda'"])
    cvtmesh.refused("minimize", "ept", "--param", "c", "-o", "x.npy", code=2, names=["name=value"])
    cvtmesh.refused("minimize", "ept", "--param", "c=five", "-o", "x.npy", code=2,
                    names=["'five' is not a number"])
    cvtmesh.refused("minimize", "pjb", "--param", "e=1", "-o", "x.npy", code=2, names=["e = 1"])
    cvtmesh.refused("minimize", "ssc", "--param", "lambda=nan", "-o", "x.npy", code=2,
                    names=["lambda = nan"])
    cvtmesh.refused("minimize", "gl2", "--param", "vortices=1.5", "-o", "x.npy", code=2,
                    names=["vortices = 1.5"])
    cvtmesh.refused("minimize", "ept", "--n", 5, "-o", "x.npy", code=2, names=["--n"])
    cvtmesh.refused("minimize", "gl1", "--nx", 5, "-o", "x.npy", code=2, names=["--nx"])
    cvtmesh.refused("minimize", "gl1", "--n", 3, "-o", "x.npy", code=2, names=["3 variables"])
    cvtmesh.refused("minimize", "ept", "--dim", 3, "-o", "x.npy", code=2, names=["--dim"])
    cvtmesh.refused("minimize", "ept", "--nx", 0, "-o", "x.npy", code=2, names=["--nx"])
    cvtmesh.refused("minimize", "ept", "--nx", 10**15, "--ny", 10**15, "-o", "x.npy", code=2,
                    names=["1000000000000000 x"])
    cvtmesh.refused("minimize", "ept", "-m", 129, "-o", "x.npy", code=2, names=["--memory"])
    cvtmesh.refused("minimize", "ept", "--bounds", "loose", "-o", "x.npy", code=2,
                    names=["--bounds"])
    cvtmesh.refused("minimize", "ept", "-o", "x.obj", code=2, names=["x.obj"])


def test_not_finite(cvtmesh):
    # The lattice of lj is pressed onto a few points, and a pair at distance 0 has no energy.
    cvtmesh.refused("minimize", "lj", "--atoms", 20, "--bounds", "box", "-o", "x.npy", code=3,
                    names=["not finite at the start"])
    cvtmesh.refused("minimize", "ept", "--nx", 9, "--ny", 9, "--param", "c=1e400", "-o", "x.npy",
                    code=2, names=["c = inf"])


def test_too_large(cvtmesh):
    done = cvtmesh.call("minimize", "gl1", "--n", 10**15, "-o", "x.npy", code=1,
                        environment=FAIL_LIKE_MALLOC)
    assert "memory" in done.stderr.decode()


def test_full_disk(cvtmesh):
    cvtmesh.call("minimize", "ept", "--nx", 5, "--ny", 5, "-q", "--report", "/dev/full", code=1)
