"""cvtmesh lcp: published figures, files in and out, stops, refusals and exit codes."""

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("two_threads")


def write_matrix(path, dense):
    rows, columns = np.nonzero(dense)
    lines = [
        "%%MatrixMarket matrix coordinate real general", f"{len(dense)} {len(dense)} {len(rows)}"
    ]
    lines += [f"{i + 1} {j + 1} {float(dense[i, j])!r}" for i, j in zip(rows, columns)]
    path.write_text("\n".join(lines) + "\n")


def primal_dual(a, b, lower, upper):
    """An independent solver: dense active sets with direct solves, exact for M-matrices."""
    x = np.clip(np.zeros(len(b)), lower, upper)
    for _ in range(200):
        guess = x - (a @ x - b) / np.diag(a)
        low, high = guess < lower, guess > upper
        free = ~(low | high)
        y = np.where(low, lower, np.where(high, upper, 0.0))
        fixed = ~free
        y[free] = np.linalg.solve(a[np.ix_(free, free)],
                                  b[free] - a[np.ix_(free, fixed)] @ y[fixed])
        if np.array_equal(x, y):
            break
        x = y
    f = a @ x - b
    residual = np.linalg.norm(x - np.clip(x - f, lower, upper))
    assert residual < 1e-12, residual
    return x


def random_problem(generator, n, symmetric):
    link = generator.random((n, n)) * (generator.random((n, n)) < 6 / n)
    np.fill_diagonal(link, 0)
    if symmetric:
        link = np.triu(link) + np.triu(link).T
    a = np.diag(link.sum(1) * 1.02 + 0.02) - link
    lower = np.where(generator.random(n) < 0.3, -np.inf, -generator.random(n))
    upper = np.where(generator.random(n) < 0.3, np.inf, generator.random(n))
    return a, 4 * generator.random(n) - 2, lower, upper


def test_published_figures(cvtmesh):
    row = cvtmesh.report("lcp", "--problem", "membrane", "--size", 127, "--tolerance", 1e-11)
    keys = {
        "iterations", "natural_residual", "natural_residual_max", "active_lower", "active_upper",
        "energy", "rate", "stop_reason", "seconds", "history", "method"
    }
    assert keys <= set(row), f"the report lacks {keys - set(row)}"
    assert row["method"] == "tnnmg" and row["stop_reason"] == "tolerance", "auto is tnnmg"
    history = row["history"]
    assert [h["iteration"] for h in history] == list(range(row["iterations"] + 1)), "history"
    assert (abs(history[-1]["natural_residual"] - row["natural_residual"]) <=
            1e-12 * history[0]["natural_residual"]), "the history ends with the result"


def test_files(cvtmesh):
    generator = np.random.default_rng(5)
    for k in range(4):
        a, b, lower, upper = random_problem(generator, 80, k % 2 == 0)
        write_matrix(cvtmesh.path("a.mtx"), a)
        for name, vector in (("b", b), ("l", lower), ("u", upper)):
            cvtmesh.file(f"{name}.npy", vector)
        files = [
            "--matrix", "a.mtx", "--rhs", "b.npy", "--lower", "l.npy", "--upper", "u.npy", "-o",
            "x.npy", "--tolerance", 1e-11
        ]
        row = cvtmesh.report("lcp", *files)
        assert row["method"] == ("tnnmg" if k % 2 == 0 else "pdas"), f"problem {k}: {row['method']}"
        x, right = cvtmesh.array("x.npy"), primal_dual(a, b, lower, upper)
        # A residual of 1e-11 |b| through a dominance of 0.02.
        assert np.abs(x - right).max() < 1e-7, f"problem {k}: off by {np.abs(x - right).max()}"
        assert row["active_lower"] == (right == lower).sum(), f"problem {k}: lower bounds"
        assert row["active_upper"] == (right == upper).sum(), f"problem {k}: upper bounds"
    first = cvtmesh.read("x.npy")
    cvtmesh.call("lcp", *files)
    assert cvtmesh.read("x.npy") == first, "a second run has other bits"


def test_stops(cvtmesh):
    row = cvtmesh.report("lcp", "--problem", "torsion", "--size", 31, "--method", "psor",
                         "--iterations", 5, code=4)
    assert row["stop_reason"] == "iterations" and row["iterations"] == 5, "psor: five sweeps"
    # At the limit of rounding the residual varies by chance.
    row = cvtmesh.report("lcp", "--problem", "torsion", "--size", 255, "--storage", "matrix-free",
                         "--tolerance", 0)
    assert row["stop_reason"] in ("rounding", "tolerance"), f"matrix-free: {row['stop_reason']}"
    assert row[
        "natural_residual"] < 1e-11 * row["history"][0]["natural_residual"], "matrix-free: rounding"
    cvtmesh.interrupted("lcp", "--problem", "torsion", "--size", 1023, "--method", "psor", "-v",
                        "-o", "cut.npy", "--report", "cut.json",
                        when=lambda process: process.stderr.readline())
    row = cvtmesh.json("cut.json")
    assert row["stop_reason"] == "interrupted", f"interrupted: {row['stop_reason']}"
    assert np.isfinite(cvtmesh.array("cut.npy")).all(), "interrupted: x is written"


