#!/usr/bin/env python3
"""Solve, adapt, solve: Laplace's equation on the L-shaped domain with linear elements.

    python3 docs/examples/l_shape.py [--cvtmesh build/cvtmesh] [--folder l-shape] [--steps 6]

The solution r^(2/3) sin(2/3 phi) has a singular gradient at the re-entrant corner: on even meshes
the error falls like N^(-1/3) in the energy norm and N^(-2/3) in L2, on adapted meshes like N^(-1/2)
and N^(-1). A step is two commands: `solve` in this file, which writes solution.vtu, and

    cvtmesh run frame.pgm --domain polygon=l.csv --size-from solution.vtu --unit -n N ...

The errors go to errors.csv, a plot of them to errors.svg. Needs numpy and scipy."""

import argparse
import math
import pathlib
import subprocess

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.linalg import spsolve

PIXELS = 512
OUTLINE = [(0, 0), (1, 0), (1, 0.5), (0.5, 0.5), (0.5, 1), (0, 1)]  # of the image, y down
FIRST = 100  # vertices; they are doubled in each step


def exact(p):
    """The solution and its gradient; the corner is at (1/2, 1/2), y is up in mesh files."""
    x, y = 2 * p[..., 0] - 1, 2 * p[..., 1] - 1
    # The missing quarter is x > 0, y < 0: angles are counted from the edge y = 0, x > 0.
    phi = np.arctan2(y, x) % (2 * math.pi)
    phi = np.where(phi > 1.75 * math.pi, phi - 2 * math.pi, phi)
    r = np.hypot(x, y)
    slope = 4 / 3 * np.where(r > 0, r, 1)**(-1 / 3)  # 4/3: the chain rule for [-1, 1]
    value = r**(2 / 3) * np.sin(2 / 3 * phi)
    return value, np.stack([-slope * np.sin(phi / 3), slope * np.cos(phi / 3)], axis=-1)


def read_mesh(folder):
    """Triangle's files: vertices and corners."""
    nodes = np.loadtxt(folder / "mesh.node", skiprows=1, ndmin=2)
    triangles = np.loadtxt(folder / "mesh.ele", skiprows=1, dtype=int, ndmin=2)
    return nodes[:, 1:3], triangles[:, 1:4] - 1


def gradients(p):
    """Areas, and the gradients of the three hat functions of triangles p (n x 3 x 2)."""
    (ax, ay), (bx, by), (cx, cy) = (p[:, k].T for k in range(3))
    twice = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    slopes = np.stack([np.stack([by - cy, cx - bx], axis=1), np.stack([cy - ay, ax - cx], axis=1),
                       np.stack([ay - by, bx - ax], axis=1)], axis=1)
    return twice / 2, slopes / twice[:, None, None]


def solve(points, triangles):
    """Linear elements; the values on the boundary are given."""
    area, slope = gradients(points[triangles])
    local = np.einsum("tik,tjk,t->tij", slope, slope, area)
    n = len(points)
    i, j = np.repeat(triangles, 3, axis=1), np.tile(triangles, (1, 3))
    matrix = coo_matrix((local.ravel(), (i.ravel(), j.ravel())), (n, n)).tocsr()
    sides = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    edges, count = np.unique(sides, axis=0, return_counts=True)
    border = np.zeros(n, bool)
    border[edges[count == 1]] = True
    u = np.where(border, exact(points)[0], 0)
    free = ~border
    u[free] = spsolve(matrix[free][:, free], -matrix[free][:, border] @ u[border])
    return u


def errors(points, triangles, u):
    """In L2 and of the gradient, by a quadrature of degree five; triangles at the corner are cut
    towards it, so that its singularity is integrated, too."""
    p, value = points[triangles], u[triangles]
    _, slope = gradients(p)
    gradient = np.einsum("tik,ti->tk", slope, value)
    corner = np.hypot(*(p - 0.5).transpose(2, 0, 1)).argmin(axis=1)
    at_corner = np.hypot(*(p[np.arange(len(p)), corner] - 0.5).T) < 1e-9
    order = np.stack([(corner + k) % 3 for k in range(3)], axis=1)[at_corner]
    cut = np.take_along_axis(p[at_corner], order[:, :, None], axis=1)
    which = np.flatnonzero(at_corner)
    parts, owners = [p[~at_corner]], [np.flatnonzero(~at_corner)]
    for _ in range(40):
        o, a, b = (cut[:, k] for k in range(3))
        a2, b2 = (o + a) / 2, (o + b) / 2
        parts += [np.stack([a2, a, b], axis=1), np.stack([a2, b, b2], axis=1)]
        owners += [which, which]
        cut = np.stack([o, a2, b2], axis=1)
    p, owners = np.concatenate(parts), np.concatenate(owners)
    area, _ = gradients(p)
    first = points[triangles[owners, 0]]
    a, b = (6 - math.sqrt(15)) / 21, (6 + math.sqrt(15)) / 21
    l2 = h1 = 0
    for weight, places in ((9 / 40, [(1 / 3, 1 / 3)]),
                           ((155 - math.sqrt(15)) / 1200, [(a, a), (1 - 2 * a, a), (a, 1 - 2 * a)]),
                           ((155 + math.sqrt(15)) / 1200, [(b, b), (1 - 2 * b, b), (b, 1 - 2 * b)])):
        for s, t in places:
            at = (1 - s - t) * p[:, 0] + s * p[:, 1] + t * p[:, 2]
            true, true_gradient = exact(at)
            found = value[owners, 0] + ((at - first) * gradient[owners]).sum(axis=1)
            l2 += (weight * area * (found - true)**2).sum()
            h1 += (weight * area * ((true_gradient - gradient[owners])**2).sum(axis=1)).sum()
    return math.sqrt(l2), math.sqrt(h1)


