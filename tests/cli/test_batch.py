"""cvtmesh batch: the same files as single runs, lists and templates, failures, kill -9 and
resumption and shards."""

import fcntl
import json
import os
import random
import re
import resource
import signal
import subprocess
import time

import numpy as np
import pytest

from conftest import Program, grey_ramp, wait_until

JOURNAL = "cvtmesh-batch.journal"
SMALL = ("-n", 12, "--iterations", 3)
TEMPLATE = (*SMALL, "-o", "out/{stem}.csv", "-o", "out/{stem}.msh")


class Batch(Program):
    """Jobs read pictures in in/ and write to out/."""
    def __init__(self, folder):
        super().__init__(folder)
        for name in ("in", "out"):
            os.mkdir(self.path(name))

    def pictures(self, count):
        for k in range(count):
            self.file("in/p%03d.pgm" % k, grey_ramp(k))

    def finished(self):
        return [name for name in self.names("out") if not name.startswith(".")]

    def done_indices(self, *journals):
        entries = [json.loads(line) for name in journals for line in self.read(name).splitlines()]
        return sorted(e["index"] for e in entries if e.get("status") == "done")


@pytest.fixture
def batch(tmp_path):
    return Batch(tmp_path)


def test_same_files_as_single_runs(batch):
    batch.pictures(4)
    formats = ["obj", "msh", "csv", "vtu", "svg", "png", "npy"]
    small = *SMALL, "--picture-size", 100
    options = [w for f in formats for w in ("-o", "out/{stem}." + f)]
    batch.call("batch", "in/*.pgm", *small, *options, "--density-out", "out/{stem}_rho.npy",
               "--run-report", "out/{stem}.json", "--jobs", 3)
    for k in range(4):
        names = [w for f in formats for w in ("-o", "one." + f)]
        batch.call("run", "in/p%03d.pgm" % k, *small, *names, "--density-out", "one_rho.npy")
        for ending in ["." + f for f in formats] + ["_rho.npy"]:
            assert batch.read("one" + ending) == batch.read("out",
                                                            "p%03d%s" % (k, ending)), (k, ending)
        assert batch.json("out", "p%03d.json" % k)["sites"] == 12


def test_threads_and_jobs_leave_the_bits_alone(batch):
    batch.pictures(4)
    found = []
    for extra in (["--jobs", 1], ["--jobs", 4], ["--jobs", 1, "--threads", 2]):
        batch.call("batch", "in/*.pgm", "-n", 60, "--iterations", 5, "-o", "out/{stem}.csv", *extra)
        found.append(batch.outputs())
    assert found[0] == found[1] == found[2]


def test_placeholders(batch):
    os.mkdir(batch.path("in", "deep"))
    batch.file("in/deep/a.b{c}.pgm", grey_ramp(1))
    batch.call("batch", "in/deep/*", *SMALL, "-o", "out/{stem}-{name}-{ext}-{index}-{{x}}.csv",
               "-o", "{dir}/{stem}.obj")
    assert list(batch.outputs()) == ["a.b{c}-a.b{c}.pgm-pgm-1-{x}.csv"]
    assert os.path.exists(batch.path("in/deep/a.b{c}.obj"))
    for bad in ("out/{what}.csv", "out/{stem.csv", "out/stem}.csv"):
        assert bad in batch.call("batch", "in/deep/*.pgm", *SMALL, "-o", bad,
                                 code=2).stderr.decode()


def test_lists(batch):
    """JSON lines and CSV give the same jobs; the names hold every character that needs quoting."""
    names = ['plain', 'a b', 'comma,semi;', 'quote"d', "it's", '{brace}', 'ü', 'two\nlines']
    for k, name in enumerate(names):
        batch.file("in/%s.pgm" % name, grey_ramp(k))
    lines = []
    for k, name in enumerate(names):
        lines.append({
            "input": "in/%s.pgm" % name, "output": ["out/%s.csv" % name,
                                                    "out/%d.obj" % k], "points": 10 + k, "seed":
            2**53 - k, "invert": k % 2 == 0, "density_from": "density", "gamma": 1.25, "time-limit":
            None
        })
    batch.file("jobs.jsonl", "\n\n".join(json.dumps(line) for line in lines) + "\n")
    batch.call("batch", "jobs.jsonl", "--iterations", 3, "-o", "ignored.csv")
    first = batch.outputs()
    assert len(first) == 2 * len(names)
    assert "ignored.csv" not in os.listdir(batch.folder)
    batch.empty()
    batch.call("batch", "-", "--iterations", 3, "--resume", input=batch.read("jobs.jsonl"))
    assert batch.outputs() == first
    batch.call("run", "in/plain.pgm", "-n", 10, "--seed", 2**53, "--iterations", 3, "--invert",
               "--density-from", "density", "--gamma", 1.25, "-o", "one.csv")
    assert batch.read("one.csv") == first["plain.csv"]
    assert os.path.exists(batch.path("jobs.jsonl.journal"))


