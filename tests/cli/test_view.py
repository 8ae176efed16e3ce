"""cvtmesh view and `run --watch`: scripts without a display, the page in a headless browser, and a
window under Xvfb with events from xdotool."""

import csv
import json
import os
import re
import subprocess
import time

import numpy as np
import pytest
from PIL import Image

from conftest import EXAMPLES, PATIENCE, PROGRAM, ROOT, Program, output_of, read_obj, wait_until

HORSE = EXAMPLES / "horse.png"
pytestmark = pytest.mark.skipif(
    b"no viewer" in subprocess.run([PROGRAM, "view", "/nowhere"], stderr=subprocess.PIPE,
                                   check=False).stderr, reason="built without the viewer")
FIVE = [(20, 20), (80, 20), (50, 50), (20, 80), (80, 80)]


def read_png(path):
    with Image.open(path) as image:
        assert (image.format, image.mode) == ("PNG", "RGB")
        return np.asarray(image, np.int32)


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


class Viewer(Program):
    """With five sites in a square of 100."""
    def __init__(self, folder):
        super().__init__(folder)
        # Leaks of the OpenGL drivers and of what they load are no defects of the program.
        self.environment["LSAN_OPTIONS"] = (
            f"suppressions={ROOT}/tests/viewer/lsan.supp:print_suppressions=0")
        self.file("five.csv", "x,y\n" + "".join("%g,%g\n" % p for p in FIVE))

    def play(self, script, *options, source="five.csv", size="320x240", code=0):
        """A script, paused at its start."""
        self.file("script", script)
        domain = ["--width", 100, "--height", 100] if source == "five.csv" else []
        return self.call("view", source, *domain, "--paused", "--window", size, "--script", "script",
                         "--shot", "shot.png", "--save", "saved", *options, code=code)


@pytest.fixture
def viewer(tmp_path):
    return Viewer(tmp_path)


def assert_dot(image, fit, place, there=True):
    """A dot is darker than the paper; the layers are sites alone."""
    x, y = fit.screen(*place)
    value = image[int(y), int(x)].sum()
    assert (value < 500) == there, (place, value)


def test_site_is_where_it_was_dropped(viewer):
    viewer.play("layers sites\nsettle\ndrag 20i 20i 33i 41i\nsettle\nkey s\n")
    points = read_points(viewer.path("saved.csv"))
    expected = np.array(FIVE, float)
    expected[0] = (33, 41)
    np.testing.assert_allclose(points, expected, atol=1e-9)
    fit = Fit((320, 240), (100, 100), figures=False)
    image = read_png(viewer.path("saved.png"))
    assert_dot(image, fit, (33, 41))
    assert_dot(image, fit, (20, 20), there=False)
    assert_dot(image, fit, (80, 80))
    assert len(read_obj(viewer.path("saved.obj"))[0]) == 5


def test_sites_by_mouse(viewer):
    viewer.play("layers sites\nclick 35i 20i left shift\nsettle\n"
                "click 80i 80i left ctrl\nsettle\nkey s\n")
    np.testing.assert_allclose(read_points(viewer.path("saved.csv")), FIVE[:4] + [(35, 20)],
                               atol=1e-9)


def test_every_layer_shows(viewer):
    """The key of each layer changes the picture; pressed again, it restores the picture."""
    keys = "123456789"
    viewer.play(
        "layers sites\nwait 0\n" + "shot base.png\n" +
        "".join("key %s\nshot on%s.png\nkey %s\nshot off%s.png\n" % (k, k, k, k) for k in keys),
        "-n", 60, source=HORSE, size="400x300")
    base = read_png(viewer.path("base.png"))
    for key in keys:
        on, off = (read_png(viewer.path(s + key + ".png")) for s in ("on", "off"))
        assert (on != base).any(), key
        assert (off == base).all(), key


def test_looks(viewer):
    """Themes, colours, zoom, pan, help: every picture differs from the one before."""
    steps = [
        "key t", "key c", "key c", "scroll 100 100 3", "drag 20 20 60 40 right", "key h",
        "size 400 300"
    ]
    viewer.play("settle\nshot 0.png\n" + "".join("%s\nshot %d.png\n" % (s, k + 1)
                                                 for k, s in enumerate(steps)))
    pictures = [read_png(viewer.path("%d.png" % k)) for k in range(len(steps) + 1)]
    for a, b in zip(pictures, pictures[1:]):
        assert a.shape != b.shape or (a != b).any()
    assert pictures[-1].shape == (300, 400, 3)


def test_steps_and_method(viewer):
    viewer.play(
        "key n\nwait 1\nkey l\nsettle\nkey n\nwait 1\nkey r\nsettle\nkey plus\nsettle\n"
        "key minus\nkey minus\nsettle\nkey space\nconverge\nkey s\n", "-o", "out.npy")
    assert viewer.array("out.npy").shape == (4, 2)
    assert len(read_points(viewer.path("saved.csv"))) == 4


