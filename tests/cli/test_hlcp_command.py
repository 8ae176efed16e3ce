"""cvtmesh hlcp: published counts, solutions recomputed with SciPy from the files that went in and
came out, refusals."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sparse


def example_3(size, mu=0, nu=4):
    """A, B of the paper's example 3, and q for the alternating solution."""
    line = sparse.diags([-1.5, 4, -0.5], [-1, 0, 1], shape=(size, size))
    eye = sparse.identity(size)
    across = sparse.diags([-1.5, -0.5], [-1, 1], shape=(size, size))
    a = sparse.kron(eye, line) + sparse.kron(across, eye) + mu * sparse.identity(size**2)
    b = sparse.kron(eye, line) + nu * sparse.identity(size**2)
    a, b = a.tocsr(), b.tocsr()
    z = np.arange(size * size) % 2.0
    return a, b, a @ z - b @ (1 - z)


def files(cvtmesh, a, b, q):
    scipy.io.mmwrite(cvtmesh.path("a.mtx"), a)
    scipy.io.mmwrite(cvtmesh.path("b.mtx"), b)
    cvtmesh.file("q.npy", q)
    return [
        "--matrix-a", "a.mtx", "--matrix-b", "b.mtx", "--rhs", "q.npy", "--output-z", "z.npy",
        "--output-w", "w.npy"
    ]


def solution(cvtmesh):
    return cvtmesh.array("z.npy"), cvtmesh.array("w.npy")


def check_solution(cvtmesh, a, b, q, residual):
    """The conditions hold exactly, the equations to the residual that was reported."""
    z, w = solution(cvtmesh)
    assert (z >= 0).all() and (w >= 0).all() and (z * w == 0).all()
    norm = np.linalg.norm(a @ z - b @ w - q)
    # Rounding in a sum of n terms near 10.
    assert abs(norm - residual) < 1e-13 * np.sqrt(len(q))


def test_counts_of_table_2(cvtmesh):
    """One stops just below the tolerance: h = 512, l = 4 at 9.9835e-7."""
    for size, method, splits, sweeps, residual in [(256, "mmgs", 256, 31, None),
                                                   (256, "mmsor", 32, 25, None),
                                                   (512, "mmgs", 4, 27, 9.98355e-7)]:
        report = cvtmesh.report("hlcp", "--example", 3, "--size", size, "--method", method,
                                "--splits", splits)
        assert report["iterations"] == sweeps
        assert report["stop_reason"] == "tolerance"
        assert report["max_complementarity"] == 0
        assert len(report["history"]) == sweeps + 1
        assert report["history"][-1]["residual"] == report["residual"]
        if residual:
            assert report["residual"] / residual == pytest.approx(1, abs=5e-6)


def film(h, supply):
    """A, B, q of div(h^3 grad p) = ((1 - w) h)_x at the nodes of h, pressures beyond all sides."""
    rows, columns = h.shape
    step = 2 * np.pi / (max(h.shape) + 1)
    across = np.pad(h, ((0, 0), (1, 1)), mode="edge")
    along = np.pad(h, ((1, 1), (0, 0)), mode="edge")
    across, along = (across[:, 1:] + across[:, :-1]) / 2, (along[1:] + along[:-1]) / 2
    x, y = across**3 / step, along**3 / step
    n = np.arange(h.size).reshape(h.shape)
    a, b = np.zeros((h.size, h.size)), np.zeros((h.size, h.size))
    a[n, n] = x[:, 1:] + x[:, :-1] + y[1:] + y[:-1]
    a[n[:, 1:], n[:, :-1]] = a[n[:, :-1], n[:, 1:]] = -x[:, 1:-1]
    a[n[1:], n[:-1]] = a[n[:-1], n[1:]] = -y[1:-1]
    b[n, n] = across[:, 1:]
    b[n[:, 1:], n[:, :-1]] = -across[:, 1:-1]
    q = -(across[:, 1:] - across[:, :-1])
    q[:, 0] += supply * x[:, 0]
    q[:, -1] += supply * x[:, -1]
    q[0] += supply * y[0]
    q[-1] += supply * y[-1]
    return a, b, q.ravel()


@pytest.mark.parametrize("shape", [(12, 40), (31, 18)])
def test_film(cvtmesh, shape):
    """Mass-conserving cavitation in a bearing with bumps, in two dimensions, by files."""
    rows, columns = shape
    x = 2 * np.pi * np.arange(1, columns + 1) / (columns + 1)
    y = np.arange(rows) / rows
    h = 1 + 0.45 * np.cos(x) + 0.05 * np.sin(5 * x) * np.sin(9 * y)[:, None]
    a, b, q = film(h, 0.05)
    given = files(cvtmesh, sparse.csr_matrix(a), sparse.csr_matrix(b), q)
    report = cvtmesh.report("hlcp", *given, "--method", "newton")
    assert report["converged"]
    check_solution(cvtmesh, a, b, q, report["residual"])
    z, w = solution(cvtmesh)
    assert 0.1 < (w > 0).mean() < 0.7 and w.max() < 1 and z.max() > 0.2