def test_bad_lists_are_refused_before_work(batch):
    batch.pictures(2)
    good = '{"input": "in/p000.pgm", "output": "out/a.csv", "points": 5}\n'
    for bad in ("{", "[]", '{"input": "in/p001.pgm"', '{"pionts": 5}', '{"watch": "x"}',
                '{"input": 5}', '{"input": "in/p001.pgm", "output": "out/b.csv", "points": 0}',
                '{"input": "in/p001.pgm", "output": "out/b.csv", "domain": "image"}',
                '{"input": "in/p001.pgm", "output": "out/b.doc", "points": 5}',
                '{"input": "in/p001.pgm", "output": {}, "points": 5}',
                '{"input": "in/p001.pgm", "output": [1], "points": 5}',
                '{"input": "in/p001.pgm", "output": "-", "points": 5}',
                '{"input": "in/p001.pgm", "output": "out/b.csv", "points": 5, "device": "cpu"}',
                '{"output": "out/b.csv", "points": 5}'):
        batch.file("jobs.jsonl", good + bad + "\n")
        assert "line 2" in batch.call("batch", "jobs.jsonl", code=2).stderr.decode()
    assert "jobs.jsonl" in batch.call("batch", "absent/jobs.jsonl", code=3).stderr.decode()
    batch.call("batch", "in/absent*.pgm", *TEMPLATE, code=3)
    assert batch.outputs() == {}


def test_outputs_of_two_jobs_never_meet(batch):
    batch.pictures(3)
    os.symlink("out", batch.path("link"))
    batch.call("batch", "in/*.pgm", *SMALL, "-o", "out/same.csv", code=2)
    lines = [{"input": "in/p000.pgm", "output": "out/a.csv"}]
    for output in ("./out//a.csv", "link/a.csv", "in/../out/a.csv"):
        pair = lines + [{"input": "in/p001.pgm", "output": output}]
        batch.file("jobs.jsonl", "\n".join(json.dumps(line) for line in pair))
        assert "job 2" in batch.call("batch", "jobs.jsonl", *SMALL, code=2).stderr.decode()
    batch.file(
        "jobs.jsonl", '{"input": "in/p000.pgm", "density_out": "out/a.npy"}\n'
        '{"input": "out/a.npy", "output": "out/b.csv"}\n')
    batch.call("batch", "jobs.jsonl", *SMALL, code=2)
    assert batch.outputs() == {}


def mixed(batch):
    batch.pictures(12)
    batch.file("in/p003.pgm", "no picture")
    batch.file("in/p005.pgm", grey_ramp(5)[:50])
    batch.file("in/p007.pgm", b"P5\n8 8\n255\n" + b"\xff" * 64)
    return [3, 5, 7]


def test_good_ones_are_done_and_bad_ones_named(batch):
    bad = mixed(batch)
    report = batch.report("batch", "in/*.pgm", *TEMPLATE, code=1)
    assert (report["jobs"], report["done"], report["failed"], report["skipped"]) == (12, 9, 3, 0)
    assert sorted(f["index"] for f in report["failures"]) == bad
    for failure in report["failures"]:
        assert failure["input"] in failure["reason"]
        assert failure["code"] == 3
    assert len(batch.outputs()) == 18
    text = batch.call("batch", "in/*.pgm", *TEMPLATE, code=1).stderr.decode()
    for k in bad:
        assert re.search(r"job %d: in/p%03d\.pgm: .*\w" % (k + 1, k), text)
    assert re.search(r"(?m)^  done +9$", text)
    assert re.search(r"(?m)^  failed +3;", text)
    for k in bad:
        batch.file("in/p%03d.pgm" % k, grey_ramp(k))
    report = batch.report("batch", "in/*.pgm", *TEMPLATE, "--resume")
    assert (report["done"], report["failed"], report["skipped"]) == (3, 0, 9)
    assert report["failures"] == []


def test_fail_fast(batch):
    batch.pictures(40)
    batch.file("in/p000.pgm", "no picture")
    report = batch.report("batch", "in/*.pgm", *TEMPLATE, "--fail-fast", "--jobs", 1, code=1)
    assert report["failed"] == 1
    # There are two lanes: the other one may have started a job before.
    assert report["done"] < 20
    batch.file("in/p000.pgm", grey_ramp(0))
    report = batch.report("batch", "in/*.pgm", *TEMPLATE, "--resume", "--fail-fast")
    assert report["done"] + report["skipped"] == 40


