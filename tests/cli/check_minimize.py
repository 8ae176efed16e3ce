#!/usr/bin/env python3
"""cvtmesh minimize: values at the start against the finite element sums written with numpy,
iterations against SciPy's L-BFGS-B, exit codes, reports and files. CVTMESH_PROGRAM is its path."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import numpy as np

try:
    from scipy.optimize import minimize as scipy_minimize
except ImportError:
    print("skipped: there is no scipy")
    sys.exit(77)

PROGRAM = os.environ.get("CVTMESH_PROGRAM", "cvtmesh")
os.environ.update(OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
# A sanitizer's allocator then fails like any other where too much is asked for.
os.environ.setdefault("ASAN_OPTIONS", "allocator_may_return_null=1")


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cvtmesh-check-")
        self.addCleanup(shutil.rmtree, self.folder)

    def call(self, *arguments, code=0):
        arguments = ["minimize"] + [str(a) for a in arguments] + ["--device", "cpu"]
        done = subprocess.run([PROGRAM] + arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              cwd=self.folder, timeout=120, check=False)
        if code is not None:
            self.assertEqual(done.returncode, code, (arguments, done.stderr))
        return done

    def solve(self, *arguments, code=0):
        self.call(*arguments, "-q", "-o", "x.npy", "--report", "r.json", code=code)
        with open(os.path.join(self.folder, "r.json"), encoding="utf-8") as stream:
            report = json.load(stream)
        return report, np.load(os.path.join(self.folder, "x.npy"))

    def start(self, *arguments):
        """The value at the start, and the start: what is left when no iteration is allowed."""
        report, x = self.solve(*arguments, "--iterations", 0, code=4)
        self.assertEqual(report["iterations"], 0)
        self.assertEqual(report["objective"], report["start_objective"])
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
    heat = (e[:-1, :-1] + e[:-1, 1:] + e[1:, :-1]).sum() + (e[1:, 1:] + e[1:, :-1] + e[:-1, 1:]).sum()
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
    a, b, g = np.where(normal, an, as_), np.where(normal, bn, bs), 1.05459e-27**2 / 4 / 9.11e-28 * 1e30
    u, v = x, np.roll(x, -1)
    return (h * (a / 3 * (u * u + u * v + v * v) + g * ((v - u) / h)**2 +
                 b / 10 * sum(u**k * v**(4 - k) for k in range(5)))).sum()


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


class Values(Case):
    """Sums of some thousand terms of either sign: 1e-11 of the value is far above rounding. The
    boundary of msa comes from Newton's method stopped at a residual of 1e-10."""

    def check(self, name, size, function, *, parameters=(), tolerance=1e-11):
        given = [word for p in parameters for word in ("--param", p)]
        # The start, and a point on the way: after a few iterations nothing is symmetric.
        for iterations in (0, 3):
            # Some of the smallest are solved by then (0), the others not yet (4).
            report, x = self.solve(name, *size, *given, "--iterations", iterations, code=None)
            self.assertLessEqual(report["iterations"], iterations)
            value = function(x)
            self.assertLessEqual(abs(report["objective"] - value), tolerance * abs(value) + 1e-15,
                                 (name, size, iterations, value))

    def test_all(self):
        for nx, ny in ((1, 1), (1, 6), (7, 1), (23, 11), (10, 40)):
            size = ("--nx", nx, "--ny", ny, "--bounds", "none")
            with self.subTest(nx=nx, ny=ny):
                self.check("ept", size, lambda x: torsion(x, 5))
                self.check("ept", size, lambda x: torsion(x, -2.5), parameters=["c=-2.5"])
                self.check("pjb", size, lambda x: bearing(x, 0.1, 10))
                self.check("pjb", size, lambda x: bearing(x, 0.9, 2),
                           parameters=["e=0.9", "b=2"])
                self.check("msa", size, surface, tolerance=1e-9)
                self.check("odc", size, lambda x: design(x, 0.008))
                self.check("ssc", size, lambda x: combustion(x, 1))
                self.check("gl2", size, lambda x: vortices(x, 8, 5))
                self.check("gl2", size, lambda x: vortices(x, 2, 3),
                           parameters=["vortices=2", "kappa=3"])
        for n in (4, 5, 101):
            self.check("gl1", ("--n", n), lambda x: layers(x, 5))
            self.check("gl1", ("--n", n), lambda x: layers(x, 3), parameters=["T=3"])
        for atoms, dim in ((2, 2), (30, 2), (2, 3), (31, 3)):
            self.check("lj", ("--atoms", atoms, "--dim", dim), cluster)


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
    g = (h[1:] * (here - v[1:-1, 2:]) + h[:-1] * (here - v[1:-1, :-2]) +
         up * (2 * here - v[:-2, 1:-1] - v[2:, 1:-1]) -
         e * w * np.sin(np.arange(1, nx + 1) * hx))
    return g.ravel()


