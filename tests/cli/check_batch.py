#!/usr/bin/env python3
"""Drives `cvtmesh batch`: the same files as single runs, lists and templates, failures,
kill -9 and resumption, ranks and shards. CVTMESH_PROGRAM is the program's path."""

import csv
import fcntl
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(os.environ.get("CVTMESH_PROGRAM", "cvtmesh"))
# OpenMPI's own leaks are none of ours.
QUIET_MPI = dict(os.environ, ASAN_OPTIONS="detect_leaks=0", OMPI_MCA_btl_vader_single_copy_mechanism="none",
                 OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
os.environ.update(OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
JOURNAL = "cvtmesh-batch.journal"


def picture(number, size=20):
    """A grey ramp as PGM that differs for every number."""
    values = bytes((x * (3 + number % 5) + y * 7 + number) % 200 for y in range(size)
                   for x in range(size))
    return b"P5\n%d %d\n255\n" % (size, size) + values


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cvtmesh-batch-")
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("in", "out"):
            os.mkdir(self.path(name))

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, content):
        with open(self.path(name), "wb") as stream:
            stream.write(content if isinstance(content, bytes) else content.encode())

    def read(self, *names):
        with open(self.path(*names), "rb") as stream:
            return stream.read()

    def pictures(self, count):
        for k in range(count):
            self.write("in/p%03d.pgm" % k, picture(k))

    def arguments(self, jobs, options, device="cpu"):
        return [PROGRAM, "batch", jobs, *[str(o) for o in options], "--device", device]

    def call(self, jobs, *options, code=0, environment=None, **others):
        done = subprocess.run(self.arguments(jobs, options), capture_output=True, cwd=self.folder,
                              timeout=120, env=environment, check=False, **others)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        done.text = done.stderr.decode()
        return done

    def report(self, jobs, *options, code=0, **others):
        self.call(jobs, *options, "-q", "--report", "report.json", code=code, **others)
        return json.loads(self.read("report.json"))

    def run_alone(self, name, *options):
        subprocess.run([PROGRAM, "run", name, "-q", "--device", "cpu", *[str(o) for o in options]],
                       cwd=self.folder, check=True, timeout=60)

    def outputs(self, folder="out"):
        """Name -> content; temporary files included."""
        return {name: self.read(folder, name) for name in sorted(os.listdir(self.path(folder)))}

    def done_indices(self, *journals):
        entries = [json.loads(line) for name in journals for line in self.read(name).splitlines()]
        return sorted(e["index"] for e in entries if e.get("status") == "done")


SMALL = ("-n", 12, "--iterations", 3)
TEMPLATE = (*SMALL, "-o", "out/{stem}.csv", "-o", "out/{stem}.msh")


class Jobs(Case):
    def test_same_files_as_single_runs(self):
        self.pictures(6)
        formats = ["obj", "msh", "csv", "vtu", "svg", "png", "npy"]
        options = [w for f in formats for w in ("-o", "out/{stem}." + f)]
        self.call("in/*.pgm", *SMALL, *options, "--density-out", "out/{stem}_rho.npy",
                  "--run-report", "out/{stem}.json", "--jobs", 3)
        for k in range(6):
            names = [w for f in formats for w in ("-o", "one." + f)]
            self.run_alone("in/p%03d.pgm" % k, *SMALL, *names, "--density-out", "one_rho.npy")
            for ending in ["." + f for f in formats] + ["_rho.npy"]:
                self.assertEqual(self.read("one" + ending), self.read("out", "p%03d%s" % (k, ending)),
                                 (k, ending))
            self.assertEqual(json.loads(self.read("out", "p%03d.json" % k))["sites"], 12)

    def test_threads_and_jobs_leave_the_bits_alone(self):
        self.pictures(4)
        found = []
        for extra in (["--jobs", 1], ["--jobs", 4], ["--jobs", 1, "--threads", 2]):
            self.call("in/*.pgm", "-n", 60, "--iterations", 5, "-o", "out/{stem}.csv", *extra)
            found.append(self.outputs())
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0], found[2])

    def test_placeholders(self):
        os.mkdir(self.path("in", "deep"))
        self.write("in/deep/a.b{c}.pgm", picture(1))
        self.call("in/deep/*", *SMALL, "-o", "out/{stem}-{name}-{ext}-{index}-{{x}}.csv", "-o",
                  "{dir}/{stem}.obj")
        self.assertEqual(list(self.outputs()), ["a.b{c}-a.b{c}.pgm-pgm-1-{x}.csv"])
        self.assertTrue(os.path.exists(self.path("in/deep/a.b{c}.obj")))
        for bad in ("out/{what}.csv", "out/{stem.csv", "out/stem}.csv"):
            self.assertIn(bad, self.call("in/deep/*.pgm", *SMALL, "-o", bad, code=2).text)

    def test_lists(self):
        """JSON lines and CSV say the same, names with all that needs quoting."""
        names = ['plain', 'a b', 'comma,semi;', 'quote"d', "it's", '{brace}', 'ü', 'two\nlines']
        for k, name in enumerate(names):
            self.write("in/%s.pgm" % name, picture(k))
        lines = []
        for k, name in enumerate(names):
            lines.append({"input": "in/%s.pgm" % name, "output": ["out/%s.csv" % name, "out/%d.obj" % k],
                          "points": 10 + k, "seed": 2**53 - k, "invert": k % 2 == 0,
                          "density_from": "density", "gamma": 1.25, "time-limit": None})
        self.write("jobs.jsonl", "\n\n".join(json.dumps(line) for line in lines) + "\n")
        self.call("jobs.jsonl", "--iterations", 3, "-o", "ignored.csv")
        first = self.outputs()
        self.assertEqual(len(first), 2 * len(names))
        self.assertNotIn("ignored.csv", os.listdir(self.folder))
        shutil.rmtree(self.path("out"))
        os.mkdir(self.path("out"))
        with open(self.path("jobs.csv"), "w", encoding="utf-8-sig", newline="") as stream:
            table = csv.writer(stream)
            table.writerow(["input", "output", "output", "points", "seed", "invert", "density-from",
                            "gamma", "time-limit"])
            for line in lines:
                table.writerow([line["input"], *line["output"], line["points"], line["seed"],
                                str(line["invert"]).lower(), "density", 1.25, ""])
        self.call("jobs.csv", "--iterations", 3)
        self.assertEqual(self.outputs(), first)
        self.call("-", "--iterations", 3, "--resume", input=self.read("jobs.jsonl"))
        self.assertEqual(self.outputs(), first)
        self.run_alone("in/plain.pgm", "-n", 10, "--seed", 2**53, "--iterations", 3, "--invert",
                       "--density-from", "density", "--gamma", 1.25, "-o", "one.csv")
        self.assertEqual(self.read("one.csv"), first["plain.csv"])
        self.assertTrue(os.path.exists(self.path("jobs.jsonl.journal")))

    def test_bad_lists_are_refused_before_work(self):
        self.pictures(2)
        good = '{"input": "in/p000.pgm", "output": "out/a.csv", "points": 5}\n'
        for bad in ("{", "[]", '{"input": "in/p001.pgm"', '{"pionts": 5}', '{"watch": "x"}', '{"input": 5}',
                    '{"input": "in/p001.pgm", "output": "out/b.csv", "points": 0}',
                    '{"input": "in/p001.pgm", "output": "out/b.csv"}',
                    '{"input": "in/p001.pgm", "output": "out/b.doc", "points": 5}',
                    '{"input": "in/p001.pgm", "output": {}, "points": 5}',
                    '{"input": "in/p001.pgm", "output": [1], "points": 5}',
                    '{"input": "in/p001.pgm", "output": "-", "points": 5}',
                    '{"input": "in/p001.pgm", "output": "out/b.csv", "points": 5, "device": "cpu"}',
                    '{"output": "out/b.csv", "points": 5}'):
            self.write("jobs.jsonl", good + bad + "\n")
            with self.subTest(bad=bad):
                self.assertIn("line 2", self.call("jobs.jsonl", code=2).text)
        for bad in ("input,output\na", "input,output\n\"a\"b,c", "input,output\n\"a,b\n"):
            self.write("jobs.csv", bad)
            with self.subTest(bad=bad):
                self.assertIn("line 2", self.call("jobs.csv", "-n", 5, code=2).text)
        self.assertIn("jobs.csv", self.call("jobs.csv.csv", code=3).text)
        self.call("in/absent*.pgm", *TEMPLATE, code=3)
        self.assertEqual(self.outputs(), {})

    def test_outputs_of_two_jobs_never_meet(self):
        self.pictures(3)
        os.symlink("out", self.path("link"))
        self.call("in/*.pgm", *SMALL, "-o", "out/same.csv", code=2)
        lines = [{"input": "in/p000.pgm", "output": "out/a.csv"}]
        for output in ("./out//a.csv", "link/a.csv", "in/../out/a.csv"):
            pair = lines + [{"input": "in/p001.pgm", "output": output}]
            self.write("jobs.jsonl", "\n".join(json.dumps(line) for line in pair))
            self.assertIn("job 2", self.call("jobs.jsonl", *SMALL, code=2).text)
        self.write("jobs.jsonl", '{"input": "in/p000.pgm", "density_out": "out/a.npy"}\n'
                   '{"input": "out/a.npy", "output": "out/b.csv"}\n')
        self.call("jobs.jsonl", *SMALL, code=2)
        self.assertEqual(self.outputs(), {})


