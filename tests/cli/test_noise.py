"""Blue noise: by its spectrum, and the density that it follows."""

import importlib.util
import sys

import numpy as np
import pytest

from conftest import ROOT


def module(name):
    """A file of the Python package that needs no extension."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"python/cvtmesh/{name}.py")
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


SPECTRUM = module("_spectrum")


def figures_of(cvtmesh, name, side):
    points = cvtmesh.array(name)[:, :2]
    return SPECTRUM.spectrum(points, (side, side), periodic=True)


def test_blue_noise_beside_a_tessellation(cvtmesh):
    cvtmesh.file("flat.npy", np.ones((100, 100), np.float32))
    words = ["run", "flat.npy", "-n", 2000, "--periodic"]
    report = cvtmesh.report(*words, "--noise", "blue", "-o", "blue.npy")
    assert report["noise"]["kind"] == "blue" and report["iterations"] == 150
    for effort, iterations in (("low", 75), ("high", 300)):
        report = cvtmesh.report(*words, "-n", 200, "--noise", "blue", "--effort", effort, "-o", "p.npy")
        assert report["iterations"] == iterations
    cvtmesh.call(*words, "--noise", "hexagonal", "-o", "cvt.npy")
    cvtmesh.call(*words, "-o", "default.npy")
    assert cvtmesh.read("cvt.npy") == cvtmesh.read("default.npy")
    blue, cvt = (figures_of(cvtmesh, name, 100) for name in ("blue.npy", "cvt.npy"))
    assert blue.low_frequency_power < 1e-5
    assert blue.peak_power < 4 < 8 < cvt.peak_power
    assert blue.oscillation < 3 < cvt.oscillation
    assert abs(blue.anisotropy_db) < 0.5 and 0.82 < blue.effective_nyquist < 0.95


def test_blue_noise_of_a_density(cvtmesh):
    """The points follow the values of data, on either side of an edge and at the border."""
    value = np.full((80, 120), 0.5, np.float32)
    value[:, 40:] = 2
    cvtmesh.file("v.npy", value)
    cvtmesh.call("run", "v.npy", "-n", 3000, "--noise", "blue", "-o", "p.npy")
    x = cvtmesh.array("p.npy")[:, 0]
    expected = 3000 * np.array([0.5, 0.5, 2, 2, 2, 2]) / 9
    np.testing.assert_allclose(np.histogram(x, np.arange(0, 121, 20))[0], expected, atol=12)


def test_blue_noise_from_given_points(cvtmesh):
    cvtmesh.file("flat.npy", np.ones((60, 60), np.float32))
    fixed = np.array([[10, 10], [10.5, 10], [50, 20.25]])
    cvtmesh.file("fixed.npy", fixed)
    words = ["run", "flat.npy", "--noise", "blue", "-n", 300]
    cvtmesh.call(*words, "--fixed", "fixed.npy", "-o", "p.npy")
    np.testing.assert_array_equal(cvtmesh.array("p.npy")[:3], fixed)
    cvtmesh.call(*words, "--iterations", 20, "-o", "a.npy")
    cvtmesh.call(*words, "--init", "a.npy", "--iterations", 0, "-o", "b.npy")
    np.testing.assert_array_equal(cvtmesh.array("a.npy"), cvtmesh.array("b.npy"))
    before = cvtmesh.report(*words, "--init", "a.npy", "--iterations", 1, "-o", "c.npy")
    after = cvtmesh.report(*words, "--init", "a.npy", "--iterations", 40, "-o", "c.npy")
    assert after["noise"]["energy"] < before["noise"]["energy"]
    cvtmesh.call(*words, "--seed", 2, "--iterations", 20, "-o", "d.npy")
    assert (cvtmesh.array("a.npy") != cvtmesh.array("d.npy")).any()


@pytest.mark.parametrize("option", [["--equal-mass"], ["--domain", "image"],
                                    ["--method", "lloyd"], ["--preset", "paper"],
                                    ["--gradient-tolerance", 1],
                                    ["--watch", "frames"]])
def test_options_that_are_not_of_blue_noise(cvtmesh, option):
    cvtmesh.file("flat.npy", np.ones((9, 9), np.float32))
    cvtmesh.refused("run", "flat.npy", "-n", 5, "-o", "p.csv", "--noise", "blue", *option, code=2,
                    names=[option[0]])
