#!/usr/bin/env python3
"""Poisson's equation on a disc, from a mesh file as it comes.

    python3 docs/examples/poisson.py [--cvtmesh build/cvtmesh] [--folder poisson] [--order 2] [--area 20]

Meshes a regular polygon of 256 corners with `cvtmesh mesh`, reads the file by scikit-fem, and solves
-laplace u = 1 with u = 0 on the boundary by elements of the mesh's order. On the disc of radius R
the largest value is R^2 / 4 and the integral pi R^4 / 8. Needs scikit-fem and meshio."""

import argparse
import math
import pathlib
import subprocess

import skfem
from skfem.models.poisson import laplace, unit_load

RADIUS, CORNERS = 100, 256


def write_outline(path):
    angles = [2 * math.pi * k / CORNERS for k in range(CORNERS)]
    path.write_text("".join(f"{RADIUS * math.cos(a)!r},{RADIUS * math.sin(a)!r}\n" for a in angles))


def solve(path):
    """The largest value and the integral of the solution."""
    mesh = skfem.Mesh.load(str(path))
    is_curved = isinstance(mesh, skfem.MeshTri2)
    basis = skfem.Basis(mesh, skfem.ElementTriP2() if is_curved else skfem.ElementTriP1())
    matrix, load = laplace.assemble(basis), unit_load.assemble(basis)
    solution = skfem.solve(*skfem.condense(matrix, load, D=basis.get_dofs()))
    return solution.max(), load @ solution


def run(cvtmesh, folder, order, area, name="disc.msh"):
    folder.mkdir(exist_ok=True)
    write_outline(folder / "disc.csv")
    subprocess.run([cvtmesh, "mesh", "disc.csv", "--min-angle", "30", "--size",
                    str(math.sqrt(4 * area / math.sqrt(3))), "--element-order", str(order), "-o", name,
                    "-q"], cwd=folder, check=True)
    return solve(folder / name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cvtmesh", default="build/cvtmesh")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("poisson"))
    parser.add_argument("--order", type=int, choices=(1, 2), default=1)
    parser.add_argument("--area", type=float, default=20)
    given = parser.parse_args()
    program = str(pathlib.Path(given.cvtmesh).resolve())
    largest, integral = run(program, given.folder, given.order, given.area)
    print(f"largest value {largest:.4f}, on the disc {RADIUS**2 / 4:.4f}")
    print(f"integral {integral:.1f}, on the disc {math.pi * RADIUS**4 / 8:.1f}")


if __name__ == "__main__":
    main()
