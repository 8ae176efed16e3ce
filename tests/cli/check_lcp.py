"""cvtmesh lcp from outside: published figures, files in and out, stops, refusals and exit codes."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

PROGRAM = os.environ["CVTMESH_PROGRAM"]
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


def run(*arguments):
    command = [PROGRAM, "lcp", "--device", "cpu", "--threads", "2", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def report(*arguments, code=0):
    done = run(*arguments, "--report", "-", "-q")
    expect(done.returncode == code, f"{arguments}: exit {done.returncode}, not {code}: {done.stderr}")
    return json.loads(done.stdout) if done.stdout else None


def write_matrix(path, dense):
    rows, columns = np.nonzero(dense)
    lines = ["%%MatrixMarket matrix coordinate real general", f"{len(dense)} {len(dense)} {len(rows)}"]
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
        y[free] = np.linalg.solve(a[np.ix_(free, free)], b[free] - a[np.ix_(free, fixed)] @ y[fixed])
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


def check_published_figures():
    row = report("--problem", "membrane", "--size", 127, "--tolerance", 1e-11)
    keys = {"iterations", "natural_residual", "natural_residual_max", "active_lower", "active_upper",
            "energy", "rate", "stop_reason", "seconds", "history", "method"}
    expect(keys <= set(row), f"the report lacks {keys - set(row)}")
    expect(row["method"] == "tnnmg" and row["stop_reason"] == "tolerance", "auto is tnnmg")
    history = row["history"]
    expect([h["iteration"] for h in history] == list(range(row["iterations"] + 1)), "history")
    expect(abs(history[-1]["natural_residual"] - row["natural_residual"])
           <= 1e-12 * history[0]["natural_residual"], "the history ends with the result")

    row = report("--problem", "hemisphere", "--size", 63)
    expect(row["active_lower"] == 421, f"hemisphere: {row['active_lower']} at the bound")
    expect(abs(row["max_error"] - 5.991417e-4) < 1e-9, f"hemisphere: {row['max_error']}")

    # MINPACK-2, found by a quasi-Newton method.
    row = report("--problem", "pjb", "--width", 8, "--height", 12, "--tolerance", 1e-10)
    expect(abs(row["energy"] - -0.183437) < 1e-6, f"pjb: {row['energy']}")
    free = report("--problem", "pjb", "--width", 8, "--height", 12, "--tolerance", 1e-10, "--storage",
                  "matrix-free")
    expect(abs(free["energy"] - row["energy"]) < 1e-9, f"pjb, matrix-free: {free['energy']}")

    # Nodes ten times closer along one side.
    sides = ["--problem", "pjb", "--width", 300, "--height", 100]
    stored, free = report(*sides), report(*sides, "--storage", "matrix-free")
    expect(free["iterations"] <= 12, f"stretched, matrix-free: {free['iterations']} cycles")
    expect(abs(free["energy"] - stored["energy"]) < 1e-9, f"stretched: {free['energy']}, {stored['energy']}")

    # Rounding in a thousand steps moves the last digit printed.
    for size, steps, price in ((512, 256, 6.083257008578), (2048, 1024, 6.088831871593)):
        row = report("--problem", "put", "--size", size, "--steps", steps)
        expect(abs(row["price"] - price) < 1e-12, f"put, {size} intervals: {row['price']}")
    relaxed = report("--problem", "put", "--size", 128, "--steps", 64, "--method", "psor")
    right = report("--problem", "put", "--size", 128, "--steps", 64)
    # 64 steps of 1e-14 of a residual of about 8.
    expect(abs(relaxed["price"] - right["price"]) < 1e-12, f"put by psor: {relaxed['price']}")
    expect(row["method"] == "pdas" and row["energy"] is None, "the put is not symmetric")


def check_files(folder):
    generator = np.random.default_rng(5)
    for k in range(4):
        a, b, lower, upper = random_problem(generator, 80, k % 2 == 0)
        write_matrix(folder / "a.mtx", a)
        for name, vector in (("b", b), ("l", lower), ("u", upper)):
            np.save(folder / f"{name}.npy", vector)
        files = ["--matrix", folder / "a.mtx", "--rhs", folder / "b.npy", "--lower", folder / "l.npy",
                 "--upper", folder / "u.npy", "-o", folder / "x.npy", "--tolerance", 1e-11]
        row = report(*files)
        expect(row["method"] == ("tnnmg" if k % 2 == 0 else "pdas"), f"problem {k}: {row['method']}")
        x, right = np.load(folder / "x.npy"), primal_dual(a, b, lower, upper)
        # A residual of 1e-11 |b| through a dominance of 0.02.
        expect(np.abs(x - right).max() < 1e-7, f"problem {k}: off by {np.abs(x - right).max()}")
        expect(row["active_lower"] == (right == lower).sum(), f"problem {k}: lower bounds")
        expect(row["active_upper"] == (right == upper).sum(), f"problem {k}: upper bounds")
    expect(report(*files)["natural_residual"] == row["natural_residual"], "a rerun has the same bits")


def check_stops(folder):
    stalled = folder / "stalled.npy"
    row = report("--problem", "torsion", "--size", 127, "--method", "projected-multigrid", "-o", stalled,
                 code=4)
    expect(row["stop_reason"] == "stalled", f"projected-multigrid: {row['stop_reason']}")
    best = min(h["natural_residual"] for h in row["history"])
    expect(abs(row["natural_residual"] / best - 1) < 1e-9, "the best iterate is the result")
    expect(np.load(stalled).shape == (127, 127), "the best iterate is written")
    row = report("--problem", "torsion", "--size", 31, "--method", "psor", "--iterations", 5, code=4)
    expect(row["stop_reason"] == "iterations" and row["iterations"] == 5, "psor: five sweeps")
    # As far as rounding lets it, where the residual still moves by chance.
    row = report("--problem", "torsion", "--size", 255, "--storage", "matrix-free", "--tolerance", 0)
    expect(row["stop_reason"] in ("rounding", "tolerance"), f"matrix-free: {row['stop_reason']}")
    expect(row["natural_residual"] < 1e-11 * row["history"][0]["natural_residual"], "matrix-free: rounding")
    command = [PROGRAM, "lcp", "--device", "cpu", "--problem", "put", "--steps", "1000000", "-v",
               "-o", folder / "cut.npy", "--report", folder / "cut.json"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as cut:
        cut.stderr.readline()
        cut.send_signal(signal.SIGINT)
        cut.communicate(timeout=300)
    expect(cut.returncode == 130, f"interrupted: exit {cut.returncode}")
    row = json.loads((folder / "cut.json").read_text())
    expect(row["stop_reason"] == "interrupted", f"interrupted: {row['stop_reason']}")
    expect(np.isfinite(np.load(folder / "cut.npy")).all(), "interrupted: x is written")


def check_refusals(folder):
    def refused(code, reason, *arguments):
        done = run(*arguments)
        expect(done.returncode == code, f"{reason}: exit {done.returncode}, not {code}")
        expect(reason in done.stderr, f"'{done.stderr.strip()}' does not say '{reason}'")

    head = "%%MatrixMarket matrix coordinate real general\n"
    matrix, rhs = folder / "bad.mtx", folder / "bad.npy"
    np.save(rhs, np.ones(2))
    files = ["--matrix", matrix, "--rhs", rhs]
    for text, reason in (
            (head + "2 2 2\n1 1 1\n2 2 0\n", "row 2: the diagonal entry is zero"),
            (head + "2 2 2\n1 1 -1\n2 2 1\n", "row 1: the diagonal entry is negative"),
            (head + "2 2 1\n1 1 1\n", "row 2: the diagonal entry is missing"),
            (head + "2 2 2\n1 1 1\n2 2 nan\n", "line 4: the value is not finite"),
            (head + "2 2 2\n1 1 1\n2 3 1\n", "line 4: the column is out of range"),
            (head + "2 2 2\n1 1 1\n1 1 1\n", "row 1, column 1 is given twice"),
            (head + "2 3 2\n1 1 1\n2 2 1\n", "not square"),
            (head + "3 3 3\n1 1 1\n2 2 1\n3 3 1\n", "2 numbers for a matrix of 3 rows"),
            ("nonsense\n", "line 1: not a Matrix Market file")):
        matrix.write_text(text)
        refused(3, reason, *files)
    matrix.write_text(head + "2 2 3\n1 1 2\n2 2 2\n1 2 -1\n")
    refused(3, "tnnmg needs a symmetric matrix: row 1", *files, "--method", "tnnmg")
    refused(3, "omega is 2.5", *files, "--method", "psor", "--omega", 2.5)
    refused(3, "2 rows are not a grid of 3 x 4", *files, "--width", 3, "--height", 4)
    np.save(folder / "l.npy", np.array([0.0, 2.0]))
    np.save(folder / "u.npy", np.array([1.0, 1.0]))
    refused(3, "row 2: the lower bound is above the upper one", *files, "--lower", folder / "l.npy",
            "--upper", folder / "u.npy")
    np.save(rhs, np.array([1.0, np.inf]))
    refused(3, "row 2: b or a bound is not a number", *files)
    refused(3, "none.mtx", "--matrix", folder / "none.mtx", "--rhs", rhs)
    refused(2, "one of --problem and --matrix is needed")
    refused(2, "--rhs is missing", "--matrix", matrix)
    refused(2, "x is written as .npy", *files, "-o", folder / "x.obj")
    refused(2, "--width and --height go together", *files, "--width", 2)
    refused(2, "no problem of 100000 x 100000", "--problem", "torsion", "--size", 100000)
    refused(2, "no problem of 2 x 1", "--problem", "put", "--size", 2)
    for option, value in (("--size", 0), ("--width", -1), ("--steps", 0), ("--tolerance", -1),
                          ("--tolerance", 1), ("--iterations", -1), ("--omega", "nan")):
        refused(2, f"{option}: ", "--problem", "put", option, value)


with tempfile.TemporaryDirectory() as name:
    check_published_figures()
    check_files(pathlib.Path(name))
    check_stops(pathlib.Path(name))
    check_refusals(pathlib.Path(name))
print("\n".join(failures) or "cvtmesh lcp: as it should be")
sys.exit(bool(failures))
