"""What a line of the program does, a call does too, with the same bytes."""

import os
import subprocess
import sys

import pytest

import cvtmesh
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests"))
import run_lines  # noqa: E402


@pytest.mark.parametrize("name", run_lines.LINES)
def test_a_call(tmp_path, monkeypatch, name):
    picture, words, keywords = run_lines.LINES[name]
    folders = [tmp_path / "program", tmp_path / "call"]
    for folder in folders:
        folder.mkdir()
        run_lines.inputs(folder, ROOT / "docs/examples")
    command = [os.environ["CVTMESH_PROGRAM"], "run", picture, *words.split(), "-q", "--device", "cpu",
               "--report", "r.json"]
    subprocess.run(command, check=True, cwd=folders[0])
    monkeypatch.chdir(folders[1])
    cvtmesh.tessellate(picture, device="cpu", report="r.json", **keywords)
    run_lines.compare(*folders)
