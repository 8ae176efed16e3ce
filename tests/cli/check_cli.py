#!/usr/bin/env python3
"""Drives the program cvtmesh from outside: exit codes, bad input, formats, determinism,
signals, and figures recomputed independently. CVTMESH_PROGRAM is its path."""

import glob
import json
import math
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

import numpy as np

PROGRAM = os.environ.get("CVTMESH_PROGRAM", "cvtmesh")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CAMERA = os.path.join(ROOT, "examples", "camera.png")
HORSE = os.path.join(ROOT, "examples", "horse.png")
# Tests may run side by side; those that ask for two threads should not wait by spinning.
os.environ.update(OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
COMMANDS = ["run", "batch", "voronoi", "mesh", "stats", "info"]


def png_bytes(grey, width=None, height=None):
    """8-bit grey PNG of an array; width and height may lie in the header."""
    grey = np.asarray(grey, dtype=np.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in grey)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(
            ">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width or grey.shape[1], height or grey.shape[0], 8, 0, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) +
            chunk(b"IEND", b""))


def strict_json(text):
    def refuse(word):
        raise ValueError("not JSON: " + word)
    return json.loads(text, parse_constant=refuse)


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cvtmesh-check-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def file(self, name, content):
        path = self.path(name)
        if isinstance(content, np.ndarray):
            np.save(path, content)
        else:
            with open(path, "wb") as stream:
                stream.write(content if isinstance(content, bytes) else content.encode())
        return path

    def read(self, name):
        with open(self.path(name), "rb") as stream:
            return stream.read()

    def call(self, *arguments, code=0, stdout=subprocess.PIPE):
        """Runs on the CPU in the test's folder, so that names without a place land there."""
        arguments = [str(a) for a in arguments]
        if arguments[0] in ("run", "voronoi", "stats") and "--device" not in arguments:
            arguments += ["--device", "cpu"]
        done = subprocess.run([PROGRAM] + arguments, stdout=stdout, stderr=subprocess.PIPE,
                              cwd=self.folder, timeout=120, check=False)
        self.assertEqual(done.returncode, code, (arguments, done.stderr))
        return done

    def refused(self, *arguments, code, names=()):
        """One line on stderr that has all `names`, nothing on stdout, no new file."""
        before = sorted(os.listdir(self.folder))
        done = self.call(*arguments, code=code)
        text = done.stderr.decode()
        self.assertEqual(text.count("\n"), 1, text)
        self.assertTrue(text.startswith("cvtmesh"), text)
        for name in names:
            self.assertIn(name, text)
        self.assertEqual(done.stdout, b"")
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def report(self, *arguments, code=0):
        self.call("run", *arguments, "--report", "report.json", code=code)
        return strict_json(self.read("report.json"))

    def points(self, name="points.npy"):
        return np.load(self.path(name))


class BadInput(Case):
    def run_refused(self, name, *names, extra=(), code=3):
        self.refused("run", name, "-n", 5, "-o", "out.obj", *extra, code=code, names=names or [name])

    def test_missing_file(self):
        self.run_refused("absent.png")

    def test_truncated_png(self):
        with open(CAMERA, "rb") as stream:
            whole = stream.read()
        for size in (0, 4, 20, 40, len(whole) // 2, len(whole) - 20):
            self.file("cut.png", whole[:size])
            with self.subTest(size=size):
                self.run_refused("cut.png")

    def test_text_named_png(self):
        self.file("text.png", "this is no picture\n")
        self.run_refused("text.png")

    def test_zero_density(self):
        self.file("zero.npy", np.zeros((8, 8), np.float32))
        self.run_refused("zero.npy")

    def test_white_picture_names_invert(self):
        self.file("white.png", png_bytes(np.full((8, 8), 255)))
        self.run_refused("white.png", "white.png", "--invert")

    def test_bad_values(self):
        for value in (math.nan, math.inf, -1.0):
            density = np.ones((8, 9))
            density[3, 4] = value
            self.file("values.npy", density)
            with self.subTest(value=value):
                self.run_refused("values.npy")

    def test_huge_headers(self):
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (31623, 31623), }"
        header += " " * (117 - len(header)) + "\n"
        self.file("huge.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        self.file("huge.pgm", b"P5\n100000 100000\n255\n")
        self.file("wide.pgm", b"P5\n31623 31623\n255\nabc")
        self.file("huge.png", png_bytes(np.zeros((2, 2)), 31623, 31623))
        self.file("over.png", png_bytes(np.zeros((2, 2)), 2000000000, 1))
        for name in ("huge.npy", "huge.pgm", "wide.pgm", "huge.png", "over.png"):
            with self.subTest(name=name):
                self.run_refused(name)

    def test_point_files(self):
        self.file("nan.csv", "x,y\n1,2\nnan,3\n")
        self.file("words.csv", "x,y\none,two\n")
        self.file("empty.csv", "x,y\n")
        self.file("shape.npy", np.zeros((3, 3, 3)))
        for name in ("nan.csv", "words.csv", "empty.csv", "absent.csv"):
            with self.subTest(name=name):
                self.refused("mesh", name, "-o", "out.obj", code=3, names=[name])
                self.refused("run", CAMERA, "--init", name, "-o", "out.obj", code=3, names=[name])
                self.refused("voronoi", name, "-o", "out.npy", code=3, names=[name])
        self.refused("mesh", "shape.npy", "-o", "out.obj", code=3, names=["shape.npy"])
        self.file("far.csv", "x,y\n1e9,2\n")
        self.refused("voronoi", "far.csv", "-o", "out.npy", code=3, names=["far.csv"])
        self.file("outside.csv", "x,y\n1,2\n600,2\n")
        self.refused("run", CAMERA, "-n", 9, "--fixed", "outside.csv", "-o", "out.obj", code=3,
                     names=["outside.csv"])

    def test_mesh_files(self):
        self.file("broken.obj", "v 0 0 0\nf 1 2 3\n")
        self.refused("stats", "broken.obj", code=3, names=["broken.obj"])


class Usage(Case):
    def test_counts(self):
        for bad in ("0", "-3", "many", "1.5", "", "99999999999999999999"):
            with self.subTest(bad=bad):
                self.refused("run", CAMERA, "-n", bad, "-o", "out.obj", code=2, names=["--points"])

    def test_ranges_and_choices(self):
        for option, bad in (("--method", "newton"), ("--energy", "x"), ("--voronoi", "jfa3"),
                            ("--tolerance", "-1"), ("--tolerance", "nan"), ("--time-limit", "inf"),
                            ("--iterations", "-1"), ("--seed", "-1"), ("--gamma", "0"),
                            ("--threads", "-1"), ("--device", "gpu"), ("--svg", "x"),
                            ("--density-from", "x"), ("--start", "x"), ("--floor", "-1"),
                            ("--floor", "1e300"), ("--layers", "cells,hills")):
            with self.subTest(option=option, bad=bad):
                self.refused("run", CAMERA, "-n", 5, "-o", "out.csv", option, bad, code=2)

    def test_missing_and_unknown(self):
        self.refused("run", CAMERA, "-o", "out.obj", code=2, names=["--points"])
        self.refused("run", CAMERA, "-n", "5", code=2, names=["--output"])
        self.refused("run", "-n", "5", "-o", "out.obj", code=2, names=["IMAGE"])
        self.refused("run", CAMERA, HORSE, "-n", "5", "-o", "out.obj", code=2, names=[HORSE])
        self.refused("run", CAMERA, "-n", "5", "-o", "out.obj", "--frob", code=2, names=["--frob"])
        self.refused("run", CAMERA, "-n", "5", "-o", "out.obj", "-Z", code=2, names=["-Z"])
        self.refused("mesh", "points.csv", "-o", "out.obj", "-n", "5", code=2)
        self.refused("run", CAMERA, "--device", "cpu", "-o", "out.obj", "-n", code=2)
        self.refused("frobnicate", code=2, names=["frobnicate"])
        self.assertIn(b"commands", subprocess.run([PROGRAM], stderr=subprocess.PIPE,
                                                  check=False).stderr)

    def test_unknown_extension_is_refused_before_work(self):
        for name in ("out", "out.doc", "out.obj.bak", "dir.obj/out"):
            self.refused("run", "absent.png", "-n", 5, "-o", "fine.obj", "-o", name, code=2,
                         names=[name])
        self.refused("run", "absent.png", "-n", 5, "-o", "-", "--format", "doc", code=2)
        self.refused("run", "absent.png", "-n", 5, "--picture", "out.jpg", code=2, names=["out.jpg"])
        self.refused("run", "absent.png", "-n", 5, "--density-out", "out.csv", code=2)
        self.refused("voronoi", "absent.csv", "-o", "out.obj", code=2, names=["out.obj"])
        self.refused("stats", "file.doc", code=2, names=["file.doc"])

    def test_outputs_that_collide(self):
        self.refused("run", CAMERA, "-n", 5, "-o", "-", "--report", "-", code=2)
        self.refused("run", CAMERA, "-n", 5, "-o", "a.obj", "-o", "a.obj", code=2, names=["a.obj"])

    def test_sites_outside_the_image(self):
        for name, text in (("far.csv", "x,y\n1,2\n5,1e300\n"), ("right.csv", "x,y\n1,2\n512.5,6\n")):
            self.file(name, text)
            for option in ("--fixed", "--init"):
                self.refused("run", CAMERA, "-n", 2, option, name, "-o", "a.csv", code=3,
                             names=[name, "point 2"])

    def test_fixed_and_init_counts(self):
        self.file("three.csv", "x,y\n1,2\n5,6\n9,20\n")
        self.refused("run", CAMERA, "-n", 2, "--fixed", "three.csv", "-o", "a.obj", code=2,
                     names=["three.csv"])
        self.refused("run", CAMERA, "-n", 9, "--init", "three.csv", "-o", "a.obj", code=2,
                     names=["three.csv"])

    def test_help_and_manual_agree(self):
        with open(os.path.join(ROOT, "docs", "cvtmesh.1"), encoding="utf-8") as stream:
            manual = stream.read().replace("\\", "")
        for command in COMMANDS:
            text = self.call(command, "--help").stdout.decode()
            self.assertEqual(text, self.call("help", command).stdout.decode())
            options = re.findall(r"^  (?:-\w, |    )(--[\w-]+)", text, re.M)
            self.assertIn("--config", options)
            for option in options:
                self.assertRegex(manual, re.escape(option) + r"(?![\w-])", command)
            self.assertIn("cvtmesh " + command, manual)
        self.assertTrue(all(len(line) <= 110 for line in text.splitlines()))
        self.assertRegex(self.call("--version").stdout.decode(), r"^cvtmesh \d+\.\d+\.\d+\n$")
        self.assertIn("run", self.call("--help").stdout.decode())

    def test_completion(self):
        self.call("completion", "tcsh", code=2)
        self.call("completion", code=2)
        script = self.call("completion", "bash").stdout.decode()
        bash = shutil.which("bash")
        if bash is None:
            self.skipTest("no bash")

        def complete(*words):
            text = script + "\nCOMP_WORDS=(%s)\nCOMP_CWORD=%d\n_cvtmesh\nprintf '%%s\\n' \"${COMPREPLY[@]}\"" % (
                " ".join("'%s'" % w for w in words), len(words) - 1)
            done = subprocess.run([bash, "-c", text], stdout=subprocess.PIPE, check=True)
            return done.stdout.decode().split()

        self.assertEqual(complete("cvtmesh", "vo"), ["voronoi"])
        self.assertEqual(complete("cvtmesh", "run", "--meth"), ["--method"])
        self.assertEqual(complete("cvtmesh", "run", "--method", "l"), ["lloyd", "lbfgsb"])
        self.assertIn("jfa+1", complete("cvtmesh", "voronoi", "--method", ""))


class Failures(Case):
    def test_unwritable_outputs(self):
        os.mkdir(self.path("folder.obj"))
        for name in ("absent/out.obj", "folder.obj"):
            self.refused("run", CAMERA, "-n", 5, "-o", "fine.obj", "-o", name, code=1, names=[name])
        self.refused("run", CAMERA, "-n", 5, "-o", "fine.obj", "--report", "absent/r.json", code=1,
                     names=["absent/r.json"])
        self.refused("mesh", "absent.csv", "-o", "absent/a.obj", code=1, names=["absent/a.obj"])

    def test_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "wb") as full:
            for arguments in (["run", CAMERA, "-n", "5", "--iterations", "1", "-o", "-"],
                              ["--help"], ["info"], ["info", "--json"]):
                done = self.call(*arguments, code=1, stdout=full)
                self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)

    def test_failed_run_leaves_earlier_files(self):
        self.file("kept.obj", "old")
        self.call("run", "absent.png", "-n", 5, "-o", "kept.obj", code=3)
        self.assertEqual(self.read("kept.obj"), b"old")

    def test_device_unavailable(self):
        self.refused("run", CAMERA, "-n", 5, "-o", "a.obj", "--device", "cuda:99", code=5,
                     names=["cuda"])