def test_solution_of_files(cvtmesh):
    a, b, q = example_3(30)
    given = files(cvtmesh, a, b, q)
    counts = []
    for more in (["--method", "mmgs", "--splits", 7], ["--method", "newton"],
                 ["--method", "mmaor", "--alpha", 1.05, "--beta", 0.9, "--rule",
                  "block"]):
        report = cvtmesh.report("hlcp", *given, "--omega", 0.5, *more)
        assert report["converged"]
        assert report["residual"] < 1e-6
        check_solution(cvtmesh, a, b, q, report["residual"])
        counts.append(report["iterations"])
    same = cvtmesh.report("hlcp", "--example", 3, "--size", 30, "--method", "mmgs", "--splits", 7)
    assert same["iterations"] == counts[0]


def test_lcp(cvtmesh):
    """Without B, against projected Gauss-Seidel."""
    a, _, q = example_3(12)
    q = np.sin(np.arange(144.0))
    given = files(cvtmesh, a, a, q)
    del given[2:4]
    expected = np.zeros(144)
    dense = a.toarray()
    for _ in range(400):
        for i in range(144):
            rest = dense[i] @ expected - dense[i, i] * expected[i]
            expected[i] = max(0, (q[i] - rest) / dense[i, i])
    for split in ("both", "a"):
        report = cvtmesh.report("hlcp", *given, "--method", "mmgs", "--splitting", split, "--splits", 5,
                                "--tolerance", 1e-10)
        z, _ = solution(cvtmesh)
        # The inverse of A is below 1 in norm.
        assert np.abs(z - expected).max() < 1e-9
        check_solution(cvtmesh, a, sparse.identity(144), q, report["residual"])


def test_not_converged(cvtmesh):
    a, b, q = example_3(10)
    report = cvtmesh.report("hlcp", *files(cvtmesh, a, b, q), "--iterations", 3, code=4)
    assert (report["iterations"], report["stop_reason"]) == (3, "iterations")
    check_solution(cvtmesh, a, b, q, report["residual"])


def refuse(cvtmesh, arguments, *texts):
    done = cvtmesh.call("hlcp", *arguments, code=3)
    for text in texts:
        assert text in done.stderr.decode()
    assert not cvtmesh.path("z.npy").exists()


def test_matrices(cvtmesh):
    a, b, q = example_3(5)
    bad = a.tolil()
    bad[6, 6] = -4
    refuse(cvtmesh, files(cvtmesh, bad.tocsr(), b, q), "A: row 7", "negative")
    bad[6, 6] = 0
    bad = bad.tocsr()
    bad.eliminate_zeros()
    refuse(cvtmesh, files(cvtmesh, bad, b, q), "A: row 7", "missing")
    refuse(cvtmesh, files(cvtmesh, a, b[:20, :20], q), "of one size")
    refuse(cvtmesh, files(cvtmesh, a[:, :20], b, q), "A")
    refuse(cvtmesh, files(cvtmesh, a, b, q[:-1]), "24 numbers")
    q[3] = np.nan
    done = cvtmesh.call("hlcp", *files(cvtmesh, a, b, q), code=3)
    assert "q: row 4" in done.stderr.decode()


def test_parameters(cvtmesh):
    for option, value, text in [("--splits", 0, "splits"), ("--splits", 26, "splits"),
                                ("--splits", -1, "splits"), ("--gamma", 0, "gamma"),
                                ("--omega", 0, "omega"), ("--omega", -1, "omega")]:
        refuse(cvtmesh, ["--example", 3, "--size", 5, option, value], text)


def test_usage(cvtmesh):
    for arguments in ([], ["--example", 3, "--matrix-a", "a.mtx"], ["--example", 4],
                      ["--matrix-a", "a.mtx"], ["--example", 3, "--method", "mmgs", "--beta",
                                                2], ["--example", 3, "--output-z", "a.mtx"],
                      ["--example", 3, "--output-z", "x.npy", "--output-w", "x.npy"]):
        cvtmesh.call("hlcp", *arguments, code=2)
    for option, value in (("--alpha", 0), ("--beta", -1), ("--size", 2**20), ("--size", 0),
                          ("--tolerance", -1), ("--iterations", -1), ("--start", "inf")):
        done = cvtmesh.call("hlcp", "--example", 3, "--method", "mmaor", option, value, code=2)
        assert option.strip("-") in done.stderr.decode()


def test_outputs(cvtmesh):
    """Refused before anything is computed."""
    done = cvtmesh.call("hlcp", "--example", 3, "--size", 4000, "--output-w", "none/w.npy", code=1)
    assert "none/w.npy" in done.stderr.decode()
