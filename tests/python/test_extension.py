"""Which extension is used where cvtmesh-cuda13 is installed."""

import os
import subprocess
import sys

import pytest

import cvtmesh
from cvtmesh import _core

# The extension of the distribution cvtmesh, wherever the one in use is from.
OWN = os.path.join(os.path.dirname(cvtmesh.__file__), os.path.basename(_core.__file__))


@pytest.fixture
def load(tmp_path):
    """Imports cvtmesh beside a distribution cvtmesh-cuda13 of that version and extension."""

    def run(version, extension):
        package = tmp_path / "cvtmesh_cuda13"
        package.mkdir()
        (package / "__init__.py").write_text(f"version, extension = {version!r}, {extension!r}")
        code = (
            "import cvtmesh; print(cvtmesh._core.__file__);"
            "cvtmesh.delaunay([[0, 0], [1, 0], [0, 1]]).points.shape;"
            "print(cvtmesh.DeviceError.__module__)"
        )
        return subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )

    return run


def test_the_extension_of_cuda13_is_preferred(load):
    folder, name = os.path.split(_core.__file__)
    other = f"{folder}/./{name}"
    done = load(cvtmesh.__version__, other)
    assert done.stdout.split() == [other, "cvtmesh._core"] and done.stderr == ""


def test_one_of_another_version_is_not_used(load):
    done = load("0.0.1", "nowhere")
    assert done.stdout.split()[0] == OWN
    assert "cvtmesh-cuda13 is not used: its version is 0.0.1" in done.stderr


def test_one_that_cannot_be_loaded_is_not_used(load, tmp_path):
    broken = tmp_path / os.path.basename(_core.__file__)
    broken.write_bytes(b"no library")
    done = load(cvtmesh.__version__, str(broken))
    assert done.stdout.split()[0] == OWN
    assert "cvtmesh-cuda13 is not used" in done.stderr