def test_obstacle_drives_sites_out(viewer):
    viewer.play(
        "key b\nkey b\nkey b\nkey ]\nkey ]\nkey ]\nkey ]\nkey ]\n"
        "move 50i 50i\npress 50i 50i\nrelease 50i 50i\nsettle\nkey space\nconverge\n"
        "key s\n", "-n", 60, source=viewer.file("even.npy", np.ones((100, 100), np.float32)))
    points = read_points(viewer.path("saved.csv"))
    radius = 0.04 * 100 * 1.25**5
    # The centroid of a cell that reaches around the obstacle may lie a little inside.
    assert np.hypot(*(points - 50).T).min() > 0.8 * radius


def test_record(viewer):
    os.mkdir(viewer.path("frames"))
    viewer.play("frames 4\n", "--record", "frames")
    names = sorted(os.listdir(viewer.path("frames")))
    assert len(names) >= 4
    assert read_png(viewer.path("frames/" + names[0])).shape == (240, 320, 3)


def test_frames(viewer):
    done = viewer.call("view", "five.csv", "--window", "160x120", "--frames", 3, "--shot", "a.png")
    assert re.search(r"3 frames in .* a second", done.stderr.decode())
    assert re.search(r"sites by host memory", done.stderr.decode())


def test_wrong_use(viewer):
    done = viewer.play("key a\nfly\n", code=3)
    assert "script: line 2: unknown action" in done.stderr.decode()
    viewer.call("view", "five.csv", "--shot", "a.png", "--window", "9x9", code=2)
    viewer.call("view", "five.csv", "--shot", "a.png", "--window", "99", code=2)
    viewer.call("view", "five.csv", "--shot", "a.png", "--layers", "cells,nothing", code=2)
    viewer.call("view", "missing.csv", "--shot", "a.png", code=3)
    viewer.call("view", "five.csv", "--shot", "no/where/a.png", "--frames", 1, code=1)
    assert not os.path.exists(viewer.path("a.png"))


