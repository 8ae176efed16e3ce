#!/usr/bin/env python3
"""The tables and figures of two papers beside this program's, in Markdown (docs/papers.md).

papers.py TABLE [--device NAME] [--limit N] [--iterations N] [--seconds S] [-o FIGURE.svg]
          [--program build/cvtmesh]

TABLE: table1, table2 (-o: figures 6 and 8), table3, table4 (-o: figure 9), figure7 of Fei, Rong, Wang &
Wang 2014; hlcp: Tables 2 and 3 of Mezzadri 2020; histories of 5 to 100 pairs; scipy: iterations beside
SciPy's L-BFGS-B. Published values are in brackets. --limit leaves out larger sizes. Needs the package
cvtmesh and SciPy; figures need matplotlib, table4 the program."""

import argparse
import json
import subprocess

import numpy as np
import scipy.optimize
import scipy.sparse

import cvtmesh
import minpack2

# --- Fei et al. -----------------------------------------------------------------------------------

# Side, sites; milliseconds of an evaluation; iterations and milliseconds of L-BFGS-B by the CPU and by
# the GTX 580; relative difference of their energies.
TESSELLATIONS = [
    (512, 200, 2.39, 53, 0.65, 59, 1.09, -4.79e-5), (512, 500, 2.38, 56, 1.02, 56, 1.13, 0),
    (1024, 1000, 8.70, 74, 1.81, 74, 1.16, 0), (1024, 2000, 8.76, 61, 3.37, 61, 1.24, 0),
    (1024, 4000, 8.85, 48, 6.21, 48, 1.33, 0), (2048, 4000, 41.38, 106, 6.51, 106, 1.40, 0),
    (2048, 6000, 41.84, 89, 11.2, 71, 1.53, 3.79e-7), (2048, 8000, 41.87, 76, 12.61, 72, 1.60, -3.38e-8),
    (2048, 10000, 41.92, 69, 15.48, 69, 1.71, 0), (2048, 20000, 42.43, 45, 30.09, 55, 2.19, -2.31e-8),
    (2048, 40000, 43.96, 34, 74.18, 34, 3.18, 0), (2048, 60000, 44.97, 28, 112.07, 28, 4.06, 0),
]  # fmt: skip
# Side; milliseconds of an evaluation; mean t*, iterations and milliseconds by the exact Cauchy point on
# the CPU; mean t^c, iterations and milliseconds by the approximate one on the GTX 580; difference of f.
TORSIONS = [
    (20, 0.02, 0.26, 52, 0.20, 0.25, 49, 1.17, -9.99e-15),
    (40, 0.06, 0.26, 133, 0.93, 0.26, 105, 1.41, -9.99e-16),
    (60, 0.14, 0.26, 144, 1.34, 0.27, 155, 1.50, 1.20e-14),
    (80, 0.25, 0.26, 193, 2.29, 0.26, 199, 1.60, -6.90e-14),
    (100, 0.39, 0.26, 241, 3.59, 0.26, 237, 1.92, 3.00e-14),
    (200, 1.53, 0.24, 549, 15.09, 0.24, 464, 3.27, -1.91e-13),
    (400, 5.91, 0.17, 921, 117.74, 0.18, 1035, 8.17, -1.85e-12),
    (600, 13.11, 0.08, 1272, 220.40, 0.09, 1315, 15.27, 2.44e-12),
    (800, 23.12, 0.07, 1685, 427.75, 0.08, 1793, 24.23, 3.98e-12),
    (1000, 36.07, 0.08, 2310, 782.62, 0.08, 1907, 36.61, 7.86e-12),
    (1200, 51.29, 0.07, 2915, 1473.86, 0.09, 2636, 51.50, 8.78e-12),
    (1500, 79.62, 0.09, 2917, 2200.41, 0.10, 3213, 78.58, -4.52e-12),
    (2000, 141.09, 0.09, 4197, 3351.68, 0.10, 3971, 137.16, 5.88e-11),
]
# Per cent of the iterations in which t* exceeds t^c by 0, up to 5 %, ..., 40 % and more.
TABLE1 = {
    "ept": (85.23, 12.19, 1.41, 0.35, 0.00, 0.35, 0.12, 0.00, 0.35),
    "pjb": (55.14, 35.26, 3.40, 1.00, 0.70, 0.60, 0.30, 0.50, 3.10), "msa": (100,),
    "odc": (86.41, 8.99, 1.10, 0.80, 0.30, 0.40, 0.20, 0.00, 1.80), "gl1": (100,), "lj": (100,),
    "ssc": (100,), "gl2": (98.70, 1.30),
}  # fmt: skip
TABLE3 = [
    (100,), (98.39, 0, 0, 0, 0, 1.61), (100,), (100,), (98.41, 0, 0, 0, 0, 0, 0, 0, 1.59),
    (99.07, 0, 0, 0, 0, 0, 0, 0, 0.93), (99.14, 0, 0, 0, 0, 0, 0, 0.86), (98.72, 0, 1.28),
    (98.61, 0, 0, 0, 1.39), (96.43, 0, 1.79, 0, 0, 0, 0, 0, 1.79), (97.37, 0, 2.63),
    (97.06, 0, 0, 0, 0, 0, 0, 0, 2.94),
]  # fmt: skip
CLASSES = ["0", *(f"{5 * k}-{5 * k + 5} %" for k in range(7)), "35 % and more"]