def test_results_that_are_not_converged(batch):
    """Masses of single pixels that no diagram in double precision makes equal to 1e-13."""
    batch.pictures(2)
    density = np.zeros((40, 40), "f4")
    density[0, 0] = density[39, 39] = 1
    density[20, 1] = 1e-3
    batch.file("in/p002.npy", density)
    hard = (*SMALL, "--equal-mass", "--mass-tolerance", 1e-13, "--density-from", "density")
    batch.call("run", "in/p002.npy", *hard, "-o", "one.csv", code=4)
    words = ("batch", "in/*", *hard, "-o", "out/{stem}.csv", "--report", "r.json")
    for options, done in (((), 3), (("--resume",), 0)):
        said = batch.call(*words, *options, code=4).stderr.decode()
        report = batch.json("r.json")
        assert (report["done"], report["skipped"], report["failed"]) == (done, 3 - done, 0)
        assert report["not_converged"] == 1
        assert ("job 3: in/p002.npy: not converged" in said) == (done == 3)
        assert re.search(r"(?m)^  of these   1 not converged$", said)
    assert batch.read("out", "p002.csv") == batch.read("one.csv")
    entries = [json.loads(line) for line in batch.read(JOURNAL).splitlines()]
    assert [e.get("code") for e in entries if e.get("index") == 2] == [4]
    batch.file("in/p000.pgm", "no picture")
    batch.call(*words, code=1)


def test_a_pipe_without_a_reader_fails_one_job(batch):
    batch.pictures(3)
    os.mkfifo(batch.path("out", "p001.csv"))
    process = batch.start("batch", "in/*.pgm", "-n", 3000, "--iterations", 1, "-o", "out/{stem}.csv",
                          "--report", "r.json", stderr=subprocess.PIPE)
    with open(batch.path("out", "p001.csv"), "rb") as pipe:
        pipe.read(1)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1, said
    report = batch.json("r.json")
    assert (report["done"], report["failed"]) == (2, 1)
    assert "out/p001.csv: Broken pipe" in report["failures"][0]["reason"]


def test_missing_folders_are_made(batch):
    batch.pictures(4)
    os.rmdir(batch.path("out"))
    words = ("batch", "in/*.pgm", *SMALL, "-o", "out/{stem}/deep//a.csv", "--report", "new/r.json")
    batch.call(*words)
    assert batch.json("new/r.json")["done"] == 4
    for k in range(4):
        assert os.listdir(batch.path("out", "p%03d" % k, "deep")) == ["a.csv"]
    batch.file("file", "")
    said = batch.call("batch", "in/*.pgm", *SMALL, "-o", "file/{stem}/a.csv", code=1).stderr.decode()
    assert said.count("\n") == 1 and "file/p000: " in said
    assert batch.read("file") == b""


def test_folder_without_permission(batch):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    batch.pictures(4)
    os.chmod(batch.path("out"), 0o555)
    assert batch.report("batch", "in/*.pgm", *TEMPLATE, code=1)["failed"] == 4
    os.chmod(batch.path("out"), 0o755)
    assert batch.report("batch", "in/*.pgm", *TEMPLATE, "--resume")["done"] == 4