def test_no_display(viewer, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    done = viewer.call("view", "five.csv", code=5)
    assert "no display: use --shot or run --watch" in done.stderr.decode()


def test_interrupt(viewer):
    viewer.interrupted(
        "view", HORSE, "-n", 300, "--tolerance", 0, "--shot", "a.png", "-o", "out.csv", "--window",
        "160x120", "--record", "r",
        when=lambda _: wait_until(lambda: list(viewer.path().glob("r/*.png")), "a picture"))
    assert len(read_points(viewer.path("out.csv"))) == 300


def test_watch(viewer):
    done = viewer.call("run", HORSE, "-n", 120, "--watch", "w", "--every", 5, "--iterations", 20,
                       "--window", "320x240", "--report", "r.json", "-q", "--effort", "low")
    assert done.stderr.decode() == ""
    names = sorted(viewer.path("w").glob("frame-*.png"))
    assert len(names) == 6  # 0, 5, 10, 15, 20 and the end
    assert read_png(names[-1]).shape == (240, 320, 3)
    page = viewer.path("w/index.html").read_text()
    frames = json.loads(re.search(r'<script id="frames"[^>]*>(.*?)</script>', page, re.S)[1])
    assert [f["iteration"] for f in frames] == [0, 5, 10, 15, 20, 20]
    ratios = [f["ratio"] for f in frames]
    assert ratios == sorted(ratios, reverse=True)
    report = viewer.json("r.json")
    assert ratios[-1] == pytest.approx(report["energy_ratio"], abs=5e-7)
    assert "src=\"http" not in page
    assert "energy_ratio" in page


def test_watch_failures(viewer):
    viewer.call("run", HORSE, "-n", 10, "--watch", "five.csv", code=1)
    viewer.call("run", HORSE, "-n", 10, "--watch", "w", "--window", "x", code=2)


def test_page_in_a_browser(viewer):
    viewer.call("run", HORSE, "-n", 80, "--watch", "w", "--every", 10, "--iterations", 20, "--window",
                "160x120", "-q", "--effort", "low")
    command = [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu",
        f"--user-data-dir={viewer.path('profile')}", "--virtual-time-budget=3000"
    ]
    url = viewer.path("w/index.html").as_uri()
    page = output_of(*command, "--dump-dom", url, stderr=subprocess.DEVNULL, timeout=PATIENCE)
    assert 'data-ready="4"' in page
    assert re.search(r'<img id="shown" alt="iteration 20" src="data:image/png', page)
    assert re.search(r'id="label">iteration 20, 80 sites, ratio 1\.\d{6}<', page)
    assert "<polyline" in page


class Window(Viewer):
    """The viewer in a window on a display of its own."""

    SIZE = (640, 480)

    def __init__(self, folder):
        super().__init__(folder)
        read, write = os.pipe()
        self.server = subprocess.Popen([
            "Xvfb", "-displayfd",
            str(write), "-screen", "0", "1000x800x24", "-nolisten", "tcp", "-noreset"
        ], pass_fds=[write], stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as stream:
            number = stream.readline().strip()
        self.process = self.window = None
        assert number, "Xvfb did not start"
        # Xlib unloads the driver before leaks are looked for, so the driver's leaks, of a few
        # bytes, could not be told from the program's. Tests without a window look for leaks.
        self.environment.update(DISPLAY=":" + number, ASAN_OPTIONS="detect_leaks=0")

    def close(self):
        for process in (self.process, self.server):
            if process:
                process.kill()
                process.wait()

    def open(self, *options):
        with open(self.path("errors"), "w", encoding="utf-8") as errors:
            self.process = self.start("view", "five.csv", "--width", 100, "--height", 100,
                                      "--paused", "--window", "%dx%d" % self.SIZE, "--save", "saved",
                                      *options, stderr=errors)
        wait_until(self.find_window, "the window")
        self.xdotool("windowfocus", "--sync", self.window)
        self.save()  # when the first files are there the sites have been drawn

    def find_window(self):
        found = self.xdotool("search", "--onlyvisible", "--name", "five.csv", check=False).split()
        self.window = found[0] if found else None
        assert self.process.poll() is None, self.said()
        return found

    def said(self):
        return self.path("errors").read_text()

    def xdotool(self, *arguments, check=True):
        done = subprocess.run(["xdotool"] + [str(a) for a in arguments],
                              env={**os.environ, **self.environment}, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=check, timeout=PATIENCE, text=True)
        return done.stdout

    def key(self, *names):
        self.xdotool("key", *names)

    def move(self, place):
        self.xdotool("mousemove", "--window", self.window, *place)

    def save(self):
        """The key S writes the points and the picture."""
        for name in ("saved.obj", "saved.csv", "saved.png"):
            self.path(name).unlink(missing_ok=True)
        for _ in range(20):  # keys before the first frame have nothing to save
            self.key("s")
            try_until = time.monotonic() + 5
            while time.monotonic() < try_until:
                if self.path("saved.obj").exists():  # the last to be written
                    return read_points(self.path("saved.csv")), read_png(self.path("saved.png"))
                time.sleep(0.05)
            assert self.process.poll() is None, self.said()
        pytest.fail("nothing was saved")

    def wait_for_sites(self, condition):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            points, picture = self.save()
            if condition(points):
                return points, picture
        pytest.fail("the sites never were as expected: %s" % points)


@pytest.fixture
def window(tmp_path, monkeypatch):
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    opened = Window(tmp_path)
    yield opened
    opened.close()


def test_from_start_to_end(window):
    window.open("-o", "out.csv")
    fit = Fit(window.SIZE, (100, 100))
    points, before = window.save()
    np.testing.assert_allclose(points, FIVE, atol=1e-12)

    # A site is moved by the mouse and is where it was dropped.
    start = [round(v) for v in fit.screen(20, 20)]
    end = [start[0] + 60, start[1] + 90]
    window.move(start)
    window.xdotool("mousedown", 1)
    window.move([start[0] + 30, start[1] + 40])
    window.move(end)
    window.xdotool("mouseup", 1)
    dropped = fit.domain(*end)
    points, picture = window.wait_for_sites(
        lambda p: abs(p[0] - (20, 20)).max() > 1 and np.allclose(p[0], dropped, atol=1e-6))
    np.testing.assert_allclose(points[1:], FIVE[1:], atol=1e-12)
    assert (picture != before).any()

    # Adds a site, removes one, toggles layers, zooms.
    window.move([round(v) for v in fit.screen(35, 80)])
    window.xdotool("keydown", "shift", "click", 1, "keyup", "shift")
    window.wait_for_sites(lambda p: len(p) == 6)
    window.move([round(v) for v in fit.screen(80, 80)])
    window.xdotool("keydown", "ctrl", "click", 1, "keyup", "ctrl")
    points, before = window.wait_for_sites(lambda p: len(p) == 5)
    window.key("5")
    _, picture = window.save()
    assert (picture != before).any()
    window.xdotool("click", 4, "click", 4)
    _, closer = window.save()
    assert (picture != closer).any()

    # The picture has the size of the window.
    window.xdotool("windowsize", "--sync", window.window, 720, 500)
    wait_until(lambda: window.save()[1].shape == (500, 720, 3), "the new size")

    # Runs until it converges, then quits.
    window.key("space")
    moved, _ = window.wait_for_sites(lambda p: abs(p - points).max() > 1e-3)
    assert len(moved) == 5
    window.key("q")
    assert window.process.wait(PATIENCE) == 0, window.said()
    assert len(read_points(window.path("out.csv"))) == 5
    assert "OpenGL:" not in window.said()


def test_display_goes_away(window):
    window.open("-o", "out.csv")
    window.server.terminate()
    window.server.wait()
    assert window.process.wait(PATIENCE) == 0, window.said()
    assert "the connection to the display was lost" in window.said()
    assert len(read_points(window.path("out.csv"))) == 5
