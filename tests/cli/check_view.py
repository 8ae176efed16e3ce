#!/usr/bin/env python3
"""Drives `cvtmesh view` and `run --watch` from outside: scripts without a display, a window under
Xvfb with real events from xdotool, and the page in a headless browser. CVTMESH_PROGRAM is the
program; what needs a tool that is missing is skipped."""

import csv
import glob
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

import numpy as np

PROGRAM = os.environ.get("CVTMESH_PROGRAM", "cvtmesh")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HORSE = os.path.join(ROOT, "examples", "horse.png")
# Leaks of the OpenGL drivers and of what they load are not ours.
SUPPRESSIONS = os.path.join(ROOT, "tests", "viewer", "lsan.supp")
os.environ.update(OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive",
                  LSAN_OPTIONS="suppressions=%s:print_suppressions=0" % SUPPRESSIONS)
PATIENCE = 120  # seconds for what takes one on an idle machine

FIVE = [(20, 20), (80, 20), (50, 50), (20, 80), (80, 80)]


def read_png(path):
    """An 8-bit RGB PNG as an array, without a library."""
    with open(path, "rb") as stream:
        data = stream.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert (depth, colour) == (8, 2)
        elif kind == b"IDAT":
            packed += body
        at += size + 12
    raw, stride = zlib.decompress(packed), 1 + 3 * width
    above, rows = [0] * (3 * width + 3), []  # three zeros before each row
    for y in range(height):
        kind, line = raw[y * stride], raw[y * stride + 1:(y + 1) * stride]
        row = [0, 0, 0]
        for x, value in enumerate(line, 3):
            a, b, c = row[x - 3], above[x], above[x - 3]
            if kind == 4:
                p = a + b - c
                pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
                value += a if pa <= pb and pa <= pc else b if pb <= pc else c
            elif kind:
                value += (a, b, (a + b) // 2)[kind - 1]
            row.append(value & 255)
        rows.append(row[3:])
        above = row
    return np.array(rows, np.int32).reshape(height, width, 3)


def read_points(path):
    with open(path, newline="") as stream:
        return np.array([[float(r["x"]), float(r["y"])] for r in csv.DictReader(stream)])


class Fit:
    """Where the fitted view shows places of a domain: 16 pixels of margin, 34 for the figures."""

    def __init__(self, size, domain, figures=True):
        width, height = size
        bar = 34 if figures else 0
        self.zoom = min((width - 32) / domain[0], (height - 32 - bar) / domain[1])
        self.centre = (domain[0] / 2, domain[1] / 2 + bar / 2 / self.zoom)
        self.size = size

    def screen(self, x, y):
        return ((x - self.centre[0]) * self.zoom + self.size[0] / 2,
                (y - self.centre[1]) * self.zoom + self.size[1] / 2)

    def domain(self, x, y):
        return ((x - self.size[0] / 2) / self.zoom + self.centre[0],
                (y - self.size[1] / 2) / self.zoom + self.centre[1])


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cvtmesh-view-")
        self.addCleanup(shutil.rmtree, self.folder)
        with open(self.path("five.csv"), "w") as stream:
            stream.write("x,y\n" + "".join("%g,%g\n" % p for p in FIVE))

    def path(self, name):
        return os.path.join(self.folder, name)

    def call(self, *arguments, code=0, environment=None):
        done = subprocess.run([PROGRAM] + [str(a) for a in arguments] + ["--device", "cpu"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                              timeout=PATIENCE, check=False, env=environment, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def play(self, script, *options, source="five.csv", size="320x240", code=0):
        """A script on five sites in a square of 100, paused."""
        with open(self.path("script"), "w") as stream:
            stream.write(script)
        domain = ["--width", 100, "--height", 100] if source == "five.csv" else []
        return self.call("view", source, *domain, "--paused", "--size", size, "--script", "script",
                         "--shot", "shot.png", "--save", "saved", *options, code=code)


@unittest.skipIf(subprocess.run([PROGRAM, "view", "/nowhere"], stderr=subprocess.PIPE, text=True,
                                check=False).stderr.find("no viewer") >= 0, "no viewer")
class Offscreen(Case):
    def assert_dot(self, image, fit, place, there=True):
        """A dot is darker than the paper; the layers are sites alone."""
        x, y = fit.screen(*place)
        value = image[int(y), int(x)].sum()
        self.assertEqual(value < 500, there, (place, value))

    def test_site_is_where_it_was_dropped(self):
        self.play("layers sites\nsettle\ndrag 20i 20i 33i 41i\nsettle\nkey s\n")
        points = read_points(self.path("saved.csv"))
        expected = np.array(FIVE, float)
        expected[0] = (33, 41)
        np.testing.assert_allclose(points, expected, atol=1e-9)
        fit = Fit((320, 240), (100, 100), figures=False)
        image = read_png(self.path("saved.png"))
        self.assert_dot(image, fit, (33, 41))
        self.assert_dot(image, fit, (20, 20), there=False)
        self.assert_dot(image, fit, (80, 80))
        with open(self.path("saved.obj")) as stream:
            self.assertEqual(sum(line.startswith("v ") for line in stream), 5)

    def test_sites_by_mouse(self):
        self.play("layers sites\nclick 35i 20i left shift\nsettle\n"
                  "click 80i 80i left ctrl\nsettle\nkey s\n")
        np.testing.assert_allclose(read_points(self.path("saved.csv")), FIVE[:4] + [(35, 20)],
                                   atol=1e-9)

    def test_every_layer_shows(self):
        """Each key of a layer changes the picture, and pressed again takes the change back."""
        keys = "123456789"
        self.play("layers sites\nwait 0\n" + "shot base.png\n" + "".join(
            "key %s\nshot on%s.png\nkey %s\nshot off%s.png\n" % (k, k, k, k) for k in keys),
            "-n", 60, source=HORSE, size="400x300")
        base = read_png(self.path("base.png"))
        for key in keys:
            on, off = (read_png(self.path(s + key + ".png")) for s in ("on", "off"))
            self.assertTrue((on != base).any(), key)
            self.assertTrue((off == base).all(), key)

    def test_looks(self):
        """Themes, colours, zoom, pan, help: every picture differs from the one before."""
        steps = ["key t", "key c", "key c", "scroll 100 100 3", "drag 20 20 60 40 right", "key h",
                 "size 400 300"]
        self.play("settle\nshot 0.png\n" + "".join(
            "%s\nshot %d.png\n" % (s, k + 1) for k, s in enumerate(steps)))
        pictures = [read_png(self.path("%d.png" % k)) for k in range(len(steps) + 1)]
        for a, b in zip(pictures, pictures[1:]):
            self.assertTrue(a.shape != b.shape or (a != b).any())
        self.assertEqual(pictures[-1].shape, (300, 400, 3))

    def test_steps_and_method(self):
        self.play("key n\nwait 1\nkey l\nsettle\nkey n\nwait 1\nkey r\nsettle\nkey plus\nsettle\n"
                  "key minus\nkey minus\nsettle\nkey space\nconverge\nkey s\n", "-o", "out.npy")
        self.assertEqual(np.load(self.path("out.npy")).shape, (4, 2))
        self.assertEqual(len(read_points(self.path("saved.csv"))), 4)

    def test_obstacle_drives_sites_out(self):
        self.play("key b\nkey b\nkey b\nkey ]\nkey ]\nkey ]\nkey ]\nkey ]\n"
                  "move 50i 50i\npress 50i 50i\nrelease 50i 50i\nsettle\nkey space\nconverge\n"
                  "key s\n", "-n", 60, source=self.even_density())
        points = read_points(self.path("saved.csv"))
        radius = 0.04 * 100 * 1.25 ** 5
        # The centroid of a cell that reaches around the obstacle may lie a little inside.
        self.assertGreater(np.hypot(*(points - 50).T).min(), 0.8 * radius)

    def even_density(self):
        np.save(self.path("even.npy"), np.ones((100, 100), np.float32))
        return "even.npy"

    def test_record(self):
        os.mkdir(self.path("frames"))
        self.play("frames 4\n", "--record", "frames")
        names = sorted(os.listdir(self.path("frames")))
        self.assertGreaterEqual(len(names), 4)
        self.assertEqual(read_png(self.path("frames/" + names[0])).shape, (240, 320, 3))

    def test_frames(self):
        done = self.call("view", "five.csv", "--size", "160x120", "--frames", 3, "--shot", "a.png")
        self.assertRegex(done.stderr, r"3 frames in .* a second")
        self.assertRegex(done.stderr, r"sites by host memory")

    def test_wrong_use(self):
        done = self.play("key a\nfly\n", code=3)
        self.assertIn("script: line 2: there is no such action", done.stderr)
        self.call("view", "five.csv", "--shot", "a.png", "--size", "9x9", code=2)
        self.call("view", "five.csv", "--shot", "a.png", "--size", "99", code=2)
        self.call("view", "five.csv", "--shot", "a.png", "--layers", "cells,nothing", code=2)
        self.call("view", "missing.csv", "--shot", "a.png", code=3)
        self.call("view", "five.csv", "--shot", "no/where/a.png", "--frames", 1, code=1)
        self.assertFalse(os.path.exists(self.path("a.png")))

    def test_no_display(self):
        bare = {k: v for k, v in os.environ.items()
                if k not in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR")}
        done = self.call("view", "five.csv", code=5, environment=bare)
        self.assertIn("no display: use --shot or run --watch", done.stderr)

    def test_interrupt(self):
        process = subprocess.Popen(
            [PROGRAM, "view", HORSE, "-n", "300", "--tolerance", "0", "--shot", "a.png", "-o",
             "out.csv", "--size", "160x120", "--record", "r", "--device", "cpu"],
            cwd=self.folder, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        wait_until(lambda: glob.glob(self.path("r/*.png")))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE), 130, process.stderr.read())
        self.assertEqual(len(read_points(self.path("out.csv"))), 300)

    def test_watch(self):
        done = self.call("run", HORSE, "-n", 120, "--watch", "w", "--every", 5, "--iterations", 20,
                         "--size", "320x240", "--report", "r.json", "-q", "--effort", "low")
        self.assertEqual(done.stderr, "")
        names = sorted(glob.glob(self.path("w/frame-*.png")))
        self.assertEqual(len(names), 6)  # 0, 5, 10, 15, 20 and the end
        self.assertEqual(read_png(names[-1]).shape, (240, 320, 3))
        with open(self.path("w/index.html")) as stream:
            page = stream.read()
        frames = json.loads(re.search(r'<script id="frames"[^>]*>(.*?)</script>', page, re.S)[1])
        self.assertEqual([f["iteration"] for f in frames], [0, 5, 10, 15, 20, 20])
        ratios = [f["ratio"] for f in frames]
        self.assertEqual(ratios, sorted(ratios, reverse=True))
        with open(self.path("r.json")) as stream:
            report = json.load(stream)
        self.assertAlmostEqual(ratios[-1], report["energy_ratio"], places=6)
        self.assertNotIn("src=\"http", page)
        self.assertIn("energy_ratio", page)

    def test_watch_failures(self):
        self.call("run", HORSE, "-n", 10, "--watch", "five.csv", code=1)
        self.call("run", HORSE, "-n", 10, "--watch", "w", "--size", "x", code=2)

    @unittest.skipUnless(shutil.which("chromium"), "chromium is missing")
    def test_page_in_a_browser(self):
        self.call("run", HORSE, "-n", 80, "--watch", "w", "--every", 10, "--iterations", 20,
                  "--size", "160x120", "-q", "--effort", "low")
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu",
                   "--user-data-dir=" + self.path("profile"), "--virtual-time-budget=3000"]
        url = "file://" + self.path("w/index.html")
        done = subprocess.run(command + ["--dump-dom", url], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, timeout=PATIENCE, check=True, text=True)
        self.assertIn('data-ready="4"', done.stdout)
        self.assertRegex(done.stdout, r'<img id="shown" alt="iteration 20" src="data:image/png')
        self.assertRegex(done.stdout, r'id="label">iteration 20, 80 sites, ratio 1\.\d{6}<')
        self.assertIn("<polyline", done.stdout)


def wait_until(condition, what="something"):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("waited in vain for " + what)


@unittest.skipUnless(shutil.which("Xvfb") and shutil.which("xdotool"), "Xvfb or xdotool is missing")
@unittest.skipIf(subprocess.run([PROGRAM, "view", "/nowhere"], stderr=subprocess.PIPE, text=True,
                                check=False).stderr.find("no viewer") >= 0, "no viewer")
class Window(Case):
    SIZE = (640, 480)

    def setUp(self):
        super().setUp()
        read, write = os.pipe()
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "1000x800x24", "-nolisten", "tcp",
             "-noreset"],
            pass_fds=[write], stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as stream:
            number = stream.readline().strip()
        self.addCleanup(self.end_server)
        self.assertTrue(number, "Xvfb did not start")
        # Xlib unloads the driver before leaks are looked for, so its own, of a few bytes, could not
        # be told from ours. Leaks of all that draws are looked for without a window.
        self.environment = dict(os.environ, DISPLAY=":" + number, ASAN_OPTIONS="detect_leaks=0")
        self.environment.pop("WAYLAND_DISPLAY", None)

    def end_server(self):
        if self.server.poll() is None:
            self.server.terminate()
        self.server.wait()

    def open(self, *options):
        self.errors = open(self.path("errors"), "w+")
        self.addCleanup(self.errors.close)
        self.process = subprocess.Popen(
            [PROGRAM, "view", "five.csv", "--width", "100", "--height", "100", "--paused", "--size",
             "%dx%d" % self.SIZE, "--save", "saved", "--device", "cpu"] + list(options),
            cwd=self.folder, env=self.environment, stderr=self.errors)
        self.addCleanup(self.end_process)
        self.window = None
        wait_until(self.find_window, "the window")
        self.xdotool("windowfocus", "--sync", self.window)
        self.save()  # when the first files are there the sites have been drawn

    def end_process(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def find_window(self):
        found = self.xdotool("search", "--onlyvisible", "--name", "five.csv", check=False).split()
        self.window = found[0] if found else None
        self.assertIsNone(self.process.poll(), self.said())
        return found

    def said(self):
        with open(self.path("errors")) as stream:
            return stream.read()

    def xdotool(self, *arguments, check=True):
        done = subprocess.run(["xdotool"] + [str(a) for a in arguments], env=self.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=check,
                              timeout=PATIENCE, text=True)
        return done.stdout

    def key(self, *names):
        self.xdotool("key", *names)

    def move(self, place):
        self.xdotool("mousemove", "--window", self.window, *place)

    def save(self):
        """S, and the points and the picture that come of it."""
        for name in ("saved.obj", "saved.csv", "saved.png"):
            if os.path.exists(self.path(name)):
                os.remove(self.path(name))
        for _ in range(20):  # keys before the first frame have nothing to save
            self.key("s")
            try_until = time.monotonic() + 5
            while time.monotonic() < try_until:
                if os.path.exists(self.path("saved.obj")):  # the last to be written
                    return read_points(self.path("saved.csv")), read_png(self.path("saved.png"))
                time.sleep(0.05)
            self.assertIsNone(self.process.poll(), self.said())
        self.fail("nothing was saved")

    def wait_for_sites(self, condition):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            points, picture = self.save()
            if condition(points):
                return points, picture
        self.fail("the sites never were as expected: %s" % points)

    def test_from_start_to_end(self):
        self.open("-o", "out.csv")
        fit = Fit(self.SIZE, (100, 100))
        points, before = self.save()
        np.testing.assert_allclose(points, FIVE, atol=1e-12)

        # A site is moved by the mouse and is where it was dropped.
        start = [round(v) for v in fit.screen(20, 20)]
        end = [start[0] + 60, start[1] + 90]
        self.move(start)
        self.xdotool("mousedown", 1)
        self.move([start[0] + 30, start[1] + 40])
        self.move(end)
        self.xdotool("mouseup", 1)
        dropped = fit.domain(*end)
        points, picture = self.wait_for_sites(lambda p: abs(p[0] - (20, 20)).max() > 1 and
                                              np.allclose(p[0], dropped, atol=1e-6))
        np.testing.assert_allclose(points[1:], FIVE[1:], atol=1e-12)
        self.assertTrue((picture != before).any())

        # A site more, one less, layers, zoom.
        self.move([round(v) for v in fit.screen(35, 80)])
        self.xdotool("keydown", "shift", "click", 1, "keyup", "shift")
        self.wait_for_sites(lambda p: len(p) == 6)
        self.move([round(v) for v in fit.screen(80, 80)])
        self.xdotool("keydown", "ctrl", "click", 1, "keyup", "ctrl")
        points, before = self.wait_for_sites(lambda p: len(p) == 5)
        self.key("5")
        _, picture = self.save()
        self.assertTrue((picture != before).any())
        self.xdotool("click", 4, "click", 4)
        _, closer = self.save()
        self.assertTrue((picture != closer).any())

        # The window's size is the picture's.
        self.xdotool("windowsize", "--sync", self.window, 720, 500)
        wait_until(lambda: self.save()[1].shape == (500, 720, 3), "the new size")

        # On to convergence, and the end.
        self.key("space")
        moved, _ = self.wait_for_sites(lambda p: abs(p - points).max() > 1e-3)
        self.assertEqual(len(moved), 5)
        self.key("q")
        self.assertEqual(self.process.wait(PATIENCE), 0, self.said())
        self.assertEqual(len(read_points(self.path("out.csv"))), 5)
        self.assertNotIn("OpenGL:", self.said())

    def test_display_goes_away(self):
        self.open("-o", "out.csv")
        self.server.terminate()
        self.server.wait()
        self.assertEqual(self.process.wait(PATIENCE), 0, self.said())
        self.assertIn("the display went away", self.said())
        self.assertEqual(len(read_points(self.path("out.csv"))), 5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
