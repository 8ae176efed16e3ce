"""The tests of the installed package, never of the source tree."""

import os
import pathlib
import subprocess

import numpy as np
import pytest

import cvtmesh

ROOT = pathlib.Path(__file__).resolve().parents[2]
assert not pathlib.Path(cvtmesh.__file__).is_relative_to(ROOT / "python"), "not the installed package"


@pytest.fixture
def image():
    """A density with a bump and a gradient."""
    y, x = np.mgrid[0:96, 0:128]
    return (1 + 0.02 * x + 20 * np.exp(-((x - 90) ** 2 + (y - 30) ** 2) / 200)).astype(np.float32)


@pytest.fixture
def program(tmp_path):
    """Runs the program of this build in an empty folder."""

    def run(*arguments):
        command = [os.environ["CVTMESH_PROGRAM"], *map(str, arguments)]
        subprocess.run(command, check=True, cwd=tmp_path, capture_output=True)
        return tmp_path

    return run