def write_vtu(path, points, triangles, u):
    """The solution as text, which every program reads."""
    def array(kind, name, values, components=1):
        text = " ".join(map(repr, np.asarray(values).ravel().tolist()))
        return (f'<DataArray type="{kind}" Name="{name}" NumberOfComponents="{components}" '
                f'format="ascii">{text}</DataArray>')

    n = len(triangles)
    path.write_text(
        '<VTKFile type="UnstructuredGrid" version="0.1"><UnstructuredGrid>'
        f'<Piece NumberOfPoints="{len(points)}" NumberOfCells="{n}">'
        f'<PointData>{array("Float64", "u", u)}</PointData><Points>'
        f'{array("Float64", "Points", np.c_[points, np.zeros(len(points))], 3)}</Points><Cells>'
        f'{array("Int64", "connectivity", triangles)}'
        f'{array("Int64", "offsets", 3 * np.arange(1, n + 1))}'
        f'{array("UInt8", "types", np.full(n, 5))}'
        '</Cells></Piece></UnstructuredGrid></VTKFile>\n')


def run(program, folder, n, *sizes):
    subprocess.run([program, "run", folder / "frame.pgm", "-n", str(n), "--domain",
                    f"polygon={folder}/l.csv", "--unit", "-o", folder / "mesh.node", "-o",
                    folder / "mesh.ele", "-o", folder / "mesh.svg", "--svg", "mesh", "-q", *sizes],
                   check=True)
    return read_mesh(folder)


def series(program, folder, steps, adapted):
    """Vertices and both errors, of each step."""
    found = []
    mesh = run(program, folder, FIRST)
    for k in range(steps):
        n = FIRST * 2**(k + 1)
        u = solve(*mesh)
        write_vtu(folder / "solution.vtu", *mesh, u)
        sizes = ["--size-from", folder / "solution.vtu"] if adapted else []
        mesh = run(program, folder, n, *sizes)
        found.append((len(mesh[0]), *errors(*mesh, solve(*mesh))))
        print("adapted" if adapted else "even   ", "%6d vertices, L2 %.3e, gradient %.3e" % found[-1])
    return np.array(found)


def rate(values, column):
    """The exponent of N by least squares over the last four steps."""
    return np.polyfit(np.log(values[-4:, 0]), np.log(values[-4:, column]), 1)[0]


def write_plot(path, adapted, even):
    """Both errors over the number of vertices, on logarithmic axes."""
    every = np.concatenate([adapted, even])
    low = np.log10([every[:, 0].min(), every[:, 1:].min()]) - (0.1, 0.4)
    high = np.log10([every[:, 0].max(), every[:, 1:].max()]) + 0.1

    def place(x, y):
        share = (np.log10([x, y]) - low) / (high - low)
        return f"{70 + 500 * share[0]:.1f},{410 - 380 * share[1]:.1f}"

    text = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 460" font-family="sans-serif" '
            'font-size="13"><rect width="640" height="460" fill="#fff"/>']
    for axis, power in [(a, p) for a in (0, 1)
                        for p in range(math.ceil(low[a]), math.floor(high[a]) + 1)]:
        ends = ([(10**power, 10**low[1]), (10**power, 10**high[1])],
                [(10**low[0], 10**power), (10**high[0], 10**power)])[axis]
        text.append(f'<polyline points="{place(*ends[0])} {place(*ends[1])}" stroke="#ddd"/>')
        x, y = map(float, place(*ends[0]).split(","))
        text.append(f'<text x="{x - (40 if axis else 10):.0f}" y="{y + (5 if axis else 20):.0f}">'
                    f'10<tspan dy="-5" font-size="9">{power}</tspan></text>')
    for values, name, colour in ((adapted, "adapted", "#0a6"), (even, "even", "#c40")):
        for column, norm, dash in ((2, "gradient", ""), (1, "L2", "6 3")):
            line = " ".join(place(v[0], v[column]) for v in values)
            text.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2" '
                        f'stroke-dasharray="{dash}"/>')
            x, y = map(float, place(values[-1, 0], values[-1, column]).split(","))
            text.append(f'<text x="{x:.0f}" y="{y + 22:.0f}" '
                        f'text-anchor="end" fill="{colour}">{name}, {norm}: N^{rate(values, column):.2f}</text>')
    text.append('<text x="300" y="450">vertices N</text></svg>\n')
    path.write_text("\n".join(text))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cvtmesh", default="build/cvtmesh")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("l-shape"))
    parser.add_argument("--steps", type=int, default=6)
    options = parser.parse_args()
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "frame.pgm").write_bytes(b"P5 %d %d 255\n" % (PIXELS, PIXELS) + bytes(PIXELS**2))
    rows = (f"{PIXELS * x},{PIXELS * y}" for x, y in OUTLINE)
    (folder / "l.csv").write_text("\n".join(rows) + "\n")
    even = series(options.cvtmesh, folder, options.steps, False)
    adapted = series(options.cvtmesh, folder, options.steps, True)
    with open(folder / "errors.csv", "w") as file:
        print("kind,vertices,l2,gradient", file=file)
        for name, values in (("even", even), ("adapted", adapted)):
            for n, l2, h1 in values:
                print(f"{name},{n:.0f},{l2!r},{h1!r}", file=file)
    write_plot(folder / "errors.svg", adapted, even)
    for name, values in (("even", even), ("adapted", adapted)):
        print(f"{name}: L2 ~ N^{rate(values, 1):.3f}, gradient ~ N^{rate(values, 2):.3f}")


if __name__ == "__main__":
    main()
