"""What every test of the program has: the program itself in a folder of the test's own.

The environment names the program (CVTMESH_PROGRAM) and the folder of the built tests
(CVTMESH_TESTS_BUILD)."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
PROGRAM = os.environ.get("CVTMESH_PROGRAM", "cvtmesh")
TESTS_BUILD = pathlib.Path(os.environ.get("CVTMESH_TESTS_BUILD", "."))
# Commands with the option --device; the tests of the program run on the CPU.
WITHOUT_DEVICE = {"mesh", "info", "help", "completion", "--help", "-h", "--version"}


def strict_json(text):
    """Parses JSON and refuses NaN and Infinity."""
    def refuse(word):
        raise ValueError("not JSON: " + word)
    return json.loads(text, parse_constant=refuse)


class Program:
    """Runs cvtmesh in `folder`, so that relative names lie there."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def path(self, name):
        return self.folder / name

    def file(self, name, content):
        """Writes text, bytes or an array (.npy) and returns the path."""
        path = self.path(name)
        if isinstance(content, np.ndarray):
            np.save(path, content)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def names(self):
        return sorted(os.listdir(self.folder))

    def call(self, *arguments, code=0, environment=None, timeout=300, **options):
        """Runs the program and asserts its exit code."""
        arguments = [str(argument) for argument in arguments]
        if arguments and arguments[0] not in WITHOUT_DEVICE and "--device" not in arguments:
            arguments += ["--device", "cpu"]
        options.setdefault("stdout", subprocess.PIPE)
        done = subprocess.run([PROGRAM, *arguments], stderr=subprocess.PIPE, cwd=self.folder,
                              env={**os.environ, **(environment or {})}, timeout=timeout,
                              check=False, **options)
        assert done.returncode == code, (arguments, done.returncode, done.stderr.decode())
        return done

    def refused(self, *arguments, code, names=(), **options):
        """One line on stderr that has all `names`, nothing on stdout, no file new or changed."""
        before = {name: (self.folder / name).stat().st_mtime_ns for name in self.names()}
        done = self.call(*arguments, code=code, **options)
        text = done.stderr.decode()
        assert text.count("\n") == 1 and text.startswith("cvtmesh"), text
        for name in names:
            assert str(name) in text, text
        assert done.stdout == b""
        after = {name: (self.folder / name).stat().st_mtime_ns for name in self.names()}
        assert after == before
        return done

    def report(self, *arguments, code=0, **options):
        """Runs with --report and returns the report."""
        self.call(*arguments, "--report", "report.json", code=code, **options)
        return strict_json(self.path("report.json").read_text())


@pytest.fixture
def cvtmesh(tmp_path):
    return Program(tmp_path)


@pytest.fixture
def examples():
    return EXAMPLES


def pytest_configure():
    # Tests run side by side; those that ask for two threads must not wait by spinning.
    os.environ.update(OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
