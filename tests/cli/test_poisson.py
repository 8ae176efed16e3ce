"""docs/examples/poisson.py: scikit-fem reads the files as they come, and its solutions converge to that of
the disc. Skipped without scikit-fem, which Debian does not have: pip install scikit-fem."""

import math
import runpy

import pytest

from conftest import EXAMPLES


@pytest.mark.parametrize("name", ["disc.msh", "disc.vtu"])
@pytest.mark.parametrize("order, tolerance", [(1, 3e-3), (2, 4e-4)])
def test_disc(cvtmesh, name, order, tolerance):
    """The polygon's area is 1e-4 less than the disc's: its torsion constant 2e-4."""
    pytest.importorskip("skfem")
    example = runpy.run_path(str(EXAMPLES / "poisson.py"))
    program = cvtmesh.command()[0]
    largest, integral = example["run"](program, cvtmesh.path("disc"), order, 40, name)
    assert largest == pytest.approx(2500, rel=tolerance)
    assert integral == pytest.approx(math.pi * 1e8 / 8, rel=tolerance)