def test_any_diagonal(cvtmesh):
    """The optimality conditions of min -y1 - 2 y2, y1 + y2 <= 1, y >= 0; without the bound, a ray."""
    matrix = cvtmesh.file("kkt.mtx", "%%MatrixMarket matrix array real general\n3 3\n"
                          "0\n0\n-1\n0\n0\n-1\n1\n1\n0\n")
    rhs = cvtmesh.file("b.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n2\n-1.0D+00\n")
    files = ["--matrix", matrix, "--rhs", rhs, "--lower", cvtmesh.file("l.npy", np.zeros(3))]
    row = cvtmesh.report("lcp", *files, "-o", "x.npy")
    assert row["method"] == "lemke" and row["stop_reason"] == "tolerance"
    assert np.allclose(cvtmesh.array("x.npy"), [0, 1, 2], atol=1e-14)
    free = cvtmesh.file("free.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 1\n3 3 1\n")
    row = cvtmesh.report("lcp", "--matrix", free, *files[2:], code=4)
    assert row["stop_reason"] == "infeasible"


def test_refusals(cvtmesh):
    def refused(code, reason, *arguments):
        cvtmesh.refused("lcp", *arguments, code=code, names=[reason])

    head = "%%MatrixMarket matrix coordinate real general\n"
    matrix, rhs = "bad.mtx", "bad.npy"
    cvtmesh.file(rhs, np.ones(2))
    files = ["--matrix", matrix, "--rhs", rhs]
    for text, reason in ((head + "2 2 2\n1 1 1\n2 2 0\n", "row 2: the diagonal entry is zero"),
                         (head + "2 2 2\n1 1 -1\n2 2 1\n", "row 1: the diagonal entry is negative"),
                         (head + "2 2 1\n1 1 1\n", "row 2: the diagonal entry is missing; the methods lemke of lcp")):
        cvtmesh.file(matrix, text)
        refused(3, reason, *files, "--method", "pdas")
    for text, reason in ((head + "2 2 2\n1 1 1\n2 2 nan\n", "line 4: the value is not finite"),
                         (head + "2 2 2\n1 1 1\n2 3 1\n", "line 4: the column is out of range"),
                         (head + "2 3 2\n1 1 1\n2 2 1\n", "not square"),
                         (head + "3 3 3\n1 1 1\n2 2 1\n3 3 1\n",
                          "2 numbers for a matrix of 3 rows"),
                         ("nonsense\n", "line 1: not a Matrix Market file")):
        cvtmesh.file(matrix, text)
        refused(3, reason, *files)
    cvtmesh.file(matrix, head + "2 2 3\n1 1 2\n2 2 2\n1 2 -1\n")
    refused(3, "tnnmg needs a symmetric matrix, but row 1", *files, "--method", "tnnmg")
    refused(3, "omega is 2.5", *files, "--method", "psor", "--omega", 2.5)
    refused(3, "2 rows are not a grid of 3 x 4", *files, "--width", 3, "--height", 4)
    cvtmesh.file("l.npy", np.array([0.0, 2.0]))
    cvtmesh.file("u.npy", np.array([1.0, 1.0]))
    refused(3, "row 2: the lower bound is above the upper one", *files, "--lower", "l.npy",
            "--upper", "u.npy")
    cvtmesh.file(rhs, np.array([1.0, np.inf]))
    refused(3, "row 2: b or a bound is not a number", *files)
    refused(3, "none.mtx", "--matrix", "none.mtx", "--rhs", rhs)
    refused(2, "one of --problem and --matrix is needed")
    refused(2, "--rhs is missing", "--matrix", matrix)
    refused(2, "x.obj: formats of x: npy", *files, "-o", "x.obj")
    refused(2, "--width and --height must be given together", *files, "--width", 2)
    refused(2, "no problem of 100000 x 100000", "--problem", "torsion", "--size", 100000)
    for option, value in (("--size", 0), ("--width", -1), ("--tolerance", -1),
                          ("--tolerance", 1), ("--iterations", -1), ("--omega", "nan")):
        refused(2, f"{option}: ", "--problem", "torsion", option, value)
