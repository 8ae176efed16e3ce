"""The dots of an SVG reproduce the tone of the picture: the drawing is rendered here by itself, blurred
as the eye does it from some distance, and compared with the picture in linear light."""

import re

import numpy as np
import pytest

from conftest import EXAMPLES

CAMERA, COINS = EXAMPLES / "camera.png", EXAMPLES / "coins.png"
DOMAIN = ("-n", 5000, "--invert", "--domain", "image", "--domain-smooth", 1.5, "--domain-smallest", 20)
SAMPLES = 8  # of a pixel, in x and in y


def read_dots(cvtmesh, name):
    text = cvtmesh.read(name).decode()
    dots = re.findall(r'<circle cx="([^"]+)" cy="([^"]+)" r="([^"]+)"/>', text)
    return np.array(dots, float)


def render(dots, shape):
    """The share of each pixel that dots cover."""
    covered = np.zeros((shape[0] * SAMPLES, shape[1] * SAMPLES), bool)
    for x, y, r in dots * SAMPLES:
        x0, y0 = max(int(x - r), 0), max(int(y - r), 0)
        part = covered[y0:int(y + r) + 2, x0:int(x + r) + 2]
        dy, dx = np.ogrid[y0:y0 + part.shape[0], x0:x0 + part.shape[1]]
        part |= (dx + 0.5 - x)**2 + (dy + 0.5 - y)**2 < r * r
    return covered.reshape(shape[0], SAMPLES, shape[1], SAMPLES).mean((1, 3))


def blurred(image, sigma):
    reach = int(4 * sigma) + 1
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma)**2)
    weights /= weights.sum()
    for _ in range(2):
        wide = np.pad(image, ((0, 0), (reach, reach)), "symmetric")
        image = np.stack([np.convolve(row, weights, "valid") for row in wide]).T
    return image


def picture_ink(cvtmesh, picture, *options):
    cvtmesh.call("density", picture, "-o", "ink.npy", "--density-from", "density", *options)
    return np.load(cvtmesh.path("ink.npy"))


def compare(dots, ink):
    """Contrast, correlation and the ratio of the inks."""
    drawn = render(dots, ink.shape)
    sigma = 1.5 * np.sqrt(ink.size / len(dots))
    a, b = blurred(drawn, sigma), blurred(ink, sigma)
    return a.std() / b.std(), np.corrcoef(a.ravel(), b.ravel())[0, 1], drawn.mean() / ink.mean()


def draw(cvtmesh, picture, *options):
    report = cvtmesh.report("run", picture, "-n", 2000, "-o", "a.svg", *options)
    return report["tone"]


@pytest.mark.parametrize("picture", [CAMERA, COINS])
def test_the_default_dots_look_like_the_picture(cvtmesh, picture):
    tone = draw(cvtmesh, picture)
    dots, ink = read_dots(cvtmesh, "a.svg"), picture_ink(cvtmesh, picture)
    contrast, correlation, ratio = compare(dots, ink)
    assert 0.9 < contrast < 1.1
    assert correlation > 0.97
    assert ratio == pytest.approx(1, abs=0.02)
    # What the report says is what was measured here.
    assert tone["contrast"] == pytest.approx(contrast, abs=0.01)
    assert tone["correlation"] == pytest.approx(correlation, abs=0.003)
    assert tone["ink"] / tone["picture_ink"] == pytest.approx(ratio, abs=0.003)
    assert tone["picture_ink"] == pytest.approx(ink.mean(), rel=1e-5)
    assert tone["blur"] == pytest.approx(1.5 * np.sqrt(ink.size / 2000))
    assert tone["largest_dot"] == pytest.approx(2 * dots[:, 2].max(), abs=0.01)
    assert 0.9 < tone["ssim"] <= 1


def test_equal_dots_have_the_ink_of_the_picture(cvtmesh):
    tone = draw(cvtmesh, CAMERA, "--dots", "equal")
    dots, ink = read_dots(cvtmesh, "a.svg"), picture_ink(cvtmesh, CAMERA)
    assert len(set(dots[:, 2])) == 1
    contrast, correlation, ratio = compare(dots, ink)
    assert ratio == pytest.approx(1, abs=0.02)
    assert correlation > 0.97
    assert tone["contrast"] == pytest.approx(contrast, abs=0.01)


@pytest.mark.parametrize("options", [("--invert",), ("--equal-mass", "--mass-tolerance", 1e-3),
                                     ("--gamma", 2), ("--density-from", "density"),
                                     ("--periodic",), DOMAIN])
def test_the_ink_is_right_whatever_places_the_dots(cvtmesh, options):
    tone = draw(cvtmesh, COINS, *options)
    assert tone["ink"] / tone["picture_ink"] == pytest.approx(1, abs=0.02)
    assert tone["correlation"] > 0.97
    assert tone["contrast"] == pytest.approx(1, abs=0.1)


def test_light_dots_on_a_dark_ground(cvtmesh):
    dark, light = b'<rect width="384" height="303" fill="#000"/>\n<g fill="#fff">', b'fill="#fff"/>'
    small = "-n", 100, "--iterations", 3, "-o", "a.svg"
    cvtmesh.call("run", COINS, *small)
    assert light in cvtmesh.read("a.svg")
    for options in (("--invert",), ("--dark",)):
        cvtmesh.call("run", COINS, *small, *options)
        assert dark in cvtmesh.read("a.svg")
    cvtmesh.call("run", COINS, *small, "--invert", "--svg", "cells")
    assert light in cvtmesh.read("a.svg")


def test_the_same_dots_from_any_number_of_threads(cvtmesh):
    for threads in "12":
        draw(cvtmesh, COINS, "--iterations", 5, "--threads", threads)
        cvtmesh.path("a.svg").rename(cvtmesh.path(threads + ".svg"))
    assert cvtmesh.read("1.svg") == cvtmesh.read("2.svg")


def test_data_have_no_tone(cvtmesh):
    np.save(cvtmesh.path("even.npy"), np.ones((40, 60)))
    report = cvtmesh.report("run", "even.npy", "-n", 50, "-o", "a.svg")
    assert "tone" not in report
    assert report["options"]["dots"] == "equal"
    np.testing.assert_allclose(read_dots(cvtmesh, "a.svg")[:, 2], 0.3 * np.sqrt(2400 / 50),
                               atol=1e-3)
    cvtmesh.call("run", "even.npy", "-n", 50, "-o", "a.svg", "--dots", "mass", "--iterations", 2)
    assert len(set(read_dots(cvtmesh, "a.svg")[:, 2])) > 10
