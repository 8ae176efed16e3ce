"""The program under test, for checks that collect their failures and go on."""
import os
import pathlib
import subprocess

PROGRAM = os.environ["CVTMESH_PROGRAM"]
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


def run(*arguments, code=0):
    command = [PROGRAM, *map(str, arguments), "--device", "cpu", "--threads", "2", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    expect(done.returncode == code, f"{arguments}: exit {done.returncode}, not {code}: {done.stderr}")
    return done
