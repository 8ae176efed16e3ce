"""cvtmesh segment: reference values, coins, files, refusals."""

import xml.etree.ElementTree

import numpy as np
import PIL.Image
import pytest

from conftest import EXAMPLES

pytestmark = pytest.mark.usefixtures("two_threads")


def ring_area(text):
    """Signed areas of the rings of an SVG path of M, L and Z."""
    area = 0.0
    for ring in text.replace("M", "").split("Z"):
        points = np.array([[float(v)
                            for v in p.split()]
                           for p in ring.strip().split("L")
                           if p.strip()])
        if len(points):
            x, y = points.T
            area += 0.5 * float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))
    return abs(area)


def test_disc(cvtmesh):
    """The synthetic image of a disc with a gap, from a circle around it."""
    m = 128
    t = (np.arange(m) + 0.5) / m
    x, y = np.meshgrid(t - 0.5, t - 0.5)
    r = np.hypot(x, y)
    image = ((r < 0.3) & ~((abs(np.arctan2(y, x)) < 0.35) & (r > 0.22))).astype(np.float32)
    cvtmesh.file("disc.npy", image)
    options = ("--initial", f"64,64,{0.4 * m}", "--sigma", 0, "--inside",
               f"{0.76 * m},64,{0.03 * m}")
    cvtmesh.call("segment", "disc.npy", *options, "--steps", 10, "--tolerance", 0, "-o", "u.npy",
                 "--report", "r.json")
    report = cvtmesh.json("r.json")["segmentation"]
    # The reference, whose start is the exact distance too, has 0.29834 after ten steps.
    assert abs(report["area"] - 0.29834) < 1e-5, f"area {report['area']} after ten steps"
    assert report["steps"] == 10 and len(report["history"]) == 11, "ten steps"
    energies = [row["energy"] for row in report["history"]]
    assert all(b <= a * (1 + 1e-9) for a, b in zip(energies, energies[1:])), "the energy grows"
    u = cvtmesh.array("u.npy")
    assert u.shape == (m, m) and (u[np.hypot(x - 0.26, y) < 0.03] <=
                                  -0.05).all(), "the seed is not inside"


def test_coins(cvtmesh):
    """A seed in a coin gives that coin: its place and its radius, read off the picture."""
    coins = PIL.Image.open(EXAMPLES / "coins.png")
    for left, top, place, radius in ((40, 60, (62.5, 66), 19), (210, 60, (60.5, 59.5), 25),
                                     (274, 0, (60.5, 43.5), 28.7)):
        picture, mask, contour, out = cvtmesh.path("coin.png"), "m.png", "m.svg", "u.npy"
        coins.crop((left, top, left + 110, top + 110)).save(picture)
        cvtmesh.call("segment", picture, "--inside", f"{place[0]},{place[1]},4",
                     "-o", mask, "-o", contour, "-o", out, "--steps", 12)
        inside = cvtmesh.array(out) < 0
        j, i = np.nonzero(inside)
        centre = (i.mean() + 0.5, j.mean() + 0.5)
        assert np.hypot(centre[0] - place[0],
                        centre[1] - place[1]) < 3, f"coin at {place}: found at {centre}"
        found = np.sqrt(inside.sum() / np.pi)
        assert abs(found - radius) < 1.5, f"coin at {place}: radius {found}"
        # The mask as a domain: what is white.
        cvtmesh.call("density", picture, "--within", mask, "--density-from", "density",
                     "--invert", "--floor", 1e-3, "-o", "d.npy")
        assert np.array_equal(cvtmesh.array("d.npy") > 0,
                              inside), "the mask is not the level set's inside"
        path = xml.etree.ElementTree.parse(
            cvtmesh.path(contour)).getroot().find("{http://www.w3.org/2000/svg}path")
        assert abs(ring_area(path.get("d")) -
                   inside.sum()) < 0.02 * inside.sum(), "the area of the contour"


def test_run(cvtmesh):
    """What is found is the domain of a run, as a mask or as a contour."""
    cvtmesh.call("segment", EXAMPLES / "coins.png", "--inside", "270,120,5", "-o", "coin.png", "-o",
                 "coin.svg")
    cvtmesh.call("run", EXAMPLES / "coins.png", "--within", "coin.png", "--invert", "-n", 200,
                 "--iterations", 5, "-o", "p.csv", "--density-out", "d.npy")
    points = np.loadtxt(cvtmesh.path("p.csv"), delimiter=",", skiprows=1)[:, :2]
    assert (np.hypot(points[:, 0] - 270.5, points[:, 1] - 119.5) <
            28).all(), "sites outside the coin"
    cvtmesh.call("run", EXAMPLES / "coins.png", "--invert", "--domain", "polygon=coin.svg", "-n", 200,
                 "--iterations", 5, "-o", "p.msh", "--report", "r.json")
    area = cvtmesh.json("r.json")["domain"]["mesh_area"]
    assert abs(area -
               np.count_nonzero(cvtmesh.array("d.npy"))) < 0.02 * area, f"a mesh of area {area}"


def test_refusals(cvtmesh):
    image = EXAMPLES / "coins.png"
    cvtmesh.file("zero.npy", np.zeros((303, 384), np.float32))
    cvtmesh.file("nan.npy", np.full((20, 20), np.nan, np.float32))
    cvtmesh.refused("segment", "nan.npy", "--inside", "10,10,3", "-o", "no.png", code=3,
                    names=["not finite"])
    for arguments, code, part in (((), 2, "--inside"), (("--inside", "1,2"), 2, "X,Y,RADIUS"),
                                  (("--inside", "500,10,5"), 3, "outside the image of 384 x 303"),
                                  (("--inside", "100,100,9", "--outside", "105,100,9"), 3,
                                   "contradict"), (("--seeds", "zero.npy"), 3,
                                                   "no pixel is marked"),
                                  (("--seeds", EXAMPLES / "camera.png"), 3,
                                   "512 x 512"), (("--inside", "100,100,5", "--initial",
                                                   "-900,0,5"), 3, "encloses nothing")):
        cvtmesh.refused("segment", image, *arguments, "-o", "no.png", code=code, names=[part])
    cvtmesh.refused("segment", image, "--inside", "100,100,5", "-o", "a.obj", code=2)
