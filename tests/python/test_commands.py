"""The commands stats, batch and info: what they return is what the program prints and writes."""

import json
import os
import signal
import subprocess
import threading

import numpy as np
import pytest

import cvtmesh

POINTS = np.random.default_rng(1).uniform(0, 60, (400, 2))


def printed(*arguments, **keywords):
    command = [os.environ["CVTMESH_PROGRAM"], *map(str, arguments), "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, **keywords).stdout)


def test_stats_are_those_of_the_program(tmp_path):
    density = 1 + np.random.default_rng(2).random((60, 60)).astype(np.float32)
    np.save(tmp_path / "points.npy", POINTS)
    np.save(tmp_path / "density.npy", density)
    words = ["--density", "density.npy"]
    wanted = printed("stats", "points.npy", *words, cwd=tmp_path)
    found = cvtmesh.stats(POINTS, density=density)
    del wanted["file"]
    assert found == wanted


def test_stats_of_a_mesh_file(tmp_path):
    t = cvtmesh.tessellate(np.ones((40, 40)), 50, iterations=3)
    t.save(tmp_path / "a.msh")
    found = cvtmesh.stats(tmp_path / "a.msh", width=40, height=40)
    assert found["quality_all"]["triangles"] == len(t.triangles)
    assert found["quality"]["min_angle"] == pytest.approx(t.quality["min_angle"], abs=1e-4)


def test_info_is_that_of_the_program():
    assert cvtmesh.info()["version"] == printed("info")["version"]


@pytest.fixture
def images(tmp_path):
    for k in range(3):
        np.save(tmp_path / f"{k}.npy", np.random.default_rng(k).random((40, 50)))
    return tmp_path


def test_a_batch_writes_what_runs_write(images):
    runs = [
        {"input": images / f"{k}.npy", "points": np.int64(30 + k), "iterations": 5,
         "output": [images / f"{k}.csv", images / f"{k}.svg"], "dot_size": (0.5, 2)}
        for k in range(3)
    ]  # fmt: skip
    report = cvtmesh.batch(runs, seed=7, threads=2)
    assert (report["jobs"], report["done"], report["failed"]) == (3, 3, 0)
    for k in range(3):
        t = cvtmesh.tessellate(images / f"{k}.npy", 30 + k, iterations=5, seed=7)
        t.save(images / "one.csv")
        assert (images / "one.csv").read_bytes() == (images / f"{k}.csv").read_bytes()
        assert (images / f"{k}.svg").stat().st_size > 0


def test_a_batch_of_a_glob_is_resumed(images):
    keywords = {"points": 20, "iterations": 2, "output": images / "{stem}.csv"}
    keywords["journal"] = images / "journal"
    assert cvtmesh.batch(images / "?.npy", **keywords)["done"] == 3
    (images / "1.csv").unlink()
    report = cvtmesh.batch(images / "?.npy", resume=True, **keywords)
    assert (report["done"], report["skipped"]) == (1, 2)


def test_a_job_that_fails_is_reported(images, capfd):
    (images / "1.npy").write_bytes(b"nonsense")
    runs = [{"input": f"{images}/{k}.npy", "points": 9, "output": f"{images}/{k}.csv"} for k in (0, 1)]
    report = cvtmesh.batch(runs)
    assert (report["done"], report["failed"]) == (1, 1)
    assert "1.npy" in json.dumps(report["failures"])
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("runs", "error", "message"),
    [
        (3, TypeError, "runs: int"),
        ([{"points": 3}], TypeError, r"runs\[0\]: a dict of `input`"),
        ([{"input": np.ones((3, 3))}], TypeError, "reads files"),
        ([{"input": "a.png", "init": np.ones((3, 2))}], TypeError, "reads files"),
        ([{"input": "a.png", "pionts": 3}], TypeError, "did you mean 'points'"),
        ([{"input": "a.png", "points": -3, "output": "a.csv"}], ValueError, "points"),
        ([{"input": "a.png", "points": 3, "output": "a.csv"}] * 2, ValueError, "a.csv"),
        ("no-such-list.jsonl", OSError, "no-such-list"),
    ],
)
def test_wrong_runs_are_named(runs, error, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        cvtmesh.batch(runs)
    assert not list(tmp_path.glob("*.csv"))


def test_ctrl_c_ends_a_batch(tmp_path):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).random((300, 300)))
    runs = [
        {"input": tmp_path / "a.npy", "points": 5000, "tolerance": 0, "iterations": 10**6,
         "output": tmp_path / f"{k}.csv"} for k in range(50)
    ]  # fmt: skip
    # A shell that starts the tests in the background lets them ignore SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    main = threading.get_ident()
    threading.Timer(0.5, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        cvtmesh.batch(runs)
    signal.signal(signal.SIGINT, before)
    cvtmesh._wait()
    assert not list(tmp_path.glob("*.csv"))
