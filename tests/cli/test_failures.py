"""Outputs that cannot be written, devices that are not there, and interrupts."""

import json
import os
import resource
import signal

import pytest

from conftest import EXAMPLES, strict_json

CAMERA = EXAMPLES / "camera.png"


def test_unwritable_outputs(cvtmesh):
    os.mkdir(cvtmesh.path("folder.obj"))
    for name in ("absent/out.obj", "folder.obj"):
        cvtmesh.refused("run", CAMERA, "-n", 5, "-o", "fine.obj", "-o", name, code=1, names=[name])
    cvtmesh.refused("run", CAMERA, "-n", 5, "-o", "fine.obj", "--report", "absent/r.json", code=1,
                    names=["absent/r.json"])
    cvtmesh.refused("mesh", "absent.csv", "-o", "absent/a.obj", code=1, names=["absent/a.obj"])


def test_full_disk(cvtmesh):
    with open("/dev/full", "wb") as full:
        for arguments in (["run", CAMERA, "-n", "5", "--iterations", "1", "-o",
                           "-"], ["--help"], ["info"], ["info", "--json"]):
            done = cvtmesh.call(*arguments, code=1, stdout=full)
            assert done.stderr == b"cvtmesh: standard output: No space left on device\n"
    for name in ("full.csv", "full.vtu"):
        os.symlink("/dev/full", cvtmesh.path(name))
        cvtmesh.refused("run", CAMERA, "-n", 2000, "--iterations", 1, "-q", "-o", name, code=1,
                        names=[name, "No space left"])


def close(*streams):
    """For preexec_fn."""
    def closed():
        for stream in streams:
            os.close(stream)
    return closed


def test_closed_standard_output(cvtmesh):
    points = cvtmesh.file("points.csv", "x,y\n1,1\n30,1\n1,30\n30,31\n")
    run = ["run", CAMERA, "-n", "50", "--iterations", "1"]
    for arguments in (run + ["-o", "-"], run + ["-o", "a.obj", "--report", "-"],
                      ["mesh", points, "-o", "-"], ["density", CAMERA, "-o", "-"],
                      ["stats", points], ["stats", points, "--json"], ["info"], ["--version"],
                      ["--help"], ["run", "--help"], ["help", "run"], ["completion", "bash"],
                      ["hlcp", "--example", "1", "--size", "4", "--report", "-"],
                      ["minimize", "ept", "--nx", "8", "--ny", "8", "--report", "-"]):
        done = cvtmesh.call(*arguments, code=1, preexec_fn=close(1))
        assert done.stderr.endswith(b"cvtmesh: standard output: Bad file descriptor\n"), done.stderr
    cvtmesh.call(*run, "-o", "a.obj", "-q", preexec_fn=close(1))
    done = cvtmesh.call("run", "-", "-n", "50", "-o", "b.obj", code=3, preexec_fn=close(0))
    assert done.stderr == b"cvtmesh: standard input: Bad file descriptor\n"


@pytest.mark.parametrize("closed", [(1, 2), (0, 1, 2)])
def test_messages_go_into_no_file(cvtmesh, closed):
    """A closed stream has the lowest number of a descriptor, which the next file would get."""
    rows = [(str(CAMERA), 50, "a"), ("absent.png", 50, "b"), (str(CAMERA), 60, "c")]
    cvtmesh.file("jobs.jsonl", "".join(
        json.dumps({"input": picture, "points": points, "output": name + ".obj", "report": name + ".json"})
        + "\n" for picture, points, name in rows))
    cvtmesh.call("batch", "jobs.jsonl", "-v", "--journal", "kept", code=1)
    kept = cvtmesh.path("a.obj").read_bytes()
    cvtmesh.call("batch", "jobs.jsonl", "-v", code=1, preexec_fn=close(*closed))
    assert cvtmesh.path("a.obj").read_bytes() == kept
    assert cvtmesh.json("c.json")["options"]["points"] == 60
    journal = [strict_json(line) for line in cvtmesh.read("jobs.jsonl.journal").splitlines()]
    assert sorted(line.get("status", "") for line in journal) == ["", "done", "done", "failed"]