class Reference(Case):
    """Iterations on the convex problems until f is within 1e-8 of the minimum, beside those of the
    reference code that SciPy wraps, m = 8 on both sides: with the exact Cauchy point the paths are
    the same but for rounding, with the approximate one they are at most 10 % longer in all."""

    SIZES = [("ept", 40, 40), ("ept", 70, 30), ("ept", 60, 60), ("pjb", 40, 40), ("pjb", 25, 60),
             ("pjb", 60, 50)]

    def reference(self, name, nx, ny, start):
        (value, gradient), bounds = {
            "ept": ((lambda x: torsion(x.reshape(ny, nx), 5),
                     lambda x: torsion_gradient(x, nx, ny, 5)), list(zip(-start, start))),
            "pjb": ((lambda x: bearing(x.reshape(ny, nx), 0.1, 10),
                     lambda x: bearing_gradient(x, nx, ny, 0.1, 10)), [(0, None)] * len(start)),
        }[name]
        path = [value(start)]
        done = scipy_minimize(value, start, jac=gradient, method="L-BFGS-B", bounds=bounds,
                              callback=lambda x: path.append(value(x)),
                              options=dict(maxcor=8, maxiter=5000, maxfun=20000, ftol=0, gtol=1e-9))
        return done, path

    def test_iterations(self):
        for cauchy in ("exact", "approximate"):
            ours = theirs = 0
            for name, nx, ny in self.SIZES:
                size = ("--nx", nx, "--ny", ny)
                report, x = self.solve(name, *size, "--cauchy", cauchy, "--history")
                _, start = self.start(name, *size)
                done, path = self.reference(name, nx, ny, start.ravel())
                self.assertLessEqual(abs(report["objective"] - done.fun), 1e-11 * abs(done.fun))
                # Strong convexity: at f - f* of 1e-15 the points are some 1e-6 apart at most.
                self.assertLessEqual(abs(x.ravel() - done.x).max(), 1e-5)
                goal = min(report["objective"], done.fun)
                goal += 1e-8 * abs(goal)
                own = [record["objective"] for record in report["history"]]
                steps = next(k for k, f in enumerate(own) if f <= goal)
                reference = next(k for k, f in enumerate(path) if f <= goal)
                if cauchy == "exact":
                    self.assertLessEqual(abs(steps - reference), 3, (name, nx, ny))
                ours += steps
                theirs += reference
            with self.subTest(cauchy=cauchy, ours=ours, theirs=theirs):
                self.assertLessEqual(ours, 1.1 * theirs)


class Runs(Case):
    def test_report(self):
        report, x = self.solve("ept", "--nx", 20, "--ny", 10, "--history")
        self.assertEqual(x.shape, (10, 20))
        for key in ("objective", "iterations", "evaluations", "projected_gradient", "active",
                    "stop_reason", "seconds", "start_projected", "options", "device", "history"):
            self.assertIn(key, report)
        history = report["history"]
        self.assertEqual(len(history), report["iterations"] + 1)
        self.assertEqual([r["iteration"] for r in history], list(range(len(history))))
        self.assertEqual(history[-1]["objective"], report["objective"])
        self.assertEqual(report["options"]["nx"], 20)
        self.assertEqual(report["parameters"], {"c": 5})
        self.assertTrue(report["converged"])
        j, i = np.mgrid[1:11, 1:21]
        bound = np.minimum(np.minimum(i, 21 - i) / 21, np.minimum(j, 11 - j) / 11)
        self.assertTrue((abs(x) <= bound + 1e-15).all())
        self.assertEqual(report["active"], int((abs(abs(x) - bound) < 1e-14).sum()))

    def test_shapes(self):
        for name, size, shape in (("gl2", ("--nx", 6, "--ny", 5), (4, 5, 6)),
                                  ("gl1", ("--n", 30), (30,)),
                                  ("lj", ("--atoms", 7, "--dim", 3), (7, 3))):
            report, x = self.solve(name, *size, "--iterations", 2, code=4)
            self.assertEqual(x.shape, shape)
            self.assertEqual(report["variables"], x.size)
            self.assertNotIn("history", report)

    def test_stream(self):
        done = self.call("pjb", "--nx", 8, "--ny", 12, "-o", "-")
        x = np.load(io.BytesIO(done.stdout))
        self.assertLess(abs(bearing(x, 0.1, 10) + 0.183437), 1e-6)

    def test_box(self):
        report, x = self.solve("gl1", "--n", 100, "--bounds", "box")
        self.assertLessEqual(abs(x).max(), 1)
        self.assertLess(abs(report["objective"] + 2.85087402488), 1e-9)
        report, x = self.solve("ept", "--nx", 10, "--ny", 10, "--bounds", "none")
        self.assertEqual(report["active"], 0)
        self.assertLess(abs(report["objective"] + 0.427745), 1e-6)

    def test_start_outside(self):
        report, _ = self.solve("gl2", "--nx", 8, "--ny", 8, "--bounds", "box", "--iterations", 1,
                               code=4)
        self.assertGreater(report["start_projected"], 0)

    def test_same_bits(self):
        texts = []
        for threads in (1, 2):
            self.solve("msa", "--nx", 90, "--ny", 80, "--iterations", 30, "--threads", threads, code=4)
            with open(os.path.join(self.folder, "x.npy"), "rb") as stream:
                texts.append(stream.read())
        self.assertEqual(texts[0], texts[1])

    def test_memory_and_precision(self):
        values = [self.solve("ept", "--nx", 30, "--ny", 30, *how)[0]["objective"]
                  for how in (("-m", 1), ("-m", 20), ("--precision", "single"))]
        self.assertLess(max(values) - min(values), 1e-10)

    def test_limits(self):
        for limit, reason in ((("--iterations", 3), "iterations"),
                              (("--evaluations", 3), "evaluations"),
                              (("--time-limit", 1e-9), "time")):
            report, _ = self.solve("ept", "--nx", 40, "--ny", 40, *limit, code=4)
            self.assertEqual(report["stop_reason"], reason)
            self.assertFalse(report["converged"])
        report, _ = self.solve("ept", "--nx", 40, "--ny", 40, "--gradient-tolerance", 1e-4)
        self.assertEqual(report["stop_reason"], "gradient")
        self.assertLessEqual(report["projected_gradient"], 1e-4)

    def test_interrupted(self):
        command = [PROGRAM, "minimize", "gl1", "--n", "40000", "--iterations", "100000000", "-v",
                   "-o", "x.npy", "--device", "cpu", "--report", "cut.json"]
        with subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE) as running:
            running.stderr.readline()  # an iteration is done
            running.send_signal(signal.SIGINT)
            running.stderr.read()
            self.assertEqual(running.wait(timeout=60), 130)
        self.assertEqual(np.load(os.path.join(self.folder, "x.npy")).shape, (40000,))
        with open(os.path.join(self.folder, "cut.json")) as file:
            self.assertEqual(json.load(file)["stop_reason"], "interrupted")