def test_no_room(batch):
    """A limit on file sizes acts like a full disk: first outputs fail, later the journal."""
    batch.pictures(30)
    for limit in (300, 1500):
        done = batch.call(
            "batch", "in/*.pgm", *TEMPLATE, code=1,
            preexec_fn=lambda size=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
        assert "too large" in done.stderr.decode()
        assert not [n for n in batch.outputs() if n.startswith(".")]
    batch.call("batch", "in/*.pgm", *TEMPLATE, "--resume")
    whole = batch.outputs()
    batch.call("batch", "in/*.pgm", *TEMPLATE)
    assert whole == batch.outputs()
    assert len(whole) == 60


def test_full_device(batch):
    batch.pictures(3)
    assert "/dev/full" in batch.call("batch", "in/*.pgm", *TEMPLATE, "--journal", "/dev/full",
                                     code=1).stderr.decode()


def test_devices(batch):
    batch.pictures(2)
    for device, code in (("gpu", 2), ("cuda:99", 5), ("cpu,,cpu", 2)):
        batch.call("batch", "in/*.pgm", *TEMPLATE, "--device", device, code=code)


def test_killed_at_twenty_moments(batch):
    batch.pictures(200)
    batch.call("batch", "in/*.pgm", *TEMPLATE)
    whole = batch.outputs()
    assert len(whole) == 400
    batch.empty()
    chance = random.Random(5)
    resume, kills = [], 0
    while kills < 20:
        enough = len(batch.finished()) + chance.randrange(8)
        process = batch.start("batch", "in/*.pgm", *TEMPLATE, *resume, stderr=subprocess.DEVNULL)
        while len(batch.finished()) < enough and process.poll() is None:
            # A file under its final name is complete at any moment.
            names = batch.finished()
            for name in chance.sample(names, min(5, len(names))):
                assert batch.read("out", name) == whole[name]
        time.sleep(0.003 * chance.random())
        process.kill()
        assert process.wait() == -signal.SIGKILL
        for name in batch.finished():
            assert batch.read("out", name) == whole[name]
        resume, kills = ["--resume"], kills + 1
    report = batch.report("batch", "in/*.pgm", *TEMPLATE, "--resume")
    assert report["done"] + report["skipped"] == 200
    assert report["skipped"] > 0
    assert batch.outputs() == whole  # and no temporary file is left


def test_interrupted(batch):
    for number in (signal.SIGINT, signal.SIGTERM):
        batch.pictures(200)
        batch.interrupted("batch", "in/*.pgm", *TEMPLATE, "--report", "report.json", number=number,
                          when=lambda _: wait_until(batch.finished, "an output"))
        report = batch.json("report.json")
        assert report["interrupted"] is True
        assert report["failed"] == 0
        assert report["done"] < 200
        report = batch.report("batch", "in/*.pgm", *TEMPLATE, "--resume")
        assert report["done"] + report["skipped"] == 200
        batch.empty()


def test_only_what_is_missing_or_changed(batch):
    batch.pictures(8)
    batch.call("batch", "in/*.pgm", *TEMPLATE)
    first = batch.outputs()
    os.remove(batch.path("out", "p001.msh"))
    batch.file("in/p002.pgm", grey_ramp(3))
    with open(batch.path(JOURNAL), "ab") as stream:
        stream.write(b'{"job":"0123')
    report = batch.report("batch", "in/*.pgm", *TEMPLATE, "--resume")
    assert (report["done"], report["skipped"]) == (2, 6)
    second = batch.outputs()
    assert second["p001.msh"] == first["p001.msh"]
    assert second["p002.csv"] != first["p002.csv"]
    assert batch.report("batch", "in/*.pgm", *TEMPLATE, "--resume")["skipped"] == 8
    assert batch.report("batch", "in/*.pgm", *TEMPLATE, "--resume", "--threads", 2)["done"] == 0
    assert batch.report("batch", "in/*.pgm", *TEMPLATE, "--resume", "--seed", 9)["done"] == 8
    assert batch.report("batch", "in/*.pgm", *TEMPLATE)["done"] == 8


def test_one_batch_at_a_time(batch):
    batch.pictures(2)
    with open(batch.path(JOURNAL), "w", encoding="ascii") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        assert JOURNAL in batch.call("batch", "in/*.pgm", *TEMPLATE, code=1).stderr.decode()
    batch.call("batch", "in/*.pgm", *TEMPLATE)


def test_shards(batch):
    batch.pictures(20)
    batch.call("batch", "in/*.pgm", *TEMPLATE)
    whole = batch.outputs()
    batch.empty()
    for k in range(2):
        batch.call("batch", "in/*.pgm", *TEMPLATE, "--shard", "%d/3" % k)
    slurm = {"SLURM_ARRAY_TASK_ID": "14", "SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_COUNT": "3",
             "SLURM_ARRAY_TASK_STEP": "2"}
    batch.call("batch", "in/*.pgm", *TEMPLATE, "--shard", "slurm", environment=slurm)
    assert batch.outputs() == whole
    journals = [JOURNAL + ".shard%d" % k for k in range(3)]
    assert batch.done_indices(*journals) == list(range(20))
    assert batch.report("batch", "in/*.pgm", *TEMPLATE, "--resume")["skipped"] == 20
    for bad in ("3/3", "-1/3", "1", "1/", "a/b", "slurm"):
        batch.call("batch", "in/*.pgm", *TEMPLATE, "--shard", bad, code=2)
    batch.call("batch", "in/*.pgm", *TEMPLATE)
    assert [n for n in os.listdir(batch.folder) if "shard" in n] == []


def test_under_mpirun_jobs_are_divided_by_shards_alone(batch):
    batch.pictures(3)
    words = ("batch", "in/*.pgm", *TEMPLATE)
    of_two = {"OMPI_COMM_WORLD_SIZE": "2"}
    for launched in (of_two, {"PMI_SIZE": "2"}, {"PMIX_RANK": "0"},
                     {"PMIX_RANK": "0", "SLURM_STEP_NUM_TASKS": "2"}):
        batch.refused(*words, code=2, names=["--shard"], environment=launched)
    assert batch.outputs() == {}
    for k in (0, 1):
        batch.call(*words, "--shard", f"{k}/2", environment=of_two)
        assert len(batch.outputs()) == (4, 6)[k]
    batch.call(*words, environment={"OMPI_COMM_WORLD_SIZE": "1"})
    assert batch.done_indices(JOURNAL) == [0, 1, 2]