def print_row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def print_head(*cells):
    print_row(*cells)
    print("|" + "---|" * len(cells))


def draw(path, title, x_label, y_label, curves, scale="log"):
    """Curves are triples of a name, x and y; the paper's are dashed."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    _, axes = pyplot.subplots()
    for name, x, y in curves:
        axes.plot(x, y, "--" if "paper" in name else "-", marker="." if len(x) < 50 else "", label=name)
    axes.set(title=title, xlabel=x_label, ylabel=y_label, xscale=scale, yscale=scale)
    axes.legend()
    pyplot.savefig(path)


def falling(values):
    """How many iterations there are before the first that does not lower the value."""
    rises = np.flatnonzero(np.diff(values) >= 0)
    return int(rises[0]) + 1 if len(rises) else len(values) - 1


def first_breakpoint(x, g, bounds):
    """The smallest positive t at which x - t g meets a bound."""
    if bounds is None:
        return np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (x - np.where(g < 0, bounds[:, 1], bounds[:, 0])) / g
    t = t[(g != 0) & (t > 0)]
    return t.min() if len(t) else np.inf


def cauchy_points(given, fun, start, bounds):
    """The numbers of iterations by classes, with the exact Cauchy point, and both final values. A run
    ends where f does not fall."""
    counts, last = np.zeros(len(CLASSES), int), {}

    def evaluate(x):
        value, gradient = fun(x)
        last["at"] = value, x.copy(), gradient
        return value, gradient

    def watch(record):
        t1, exact = last.get("t1"), record["cauchy"]
        if record["iteration"] > 0 and exact > 0 and t1 is not None:
            apart = (exact - min(exact, t1)) / exact
            counts[min(1 + int(20 * apart), len(CLASSES) - 1) if apart > 0 else 0] += 1
        over = record["iteration"] > 0 and record["fun"] >= last["f"]
        last["f"] = record["fun"]
        value, x, gradient = last["at"]  # the accepted point, unless the line search went back
        last["t1"] = first_breakpoint(x, gradient, bounds) if value == record["fun"] else None
        return over

    how = {"bounds": bounds, "iterations": given.iterations or 2500, "time_limit": given.seconds, "device": "cpu"}
    cvtmesh.minimize(evaluate, start, cauchy="exact", callback=watch, **how)
    exact, shares, last["t1"] = last["f"], counts.copy(), None
    cvtmesh.minimize(evaluate, start, cauchy="approximate", callback=watch, **how)
    return shares, exact, last["f"]


def print_cauchy_points(columns, published):
    """columns: by title the results of cauchy_points."""
    print_head("t* above t^c by", *columns)
    for k, name in enumerate(CLASSES):
        cells = []
        for (shares, _, _), paper in zip(columns.values(), published):
            theirs = paper[k] if k < len(paper) else 0
            cells.append(f"{100 * shares[k] / max(shares.sum(), 1):.2f} ({theirs:.2f})")
        print_row(name, *cells)
    print_row("iterations", *(shares.sum() for shares, _, _ in columns.values()))
    print_row("f, exact", *(f"{exact:.10g}" for _, exact, _ in columns.values()))
    print_row("f, approximate, less", *(f"{100 * (f - exact) / abs(exact):.1e} %" for _, exact, f in columns.values()))


def table1(given):
    """The problem's bounds where it has some, else [-1, 1]; lj: none, and fewer atoms."""
    columns = {}
    for name in TABLE1:
        size = min(given.limit or 40000, 1000 if name == "lj" else 40000)
        fun, start, bounds = minpack2.of_size(name, size)
        if bounds is None and name != "lj":
            bounds = np.tile([-1.0, 1.0], (len(start), 1))
        columns[name] = cauchy_points(given, fun, start, bounds)
    print_cauchy_points(columns, TABLE1.values())