class Interrupts(Case):
    def interrupt(self, number):
        process = subprocess.Popen(
            [PROGRAM, "run", CAMERA, "-n", "3000", "--tolerance", "0", "--iterations", "1000000",
             "-o", "a.obj", "-o", "a.csv", "--report", "a.json", "--device", "cpu", "-v"],
            cwd=self.folder, stderr=subprocess.PIPE)
        try:
            for _ in range(3):
                self.assertTrue(process.stderr.readline().startswith(b"iteration"))
            process.send_signal(number)
            _, rest = process.communicate(timeout=60)
        finally:
            process.kill()
        self.assertEqual(process.returncode, 130, rest)
        report = strict_json(self.read("a.json"))
        self.assertEqual(report["stop_reason"], "interrupted")
        self.assertEqual(len(self.read("a.csv").splitlines()), 3001)
        energies = [entry["energy"] for entry in report["history"]]
        self.assertLessEqual(report["energy"], min(energies) * (1 + 1e-9))

    def test_sigint(self):
        self.interrupt(signal.SIGINT)

    def test_sigterm(self):
        self.interrupt(signal.SIGTERM)


class Runs(Case):
    def test_report(self):
        report = self.report(CAMERA, "-n", 500, "--iterations", 30, "--seed", 7, "-o", "points.npy",
                             "-o", "a.obj")
        for key in ("version", "device", "seed", "options", "width", "height", "sites", "iterations",
                    "evaluations", "stop_reason", "energy", "energy_ratio", "energy_pixel",
                    "objective", "tolerance", "history", "seconds", "quality", "quality_all",
                    "empty_cells"):
            self.assertIn(key, report)
        self.assertEqual((report["width"], report["height"], report["sites"]), (512, 512, 500))
        self.assertEqual((report["seed"], report["objective"]), (7, "exact"))
        self.assertEqual(report["options"]["density_from"], "tone")
        self.assertEqual(report["options"]["points"], 500)
        self.assertEqual(report["options"]["iterations"], 30)
        self.assertEqual(report["options"]["output"], ["points.npy", "a.obj"])
        for phase in ("read", "sample", "optimize", "evaluation", "mesh", "write", "total"):
            self.assertGreaterEqual(report["seconds"][phase], 0)
        self.assertLessEqual(report["iterations"], 30)
        self.assertEqual([e["iteration"] for e in report["history"]],
                         list(range(report["iterations"] + 1)))
        for entry in report["history"]:
            self.assertEqual(set(entry), {"iteration", "energy", "gradient_norm", "step"})
        energies = [e["energy"] for e in report["history"]]
        self.assertLess(report["energy_ratio"], 1.2)
        self.assertLess(energies[-1], energies[0])
        self.assertAlmostEqual(report["energy"] / energies[-1], 1, delta=1e-9)
        self.assertAlmostEqual(report["energy_pixel"] / report["energy"], 1, delta=0.05)
        quality = report["quality"]
        self.assertEqual(quality["vertices"], 500)
        self.assertLess(quality["triangles"], 1000)
        self.assertTrue(0 < quality["min_angle"] <= quality["mean_min_angle"] <= 60)
        self.assertTrue(0 < quality["mean_q"] <= 1 and 0 < quality["degree6_share"] <= 1)
        self.assertEqual(sum(quality["angle_histogram"]), quality["triangles"])
        points = self.points()
        self.assertEqual(points.shape, (500, 2))
        self.assertTrue((points >= 0).all() and (points <= 512).all())

    def test_stats_agree_with_report(self):
        report = self.report(HORSE, "-n", 300, "--iterations", 10, "--gamma", 0.8, "-o", "points.npy")
        text = self.call("stats", "points.npy", "--json", "--density", HORSE, "--gamma", 0.8).stdout
        stats = strict_json(text)
        self.assertAlmostEqual(stats["energy_ratio"] / report["energy_ratio"], 1, delta=1e-12)
        self.assertEqual(stats["quality"], report["quality"])
        self.assertEqual(stats["quality_all"], report["quality_all"])
        self.assertIn(b"energy ratio", self.call("stats", "points.npy", "--density", HORSE).stdout)

    def test_mesh_stats(self):
        for unit in ([], ["--unit"]):
            report = self.report(HORSE, "-n", 300, "--iterations", 5, "-o", "a.obj", "-o", "a.ply",
                                 "-o", "a.stl", *unit)
            for name, close in (("a.obj", 1e-9), ("a.ply", 1e-9), ("a.stl", 1e-4)):
                plain = strict_json(self.call("stats", name, "--json").stdout)
                placed = strict_json(self.call("stats", name, "--json", "--width", 400, "--height",
                                               328, *unit).stdout)
                dense = strict_json(self.call("stats", name, "--json", "--density", HORSE,
                                              *unit).stdout)
                self.assertAlmostEqual(dense["energy_ratio"] / report["energy_ratio"], 1, delta=close)
                for stats in (plain, placed, dense):
                    self.assertEqual(stats["quality_all"]["triangles"],
                                     report["quality_all"]["triangles"])
                    self.assertAlmostEqual(stats["quality_all"]["mean_q"],
                                           report["quality_all"]["mean_q"], delta=close)
                for stats in (placed, dense):
                    for key in ("triangles", "interior_vertices", "degree6_share"):
                        self.assertEqual(stats["quality"][key], report["quality"][key])
                    for key in ("min_angle", "mean_min_angle", "mean_q"):
                        self.assertAlmostEqual(stats["quality"][key], report["quality"][key],
                                               delta=100 * close)
        self.refused("stats", "a.obj", "--width", 10, "--height", 5, "--unit", code=3,
                     names=["a.obj"])

    def test_lloyd_and_pixel(self):
        for method in ("lloyd", "lbfgsb"):
            for voronoi in ("jfa", "1+jfa", "jfa+1", "jfa+2", "jfa2", "jfa-short", "exact"):
                with self.subTest(method=method, voronoi=voronoi):
                    report = self.report(HORSE, "-n", 200, "--method", method, "--energy", "pixel",
                                         "--voronoi", voronoi, "--iterations", 8, "-o", "a.csv")
                    self.assertEqual(report["objective"], "pixel")
                    self.assertLess(report["history"][-1]["energy"], report["history"][0]["energy"])
                    if voronoi == "exact":
                        self.assertAlmostEqual(
                            report["energy_pixel"] / report["history"][-1]["energy"], 1, delta=1e-9)

    def test_stops(self):
        args = [CAMERA, "-n", 200, "-o", "a.csv"]
        self.assertEqual(self.report(*args, "--iterations", 3)["stop_reason"], "iterations")
        long = [CAMERA, "-n", 5000, "-o", "a.csv", "--tolerance", 0, "--iterations", 1000000]
        report = self.report(*long, "--time-limit", 0.05)
        self.assertEqual(report["stop_reason"], "time")
        self.assertEqual(self.report(*args, "--tolerance", 1e-3)["stop_reason"], "decrease")
        report = self.report(*args, "--gradient-tolerance", 3, "--tolerance", 0)
        self.assertEqual(report["stop_reason"], "gradient")
        self.assertLessEqual(report["history"][-1]["gradient_norm"], 3)
        report = self.report(*args, "--iterations", 0)
        self.assertEqual((report["iterations"], report["stop_reason"]), (0, "iterations"))
        self.assertEqual(len(report["history"]), 1)

    def test_warm_start(self):
        first = self.report(CAMERA, "-n", 200, "--iterations", 20, "-o", "points.npy")
        held = self.report(CAMERA, "--init", "points.npy", "--iterations", 0, "-o", "same.csv")
        self.assertEqual(held["energy"], first["energy"])
        self.assertEqual(held["sites"], 200)
        onward = self.report(CAMERA, "--init", "points.npy", "--iterations", 20, "-o", "next.csv")
        self.assertLess(onward["energy"], first["energy"])

    def test_fixed_sites_stay_first(self):
        fixed = np.array([[10.5, 20.25], [300.0, 400.0], [511.0, 0.0]])
        self.file("fixed.npy", fixed)
        report = self.report(CAMERA, "-n", 50, "--fixed", "fixed.npy", "--iterations", 10,
                             "-o", "points.npy")
        self.assertEqual(report["sites"], 50)
        np.testing.assert_array_equal(self.points()[:3], fixed)
        report = self.report(CAMERA, "--fixed", "fixed.npy", "-o", "points.npy")
        self.assertEqual(report["sites"], 3)
        np.testing.assert_array_equal(self.points(), fixed)

    def test_smallest_inputs(self):
        self.file("dot.png", png_bytes([[0]]))
        self.file("line.png", png_bytes([np.arange(0, 200)]))
        self.file("column.png", png_bytes(np.arange(0, 200).reshape(-1, 1)))
        self.file("small.png", png_bytes(np.zeros((4, 4))))
        for name, count in (("dot.png", 1), ("dot.png", 7), ("line.png", 1), ("line.png", 2),
                            ("line.png", 30), ("column.png", 30), ("small.png", 50),
                            ("small.png", 1), (CAMERA, 1), (CAMERA, 2), (CAMERA, 3)):
            for periodic in ([], ["--periodic"]):
                with self.subTest(name=name, count=count, periodic=periodic):
                    report = self.report(name, "-n", count, "--iterations", 20, "-o", "a.obj", "-o",
                                         "points.npy", "-o", "a.svg", "-o", "a.vtu", "--picture",
                                         "a.png", *periodic)
                    self.assertEqual(report["sites"], count)
                    self.assertTrue(np.isfinite(self.points()).all())
                    vertices = self.read("a.obj").count(b"\nv ")
                    self.assertEqual(vertices, count)

    def test_density_out(self):
        grey = np.arange(0, 240, dtype=np.uint8).reshape(12, 20)
        self.file("ramp.png", png_bytes(grey))
        self.call("run", "ramp.png", "-n", 9, "--iterations", 2, "--density-out", "rho.npy")
        value = grey / 255.0
        linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
        rho = np.load(self.path("rho.npy"))
        self.assertEqual((rho.dtype, rho.shape), (np.dtype("float32"), (12, 20)))
        np.testing.assert_allclose(rho, (1 - linear) ** 2, atol=1e-5)
        self.call("run", "ramp.png", "-n", 9, "--iterations", 2, "--density-out", "rho.npy",
                  "--invert", "--gamma", 0.5, "--density-from", "density", "--floor", 0.1)
        np.testing.assert_allclose(np.load(self.path("rho.npy")), np.maximum(linear ** 0.5, 0.1),
                                   atol=1e-5)

    def test_quiet_and_summary(self):
        args = ["run", CAMERA, "-n", 50, "--iterations", 3, "-o", "a.obj"]
        self.assertEqual(self.call(*args, "-q").stderr, b"")
        done = self.call(*args)
        self.assertEqual(done.stdout, b"")
        self.assertIn(b"a.obj", done.stderr)
        self.assertIn(b"cpu", done.stderr)
        self.assertNotIn(b"\r", done.stderr)

    def test_streams(self):
        args = ["run", CAMERA, "-n", 50, "--iterations", 3]
        rows = self.call(*args, "-o", "-").stdout.decode().splitlines()
        self.assertEqual((rows[0], len(rows)), ("x,y", 51))
        self.assertTrue(self.call(*args, "-o", "-", "--format", "off").stdout.startswith(b"OFF"))
        report = strict_json(self.call(*args, "--report", "-").stdout)
        self.assertEqual(report["sites"], 50)
        self.call(*args, "-o", "a.csv", "-q")
        self.assertEqual(self.read("a.csv").decode().splitlines(), rows)

    def test_config(self):
        self.file("run.conf", "# a comment\n\npoints = 40\n iterations=4 \noutput = a.csv\n"
                  "output = b.csv\ninvert = yes\ncheck = true\nseed = 9\nreport = r.json\n")
        self.call("run", CAMERA, "--config", "run.conf")
        report = strict_json(self.read("r.json"))
        self.assertEqual(report["options"]["output"], ["a.csv", "b.csv"])
        self.assertEqual((report["sites"], report["seed"]), (40, 9))
        self.assertIs(report["options"]["invert"], True)
        self.call("run", CAMERA, "--config", "run.conf", "--seed", 3, "--no-invert", "-o", "c.csv")
        report = strict_json(self.read("r.json"))
        self.assertEqual((report["options"]["output"], report["seed"]), (["c.csv"], 3))
        self.assertIs(report["options"]["invert"], False)
        for text in ("pionts = 3", "points", "points = 0", "invert = perhaps", "config = a"):
            self.file("bad.conf", "seed = 1\n" + text + "\n")
            self.refused("run", CAMERA, "-n", 5, "-o", "x.csv", "--config", "bad.conf", code=2,
                         names=["bad.conf", "line 2"])
        self.refused("run", CAMERA, "--config", "absent.conf", code=3, names=["absent.conf"])