class Failures(Case):
    def mixed(self):
        self.pictures(12)
        self.write("in/p003.pgm", "no picture")
        self.write("in/p005.pgm", picture(5)[:50])
        self.write("in/p007.pgm", b"P5\n8 8\n255\n" + b"\xff" * 64)
        return [3, 5, 7]

    def test_good_ones_are_done_and_bad_ones_named(self):
        bad = self.mixed()
        report = self.report("in/*.pgm", *TEMPLATE, code=1)
        self.assertEqual((report["jobs"], report["done"], report["failed"], report["skipped"]),
                         (12, 9, 3, 0))
        self.assertEqual(sorted(f["index"] for f in report["failures"]), bad)
        for failure in report["failures"]:
            self.assertIn(failure["input"], failure["reason"])
            self.assertEqual(failure["code"], 3)
        self.assertEqual(len(self.outputs()), 18)
        text = self.call("in/*.pgm", *TEMPLATE, code=1).text
        for k in bad:
            self.assertRegex(text, r"job %d: in/p%03d\.pgm: .*\w" % (k + 1, k))
        self.assertRegex(text, r"(?m)^  done +9$")
        self.assertRegex(text, r"(?m)^  failed +3;")
        for k in bad:
            self.write("in/p%03d.pgm" % k, picture(k))
        report = self.report("in/*.pgm", *TEMPLATE, "--resume")
        self.assertEqual((report["done"], report["failed"], report["skipped"]), (3, 0, 9))
        self.assertEqual(report["failures"], [])

    def test_fail_fast(self):
        self.pictures(40)
        self.write("in/p000.pgm", "no picture")
        report = self.report("in/*.pgm", *TEMPLATE, "--fail-fast", "--jobs", 1, code=1)
        self.assertEqual(report["failed"], 1)
        # Two lanes; whatever the other one had begun by then.
        self.assertLess(report["done"], 20)
        self.write("in/p000.pgm", picture(0))
        report = self.report("in/*.pgm", *TEMPLATE, "--resume", "--fail-fast")
        self.assertEqual(report["done"] + report["skipped"], 40)

    def test_missing_folder(self):
        self.pictures(4)
        os.rmdir(self.path("out"))
        report = self.report("in/*.pgm", *TEMPLATE, code=1)
        self.assertEqual((report["done"], report["failed"]), (0, 4))
        self.assertIn("out/", report["failures"][0]["reason"])
        os.mkdir(self.path("out"))
        self.assertEqual(self.report("in/*.pgm", *TEMPLATE, "--resume")["done"], 4)

    def test_folder_without_permission(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        self.pictures(4)
        os.chmod(self.path("out"), 0o555)
        self.assertEqual(self.report("in/*.pgm", *TEMPLATE, code=1)["failed"], 4)
        os.chmod(self.path("out"), 0o755)
        self.assertEqual(self.report("in/*.pgm", *TEMPLATE, "--resume")["done"], 4)

    def test_no_room(self):
        """A limit on the size of files stands for a full disk: outputs fail, later the journal."""
        self.pictures(30)
        for limit in (300, 1500):
            with self.subTest(limit=limit):
                done = self.call("in/*.pgm", *TEMPLATE, code=1, preexec_fn=lambda size=limit:
                                 resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
                self.assertIn("too large", done.text)
                self.assertFalse([n for n in self.outputs() if n.startswith(".")])
        self.call("in/*.pgm", *TEMPLATE, "--resume")
        whole = self.outputs()
        self.call("in/*.pgm", *TEMPLATE)
        self.assertEqual(whole, self.outputs())
        self.assertEqual(len(whole), 60)

    def test_full_device(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        self.pictures(3)
        self.assertIn("/dev/full", self.call("in/*.pgm", *TEMPLATE, "--journal", "/dev/full",
                                             code=1).text)

    def test_devices(self):
        self.pictures(2)
        for device, code in (("gpu", 2), ("cuda:99", 5), ("cpu,,cpu", 2)):
            done = subprocess.run(self.arguments("in/*.pgm", TEMPLATE, device), cwd=self.folder,
                                  capture_output=True, timeout=60, check=False)
            self.assertEqual(done.returncode, code, done.stderr)


class Resumption(Case):
    def start(self, *options):
        process = subprocess.Popen(self.arguments("in/*.pgm", options), cwd=self.folder,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def finished(self):
        return [n for n in os.listdir(self.path("out")) if not n.startswith(".")]

    def test_killed_at_twenty_moments(self):
        self.pictures(200)
        self.call("in/*.pgm", *TEMPLATE)
        whole = self.outputs()
        self.assertEqual(len(whole), 400)
        shutil.rmtree(self.path("out"))
        os.mkdir(self.path("out"))
        chance = random.Random(5)
        resume, kills = [], 0
        while kills < 20:
            enough = len(self.finished()) + chance.randrange(18)
            process = self.start(*TEMPLATE, *resume)
            while len(self.finished()) < enough and process.poll() is None:
                # Whatever has its name is whole, at any moment.
                names = self.finished()
                for name in chance.sample(names, min(5, len(names))):
                    self.assertEqual(self.read("out", name), whole[name])
            time.sleep(0.003 * chance.random())
            process.kill()
            self.assertEqual(process.wait(), -signal.SIGKILL)
            for name in self.finished():
                self.assertEqual(self.read("out", name), whole[name])
            resume, kills = ["--resume"], kills + 1
        report = self.report("in/*.pgm", *TEMPLATE, "--resume")
        self.assertEqual(report["done"] + report["skipped"], 200)
        self.assertGreater(report["skipped"], 0)
        self.assertEqual(self.outputs(), whole)  # and no temporary file is left

    def test_interrupted(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.pictures(200)
            process = self.start(*TEMPLATE, "--report", "report.json")
            while not self.finished():
                pass
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=60), 130)
            report = json.loads(self.read("report.json"))
            self.assertIs(report["interrupted"], True)
            self.assertEqual(report["failed"], 0)
            self.assertLess(report["done"], 200)
            report = self.report("in/*.pgm", *TEMPLATE, "--resume")
            self.assertEqual(report["done"] + report["skipped"], 200)
            shutil.rmtree(self.path("out"))
            os.mkdir(self.path("out"))

    def test_only_what_is_missing_or_changed(self):
        self.pictures(8)
        self.call("in/*.pgm", *TEMPLATE)
        first = self.outputs()
        os.remove(self.path("out", "p001.msh"))
        self.write("in/p002.pgm", picture(3))
        with open(self.path(JOURNAL), "ab") as stream:
            stream.write(b'{"job":"0123')
        report = self.report("in/*.pgm", *TEMPLATE, "--resume")
        self.assertEqual((report["done"], report["skipped"]), (2, 6))
        second = self.outputs()
        self.assertEqual(second["p001.msh"], first["p001.msh"])
        self.assertNotEqual(second["p002.csv"], first["p002.csv"])
        self.assertEqual(self.report("in/*.pgm", *TEMPLATE, "--resume")["skipped"], 8)
        self.assertEqual(self.report("in/*.pgm", *TEMPLATE, "--resume", "--threads", 2)["done"], 0)
        self.assertEqual(self.report("in/*.pgm", *TEMPLATE, "--resume", "--seed", 9)["done"], 8)
        self.assertEqual(self.report("in/*.pgm", *TEMPLATE)["done"], 8)

    def test_one_batch_at_a_time(self):
        self.pictures(2)
        with open(self.path(JOURNAL), "w", encoding="ascii") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            self.assertIn(JOURNAL, self.call("in/*.pgm", *TEMPLATE, code=1).text)
        self.call("in/*.pgm", *TEMPLATE)


class Several(Case):
    def test_shards(self):
        self.pictures(20)
        self.call("in/*.pgm", *TEMPLATE)
        whole = self.outputs()
        shutil.rmtree(self.path("out"))
        os.mkdir(self.path("out"))
        for k in range(2):
            self.call("in/*.pgm", *TEMPLATE, "--shard", "%d/3" % k)
        for task in (14,):
            slurm = dict(os.environ, SLURM_ARRAY_TASK_ID=str(task), SLURM_ARRAY_TASK_MIN="10",
                         SLURM_ARRAY_TASK_COUNT="3", SLURM_ARRAY_TASK_STEP="2")
            self.call("in/*.pgm", *TEMPLATE, "--shard", "slurm", environment=slurm)
        self.assertEqual(self.outputs(), whole)
        journals = [JOURNAL + ".shard%d" % k for k in range(3)]
        self.assertEqual(self.done_indices(*journals), list(range(20)))
        self.assertEqual(self.report("in/*.pgm", *TEMPLATE, "--resume")["skipped"], 20)
        for bad in ("3/3", "-1/3", "1", "1/", "a/b", "slurm"):
            self.call("in/*.pgm", *TEMPLATE, "--shard", bad, code=2)
        self.call("in/*.pgm", *TEMPLATE)
        self.assertEqual([n for n in os.listdir(self.folder) if "shard" in n], [])

    def test_ranks_without_mpi_are_refused(self):
        self.pictures(2)
        alone = self.path("cvtmesh")
        shutil.copy(PROGRAM, alone)
        for size, code in ((2, 1), (1, 0)):
            done = subprocess.run([alone, *self.arguments("in/*.pgm", TEMPLATE)[1:]], cwd=self.folder,
                                  env=dict(os.environ, OMPI_COMM_WORLD_SIZE=str(size)),
                                  capture_output=True, timeout=60, check=False)
            self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(len(self.outputs()), 4)

    def mpirun(self, ranks, *options, code=0):
        if not shutil.which("mpirun") or not os.path.exists(
                os.path.join(os.path.dirname(PROGRAM), "cvtmesh_mpi.so")):
            self.skipTest("no MPI")
        done = subprocess.run(["mpirun", "--oversubscribe", "-n", str(ranks),
                               *self.arguments("in/*.pgm", options)], cwd=self.folder,
                              env=QUIET_MPI, capture_output=True, timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done.stderr.decode()

    def test_two_ranks_do_each_job_once(self):
        self.pictures(60)
        self.call("in/*.pgm", *TEMPLATE)
        whole = self.outputs()
        shutil.rmtree(self.path("out"))
        os.mkdir(self.path("out"))
        text = self.mpirun(2, *TEMPLATE, "--report", "report.json")
        self.assertEqual(self.outputs(), whole)
        journals = [JOURNAL, JOURNAL + ".rank1"]
        self.assertEqual(self.done_indices(*journals), list(range(60)))
        self.assertTrue(all(self.done_indices(name) for name in journals))
        self.assertEqual(len(re.findall("done +60", text)), 1)
        report = json.loads(self.read("report.json"))
        self.assertEqual((report["ranks"], report["done"]), (2, 60))
        for name in ("p003.csv", "p050.msh"):
            os.remove(self.path("out", name))
        self.mpirun(2, *TEMPLATE, "--resume", "--report", "report.json")
        report = json.loads(self.read("report.json"))
        self.assertEqual((report["done"], report["skipped"]), (2, 58))
        self.assertEqual(self.outputs(), whole)

    def test_failures_of_all_ranks_are_reported(self):
        self.pictures(20)
        bad = [2, 3, 11, 12, 19]
        for k in bad:
            self.write("in/p%03d.pgm" % k, "no picture")
        self.mpirun(2, *TEMPLATE, "--report", "report.json", code=1)
        report = json.loads(self.read("report.json"))
        self.assertEqual(sorted(f["index"] for f in report["failures"]), bad)
        self.assertEqual((report["done"], report["failed"]), (15, 5))
        self.mpirun(2, *TEMPLATE, "-o", "out/same.csv", code=2)


if __name__ == "__main__":
    unittest.main(argv=["check_batch"])
