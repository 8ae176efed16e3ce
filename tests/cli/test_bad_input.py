"""Input that cannot be used: one line that names the file and the reason, exit code 3."""

import math
import struct

import numpy as np

from conftest import EXAMPLES, png_bytes

CAMERA = EXAMPLES / "camera.png"


def run_refused(cvtmesh, name, *names, extra=(), code=3):
    cvtmesh.refused("run", name, "-n", 5, "-o", "out.obj", *extra, code=code, names=names or [name])


def test_missing_file(cvtmesh):
    run_refused(cvtmesh, "absent.png")


def test_truncated_png(cvtmesh):
    with open(CAMERA, "rb") as stream:
        whole = stream.read()
    for size in (0, 4, 20, 40, len(whole) // 2, len(whole) - 20):
        cvtmesh.file("cut.png", whole[:size])
        run_refused(cvtmesh, "cut.png")


def test_text_named_png(cvtmesh):
    cvtmesh.file("text.png", "this is no picture\n")
    run_refused(cvtmesh, "text.png")


def test_zero_density(cvtmesh):
    cvtmesh.file("zero.npy", np.zeros((8, 8), np.float32))
    run_refused(cvtmesh, "zero.npy")


def test_white_picture_names_invert(cvtmesh):
    cvtmesh.file("white.png", png_bytes(np.full((8, 8), 255)))
    run_refused(cvtmesh, "white.png", "white.png", "--invert")


def test_bad_values(cvtmesh):
    for value in (math.nan, math.inf, -1.0):
        density = np.ones((8, 9))
        density[3, 4] = value
        cvtmesh.file("values.npy", density)
        run_refused(cvtmesh, "values.npy")


def test_huge_headers(cvtmesh):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (31623, 31623), }"
    header += " " * (117 - len(header)) + "\n"
    cvtmesh.file("huge.npy",
                 b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    cvtmesh.file("huge.pgm", b"P5\n100000 100000\n255\n")
    cvtmesh.file("wide.pgm", b"P5\n31623 31623\n255\nabc")
    cvtmesh.file("huge.png", png_bytes(np.zeros((2, 2)), 31623, 31623))
    cvtmesh.file("over.png", png_bytes(np.zeros((2, 2)), 2000000000, 1))
    for name in ("huge.npy", "huge.pgm", "wide.pgm", "huge.png", "over.png"):
        run_refused(cvtmesh, name)


def test_point_files(cvtmesh):
    cvtmesh.file("nan.csv", "x,y\n1,2\nnan,3\n")
    cvtmesh.file("words.csv", "x,y\none,two\n")
    cvtmesh.file("empty.csv", "x,y\n")
    cvtmesh.file("shape.npy", np.zeros((3, 3, 3)))
    for name in ("nan.csv", "words.csv", "empty.csv", "absent.csv"):
        cvtmesh.refused("mesh", name, "-o", "out.obj", code=3, names=[name])
        cvtmesh.refused("run", CAMERA, "--init", name, "-o", "out.obj", code=3, names=[name])
        cvtmesh.refused("voronoi", name, "-o", "out.npy", "--width", 9, "--height", 9, code=3,
                        names=[name])
    cvtmesh.refused("mesh", "shape.npy", "-o", "out.obj", code=3, names=["shape.npy"])
    cvtmesh.file("far.csv", "x,y\n1e15,2\n")
    cvtmesh.refused("mesh", "far.csv", "-o", "out.obj", code=3, names=["far.csv"])
    cvtmesh.file("outside.csv", "x,y\n1,2\n600,2\n")
    cvtmesh.refused("run", CAMERA, "-n", 9, "--fixed", "outside.csv", "-o", "out.obj", code=3,
                    names=["outside.csv"])


def test_mesh_files(cvtmesh):
    cvtmesh.file("broken.obj", "v 0 0 0\nf 1 2 3\n")
    cvtmesh.refused("stats", "broken.obj", code=3, names=["broken.obj"])
