"""The journal of `cvtmesh batch`: who may write it, what a killed batch leaves, and in which
order files and folders reach the disk. A shim in C, preloaded, makes calls fail or records them."""

import errno
import fcntl
import json
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import ROOT, grey_ramp, strict_json, wait_until

SMALL = ("-n", 12, "--iterations", 3)
TEMPLATE = (*SMALL, "-o", "out/{stem}.csv", "-o", "out/{stem}.msh")


@pytest.fixture
def work(cvtmesh):
    """A folder with in/ (four pictures) and out/."""
    for name in ("in", "out"):
        cvtmesh.path(name).mkdir()
    for k in range(4):
        cvtmesh.file("in/p%d.pgm" % k, grey_ramp(k))
    return cvtmesh


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """The environment under which the program calls the shim."""
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    source = ROOT / "tests/cli/lock_and_sync_shim.c"
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-Wall", "-Wextra", "-Werror", "-fPIC",
                    "-shared", "-o", library, source, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library), "ASAN_OPTIONS": "verify_asan_link_order=0"}


def entries(path):
    return [strict_json(line) for line in path.read_text().splitlines()]


@pytest.fixture
def living(work):
    """Starts batches that are stopped once their journal names them; they live until the end."""
    started = []

    def start(journal, *options):
        work.file("big.pgm", grey_ramp(9, 300))
        process = work.start("batch", "big.pgm", "-n", 3000, "--iterations", 1000000, "--tolerance", 0,
                             "-o", "out/big.csv", *options, stderr=subprocess.DEVNULL)
        started.append(process)
        wait_until(lambda: work.path(journal).exists() and b"\n" in work.read(journal), "a journal")
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)  # not before all its threads stand still
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def disguise(path):
    """Makes the session look like that of a process on another machine, which ended long ago."""
    content = path.read_text()
    changed = re.sub(r'"host":"[^"]*"', '"host":"elsewhere"', content)
    changed = re.sub(r'"pid":\d+', '"pid":999999999', changed)
    assert changed != content
    path.write_text(changed)  # the same inode, so the lock stays


def test_two_batches_with_one_journal(work, living):
    living("j", "--journal", "j")
    before = work.outputs()  # it may hold a temporary file
    for is_disguised in (False, True):
        if is_disguised:
            disguise(work.path("j"))
        for options in ((), ("--resume",)):
            work.refused("batch", "in/*.pgm", *TEMPLATE, "--journal", "j", *options, code=1,
                         names=["j: another batch is writing it"])
    assert work.outputs() == before


def test_the_journal_of_a_living_shard_stays(work, living):
    living("j.shard0", "--journal", "j", "--shard", "0/1")
    disguise(work.path("j.shard0"))
    work.file("j.shard1", "")
    before = work.path("j.shard0").read_bytes(), work.outputs()
    work.refused("batch", "in/*.pgm", *TEMPLATE, "--journal", "j", code=1,
                 names=["j.shard0: another batch is writing it"])
    assert (work.path("j.shard0").read_bytes(), work.outputs()) == before


def killed_while_writing(work, shim, name):
    """The temporary file of a run that was killed before it was renamed."""
    work.call("run", "in/p0.pgm", *SMALL, "-o", name, environment={**shim, "SHIM_KILL": "3"},
              code=-signal.SIGKILL)
    left, = work.path(name).parent.glob(".cvtmesh-*.tmp")
    return left


def test_temporary_files_of_killed_runs_are_removed(work, shim):
    left = killed_while_writing(work, shim, "out/a.csv")
    work.call("run", "in/p1.pgm", *SMALL, "-o", "b.csv")  # another folder
    assert left.exists()
    work.call("run", "in/p1.pgm", *SMALL, "-o", "out/b.csv")
    assert list(work.outputs()) == ["b.csv"]


