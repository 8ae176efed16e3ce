"""What a line of the program does, a program in C does too, with the same bytes."""

import subprocess

import pytest

import run_lines
from conftest import BUILD, EXAMPLES, PROGRAM


@pytest.mark.parametrize("name", run_lines.LINES)
def test_a_program_in_c(tmp_path, name):
    picture, words, _ = run_lines.LINES[name]
    commands = {"program": [PROGRAM, "run", picture, *words.split(), "--device", "cpu", "-q",
                            "--report", "r.json"],
                "library": [BUILD / "tests/run_lines", name]}
    for folder, command in commands.items():
        (tmp_path / folder).mkdir()
        run_lines.inputs(tmp_path / folder, EXAMPLES)
        made = subprocess.run(command, cwd=tmp_path / folder, capture_output=True, text=True,
                              check=False)
        assert made.returncode == 0, made.stderr
    run_lines.compare(*(tmp_path / folder for folder in commands))
