"""The page viewer/web in real browsers: pictures in, settings, files out, each compared with the program's by
"Copy as command". CVTMESH_PAGE names the page that the preset `web` has built. Needs Chromium with Selenium, or Firefox;
what is missing is skipped. CVTMESH_SHOTS=FOLDER keeps pictures of the page."""

import base64
import json
import os
import re
import shlex
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import PROGRAM, ROOT

if "CVTMESH_PAGE" not in os.environ:
    pytest.skip("CVTMESH_PAGE names no page: ./bootstrap check --all builds one", allow_module_level=True)
PAGE = Path(os.environ["CVTMESH_PAGE"]).resolve()
CAMERA = ROOT / "docs/examples/camera.png"
SECONDS = 60  # of the longest wait
PORT = 28280  # of Firefox
SHOTS = os.environ.get("CVTMESH_SHOTS")


class Chromium:
    def __init__(self):
        webdriver = pytest.importorskip("selenium.webdriver")
        service = pytest.importorskip("selenium.webdriver.chrome.service").Service
        options = webdriver.ChromeOptions()
        for word in ("--headless=new", "--no-sandbox", "--window-size=1280,900", "--disable-gpu"):
            options.add_argument(word)
        options.binary_location = shutil.which("chromium")
        self.driver = webdriver.Chrome(options=options, service=service(shutil.which("chromedriver")))
        self.open = self.driver.get
        self.script = self.driver.execute_script
        self.wait_script = self.driver.execute_async_script
        self.close = self.driver.quit

    def choose(self, path):
        self.driver.find_element("css selector", "#file").send_keys(str(path))

    def shot(self, path):
        self.driver.save_screenshot(path)


class Firefox:
    """Firefox by its own protocol, Marionette, for which Debian has no other driver: messages [0, number, command,
    parameters] and [1, number, error, result] as JSON behind their length."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory()
        (Path(self.profile.name) / "user.js").write_text(f'user_pref("marionette.port", {PORT});')
        self.process = subprocess.Popen(
            ["firefox-esr", "--headless", "--marionette", "--no-remote", "--profile", self.profile.name],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + SECONDS
        while True:
            try:
                self.socket = socket.create_connection(("127.0.0.1", PORT))
                break
            except OSError:
                assert time.monotonic() < end, "Firefox does not answer"
                time.sleep(0.1)
        self.number = 0
        self.receive()
        self.send("NewSession", {})
        self.send("SetTimeouts", {"script": 1000 * SECONDS})
        self.send("SetWindowRect", {"width": 1280, "height": 900})

    def receive(self):
        length = b""
        while (byte := self.socket.recv(1)) != b":":
            assert byte, "Firefox has ended"
            length += byte
        text = b""
        while len(text) < int(length):
            text += self.socket.recv(int(length) - len(text))
        return json.loads(text)

    def send(self, command, parameters):
        self.number += 1
        text = json.dumps([0, self.number, "WebDriver:" + command, parameters])
        self.socket.sendall(f"{len(text)}:{text}".encode())
        _, _, error, result = self.receive()
        assert error is None, error
        return result

    def open(self, address):
        self.send("Navigate", {"url": address})

    def script(self, text, *arguments):
        return self.send("ExecuteScript", {"script": text, "args": arguments})["value"]

    def wait_script(self, text, *arguments):
        return self.send("ExecuteAsyncScript", {"script": text, "args": arguments})["value"]

    def choose(self, path):
        element = self.send("FindElement", {"using": "css selector", "value": "#file"})["value"]
        self.send("ElementSendKeys", {"id": list(element.values())[0], "text": str(path)})

    def shot(self, path):
        Path(path).write_bytes(base64.b64decode(self.send("TakeScreenshot", {"full": False})["value"]))

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait()
        self.profile.cleanup()


BROWSERS = {"chromium": Chromium, "firefox-esr": Firefox}


class Page:
    def __init__(self, name, folder):
        if not shutil.which(name) or (name == "chromium" and not shutil.which("chromedriver")):
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

    def save(self, extension):
        """The file that the page saves, and that of its command."""
        words = self.command(extension)
        self.script("window.saved = null; document.getElementById('export').click()")
        self.until(lambda: self.script("return window.saved !== null") or self.error(), "nothing is saved")
        assert not self.error()
        name, data = self.browser.wait_script(
            "const done = arguments[arguments.length - 1]; window.saved.bytes.then((b) => { let t = '';"
            "for (const c of new Uint8Array(b)) t += String.fromCharCode(c); done([window.saved.name, btoa(t)]); });")
        assert name == words[-1]
        made = self.folder / name
        made.write_bytes(base64.b64decode(data))
        other = self.folder / f"program.{extension}"
        done = subprocess.run([PROGRAM, *words[:-1], other, "--quiet"], cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return made, other

    def shot(self, name):
        if SHOTS:
            self.browser.shot(f"{SHOTS}/{self.name}-{name}.png")


@pytest.fixture(scope="module", params=BROWSERS)
def page(request, tmp_path_factory):
    made = Page(request.param, tmp_path_factory.mktemp("page"))
    shutil.copy(CAMERA, made.folder)
    yield made
    made.browser.close()


NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def same_text(made, other, tolerance):
    """The same text but for the last digits of numbers, whose C libraries differ."""
    a, b = made.read_text(), other.read_text()
    assert NUMBER.sub("#", a) == NUMBER.sub("#", b)
    numbers = [np.array([float(n) for n in NUMBER.findall(text)]) for text in (a, b)]
    assert np.abs(numbers[0] - numbers[1]).max() <= tolerance


def png_size(path):
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", data[16:24])


def test_every_file_is_that_of_the_command(page):
    page.load()
    page.set("number", "3.3")
    page.browser.choose(CAMERA)
    page.settled()
    page.shot("dots")
    points = [np.loadtxt(f, delimiter=",", skiprows=1) for f in page.save("csv")]
    print("points:", np.abs(points[0] - points[1]).max())
    for extension in ("csv", "svg", "dxf", "hpgl", "gcode", "xyz", "obj", "ply", "stl", "npy", "msh", "vtu", "png"):
        made, other = page.save(extension)
        print(extension, made.stat().st_size, other.stat().st_size, made.read_bytes() == other.read_bytes())