def pixel_energy(given, side, sites):
    """Of sites in side x side pixels of density 1, as a function of their coordinates."""
    pixels = np.arange(side) + 0.5

    def fun(x):
        x = x.reshape(sites, 2)
        labels = cvtmesh.voronoi(x, (side, side), given.voronoi, device=given.device).ravel()
        mass = np.bincount(labels, minlength=sites)
        at = np.stack([np.tile(pixels, side), np.repeat(pixels, side)])
        sums = np.stack([np.bincount(labels, axis, sites) for axis in at], axis=1)
        value = sum(((at[k] - x[labels, k]) ** 2).sum() for k in range(2))
        return value, 2 * (mass[:, None] * x - sums).ravel()

    return fun


def tessellations(given):
    return [row for row in TESSELLATIONS if not given.limit or row[1] <= given.limit]


def table3(given):
    columns = {}
    for side, sites, *_ in tessellations(given):
        start = np.random.default_rng(1).random(2 * sites) * side
        bounds = np.tile([0.0, side], (2 * sites, 1))
        columns[f"{sites} in {side}²"] = cauchy_points(given, pixel_energy(given, side, sites), start, bounds)
    print_cauchy_points(columns, TABLE3)


def descend(given, side, sites, device):
    """By the paper's method: the energies, and milliseconds of an evaluation and of L-BFGS-B."""
    limits = {"iterations": given.iterations or 1000, "time_limit": given.seconds}
    run = cvtmesh.tessellate(np.ones((side, side), np.float32), sites, preset="paper", device=device, **limits)  # fmt: skip
    seconds, report = run.report["seconds"], run.report
    return (run.history["energy"], 1e3 * seconds["optimize_evaluation"] / report["evaluations"],
            1e3 * seconds["optimize_optimizer"] / max(report["iterations"], 1),
            report["evaluations"] / max(report["iterations"], 1))  # fmt: skip


def table2(given):
    """Both optimise where they evaluate; "whole" adds the device's evaluations to either optimiser."""
    print_head("sites", "evaluation", "CPU: itr", "L-BFGS-B", "device: itr", "L-BFGS-B", "spd/itr",
               "energy difference", "evaluations / itr", "CPU: whole iteration", "device: whole iteration")
    points = []
    for side, sites, evaluation, cpu_count, cpu_time, count, time, difference in tessellations(given):
        on_cpu, _, own_cpu, _ = descend(given, side, sites, "cpu")
        energies, own_evaluation, own, each = descend(given, side, sites, given.device)
        ends = on_cpu[falling(on_cpu)], energies[falling(energies)]
        whole = own_cpu + each * own_evaluation, own + each * own_evaluation
        points.append((sites, own_cpu, own, cpu_time, time, *whole, evaluation + cpu_time, evaluation + time))
        print_row(f"{sites} in {side}²", f"{own_evaluation:.3f} ({evaluation})", f"{falling(on_cpu)} ({cpu_count})",
                  f"{own_cpu:.2f} ({cpu_time})", f"{falling(energies)} ({count})", f"{own:.3f} ({time})",
                  f"{own_cpu / own:.1f} ({cpu_time / time:.2f})",
                  f"{(ends[1] - ends[0]) / ends[0]:.1e} ({difference:.2e})", f"{each:.2f}",
                  f"{whole[0]:.2f} ({evaluation + cpu_time:.2f})", f"{whole[1]:.3f} ({evaluation + time:.2f})")
    if given.output:
        x, *y = zip(*points)
        names = ["optimiser on the CPU", "on the device", "paper: CPU", "paper: GTX 580"]
        names += [f"{name}, whole iteration" for name in names]
        curves = [(name, x, each) for name, each in zip(names, y)]
        draw(given.output, "Fei et al., Figures 6 and 8", "sites", "milliseconds an iteration", curves)