def test_limit_on_the_size_of_files(cvtmesh):
    """A limit on the size of files ends no command by a signal."""
    points = cvtmesh.file("points.csv", "x,y\n1,1\n30,1\n1,30\n30,31\n")
    for arguments in (["run", CAMERA, "-n", "50", "--iterations", "1"], ["mesh", points]):
        done = cvtmesh.call(*arguments, "-o", "a.obj", code=1,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8)))
        assert done.stderr.count(b"\n") == 1 and b"a.obj" in done.stderr, done.stderr
        assert "a.obj" not in cvtmesh.names()


def test_failed_run_leaves_earlier_files(cvtmesh):
    cvtmesh.file("kept.obj", "old")
    cvtmesh.call("run", "absent.png", "-n", 5, "-o", "kept.obj", code=3)
    assert cvtmesh.read("kept.obj") == b"old"


def test_device_unavailable(cvtmesh):
    cvtmesh.refused("run", CAMERA, "-n", 5, "-o", "a.obj", "--device", "cuda:99", code=5,
                    names=["cuda"])


def three_iterations(process):
    for _ in range(3):
        assert process.stderr.readline().startswith(b"iteration")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU])
def test_interrupt(cvtmesh, number):
    cvtmesh.interrupted("run", CAMERA, "-n", 3000, "--tolerance", 0, "--iterations", 1000000, "-o",
                        "a.obj", "-o", "a.csv", "--report", "a.json", "-v", when=three_iterations,
                        number=number)
    report = cvtmesh.json("a.json")
    assert report["stop_reason"] == "interrupted"
    assert len(cvtmesh.read("a.csv").splitlines()) == 3001
    energies = [entry["energy"] for entry in report["history"]]
    assert report["energy"] <= min(energies) * (1 + 1e-9)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_was_ignored_at_the_start_stays_ignored(cvtmesh, number):
    """As nohup and the shell's & ask for it."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        process = cvtmesh.start("run", CAMERA, "-n", 500, "--tolerance", 0, "--iterations", 40, "-o",
                                "a.csv", "--report", "a.json", "-v")
    finally:
        signal.signal(number, before)
    three_iterations(process)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert cvtmesh.json("a.json")["iterations"] == 40


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGXCPU])
def test_repeated_signals_of_a_terminal_or_of_a_limit(cvtmesh, number):
    def twice(process):
        three_iterations(process)
        process.send_signal(number)

    cvtmesh.interrupted("run", CAMERA, "-n", 3000, "--tolerance", 0, "--iterations", 1000000, "-o",
                        "a.csv", "-v", when=twice, number=number)
    assert len(cvtmesh.read("a.csv").splitlines()) == 3001


def test_names_that_are_no_text(cvtmesh):
    """Control characters and bytes that are not UTF-8 are escaped in messages and reports."""
    name = b"a\x1b[31m\n\x7f\xff\xc3\xa9\xc2\x9b\xed\xa0\x80\xf0\x9f\x98\x80"
    shown = "a\\x1b[31m\\x0a\\x7f\\xff\u00e9\\xc2\\x9b\\xed\\xa0\\x80\U0001f600"
    in_report = "a\x1b[31m\n\x7f\\xff\u00e9\x9b\\xed\\xa0\\x80\U0001f600"
    picture = os.fsdecode(name)
    cvtmesh.file(picture, CAMERA.read_bytes())
    cvtmesh.file(picture + ".txt", "no picture")
    run = ("-n", 20, "--iterations", 1, "-o", picture + ".csv")
    said = cvtmesh.call("run", picture, *run, "--report", "r.json").stderr
    assert cvtmesh.json("r.json")["options"]["input"] == in_report
    said += cvtmesh.call("run", picture + ".x", *run, code=3).stderr
    said += cvtmesh.call("run", picture, *run, "--points=" + picture, code=2).stderr
    said += cvtmesh.call("batch", picture, *run, "--report", "r.json").stderr
    said += cvtmesh.call("batch", picture + ".txt", *run, "--report", "r.json", code=1).stderr
    assert cvtmesh.json("r.json")["failures"][0]["input"] == in_report + ".txt"
    said += cvtmesh.call("stats", picture + ".csv").stdout
    said += cvtmesh.call(picture, code=2).stderr
    lines = said.decode().splitlines()
    assert sum(shown in line for line in lines) >= 8
    assert all(line.isprintable() for line in lines)
