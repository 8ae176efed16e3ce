"""Options of every command, and some of single ones."""

import pytest

from conftest import commands, options
from test_option_effects import RUN, SEED, inputs, results  # inputs: a fixture


# Small calls; the result is the file result.EXT, or what is on standard output.
SMALL = {
    "run": ["rho.npy", *RUN, "-o", "result.csv"],
    "batch": ["rho.npy", *RUN, "-o", "result.csv"],
    "view": [
        "grey.pgm", "-n", 40, "--iterations", 8, "--shot", "shot.png", "--window", "64x48", "-o",
        "result.csv"
    ],
    "voronoi": ["forty.npy", "--like", "grey.pgm", "-o", "result.npy"],
    "mesh": ["forty.npy", "-o", "result.obj"],
    "sphere": ["3000", "--iterations", 3, "-o", "result.obj"],
    "density": ["rho.npy", "--grade", 2, "-o", "result.npy"],
    "segment": ["rho.npy", *SEED, "--steps", 3, "-o", "result.npy"],
    "minimize": ["ept", "--nx", 60, "--ny", 50, "-o", "result.npy"],
    "lcp": ["--problem", "torsion", "--size", 15, "-o", "result.npy"],
    "hlcp": ["--example", 3, "--size", 8, "--output-z", "result.npy"],
    "stats": ["forty.npy"],
    "info": [],
}
ITERATE = {"run", "segment", "minimize", "lcp", "hlcp", "batch"}
every_command = pytest.mark.parametrize("command", commands())


def has(command, name):
    return any(row.name == name for row in options(command))


@every_command
def test_quiet_and_verbose(inputs, command):
    plain, quiet, verbose = (inputs.call(command, *SMALL[command], *more)
                             for more in ((), ("-q",), ("-v",)))
    assert quiet.stderr == b""
    if command in ITERATE:
        assert verbose.stderr.count(b"\n") > plain.stderr.count(b"\n")
    if "-o" not in SMALL[command] and command != "hlcp":
        assert plain.stdout == verbose.stdout != b""
        assert quiet.stdout == (b"" if command == "stats" else plain.stdout)


@every_command
def test_config(inputs, command):
    inputs.file("my.conf", "quiet = true\n")
    done = inputs.call(command, *SMALL[command], "--config", "my.conf")
    assert done.stderr == b""
    inputs.file("my.conf", "quiet = perhaps\n")
    inputs.refused(command, *SMALL[command], "--config", "my.conf", code=2,
                   names=["my.conf", "line 1"])


@every_command
def test_threads(inputs, command):
    """The same bits for any number of threads."""
    if not has(command, "threads"):
        return
    found = []
    for threads in (1, 2, 3):
        done = inputs.call(command, *SMALL[command], "--threads", threads)
        found.append((done.stdout, results(inputs, "result.")))
    assert found[0] == found[1] == found[2] != (b"", {})


@every_command
def test_format(inputs, command):
    """What goes to standard output is the file of that extension."""
    extensions = {"run": "obj", "mesh": "ply", "voronoi": "ppm", "segment": "png", "view": "xyz"}
    if not has(command, "format") or command == "batch":
        return
    extension = extensions.get(command, "npy")
    words = SMALL[command][:-2]
    inputs.call(command, *words, "-o", "result." + extension)
    done = inputs.call(command, *words, "-o", "-", "--format", extension)
    assert done.stdout == inputs.read("result." + extension) != b""


def test_journal_of_batch(inputs):
    inputs.call("batch", *SMALL["batch"], "--journal", "mine.journal")
    assert b"done" in inputs.read("mine.journal")
    assert "cvtmesh-batch.journal" not in inputs.names()
    report = inputs.report("batch", *SMALL["batch"], "--journal", "mine.journal", "--resume")
    assert report["skipped"] == 1


def test_report_of_density(inputs):
    report = inputs.report("density", *SMALL["density"])
    assert report["grading"]["natural_residual"] < 1e-8


def test_relaxation_and_nesting_of_lcp(inputs):
    words = ["--problem", "torsion", "--size", 63]
    slow, fast = (inputs.report("lcp", *words, "--method", "psor", "--omega", omega)["iterations"]
                  for omega in (1, 1.9))
    assert fast < slow / 2
    nested, flat = (inputs.report("lcp", *words, *more) for more in (["--nested"], ["--no-nested"]))
    starts = [report["history"][0]["natural_residual"] for report in (nested, flat)]
    assert starts[0] < starts[1] / 10
    assert nested["iterations"] < flat["iterations"]


def test_scale_of_hlcp(inputs):
    """The scale changes the iterations from this start, but not the solution."""
    found = []
    for gamma in (2, 1):
        inputs.call("hlcp", *SMALL["hlcp"], "--method", "mmgs", "--gamma", gamma, "--start", 1,
                    "--tolerance", 1e-10)
        found.append(inputs.array("result.npy"))
    assert 0 < abs(found[0] - found[1]).max() < 1e-8


def test_tolerance_of_minimize(inputs):
    report = inputs.report("minimize", *SMALL["minimize"], "--tolerance", 0.01)
    assert report["stop_reason"] == "decrease"