class Formats(Case):
    OUTPUTS = ["obj", "off", "ply", "stl", "vtk", "vtu", "msh", "csv", "npy", "xyz", "svg", "png"]

    def outputs(self, stem):
        return [word for e in self.OUTPUTS for word in ("-o", stem + "." + e)]

    def test_same_seed_same_files(self):
        for name, extra in (("a", ["--threads", 1]), ("b", ["--threads", 2]), ("c", ["--threads", 2])):
            self.call("run", CAMERA, "-n", 1500, "--iterations", 15, "--seed", 5, *extra,
                      *self.outputs(name), "--density-out", name + "_rho.npy")
        for extension in self.OUTPUTS:
            a = self.read("a." + extension)
            for other in "bc":
                self.assertEqual(a, self.read(other + "." + extension), extension)
        self.call("run", CAMERA, "-n", 1500, "--iterations", 15, "--seed", 6, "-o", "d.csv")
        self.assertNotEqual(self.read("a.csv"), self.read("d.csv"))
        for method in (["--method", "lloyd"], ["--energy", "pixel", "--voronoi", "jfa"],
                       ["--start", "random", "--periodic"]):
            for threads in "12":
                self.call("run", HORSE, "-n", 400, "--iterations", 6, *method, "--threads", threads,
                          "-o", threads + ".csv")
            self.assertEqual(self.read("1.csv"), self.read("2.csv"), method)

    def test_points_read_back_to_the_same_bits(self):
        self.call("run", CAMERA, "-n", 100, "--iterations", 5, *self.outputs("a"))
        exact = self.points("a.npy")
        np.testing.assert_array_equal(np.loadtxt(self.path("a.csv"), delimiter=",", skiprows=1), exact)
        np.testing.assert_array_equal(np.loadtxt(self.path("a.xyz"))[:, :2], exact)
        self.assertEqual(self.read("a.svg").count(b"<circle"), 100)
        self.assertTrue(self.read("a.png").startswith(b"\x89PNG"))

    def test_other_options_of_outputs(self):
        for kind in ("stipples", "cells", "mesh"):
            self.call("run", HORSE, "-n", 60, "--iterations", 3, "-o", "a.svg", "--svg", kind)
            self.assertIn(b"<svg", self.read("a.svg"))
        self.call("run", HORSE, "-n", 60, "--iterations", 3, "-o", "a.svg", "--dots", "mass")
        radii = set(re.findall(rb'r="([^"]+)"', self.read("a.svg")))
        self.assertGreater(len(radii), 10)
        self.call("run", HORSE, "-n", 60, "--iterations", 3, "--picture", "a.png", "--layers",
                  "density,mesh-edges,sites", "--picture-size", 300)
        width, height = struct.unpack(">II", self.read("a.png")[16:24])
        self.assertEqual(max(width, height), 300)
        self.call("run", HORSE, "-n", 60, "--iterations", 3, "-o", "u.obj", "--unit")
        vertices, _ = read_obj(self.path("u.obj"))
        self.assertTrue(0.5 < max(x for x, _ in vertices) <= 1)