def test_temporary_files_stay_while_their_writer_lives(work, shim):
    left = killed_while_writing(work, shim, "out/a.csv")
    other = work.file("out/.cvtmesh-%08x-%016x-0.tmp" % (0, 0), "of another machine")
    run = ("run", "in/p1.pgm", *SMALL, "-o", "out/b.csv")
    old = time.time() - 2 * 86400
    with open(left, "rb") as stream, open(other, "rb") as stream_of_other:
        for file in (stream, stream_of_other):
            fcntl.flock(file, fcntl.LOCK_EX)
        for path in (left, other):
            os.utime(path, (old, old))
        work.call(*run)
        assert left.exists() and other.exists()
    os.utime(other)
    work.call(*run)
    assert not left.exists() and other.exists()  # its machine may have a lock that is unknown here
    os.utime(other, (old, old))
    for name in (".cvtmesh-link.tmp", ".cvtmesh-folder.tmp", ".cvtmesh.tmp", ".cvtmesh-notes.txt"):
        path = work.path("out") / name
        if "link" in name:
            path.symlink_to(work.path("in/p0.pgm"))
        elif "folder" in name:
            path.mkdir()
        else:
            path.write_text("")
            os.utime(path, (old, old))
    os.utime(work.path("in/p0.pgm"), (old, old))
    work.call(*run)
    assert sorted(path.name for path in work.path("out").iterdir()) == [
        ".cvtmesh-folder.tmp", ".cvtmesh-link.tmp", ".cvtmesh-notes.txt", ".cvtmesh.tmp", "b.csv"]
    assert work.path("in/p0.pgm").exists()


def test_a_file_that_is_no_journal_stays(work):
    for name, content in (("notes.txt", "what I did today\n"), ("n", "{"), ("o", '{"a": 1}\n'),
                          ("j.shard3", "no journal")):
        path = work.file(name, content)
        journal = name.partition(".shard")[0]
        for options in ((), ("--resume",)):
            if name == "n" or ("shard" in name and options):
                continue
            work.refused("batch", "in/*.pgm", *TEMPLATE, "--journal", journal, *options, code=1,
                         names=[name, "not a journal"])
            assert path.read_text() == content
    work.call("batch", "in/*.pgm", *TEMPLATE, "--journal", "n")  # a first line that was torn
    assert work.outputs()


def test_a_line_after_a_torn_one(work, shim):
    """The third write to the journal is short, then the disk is full for one write."""
    work.call("batch", "in/*.pgm", *TEMPLATE, "--journal", "j", "--jobs", 2, code=1,
              environment={**shim, "SHIM_SHORT_WRITE": "3", "SHIM_SHORT_NAME": str(work.path("j"))})
    lines = work.path("j").read_text().splitlines()
    whole = [line for line in lines if line.endswith("}")]
    assert len(lines) == len(whole) + 1
    done = sum('"done"' in line for line in whole)
    report = work.report("batch", "in/*.pgm", *TEMPLATE, "--journal", "j", "--resume")
    assert (report["done"], report["skipped"]) == (4 - done, done)


def test_only_journals_are_removed(work):
    for name in ("j.shard0", "j.shard12", "j.shard", "j.shard1.bak", "j.shard-notes", "j.shard1x",
                 "k.shard0"):
        work.file(name, "")
    work.call("batch", "in/*.pgm", *TEMPLATE, "--journal", "j")
    assert [name for name in work.names() if name[0] in "jk"] == [
        "j", "j.shard", "j.shard-notes", "j.shard1.bak", "j.shard1x", "k.shard0"]


def test_a_journal_that_is_no_file(work):
    for options in ((), ("--resume",)):
        work.refused("batch", "in/*.pgm", *TEMPLATE, "--journal", "/dev/zero", *options,
                     code=1, names=["/dev/zero"])


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EIO])
def test_errors_of_locking(work, shim, number):
    work.file("j", "")
    work.file("j.shard0", "")
    for options in ((), ("--resume",)):
        work.refused("batch", "in/*.pgm", *TEMPLATE, "--journal", "j", *options, code=1,
                     names=["j", "cannot be locked", os.strerror(number)],
                     environment={**shim, "SHIM_FLOCK_ERROR": str(number)})
    assert work.outputs() == {}