def figure7(given):
    side, sites = 2048, 20000
    if given.limit and given.limit < sites:
        side, sites = round(side * (given.limit / sites) ** 0.5), given.limit
    cpu, own = (descend(given, side, sites, device)[0] for device in ("cpu", given.device))
    print_head("iteration", "CPU", "device", "difference")
    last = max(len(cpu), len(own)) - 1
    for k in [*range(min(10, last)), *range(10, min(50, last), 5), *range(50, last, 25), last]:
        a, b = cpu[min(k, len(cpu) - 1)], own[min(k, len(own) - 1)]
        print_row(k, f"{a:.8g}", f"{b:.8g}", f"{(b - a) / a:.1e}")
    if given.output:
        curves = [(name, range(len(y)), y) for name, y in (("CPU", cpu), ("device", own))]
        draw(given.output, "Fei et al., Figure 7", "iteration", "pixel energy", curves, "linear")


def torsion(given, side, cauchy):
    """Mean Cauchy step, iterations until f does not fall, milliseconds of an evaluation and of L-BFGS-B, f."""
    done = subprocess.run([given.program, "minimize", "ept", "--nx", str(side), "--ny", str(side), "--cauchy", cauchy,
                           "--iterations", str(given.iterations or 20000), "--time-limit", str(given.seconds),
                           "--device", given.device, "--history", "-q", "--report", "-"], stdout=subprocess.PIPE)
    report = json.loads(done.stdout)
    history, seconds = report["history"], report["seconds"]
    count = falling([record["objective"] for record in history])
    return (np.mean([record["cauchy"] for record in history[1:count + 1]]), count,
            1e3 * seconds["evaluation"] / report["evaluations"], 1e3 * seconds["optimizer"] / report["iterations"],
            report["objective"])  # fmt: skip


def table4(given):
    print_head("size", "evaluation", "t*", "itr", "L-BFGS-B, exact", "t^c", "itr", "L-BFGS-B, approximate", "f",
               "difference")
    points = []
    for side, evaluation, exact_step, exact_count, exact_time, step, count, time, difference in TORSIONS:
        if given.limit and side * side > given.limit:
            break
        exact, own = (torsion(given, side, cauchy) for cauchy in ("exact", "approximate"))
        points.append((side * side, exact[3], own[3], exact_time, time))
        print_row(side * side, f"{own[2]:.4f} ({evaluation})", f"{exact[0]:.2f} ({exact_step})",
                  f"{exact[1]} ({exact_count})", f"{exact[3]:.4f} ({exact_time})", f"{own[0]:.2f} ({step})",
                  f"{own[1]} ({count})", f"{own[3]:.4f} ({time})", f"{own[4]:.15g}",
                  f"{own[4] - exact[4]:.1e} ({difference:.1e})")
    if given.output:
        x, *y = zip(*points)
        names = ["exact Cauchy point", "approximate", "paper: CPU, exact", "paper: GTX 580"]
        draw(given.output, "Fei et al., Figure 9", "variables", "milliseconds of L-BFGS-B in an iteration",
             [(name, x, each) for name, each in zip(names, y)])


# --- L-BFGS-B -------------------------------------------------------------------------------------


def histories(given):
    """Iterations to the lowest f of the row but 1e-6 of the decrease to it; of a run that ended higher all
    its iterations, and how much of the decrease is missing."""
    lengths = (5, 8, 20, 50, 100)
    print_head("problem", "variables", "lowest f (m)", *(f"m = {m}" for m in lengths))
    for name in minpack2.PROBLEMS:
        fun, start, bounds = minpack2.of_size(name, given.limit or 400)
        traces = []
        for m in lengths:
            values = []
            cvtmesh.minimize(fun, start, bounds=bounds, memory=m, iterations=given.iterations or 2000,
                             time_limit=given.seconds, device="cpu",
                             callback=lambda record: values.append(record["fun"]))
            traces.append(np.array(values))
        best = int(np.argmin([trace[-1] for trace in traces]))
        lowest, decrease = traces[best][-1], traces[0][0] - traces[best][-1]
        cells = []
        for trace in traces:
            there = np.flatnonzero(trace <= lowest + 1e-6 * decrease)
            cells.append(there[0] if len(there) else f"{len(trace) - 1}: {(trace[-1] - lowest) / decrease:.0e} above")
        print_row(name, len(start), f"{lowest:.12g} ({lengths[best]})", *cells)


