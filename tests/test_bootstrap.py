"""./bootstrap compiles for the GPUs that are there, and says so; without one, for the CPU."""

import os
import subprocess

import pytest

from conftest import ROOT


@pytest.fixture
def bootstrap(tmp_path):
    """What ./bootstrap would do on a machine with nvcc and GPUs of these compute capabilities."""

    def said(*arguments, gpus):
        for name, text in (("nvcc", ""), ("nvidia-smi", "".join(f"echo {gpu}\n" for gpu in gpus))):
            path = tmp_path / name
            path.write_text("#!/bin/sh\n" + text)
            path.chmod(0o755)
        environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        return subprocess.run([ROOT / "bootstrap", "--dry-run", *arguments], check=True, text=True,
                              stdout=subprocess.PIPE, env=environment).stdout

    return said


def test_for_the_gpus_that_are_there(bootstrap):
    text = bootstrap(gpus=["9.0", "8.9", "9.0"])
    assert "-DCVTMESH_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=89-real;90-real\n" in text


def test_for_none(bootstrap):
    text = bootstrap(gpus=[])
    assert "-DCVTMESH_CUDA=OFF\n" in text and "./bootstrap --cuda" in text


def test_for_all_on_request(bootstrap):
    for gpus in ([], ["9.0"]):
        text = bootstrap("--cuda", gpus=gpus)
        assert "-DCVTMESH_CUDA=ON -UCMAKE_CUDA_ARCHITECTURES\n" in text


def test_the_script_has_no_faults():
    subprocess.run(["bash", "-n", ROOT / "bootstrap"], check=True)