class Refused(Case):
    def refused(self, *arguments, code=2, says):
        done = self.call(*arguments, "-o", "x.npy", code=code)
        text = done.stderr.decode()
        self.assertEqual(text.count("\n"), 1, text)
        self.assertIn(says, text)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "x.npy")))

    def test_usage(self):
        self.refused("torsion", says="no problem 'torsion'")
        self.refused("ept", "--param", "lambda=1", says="no parameter 'lambda'")
        self.refused("ept", "--param", "c", says="name=value")
        self.refused("ept", "--param", "c=five", says="'five' is not a number")
        self.refused("pjb", "--param", "e=1", says="e = 1")
        self.refused("ssc", "--param", "lambda=nan", says="lambda = nan")
        self.refused("gl2", "--param", "vortices=1.5", says="vortices = 1.5")
        self.refused("ept", "--n", 5, says="--n")
        self.refused("gl1", "--nx", 5, says="--nx")
        self.refused("gl1", "--n", 3, says="3 variables")
        self.refused("ept", "--dim", 3, says="--dim")
        self.refused("ept", "--nx", 0, says="--nx")
        self.refused("ept", "--nx", 10**15, "--ny", 10**15, says="1000000000000000 x")
        self.refused("ept", "-m", 21, says="--memory")
        self.refused("ept", "--bounds", "loose", says="--bounds")
        self.refused("ept", "-o", "x.obj", says="x.obj")

    def test_not_finite(self):
        # The lattice of lj is pressed onto a few points, and a pair at distance 0 has no energy.
        self.refused("lj", "--atoms", 20, "--bounds", "box", code=3, says="not finite at the start")
        self.refused("ept", "--nx", 9, "--ny", 9, "--param", "c=1e400", says="c = inf")

    def test_too_large(self):
        done = self.call("gl1", "--n", 10**15, "-o", "x.npy", code=1)
        self.assertIn("memory", done.stderr.decode())

    def test_full_disk(self):
        if os.path.exists("/dev/full"):
            self.call("ept", "--nx", 5, "--ny", 5, "-q", "--report", "/dev/full", code=1)


class Manual(Case):
    def test_options(self):
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        with open(os.path.join(root, "docs", "cvtmesh.1"), encoding="utf-8") as stream:
            manual = stream.read().replace("\\", "")
        for command in ("minimize", "bench"):
            text = subprocess.run([PROGRAM, command, "--help"], stdout=subprocess.PIPE, check=True)
            lines = text.stdout.decode().splitlines()
            self.assertTrue(all(len(line) <= 110 for line in lines))
            options = [word for line in lines for word in line.split()[:2] if word[:2] == "--"]
            self.assertIn("--device", options)
            for option in options:
                self.assertRegex(manual, re.escape(option) + r"(?![\w-])", command)


class Bench(Case):
    def test_tables(self):
        for name, limit in (("table1", 64), ("table2", 500), ("table3", 200), ("table4", 1600),
                            ("figure3", 100), ("figure7", 50), ("figure8", 500)):
            done = subprocess.run([PROGRAM, "bench", name, "--device", "cpu", "--size-limit",
                                   str(limit), "--iterations", "20"],
                                  stdout=subprocess.PIPE, timeout=120, check=True)
            rows = [line for line in done.stdout.decode().splitlines() if line.startswith("|")]
            self.assertGreater(len(rows), 3)
            self.assertEqual(len({row.count("|") for row in rows}), 1, rows)

    def test_unknown(self):
        done = subprocess.run([PROGRAM, "bench", "table9"], stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"table9", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