def scipy_table(given):
    """Means over 20 starts; the last column is the median of our final f less SciPy's, relative to it. Both
    go on until f no longer decreases."""
    starts, most = 20, 10**6
    print_head("problem", "n", "iterations", "SciPy", "evaluations", "SciPy", "difference of f")
    for name in minpack2.PROBLEMS:
        size = min(given.limit or 10000, {"gl1": 300, "lj": 1000}.get(name, 10000))
        fun, standard, bounds = minpack2.of_size(name, size)
        random = np.random.default_rng(1)
        counts, differences = [], []
        for _ in range(starts):
            start = standard + random.uniform(-1e-3, 1e-3, standard.size)
            ours = cvtmesh.minimize(fun, start, bounds=bounds, memory=8, cauchy="exact", iterations=most, device="cpu")
            _, value, theirs = scipy.optimize.fmin_l_bfgs_b(fun, start, bounds=bounds, m=8, factr=0, pgtol=0,
                                                            maxiter=most, maxfun=most)
            counts.append([ours.nit, theirs["nit"], ours.nfev, theirs["funcalls"]])
            differences.append((ours.fun - value) / abs(value))
        print_row(name, standard.size, *(f"{mean:.0f}" for mean in np.mean(counts, axis=0)),
                  f"{np.median(differences):.0e}")


# --- Mezzadri -------------------------------------------------------------------------------------

# Tables 2 and 3: sweeps of example 3 for l = 1, 2, 4, ...
SWEEPS = {
    (256, "mmj"): [54] * 9,
    (256, "mmgs"): [27, 27, 27, 27, 27, 27, 28, 29, 31],
    (256, "mmsor"): [24, 24, 24, 24, 24, 25, 25, 27, 29],
    (512, "mmj"): [56] * 10,
    (512, "mmgs"): [27, 27, 27, 28, 28, 28, 28, 29, 30, 32],
    (512, "mmsor"): [25, 25, 25, 25, 25, 25, 26, 26, 28, 30],
    (1024, "mmj"): [58] * 10,
    (1024, "mmgs"): [28, 28, 28, 28, 28, 29, 29, 29, 30, 31],
    (1024, "mmsor"): [26, 26, 26, 26, 26, 26, 26, 26, 27, 29],
    (2048, "mmgs"): [29, 29, 29, 29, 29, 29, 29, 30, 30],
}


def example3(h):
    """A, B and q = A z - B w with z = (0, 1, 0, 1, ...) and w = (1, 0, 1, 0, ...); nu = 4."""
    line = scipy.sparse.diags([-1.5, 8, -0.5], [-1, 0, 1], (h, h))
    b = scipy.sparse.kron(scipy.sparse.identity(h), line, "csr")
    lines = scipy.sparse.diags([-1.5, -0.5], [-1, 1], (h, h))
    a = b - 4 * scipy.sparse.identity(h * h) + scipy.sparse.kron(lines, scipy.sparse.identity(h))
    odd = np.arange(h * h) % 2
    return a.tocsr(), b, a @ odd - b @ (1 - odd)


def hlcp(given):
    print_head("h", "method", "l", "paper: sweeps", "sweeps", "residual")
    agreed = compared = 0
    for h in (256, 512, 1024, 2048):
        if given.limit and h > given.limit:
            break
        a, b, q = example3(h)
        for method in ("mmj", "mmgs", "mmsor"):
            for k, sweeps in enumerate(SWEEPS.get((h, method), [])):
                found = cvtmesh.hlcp(a, b, q, method=method, splits=2**k, omega="0.5", device=given.device)
                print_row(h, method, 2**k, sweeps, found.nit, f"{found.residual:.5e}")
                compared += 1
                agreed += found.nit == sweeps
    print(f"\n{agreed} of {compared} published counts agree")


TABLES = {"table1": table1, "table2": table2, "table3": table3, "table4": table4, "figure7": figure7,
          "histories": histories, "scipy": scipy_table, "hlcp": hlcp}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--voronoi", default="exact", help="of table3: exact or jfa")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0, help="of a run; 0: no limit")
    parser.add_argument("--program", default="build/cvtmesh")
    parser.add_argument("-o", "--output", help="draw the figure")
    given = parser.parse_args()
    TABLES[given.table](given)


if __name__ == "__main__":
    main()
