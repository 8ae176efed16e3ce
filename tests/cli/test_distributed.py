"""run --ranks: the ranks of mpirun share one run, and its files do not depend on their number."""

import os
import pathlib
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest

from conftest import PATIENCE, PROGRAM, QUIET_MPI, of_ranks, run_ranks, wait_until

# 2100 sites are three blocks of sums, 1100 two: of four ranks three have some. With this tolerance
# coarse levels are short.
WORDS = ("run", "rho.npy", "-n", 2100, "--density-from", "density", "--iterations", 8, "--threads", 1,
         "--tolerance", 0.02)
FILES = ("-o", "a.csv", "-o", "a.obj")
HAS_MPI = pathlib.Path(PROGRAM).with_name("cvtmesh_mpi.so").exists()
needs_mpi = pytest.mark.skipif(not HAS_MPI, reason="built without MPI")


@pytest.fixture
def job(cvtmesh):
    y, x = np.mgrid[0:90, 0:120]
    cvtmesh.file("rho.npy", (0.02 + np.exp(-((x - 30) ** 2 + (y - 20) ** 2) / 200)).astype("f4"))
    return cvtmesh


def launcher(job, ranks, *words):
    return of_ranks(job, ranks, *words, "--ranks", "mpi")


def mpirun(job, ranks, *words, code=0):
    return run_ranks(job, ranks, *words, "--ranks", "mpi", code=code)


@needs_mpi
@pytest.mark.parametrize("ranks, more", [
    (2, ()), (3, ()), (4, ()),
    (2, ("--effort", "high", "-n", 1100, "--time-limit", 1000)),
    (3, ("--periodic", "--method", "lloyd"))])
def test_the_bits_do_not_depend_on_the_ranks(job, ranks, more):
    job.call(*WORDS, *more, *FILES, "--ranks", "mpi")
    whole = job.read("a.csv"), job.read("a.obj")
    for name in ("a.csv", "a.obj"):
        job.path(name).unlink()
    text = mpirun(job, ranks, *WORDS, *more, *FILES)
    assert (job.read("a.csv"), job.read("a.obj")) == whole
    assert text.count("wrote ") == 1  # rank 0 alone prints the summary


@needs_mpi
def test_a_checkpoint_of_two_ranks_continues_with_three_and_alone(job):
    often = ("--checkpoint", "run.chk", "--checkpoint-every", 0.001)
    job.call(*WORDS, *FILES, "--ranks", "mpi")
    whole = job.read("a.csv")
    mpirun(job, 2, *WORDS, *often, *FILES)
    assert job.read("a.csv") == whole
    job.path("a.csv").unlink()
    mpirun(job, 3, *WORDS, "--checkpoint", "run.chk", *FILES)
    assert job.read("a.csv") == whole
    job.call(*WORDS, "--checkpoint", "run.chk", *FILES, "--ranks", "mpi")
    assert job.read("a.csv") == whole
    job.refused(*WORDS, "--checkpoint", "run.chk", *FILES, code=3, names=["division among ranks"])


