"""The page viewer/web in real browsers: pictures in, settings, files out, each compared with the program's by
"Copy as command". CVTMESH_PAGE names the page that the preset `web` has built. Chromium and Firefox are driven by
their own protocols, without a driver; one that is missing is skipped. CVTMESH_SHOTS=FOLDER keeps pictures of the page."""

import base64
import json
import os
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import PROGRAM, ROOT
from PIL import Image

if "CVTMESH_PAGE" not in os.environ:
    pytest.skip("CVTMESH_PAGE names no page: ./bootstrap check --all builds one", allow_module_level=True)
PAGE = ROOT / os.environ["CVTMESH_PAGE"]
CAMERA = ROOT / "docs/examples/camera.png"
SECONDS = 60  # of the longest wait
SHOTS = os.environ.get("CVTMESH_SHOTS")


class Browser:
    def begin(self, command, **more):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        command = [word.replace("PROFILE", self.profile.name) for word in command]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
        self.number = 0

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.profile.cleanup()


class Chromium(Browser):
    """By the DevTools protocol: JSON and a zero byte, which Chromium reads from file 3 and writes to file 4."""

    def __init__(self):
        theirs, self.to = os.pipe()
        self.source, answers = os.pipe()
        self.begin(["bash", "-c", f'exec "$@" 3<&{theirs} 4>&{answers}', "bash", "chromium", "--headless=new", "--no-sandbox",
                    "--disable-gpu", "--window-size=1280,900", "--user-data-dir=PROFILE", "--remote-debugging-pipe"],
                   pass_fds=(theirs, answers))
        os.close(theirs)
        os.close(answers)
        self.read = os.fdopen(self.source, "rb")
        self.session = {}
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = {"sessionId": self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        self.send("Page.enable")

    def receive(self):
        text = bytearray()
        while (byte := self.read.read(1)) != b"\0":
            assert byte, "Chromium has ended"
            text += byte
        return json.loads(text)

    def send(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters, **self.session}
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while (answer := self.receive()).get("id") != self.number:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, address):
        self.send("Page.navigate", url=address)
        while self.receive().get("method") != "Page.loadEventFired":
            pass

    def wait_script(self, text, *arguments):
        return self.script(f"const all = [...arguments]; return new Promise((done) => (function () {{ {text} }})(...all, done));",
                           *arguments)

    def script(self, text, *arguments):
        result = self.send("Runtime.evaluate", expression=f"(function () {{ {text} }})(...{json.dumps(arguments)})",
                           awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def choose(self, path):
        root = self.send("DOM.getDocument")["root"]["nodeId"]
        node = self.send("DOM.querySelector", nodeId=root, selector="#file")["nodeId"]
        self.send("DOM.setFileInputFiles", nodeId=node, files=[str(path)])

    def shot(self):
        return self.send("Page.captureScreenshot")["data"]


class Firefox(Browser):
    """By Marionette: messages [0, number, command, parameters] and [1, number, error, result] as JSON behind their
    length. Firefox chooses a free port, and writes it into its profile."""

    def __init__(self):
        self.begin(["sh", "-c", "echo 'user_pref(\"marionette.port\", 0);' > PROFILE/user.js && "
                    "exec firefox-esr --headless --marionette --no-remote --profile PROFILE"])
        port, end = Path(self.profile.name) / "MarionetteActivePort", time.monotonic() + SECONDS
        while not port.exists() or not port.read_text():
            assert time.monotonic() < end, "Firefox does not answer"
            time.sleep(0.1)
        self.socket = socket.create_connection(("127.0.0.1", int(port.read_text())), 2 * SECONDS)
        self.read = self.socket.makefile("rb")
        self.receive()
        self.send("NewSession")
        self.send("SetTimeouts", script=1000 * SECONDS)
        self.send("SetWindowRect", width=1280, height=900)

    def receive(self):
        length = b""
        while (byte := self.read.read(1)) != b":":
            assert byte, "Firefox has ended"
            length += byte
        return json.loads(self.read.read(int(length)))

    def send(self, command, **parameters):
        self.number += 1
        text = json.dumps([0, self.number, "WebDriver:" + command, parameters])
        self.socket.sendall(f"{len(text)}:{text}".encode())
        _, _, error, result = self.receive()
        assert error is None, error
        return result

    def open(self, address):
        self.send("Navigate", url=address)

    def script(self, text, *arguments):
        return self.send("ExecuteScript", script=text, args=arguments)["value"]

    def wait_script(self, text, *arguments):
        return self.send("ExecuteAsyncScript", script=text, args=arguments)["value"]

    def choose(self, path):
        element = self.send("FindElement", using="css selector", value="#file")["value"]
        self.send("ElementSendKeys", id=list(element.values())[0], text=str(path))

    def shot(self):
        return self.send("TakeScreenshot", full=False)["value"]


BROWSERS = {"chromium": Chromium, "firefox-esr": Firefox}


class Page:
    def __init__(self, name, folder):
        if not shutil.which(name):
            pytest.skip(f"no {name}")
        self.name = name
        self.folder = folder
        self.browser = BROWSERS[name]()
        self.script = self.browser.script

    def load(self):
        self.browser.open(PAGE.as_uri())
        # What a link would download is kept.
        self.script("HTMLAnchorElement.prototype.click = function () { window.saved = {name: this.download, "
                    "bytes: fetch(this.href).then((r) => r.arrayBuffer())}; };")

    def text(self, name):
        return self.script(f"return document.getElementById('{name}').textContent")

    def error(self):
        return self.script("const e = document.getElementById('error'); return e.hidden ? '' : e.textContent")

    def until(self, condition, what):
        end = time.monotonic() + SECONDS
        while not (value := condition()):
            assert time.monotonic() < end, f"{what}: {self.text('status')} {self.error()}"
            time.sleep(0.05)
        return value

    def settled(self):
        self.until(lambda: self.script("return document.body.dataset.state") == "settled" or self.error(), "not settled")
        assert not self.error()

    def set(self, name, value):
        self.script(
            "const f = document.getElementById('settings').elements[arguments[0]], v = arguments[1];"
            "if (typeof v === 'boolean') f.checked = v; else f.value = v;"
            "(f instanceof RadioNodeList ? [...f].find((e) => e.checked) : f)"
            ".dispatchEvent(new Event('input', {bubbles: true}));", name, value)

    def command(self, extension):
        self.set("format", extension)
        self.script("document.getElementById('copy').click()")
        words = shlex.split(self.text("command"))
        assert words[0] == "cvtmesh"
        return words[1:]

    def saved(self):
        name, data = self.browser.wait_script(
            "const done = arguments[arguments.length - 1]; window.saved.bytes.then((b) => { let t = '';"
            "for (const c of new Uint8Array(b)) t += String.fromCharCode(c); done([window.saved.name, btoa(t)]); });")
        return name, base64.b64decode(data)

    def save(self, extension):
        """The file that the page saves, and that of its command."""
        words = self.command(extension)
        self.settled()  # a pen has dots of one size
        self.script("window.saved = null; document.getElementById('export').click()")
        self.until(lambda: self.script("return window.saved !== null") or self.error(), "nothing is saved")
        assert not self.error()
        name, data = self.saved()
        assert name == words[-1]
        made = self.folder / name
        made.write_bytes(data)
        other = self.folder / f"program{made.suffix}"
        done = subprocess.run([PROGRAM, *words[:-1], other, "--quiet"], cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return made, other

    def shot(self, name):
        if SHOTS:
            Path(f"{SHOTS}/{self.name}-{name}.png").write_bytes(base64.b64decode(self.browser.shot()))


@pytest.fixture(scope="module", params=BROWSERS)
def page(request, tmp_path_factory):
    made = Page(request.param, tmp_path_factory.mktemp("page"))
    made.load()
    shutil.copy(CAMERA, made.folder)
    yield made
    made.browser.close()


def png_pixels(path):
    """Width, height and the pixels as the program reads them."""
    folder = path.parent / (path.stem + ".npy")
    subprocess.run([PROGRAM, "density", path, "--density-from", "density", "-o", folder, "--quiet"], check=True)
    return np.load(folder)


def same_pixels(made, other):
    a, b = png_pixels(made), png_pixels(other)
    assert a.shape == b.shape
    assert np.abs(a - b).max() < 1e-6


def points_of(path):
    return np.loadtxt(path, delimiter=",", skiprows=1)[:, :2]


def test_every_file_is_that_of_the_command(page):
    page.set("number", "3.3")
    page.browser.choose(CAMERA)
    page.settled()
    page.shot("dots")
    # The points differ by rounding where the C libraries do; so far they have the same bits.
    a, b = map(points_of, page.save("csv"))
    assert a.shape == b.shape == (2000, 2)
    assert np.abs(a - b).max() <= 1e-6
    for extension in ("svg", "touches", "dxf", "hpgl", "gcode", "xyz", "obj", "ply", "stl", "npy", "msh", "vtu"):
        made, other = page.save(extension)
        if np.array_equal(a, b):
            assert made.read_bytes() == other.read_bytes(), extension
        else:
            assert abs(made.stat().st_size - other.stat().st_size) < 1e-3 * other.stat().st_size, extension
    same_pixels(*page.save("png"))


def test_sliders_and_views(page):
    """What only redraws needs no run; what changes the density goes on from the sites, and ends as the command does."""
    page.browser.choose(CAMERA)
    page.set("number", "3")
    page.set("contrast", "1.5")  # while it runs
    page.set("gamma", "1.2")
    page.set("black", "0.05")
    page.set("white", "0.9")
    page.set("flatten", "0.4")
    assert page.script("return document.body.dataset.state") != "settled"
    page.settled()
    a, b = map(points_of, page.save("csv"))
    assert a.shape == b.shape == (1000, 2)
    assert np.abs(a - b).max() <= 1e-6
    page.set("apart", True)
    page.set("page", "A5")
    page.set("margin", "15")
    assert page.script("return document.body.dataset.state") == "settled"
    page.set("size", "0.8")
    page.settled()
    words = page.command("svg")
    assert words[words.index("--dot-size") + 1] == "0.8" and "--no-overlap" in words and "A5" in words
    made, other = page.save("svg")
    assert made.read_text() == other.read_text() and other.read_text().count("<circle") > 900
    for name in ("contrast", "gamma", "white"):  # dots of one size choose their tones
        page.set(name, "1")
    page.set("black", "0")
    page.settled()
    made, other = page.save("svg")
    assert made.read_text() == other.read_text()
    page.set("size", "0")
    page.settled()
    for view, mark in (("cells", "<path"), ("mesh", "<path"), ("path", "<path")):
        page.set("view", view)
        page.settled()
        page.until(lambda: page.script("return document.body.dataset.state") == "settled", view)
        page.shot(view)
        made, other = page.save("svg")
        assert mark in other.read_text()
        assert made.read_text() == other.read_text()
    page.set("invert", True)
    page.set("view", "stipples")
    page.settled()
    page.shot("invert")
    made, other = page.save("svg")
    assert made.read_text() == other.read_text()
    page.set("invert", False)
    page.set("inks", "cmyk")
    page.settled()
    # All inks were seen as they moved.
    assert len(page.script("return document.querySelector('#plot polyline').getAttribute('points')").split()) > 20
    page.shot("inks")
    made, other = page.save("svg")
    assert made.read_text() == other.read_text()
    page.set("inks", "")
    page.settled()


def drop(page, name, data, kind):
    page.script(
        "const bytes = Uint8Array.from(atob(arguments[1]), (c) => c.charCodeAt(0)), transfer = new DataTransfer();"
        "transfer.items.add(new File([bytes], arguments[0], {type: arguments[2]}));"
        "document.body.dispatchEvent(new DragEvent('drop', {bubbles: true, cancelable: true, dataTransfer: transfer}));",
        name, base64.b64encode(data).decode(), kind)


RINGS = [[[0, 0], [100, 0], [100, 60], [0, 60], [0, 0]], [[30, 20], [30, 40], [60, 40], [60, 20], [30, 20]]]


def area_of(obj):
    rows = [line.split() for line in obj.read_text().splitlines()]
    points = np.array([row[1:3] for row in rows if row[0] == "v"], float)
    a, b, c = np.moveaxis(points[np.array([row[1:4] for row in rows if row[0] == "f"], int) - 1], 1, 0)
    return np.abs(np.cross(b - a, c - a)).sum() / 2


def test_outlines(page):
    outline = json.dumps({"type": "Polygon", "coordinates": RINGS}).encode()
    drop(page, "plate.geojson", outline, "application/json")
    page.until(lambda: page.text("status").endswith(" s") and "triangles" in page.text("status"), "no mesh")
    page.shot("outline")
    page.script("window.saved = null; document.querySelector('#note button').click()")
    page.until(lambda: page.script("return window.saved !== null"), "the rings are not saved")
    name, data = page.saved()
    (page.folder / name).write_bytes(data)
    page.set("edge", "-1.6")
    page.until(lambda: page.script("return document.body.dataset.state") == "settled", "no mesh")
    for extension in ("msh", "obj"):
        made, other = page.save(extension)
        assert made.read_text() == other.read_text()
    assert area_of(made) == pytest.approx(100 * 60 - 30 * 20)  # the hole is left out
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"><circle cx="50" cy="50" r="40" transform="scale(2)"/></svg>'
    drop(page, "disc.svg", svg, "image/svg+xml")
    page.until(lambda: page.script("return !document.getElementById('note').hidden"), "no note")
    page.until(lambda: page.script("return document.body.dataset.state") == "settled", "no mesh")
    page.shot("disc")
    assert not page.error()


@pytest.mark.parametrize("kind, note", [("alpha", "put on white"), ("deep", "reduced from 16 to 8 bits")])
def test_the_command_takes_the_picture_that_is_shown(page, kind, note):
    """Browsers put pictures on white in other numbers than the program, and read 8 bits."""
    grey = np.asarray(Image.open(CAMERA).convert("L").resize((160, 160)))
    picture = Image.fromarray((grey * 257.0 ** 0.999).astype(np.uint16)) if kind == "deep" else Image.fromarray(grey)
    if kind == "alpha":
        picture.putalpha(Image.linear_gradient("L").resize((160, 160)))
    picture.save(page.folder / f"{kind}.png")
    page.set("number", "2.5")
    page.browser.choose(page.folder / f"{kind}.png")
    page.until(lambda: note in page.text("note"), "no note")
    page.settled()
    page.script("window.saved = null; document.querySelector('#note button').click()")
    page.until(lambda: page.script("return window.saved !== null"), "the picture is not saved")
    name, data = page.saved()
    assert name == f"{kind}-page.png"
    (page.folder / name).write_bytes(data)
    made, other = page.save("csv")
    assert made.read_bytes() == other.read_bytes()


def test_errors_are_sentences_and_large_pictures_are_reduced(page):
    drop(page, "notes.txt", b"no picture", "text/plain")
    assert page.until(page.error, "no error") == "Notes.txt: this browser cannot read it as a picture."
    drop(page, "empty.geojson", b"{}", "application/json")
    assert "no polygon" in page.until(lambda: "empty" in page.error().lower() and page.error(), "no error")
    page.script(
        "const c = Object.assign(document.createElement('canvas'), {width: 8000, height: 5000});"
        "const pen = c.getContext('2d'); pen.fillStyle = '#888'; pen.fillRect(0, 0, 8000, 5000);"
        "pen.fillStyle = '#000'; pen.fillRect(1000, 1000, 3000, 3000);"
        "c.toBlob((blob) => { const t = new DataTransfer(); t.items.add(new File([blob], 'large.png'));"
        "document.body.dispatchEvent(new DragEvent('drop', {bubbles: true, dataTransfer: t})); });")
    page.until(lambda: "reduced from 8000 x 5000" in page.text("note"), "no note")
    page.settled()
    assert page.command("svg")[1] == "large-2530.png"
    assert [] == page.script(
        "return [...document.querySelectorAll('input, select, button, canvas')].filter((e) =>"
        "!(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim())).map((e) => e.outerHTML)")