def test_an_interrupted_lock_is_tried_again(work, shim):
    done = work.call("batch", "in/*.pgm", *TEMPLATE, "-q", environment={
        **shim, "SHIM_FLOCK_ERROR": str(errno.EINTR), "SHIM_FLOCK_ONCE": "1"})
    assert done.stderr == b""
    assert len(work.outputs()) == 8


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks(work, shim, number):
    without = {**shim, "SHIM_FLOCK_ERROR": str(number)}
    for options in ((), ("--resume",)):
        text = work.call("batch", "in/*.pgm", *TEMPLATE, "-q", "--journal", "j", *options,
                         environment=without).stderr.decode()
        assert text.count("\n") == 1 and "j: the file system has no locks" in text
    assert len(work.outputs()) == 8


def calls(work, shim, *arguments):
    """What the program synced, renamed and removed, in order: (call, its paths)."""
    record = work.path("record")
    work.call(*arguments, environment={**shim, "SHIM_RECORD": str(record)})
    found = [tuple(line.split()) for line in record.read_text().splitlines()]
    record.unlink()
    return found


def check_order(found, folder, name):
    """Data, name and folder reach the disk in this order. Returns the position after them."""
    place, = [k for k, call in enumerate(found)
              if call[0] == "rename" and os.path.basename(call[2]) == name]
    temporary = os.path.basename(found[place][1])
    assert ("fsync", str(folder / temporary)) in found[:place]
    return place + 1 + found[place + 1:].index(("fsync", str(folder)))


def test_order_of_syncs(work, shim):
    for k in range(1, 4):
        work.path("in/p%d.pgm" % k).unlink()
    found = calls(work, shim, "batch", "in/*.pgm", *TEMPLATE, "--journal", "j")
    folder, journal = work.path("out"), ("fdatasync", str(work.path("j")))
    assert found.index(("fsync", str(work.folder))) < found.index(journal)
    last = len(found) - 1 - found[::-1].index(journal)
    assert found.count(journal) == 2
    for name in ("p0.csv", "p0.msh"):
        assert check_order(found, folder, name) < last
    found = calls(work, shim, "run", "in/p0.pgm", *SMALL, "-o", "a.csv")  # no folder in the name
    check_order(found, work.folder, "a.csv")


def test_a_folder_that_cannot_be_synced(work, shim):
    run = ("run", "in/p0.pgm", *SMALL, "-q", "-o", "out/a.csv")
    work.call(*run, environment={**shim, "SHIM_SYNC_ERROR": str(errno.EINVAL)})
    whole = work.outputs()
    work.empty()
    done = work.call(*run, code=1, environment={**shim, "SHIM_SYNC_ERROR": str(errno.EIO)})
    text = done.stderr.decode()
    assert text.count("\n") == 1 and "out/a.csv" in text and os.strerror(errno.EIO) in text
    assert work.outputs() == whole


@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_killed_before_every_call(work, shim, first):
    """Kills the program before its k-th sync, rename or removal; four tests share the k."""
    batch = ("batch", "in/*.pgm", *TEMPLATE, "--report", "out/report.json")

    def state():
        found = work.outputs()
        report = json.loads(found.pop("report.json"))
        return found, report["done"] + report["skipped"]

    work.call(*batch)
    whole, count = state()
    assert len(whole) == 8 and count == 4
    kills = 0
    for k in range(first + 1, 1000, 4):
        work.empty()
        work.path("cvtmesh-batch.journal").unlink()
        killed = work.call(*batch, environment={**shim, "SHIM_KILL": str(k)}, code=(0, -signal.SIGKILL))
        if killed.returncode == 0:
            break
        kills += 1
        for name, content in work.outputs().items():
            assert name.startswith(".") or name == "report.json" or content == whole[name]
        work.call(*batch, "--resume")
        assert state() == (whole, 4)  # and no temporary file is left
        done = [e["index"] for e in entries(work.path("cvtmesh-batch.journal"))
                if e.get("status") == "done"]
        assert sorted(done) == [0, 1, 2, 3]
    assert kills >= 7