def alive(folder):
    """The processes of the program that work in a folder."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").resolve() == folder and (process / "exe").resolve().name == "cvtmesh":
                found.append(int(process.name))
        except OSError:
            pass
    return found


@needs_mpi
def test_a_rank_that_is_killed_ends_the_others(job):
    words = launcher(job, 3, "run", "rho.npy", "-n", 20000, "--iterations", 10**6, "--tolerance", 0,
                     "--density-from", "density", "--threads", 1, "-o", "a.csv")
    with subprocess.Popen(words, cwd=job.folder, env=QUIET_MPI, stderr=subprocess.PIPE) as process:
        wait_until(lambda: len(alive(job.folder.resolve())) == 3)
        time.sleep(0.5)
        os.kill(alive(job.folder.resolve())[1], signal.SIGKILL)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    assert b"rank" in said and b"signal 9" in said, said
    wait_until(lambda: not alive(job.folder.resolve()))
    assert not job.path("a.csv").exists()


@needs_mpi
def test_a_rank_that_fails_says_why_and_ends_the_others(job):
    good = job.command(*WORDS, "-o", "a.csv", "--ranks", "mpi")
    bad = job.command(*WORDS, "--init", "none.npy", "-o", "a.csv", "--ranks", "mpi")
    done = subprocess.run(["mpirun", "--oversubscribe", "-n", "1", *good, ":", "-n", "1", *bad],
                          cwd=job.folder, env=QUIET_MPI, capture_output=True, timeout=PATIENCE,
                          check=False)
    assert done.returncode == 3
    assert b"rank 1 of 2 on " in done.stderr and b"none.npy" in done.stderr
    assert mpirun(job, 2, "run", "none.npy", *WORDS[2:], "-o", "a.csv", code=3).count("none.npy") == 1
    wait_until(lambda: not alive(job.folder.resolve()))


def test_what_is_refused(job):
    for more in (("--equal-mass",), ("--noise", "blue"), ("--domain", "frame"),
                 ("--preset", "paper")):
        job.refused(*WORDS, *more, "-o", "b.csv", "--ranks", "mpi", code=2, names=["--ranks"])
    job.refused(*WORDS, "-o", "b.csv", "--ranks", "two", code=2, names=["'two'", "mpi"])


@needs_mpi
def test_a_run_starts_its_own_ranks(job):
    """Two of three: the third would have fewer than 5e7 sites. Both look for the picture in vain."""
    run = ("run", "none.npy", "-n", "140M", "-o", "a.csv", "--ranks", 3)
    done = job.call(*run, code=3, environment=QUIET_MPI)
    assert done.stderr.count(b"cvtmesh: none.npy: No such file") == 1
    assert done.stderr.count(b"note: 2 of 3 processes: processes with fewer than 50000000 sites") == 1
    launched = job.file("mpirun", "#!/bin/sh\necho mpirun $*\n")
    launched.chmod(0o755)
    done = job.call(*run, environment={"PATH": "%s:/bin" % job.folder})
    assert done.stdout.decode().split()[:3] == ["mpirun", "-n", "2"] and b"--ranks=mpi" in done.stdout


def test_ranks_that_do_not_pay_are_not_started(job):
    """The files are those of any number of ranks."""
    job.call(*WORDS, *FILES, "--ranks", "mpi")
    whole = job.read("a.csv"), job.read("a.obj")
    for name in ("a.csv", "a.obj"):
        job.path(name).unlink()
    for quiet in ((), ("-q",)):
        done = job.call(*WORDS, *FILES, "--ranks", 3, *quiet, environment={"PATH": "/nowhere"})
        assert (job.read("a.csv"), job.read("a.obj")) == whole
        assert done.stderr.count(b"note: 1 of 3 processes: ") == (not quiet)


@needs_mpi
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
def test_a_binding_that_nobody_asked_for_is_undone(job):
    """Open MPI binds one or two ranks to a core each."""
    cores = len(os.sched_getaffinity(0))
    words = [word for word in WORDS if word not in ("--threads", 1)]
    for ranks, options, note, threads in ((1, (), True, cores), (2, (), True, cores // 2),
                                          (1, ("--bind-to", "core"), False, 1)):
        done = subprocess.run(
            ["mpirun", *options, "-n", str(ranks), *job.command(*words, "-o", "a.csv", "--report",
                                                                "r.json", "--ranks", "mpi")],
            cwd=job.folder, env=QUIET_MPI, capture_output=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stderr
        assert (b"note: Open MPI had bound" in done.stderr) == note, done.stderr
        assert job.json("r.json")["device_description"].startswith("%d thread" % threads)


def test_ranks_are_not_started_in_vain(job):
    job.refused(*WORDS, "--ranks", 2, "--equal-mass", "-o", "b.csv", code=2, names=["--ranks"])
    environment = dict(os.environ, PATH="/nowhere")
    done = subprocess.run(job.command(*WORDS, "-n", "100M", "-o", "b.csv", "--ranks", 2), cwd=job.folder,
                          env=environment, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1
    assert b"2 processes" in done.stderr and (b"mpirun" if HAS_MPI else b"no MPI") in done.stderr


def test_ranks_without_the_module_are_refused(job):
    alone = job.path("cvtmesh")
    shutil.copy(PROGRAM, alone)
    for size, code in ((2, 1), (1, 0)):
        done = subprocess.run([alone, *job.command(*WORDS, "-o", "a.csv", "--ranks", "mpi")[1:]],
                              cwd=job.folder, env=dict(os.environ, OMPI_COMM_WORLD_SIZE=str(size)),
                              capture_output=True, timeout=PATIENCE, check=False)
        assert done.returncode == code, done.stderr
        assert (b"one of 2 ranks" in done.stderr) == (size == 2)