def read_obj(path):
    vertices, triangles = [], []
    with open(path, encoding="ascii") as stream:
        for line in stream:
            words = line.split()
            if words and words[0] == "v":
                vertices.append((float(words[1]), float(words[2])))
            elif words and words[0] == "f":
                triangles.append(tuple(int(w) - 1 for w in words[1:4]))
    return vertices, triangles


def integer_grid(vertices):
    """The doubles of the file times one power of two: exact integers."""
    power = max(c.as_integer_ratio()[1] for v in vertices for c in v)
    return [tuple(n * (power // d) for n, d in (c.as_integer_ratio() for c in v)) for v in vertices]


def orient(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def in_circle(a, b, c, d):
    """Positive if d lies inside the circle of the counterclockwise triangle a, b, c."""
    rows = [(p[0] - d[0], p[1] - d[1]) for p in (a, b, c)]
    (ax, ay), (bx, by), (cx, cy) = rows
    a2, b2, c2 = (x * x + y * y for x, y in rows)
    return a2 * (bx * cy - cx * by) - b2 * (ax * cy - cx * ay) + c2 * (ax * by - bx * ay)


def hull_area2(points):
    """Twice the area of the convex hull."""
    ordered = sorted(set(points))

    def half(sequence):
        chain = []
        for p in sequence:
            while len(chain) > 1 and orient(chain[-2], chain[-1], p) <= 0:
                chain.pop()
            chain.append(p)
        return chain[:-1]

    hull = half(ordered) + half(ordered[::-1])
    return sum(orient(hull[0], hull[k], hull[k + 1]) for k in range(1, len(hull) - 1))


class Delaunay(Case):
    def check(self, obj, count):
        vertices, triangles = read_obj(obj)
        self.assertEqual(len(vertices), count)
        grid = integer_grid(vertices)
        area = 0
        for a, b, c in triangles:
            corners = grid[a], grid[b], grid[c]
            double = orient(*corners)
            self.assertGreater(double, 0)
            area += double
            for d, other in enumerate(grid):
                if d not in (a, b, c):
                    self.assertLessEqual(in_circle(*corners, other), 0, (a, b, c, d))
        self.assertEqual(area, hull_area2(grid))
        return vertices

    def test_mesh_of_a_run_is_delaunay_and_holds_every_site(self):
        self.call("run", HORSE, "-n", 200, "--iterations", 12, "-o", "a.obj", "-o", "points.npy")
        vertices = np.array(self.check(self.path("a.obj"), 200))
        points = self.points()
        np.testing.assert_allclose(vertices[:, 0], points[:, 0], atol=1e-6)
        np.testing.assert_allclose(vertices[:, 1], 328 - points[:, 1], atol=1e-6)

    def test_lattice_with_cocircular_points(self):
        lattice = np.array([(x, y) for y in range(9) for x in range(10)], float)
        self.file("lattice.npy", lattice)
        self.call("mesh", "lattice.npy", "-o", "a.obj")
        self.check(self.path("a.obj"), 90)
        self.assertEqual(len(read_obj(self.path("a.obj"))[1]), 2 * 8 * 9)

    def test_coincident_and_collinear(self):
        self.file("twice.csv", "x,y\n1,1\n4,1\n2,5\n1,1\n")
        done = self.call("mesh", "twice.csv", "-o", "a.obj", "--report", "r.json")
        report = strict_json(self.read("r.json"))
        self.assertEqual((report["coincident_sites"], report["triangles"]), (1, 1))
        self.assertIn(b"share", done.stderr)
        self.file("line.csv", "x,y\n1,1\n2,2\n3,3\n9,9\n")
        done = self.call("mesh", "line.csv", "-o", "a.obj", "--report", "r.json")
        report = strict_json(self.read("r.json"))
        self.assertIs(report["collinear"], True)
        self.assertEqual(report["triangles"], 0)
        self.assertIsNone(report["quality"]["min_angle"])
        self.assertIn(b"line", done.stderr)


def clip(polygon, nx, ny, limit):
    """The part of a polygon where nx x + ny y <= limit."""
    kept = []
    for k, p in enumerate(polygon):
        q = polygon[(k + 1) % len(polygon)]
        dp, dq = nx * p[0] + ny * p[1] - limit, nx * q[0] + ny * q[1] - limit
        if dp <= 0:
            kept.append(p)
        if (dp < 0 < dq) or (dq < 0 < dp):
            t = dp / (dp - dq)
            kept.append((p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])))
    return kept


def second_moment(polygon, x, y):
    """Integral of |p - (x, y)|^2 over a counterclockwise polygon, edge by edge."""
    total = 0.0
    corners = [(px - x, py - y) for px, py in polygon]
    for k, (ax, ay) in enumerate(corners):
        bx, by = corners[(k + 1) % len(corners)]
        total += (ax * by - bx * ay) * (ax * ax + ax * bx + bx * bx + ay * ay + ay * by + by * by)
    return total / 12


def energy_by_clipping(sites, rho, periodic):
    height, width = rho.shape
    shifts = [(0.0, 0.0)]
    if periodic:
        shifts = [(i * width, j * height) for j in (-1, 0, 1) for i in (-1, 0, 1)]
    images = [(x + sx, y + sy) for sx, sy in shifts for x, y in sites]
    energy = 0.0
    for j in range(height):
        for i in range(width):
            near = min(math.hypot(x - i - 0.5, y - j - 0.5) for x, y in images) + 1.5
            close = [p for p in images if math.hypot(p[0] - i - 0.5, p[1] - j - 0.5) <= near]
            for x, y in close:
                polygon = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
                for ox, oy in close:
                    if (ox, oy) != (x, y) and polygon:
                        limit = (ox * ox + oy * oy - x * x - y * y) / 2
                        polygon = clip(polygon, ox - x, oy - y, limit)
                if len(polygon) > 2:
                    energy += float(rho[j, i]) * second_moment(polygon, x, y)
    return energy


class Energy(Case):
    def test_ratio_recomputed_by_clipping(self):
        rho = np.random.default_rng(3).random((16, 20)).astype(np.float32)
        rho[2:5, 3:9] = 0
        self.file("rho.npy", rho)
        bound = 5 / (18 * math.sqrt(3)) * np.sqrt(rho.astype(float)).sum() ** 2 / 20
        for periodic in (False, True):
            for iterations in (0, 40):
                with self.subTest(periodic=periodic, iterations=iterations):
                    report = self.report("rho.npy", "-n", 20, "--iterations", iterations, "-o",
                                         "points.npy", *(["--periodic"] if periodic else []))
                    energy = energy_by_clipping(self.points().tolist(), rho, periodic)
                    self.assertAlmostEqual(report["energy"] / energy, 1, delta=1e-9)
                    self.assertAlmostEqual(report["energy_ratio"], energy / bound, delta=1e-6)

    def test_pixel_energy_is_the_plain_sum(self):
        rho = np.random.default_rng(4).random((30, 40)).astype(np.float32)
        self.file("rho.npy", rho)
        report = self.report("rho.npy", "-n", 25, "--iterations", 5, "-o", "points.npy")
        y, x = np.mgrid[0:30, 0:40] + 0.5
        squared = np.min([(x - a) ** 2 + (y - b) ** 2 for a, b in self.points()], axis=0)
        self.assertAlmostEqual(report["energy_pixel"] / (rho.astype(float) * squared).sum(), 1,
                               delta=1e-9)

    def test_uniform_square_comes_near_the_bound(self):
        self.file("one.npy", np.ones((256, 256), np.float32))
        report = self.report("one.npy", "-n", 500, "-o", "a.csv")
        self.assertTrue(1 <= report["energy_ratio"] < 1.04, report["energy_ratio"])


class Diagrams(Case):
    def nearest(self, points, width, height, periodic):
        y, x = np.mgrid[0:height, 0:width] + 0.5
        best, labels = np.full((height, width), np.inf), np.zeros((height, width), int)
        for k, (a, b) in enumerate(points):
            dx, dy = np.abs(x - a), np.abs(y - b)
            if periodic:
                dx, dy = np.minimum(dx, width - dx), np.minimum(dy, height - dy)
            distance = dx * dx + dy * dy
            labels[distance < best] = k
            best = np.minimum(best, distance)
        return labels

    def test_labels(self):
        points = np.random.default_rng(5).random((150, 2)) * (90, 60)
        self.file("points.npy", points)
        for extra in ([], ["--periodic"]):
            self.call("voronoi", "points.npy", "-o", "labels.npy", "--width", 90, "--height", 60,
                      *extra)
            labels = np.load(self.path("labels.npy"))
            self.assertEqual(labels.dtype, np.int32)
            np.testing.assert_array_equal(labels, self.nearest(points, 90, 60, bool(extra)))
        for method in ("jfa", "1+jfa", "jfa+1", "jfa+2", "jfa2", "jfa-short"):
            done = self.call("voronoi", "points.npy", "-o", "jfa.npy", "--width", 90, "--height", 60,
                             "--method", method, "--check", "--report", "r.json")
            wrong = strict_json(self.read("r.json"))["wrong_share"]
            self.assertLess(wrong, 0.02)
            differ = (np.load(self.path("jfa.npy")) != self.nearest(points, 90, 60, False)).mean()
            self.assertAlmostEqual(wrong, differ, delta=1e-12)
            self.assertIn(b"wrong", done.stderr)

    def test_schedules_and_warm_start(self):
        rng = np.random.default_rng(6)
        points = rng.random((300, 2)) * (90, 60)
        self.file("points.npy", points)
        size = ["--width", 90, "--height", 60, "--report", "r.json"]

        def report():
            return strict_json(self.read("r.json"))

        self.call("voronoi", "points.npy", "-o", "labels.npy", "--method", "jfa", *size)
        self.assertEqual((report()["passes"], report()["first_step"]), (7, 64))
        self.assertEqual(report()["bytes"], 4 * (2 * 7 + 1) * 90 * 60)
        self.call("voronoi", "points.npy", "-o", "short.npy", "--method", "jfa-short", *size)
        self.assertLess(report()["passes"], 7)
        self.call("voronoi", "points.npy", "-o", "labels.npy", *size)
        self.assertEqual((report()["passes"], report()["start"]), (0, "sites"))
        moved = np.clip(points + rng.normal(0, 0.5, points.shape), 0, (90, 60))
        self.file("moved.npy", moved)
        done = self.call("voronoi", "moved.npy", "-o", "warm.npy", "--labels-from", "labels.npy",
                         "--first-step", 2, *size)
        self.assertEqual((report()["passes"], report()["start"]), (2, "labels"))
        self.assertLess(report()["wrong_share"], 0.02)
        self.assertIn(b"corrected", done.stderr)
        np.testing.assert_array_equal(np.load(self.path("warm.npy")),
                                      self.nearest(moved, 90, 60, False))
        self.file("floats.npy", np.zeros((60, 90)))
        self.refused("voronoi", "moved.npy", "-o", "a.npy", "--labels-from", "floats.npy",
                     "--width", 90, "--height", 60, code=3, names=["floats.npy"])
        self.refused("voronoi", "moved.npy", "-o", "a.npy", "--labels-from", "labels.npy",
                     "--width", 91, "--height", 60, code=3, names=["labels.npy", "91 x 60"])
        self.refused("voronoi", "moved.npy", "-o", "a.npy", "--first-step", 2, code=2,
                     names=["--labels-from"])

    def test_pictures_and_default_domain(self):
        self.file("points.csv", "x,y\n3.5,2\n19.25,11.5\n")
        self.call("voronoi", "points.csv", "-o", "a.npy", "-o", "a.png", "-o", "a.ppm")
        labels = np.load(self.path("a.npy"))
        self.assertEqual(labels.shape, (12, 20))
        head = b"P6\n20 12\n255\n"
        ppm = self.read("a.ppm")
        self.assertTrue(ppm.startswith(head))
        colors = np.frombuffer(ppm[len(head):], np.uint8).reshape(12, 20, 3)
        self.assertEqual(len(np.unique(colors.reshape(-1, 3), axis=0)), 2)
        self.assertEqual(struct.unpack(">II", self.read("a.png")[16:24]), (20, 12))


class Info(Case):
    def test_info(self):
        info = strict_json(self.call("info", "--json").stdout)
        self.assertIn("png", info["image_formats"])
        self.assertEqual(info["devices"][0]["name"], "cpu")
        self.assertIs(info["devices"][0]["works"], True)
        text = self.call("info").stdout.decode()
        self.assertIn(info["version"], text)
        self.assertIn("cpu", text)


if __name__ == "__main__":
    if not glob.glob(CAMERA):
        sys.exit("examples/camera.png is missing")
    unittest.main(argv=[sys.argv[0]])
