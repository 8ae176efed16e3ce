#!/usr/bin/env python3
"""Drives `cvtmesh hlcp` from outside: published counts, solutions recomputed with SciPy from the
files that went in and came out, refusals. CVTMESH_PROGRAM is the program's path."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

try:
    import scipy.io
    import scipy.sparse as sparse
except ImportError:
    print("skipped: SciPy is not installed")
    sys.exit(77)

PROGRAM = os.environ.get("CVTMESH_PROGRAM", "cvtmesh")
os.environ.update(OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")


def example_3(size):
    """A, B of the paper's example 3 with mu = 0, nu = 4, and q for the alternating solution."""
    line = sparse.diags([-1.5, 4, -0.5], [-1, 0, 1], shape=(size, size))
    eye = sparse.identity(size)
    across = sparse.diags([-1.5, -0.5], [-1, 1], shape=(size, size))
    a = (sparse.kron(eye, line) + sparse.kron(across, eye)).tocsr()
    b = (sparse.kron(eye, line) + 4 * sparse.identity(size * size)).tocsr()
    z = np.arange(size * size) % 2.0
    return a, b, a @ z - b @ (1 - z)


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cvtmesh-hlcp-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_hlcp(self, *arguments, code=0):
        done = subprocess.run([PROGRAM, "hlcp", "--device", "cpu", *map(str, arguments)],
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def report(self, *arguments, code=0):
        self.run_hlcp("-q", "--report", self.path("report.json"), *arguments, code=code)
        with open(self.path("report.json")) as file:
            return json.load(file)

    def files(self, a, b, q):
        scipy.io.mmwrite(self.path("a.mtx"), a)
        scipy.io.mmwrite(self.path("b.mtx"), b)
        np.save(self.path("q.npy"), q)
        return ["--matrix-a", self.path("a.mtx"), "--matrix-b", self.path("b.mtx"),
                "--rhs", self.path("q.npy"),
                "--output-z", self.path("z.npy"), "--output-w", self.path("w.npy")]

    def solution(self):
        return np.load(self.path("z.npy")), np.load(self.path("w.npy"))

    def check_solution(self, a, b, q, residual):
        """The conditions hold exactly, the equations to the residual that was reported."""
        z, w = self.solution()
        self.assertTrue((z >= 0).all() and (w >= 0).all() and (z * w == 0).all())
        norm = np.linalg.norm(a @ z - b @ w - q)
        # Rounding in a sum of n terms near 10.
        self.assertLess(abs(norm - residual), 1e-13 * np.sqrt(len(q)))


class Published(Case):
    def test_counts_of_table_2(self):
        """The knife edge among them: h = 512, l = 4 stops at 9.9835e-7."""
        for size, method, splits, sweeps, residual in [
                (256, "mmgs", 256, 31, None), (256, "mmsor", 32, 25, None),
                (512, "mmgs", 4, 27, 9.98355e-7)]:
            report = self.report("--example", 3, "--size", size, "--method", method,
                                 "--splits", splits)
            self.assertEqual(report["iterations"], sweeps)
            self.assertEqual(report["stop_reason"], "tolerance")
            self.assertEqual(report["max_complementarity"], 0)
            self.assertEqual(len(report["history"]), sweeps + 1)
            self.assertEqual(report["history"][-1]["residual"], report["residual"])
            if residual:
                self.assertAlmostEqual(report["residual"] / residual, 1, places=5)

    def test_bearing(self):
        report = self.report("--problem", "bearing", "--method", "newton")
        self.assertEqual(report["w_positive"], 333)
        self.assertAlmostEqual(report["z_max"], 0.823256328328082, places=11)
        self.assertIn(report["iterations"], range(4, 8))
        report = self.report("--problem", "bearing", "--size", 32, "--method", "mmgs", "--splits", 1,
                             "--start", 0, "--tolerance", 1e-8, "--check")
        self.assertEqual(report["iterations"], 132)
        self.assertTrue(any(text.startswith("row 2: Theorem 2") for text in report["warnings"]))


class Files(Case):
    def test_solution_of_files(self):
        a, b, q = example_3(30)
        files = self.files(a, b, q)
        counts = []
        for more in (["--method", "mmgs", "--splits", 7], ["--method", "newton"],
                     ["--method", "mmaor", "--alpha", 1.05, "--beta", 0.9, "--rule", "block"],
                     ["--suggest"]):
            report = self.report(*files, "--omega", 0.5, *more)
            self.assertTrue(report["converged"])
            self.assertLess(report["residual"], 1e-6)
            self.check_solution(a, b, q, report["residual"])
            counts.append(report["iterations"])
        same = self.report("--example", 3, "--size", 30, "--method", "mmgs", "--splits", 7)
        self.assertEqual(same["iterations"], counts[0])

    def test_lcp(self):
        """Without B, against projected Gauss-Seidel."""
        a, _, q = example_3(12)
        q = np.sin(np.arange(144.0))
        files = self.files(a, a, q)
        del files[2:4]
        expected = np.zeros(144)
        dense = a.toarray()
        for _ in range(400):
            for i in range(144):
                rest = dense[i] @ expected - dense[i, i] * expected[i]
                expected[i] = max(0, (q[i] - rest) / dense[i, i])
        for split in ("both", "a"):
            report = self.report(*files, "--method", "mmgs", "--split", split, "--splits", 5,
                                 "--tolerance", 1e-10)
            z, _ = self.solution()
            # The inverse of A is below 1 in norm.
            self.assertLess(np.abs(z - expected).max(), 1e-9)
            self.check_solution(a, sparse.identity(144), q, report["residual"])

    def test_weights(self):
        """Overlapping blocks converge to the same solution."""
        a, b, q = example_3(10)
        weights = np.zeros((2, 100))
        weights[0, :60] = 1
        weights[1, 40:] = 1
        weights /= weights.sum(axis=0)
        scipy.io.mmwrite(self.path("e.mtx"), sparse.csr_matrix(weights))
        report = self.report(*self.files(a, b, q), "--weights", self.path("e.mtx"))
        self.assertEqual(report["splits"], 2)
        self.check_solution(a, b, q, report["residual"])
        weights[1, 50] = 0.75
        scipy.io.mmwrite(self.path("e.mtx"), sparse.csr_matrix(weights))
        done = self.run_hlcp(*self.files(a, b, q), "--weights", self.path("e.mtx"), code=3)
        self.assertIn("column 51", done.stderr)

    def test_not_converged(self):
        a, b, q = example_3(10)
        report = self.report(*self.files(a, b, q), "--iterations", 3, code=4)
        self.assertEqual((report["iterations"], report["stop_reason"]), (3, "iterations"))
        self.check_solution(a, b, q, report["residual"])


class Refusals(Case):
    def refuse(self, arguments, *texts):
        done = self.run_hlcp(*arguments, code=3)
        for text in texts:
            self.assertIn(text, done.stderr)
        self.assertFalse(os.path.exists(self.path("z.npy")))

    def test_matrices(self):
        a, b, q = example_3(5)
        bad = a.tolil()
        bad[6, 6] = -4
        self.refuse(self.files(bad.tocsr(), b, q), "A: row 7", "negative")
        bad[6, 6] = 0
        bad = bad.tocsr()
        bad.eliminate_zeros()
        self.refuse(self.files(bad, b, q), "A: row 7", "missing")
        self.refuse(self.files(a, b[:20, :20], q), "of one size")
        self.refuse(self.files(a[:, :20], b, q), "A")
        self.refuse(self.files(a, b, q[:-1]), "24 numbers")
        q[3] = np.nan
        done = self.run_hlcp(*self.files(a, b, q), code=3)
        self.assertIn("q: row 4", done.stderr)

    def test_parameters(self):
        for option, value, text in [("--splits", 0, "splits"), ("--splits", 26, "splits"),
                                    ("--splits", -1, "splits"), ("--gamma", 0, "gamma"),
                                    ("--omega", 0, "omega"), ("--omega", -1, "omega")]:
            self.refuse(["--example", 3, "--size", 5, option, value], text)

    def test_usage(self):
        for arguments in ([], ["--example", 3, "--problem", "bearing"], ["--example", 4],
                          ["--matrix-a", "a.mtx"], ["--example", 3, "--method", "mmgs", "--beta", 2],
                          ["--example", 3, "--output-z", "a.mtx"],
                          ["--example", 3, "--output-z", "x.npy", "--output-w", "x.npy"]):
            self.run_hlcp(*arguments, code=2)
        for option, value in (("--alpha", 0), ("--beta", -1), ("--size", 2 ** 20), ("--size", 0),
                              ("--tolerance", -1), ("--iterations", -1), ("--start", "inf")):
            done = self.run_hlcp("--example", 3, "--method", "mmaor", option, value, code=2)
            self.assertIn(option.strip("-"), done.stderr)
        for option, value in (("--eccentricity", 1), ("--eccentricity", -0.1), ("--supply", -1),
                              ("--size", 2)):
            self.run_hlcp("--problem", "bearing", option, value, code=2)

    def test_outputs(self):
        """Found before anything is computed."""
        done = self.run_hlcp("--example", 3, "--size", 4000, "--output-w",
                             self.path("none/w.npy"), code=1)
        self.assertIn("none/w.npy", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
