"""run --checkpoint: a run that is killed at any moment continues to the same files."""

import random
import subprocess
import time

import numpy as np
import pytest

from conftest import wait_until

WORDS = ("run", "rho.npy", "-n", 400, "--density-from", "density", "--iterations", 80)
OFTEN = ("--checkpoint", "run.chk", "--checkpoint-every", 0.002)


@pytest.fixture
def job(cvtmesh):
    y, x = np.mgrid[0:80, 0:100]
    cvtmesh.file("rho.npy", (0.05 + np.exp(-((x - 30) ** 2 + (y - 50) ** 2) / 400)).astype("f4"))
    return cvtmesh


def kill(job, words, seconds):
    """Starts a run and kills it that long after its first checkpoint; False if it had ended or
    written its first file."""
    before = job.path("run.chk").stat().st_mtime_ns if job.path("run.chk").exists() else 0
    with job.start(*words, stdout=subprocess.DEVNULL) as process:
        wait_until(lambda: process.poll() is not None or (
            job.path("run.chk").exists() and job.path("run.chk").stat().st_mtime_ns != before))
        time.sleep(seconds)
        process.kill()
        process.communicate()
    return process.returncode != 0 and not job.path("a.csv").exists()


@pytest.mark.parametrize("more", [(), ("--effort", "high"), ("--domain", "frame", "--min-angle", 0),
                                  ("--method", "lloyd", "--threads", 2)])
def test_a_killed_run_continues_to_the_same_files(job, more):
    files = ("-o", "a.csv", "-o", "a.obj")
    whole = job.report(*WORDS, *more, *files)
    expected = job.read("a.csv"), job.read("a.obj")
    job.path("a.csv").unlink()
    chance = random.Random(str(more))
    killed = kill(job, (*WORDS, *more, *files, *OFTEN), chance.uniform(0, 0.1))
    for _ in range(2):
        if killed:
            killed = kill(job, (*WORDS, *more, *files, *OFTEN),
                          chance.uniform(0, 0.1))
    assert not job.path("a.csv").exists() or job.read("a.csv") == expected[0]
    resumed = job.report(*WORDS, *more, *files, "--checkpoint", "run.chk")
    assert (job.read("a.csv"), job.read("a.obj")) == expected
    assert resumed["history"] == whole["history"]
    for key in ("energy", "iterations", "evaluations", "stop_reason"):
        assert resumed[key] == whole[key], key


def test_one_command_line_starts_and_continues_a_run(job):
    words = (*WORDS, *OFTEN, "-o", "a.csv")
    job.call(*words)
    started = job.read("a.csv")
    assert job.path("run.chk").exists()
    assert b"continued from run.chk" in job.call(*words).stderr
    assert job.read("a.csv") == started


def test_what_a_checkpoint_refuses(job):
    job.call(*WORDS, *OFTEN, "-o", "a.csv")
    whole = job.read("run.chk")
    again = (*WORDS, "--checkpoint", "run.chk", "-o", "b.csv")
    job.refused(*again, "--seed", 2, code=3, names=["run.chk", "seed"])
    job.refused(*again, "--gamma", 2, code=3, names=["run.chk", "density"])
    job.refused(*again, "--tolerance", 1e-5, code=3, names=["run.chk", "tolerance"])
    job.refused("run", "rho.npy", "-n", 401, "--density-from", "density", "--iterations", 80,
                "--checkpoint", "run.chk", "-o", "b.csv", code=3, names=["run.chk", "number of sites"])
    for at in (0, 20, 40, 100, len(whole) // 2, len(whole) - 1):
        job.file("run.chk", whole[:at])
        job.refused(*again, code=3, names=["run.chk"])
        job.file("run.chk", whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1:])
        job.refused(*again, code=3, names=["run.chk"])
    job.file("run.chk", whole)
    job.call(*again)
    assert job.read("a.csv") == job.read("b.csv")


@pytest.mark.parametrize("more", [
    ("--equal-mass",), ("--noise", "blue"), ("--iterations", 0), ("--colours", "cmyk")])
def test_runs_without_checkpoints(job, more):
    job.refused(*WORDS, "-o", "a.svg", "--checkpoint", "run.chk", *more, code=2,
                names=["--checkpoint"])


def test_a_checkpoint_that_cannot_be_written_ends_the_run(job):
    job.refused(*WORDS, "--checkpoint", "no/run.chk", "--checkpoint-every", 0, "-o", "a.csv", code=1,
                names=["no/run.chk"])
    job.refused(*WORDS, "--checkpoint-every", 5, "-o", "a.csv", code=2, names=["--checkpoint"])
    job.refused(*WORDS, "--checkpoint", "-", "-o", "a.csv", code=2, names=["--checkpoint"])
    job.refused(*WORDS, "--checkpoint", "a.csv", "-o", "a.csv", code=2, names=["a.csv"])
