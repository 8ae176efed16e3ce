"""Shared by the tests of the program: a fixture that runs the program in a folder of its own, and helpers.

The program is the one that CVTMESH_PROGRAM names, as CTest does; without it, the newest in a build
folder of this tree. None is taken from PATH."""

import functools
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import zlib

import numpy as np
import pytest

collect_ignore = ["python"]  # the tests of the installed package
ROOT = pathlib.Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "docs/examples"

def find_program():
    named = os.environ.get("CVTMESH_PROGRAM")
    built = [pathlib.Path(named)] if named else ROOT.glob("build*/cvtmesh")
    built = [path for path in built if path.is_file() and os.access(path, os.X_OK)]
    if not built:
        sys.exit(f"tests: CVTMESH_PROGRAM={named} is no program" if named else
                 f"tests: no program in {ROOT}/build*; ./bootstrap check builds it")
    return max(built, key=lambda path: path.stat().st_mtime).resolve()


PROGRAM = str(find_program())
BUILD = pathlib.Path(PROGRAM).parent
PATIENCE = 120  # seconds for what takes one on an idle machine
QUIET_MPI = dict(  # OpenMPI's own leaks are no defects of the program
    os.environ, ASAN_OPTIONS="detect_leaks=0", OMPI_MCA_btl_vader_single_copy_mechanism="none",
    OMPI_MCA_mpi_yield_when_idle="1",  # ranks that wait leave the processors to other tests
    OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
# Commands with the option --device; the tests of the program run on the CPU.
WITHOUT_DEVICE = {"mesh", "info", "help", "completion", "--help", "-h", "--version", "-V"}


def strict_json(text):
    """Parses JSON and refuses NaN and Infinity."""
    def refuse(word):
        raise ValueError("not JSON: " + word)

    return json.loads(text, parse_constant=refuse)


def output_of(*command, **options):
    """What a program prints, as text; it must end with 0."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


@functools.lru_cache
def help_text(*arguments):
    return output_of(PROGRAM, *arguments)


def commands():
    """Every command that has options, by the program's own list."""
    names = re.findall(r"^  (\w+) ", help_text("--help"), re.M)
    return [name for name in names if name not in ("page", "completion", "help")]


class Option:
    """A row of `cvtmesh COMMAND --help all`."""
    def __init__(self, row):
        self.letter, self.name, self.argument = row.group(1, 2, 3)
        if self.argument and row.start(3) - row.start() >= 30:  # the first word of the help
            self.argument = None
        self.help = " ".join(row.group().split())
        has_choices = self.argument and "|" in self.argument and not self.argument.isupper()  # CAP|FILE: two kinds
        self.choices = self.argument.split("|") if has_choices else []
        # A switch: its value may be left out.
        value = re.match(r" *--[\w-]+\[=(\S+)\]", row.group())
        self.is_switch = value is not None
        if value:
            self.choices = value.group(1).split("|")


@functools.lru_cache
def options(command):
    rows = re.finditer(r"^  (?:-(\w),|   ) --([\w-]+)(?: (\S+))?.*(?:\n {20}.*)*",
                       help_text(command, "--help", "all"), re.M)
    return [Option(row) for row in rows]


def wait_until(condition, what="something"):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError("timed out waiting for " + what)


def catches_interrupts(process):
    """Waits until the program has a handler for SIGINT."""
    while process.poll() is None:
        status = open(f"/proc/{process.pid}/status").read()
        if int(status.split("SigCgt:")[1].split()[0], 16) & (1 << signal.SIGINT - 1):
            return
        time.sleep(0.001)
    raise AssertionError("the program ended before it had a handler for SIGINT")


def png_bytes(grey, width=None, height=None):
    """An 8-bit grey PNG of an array; width and height replace the true ones in the header."""
    grey = np.asarray(grey, dtype=np.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in grey)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(
            ">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width or grey.shape[1], height or grey.shape[0], 8, 0, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) +
            chunk(b"IEND", b""))


def pgm_bytes(grey):
    values = np.asarray(grey).round().astype(np.uint8)
    return b"P5 %d %d 255\n" % values.shape[::-1] + values.tobytes()


def grey_ramp(number, size=20):
    """A picture as PGM that differs for every number."""
    y, x = np.mgrid[:size, :size]
    return pgm_bytes((x * (3 + number % 5) + y * 7 + number) % 200)


def in_circle(a, b, c, d):
    """Positive if d lies inside the circle of the counterclockwise triangle a, b, c."""
    (ax, ay), (bx, by), (cx, cy) = ((p[0] - d[0], p[1] - d[1]) for p in (a, b, c))
    a2, b2, c2 = ax * ax + ay * ay, bx * bx + by * by, cx * cx + cy * cy
    return a2 * (bx * cy - cx * by) - b2 * (ax * cy - cx * ay) + c2 * (ax * by - bx * ay)


def length_of(strokes):
    return sum(np.hypot(*np.diff(stroke, axis=0).T).sum() for stroke in strokes)


def from_srgb(v):
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055)**2.4)


def luminance(cvtmesh, name, content=None):
    """Y of each pixel as the program reads it."""
    if content is not None:
        cvtmesh.file(name, content)
    cvtmesh.call("density", name, "--invert", "--density-from", "density", "-o", "y.npy")
    return cvtmesh.array("y.npy")


def covered(dots, height, width, samples):
    """Which of samples x samples points in each pixel lie in dots (rows of x, y, r)."""
    plane = np.zeros((height * samples, width * samples), bool)
    for x, y, r in dots * samples:
        x0, y0 = max(int(x - r), 0), max(int(y - r), 0)
        part = plane[y0:int(y + r) + 2, x0:int(x + r) + 2]
        dy, dx = np.ogrid[y0:y0 + part.shape[0], x0:x0 + part.shape[1]]
        part |= (dx + 0.5 - x)**2 + (dy + 0.5 - y)**2 < r * r
    return plane


def blurred(image, sigma):
    """By a Gaussian, the picture mirrored at its border."""
    from scipy.ndimage import convolve1d  # pylint: disable=import-outside-toplevel
    reach = int(4 * sigma) + 1
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma)**2)
    weights /= weights.sum()
    return convolve1d(convolve1d(image, weights, 0), weights, 1)


def check_gmsh(path):
    said = output_of("gmsh", "-check", path, stderr=subprocess.STDOUT, timeout=PATIENCE)
    assert "Warning" not in said and "Error" not in said, (path, said)


def clip(polygon, normal, offset):
    """The part of a convex polygon, an array of corners, where normal . x <= offset."""
    side = polygon @ normal - offset
    kept = []
    for k in range(len(polygon)):
        n = (k + 1) % len(polygon)
        if side[k] <= 0:
            kept.append(polygon[k])
        if side[k] * side[n] < 0:
            kept.append(polygon[k] + (polygon[n] - polygon[k]) * side[k] / (side[k] - side[n]))
    return np.array(kept).reshape(-1, 2)


def read_obj(path):
    """Vertices as (x, y) and triangles, counted from 0."""
    vertices, triangles = [], []
    for line in path.read_text().splitlines():
        words = line.split()
        if words and words[0] == "v":
            vertices.append((float(words[1]), float(words[2])))
        elif words and words[0] == "f":
            triangles.append(tuple(int(word.split("/")[0]) - 1 for word in words[1:4]))
    return vertices, triangles


def cells_of(mesh, kind, data=None):
    """The corners of the elements of a kind in a mesh of meshio, or what `data` has for each."""
    values = mesh.cell_data[data] if data else [cells.data for cells in mesh.cells]
    return np.concatenate([part for cells, part in zip(mesh.cells, values) if cells.type == kind])


def areas_of(points, triangles):
    """Positive where a triangle is counterclockwise."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    return ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]) / 2


class PixelMesh:
    """An MSH file in pixels, y down: triangles and their regions, lines and their curves."""
    def __init__(self, path, height):
        import meshio  # pylint: disable=import-outside-toplevel
        found = meshio.read(path)
        self.points = found.points[:, :2] * [1, -1] + [0, height]
        self.triangles, self.lines = cells_of(found, "triangle"), cells_of(found, "line")
        self.region, self.curve = (cells_of(found, kind, "gmsh:physical") for kind in ("triangle", "line"))
        self.names = found.field_data

    def areas(self):
        return -areas_of(self.points, self.triangles)


class Program:
    """Runs cvtmesh in `folder`, so that relative names lie there."""
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.environment = {}

    def path(self, *names):
        return self.folder.joinpath(*names)

    def file(self, name, content):
        """Writes text, bytes or an array (.npy) and returns the path."""
        path = self.path(name)
        if isinstance(content, np.ndarray):
            np.save(path, content)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def read(self, *names):
        return self.path(*names).read_bytes()

    def array(self, *names):
        return np.load(self.path(*names))

    def json(self, *names):
        return strict_json(self.path(*names).read_text())

    def names(self, *folder):
        return sorted(os.listdir(self.path(*folder)))

    def outputs(self):
        """Name -> content of the files in out/; temporary files included."""
        return {name: self.read("out", name) for name in self.names("out")}

    def empty(self):
        shutil.rmtree(self.path("out"))
        self.path("out").mkdir()

    def command(self, *arguments):
        """The command line, on the CPU unless it names a device."""
        arguments = [str(argument) for argument in arguments]
        if arguments and arguments[0] not in WITHOUT_DEVICE and "--device" not in arguments:
            arguments[1:1] = ["--device", "cpu"]
        return [PROGRAM, *arguments]

    def start(self, *arguments, environment=None, **options):
        """Starts the program; its stderr is a pipe."""
        options.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen(self.command(*arguments), cwd=self.folder,
                                env={**os.environ, **self.environment,
                                     **(environment or {})}, **options)

    def interrupted(self, *arguments, when, number=signal.SIGINT):
        """Starts the program, sends the signal after when(process) and asserts exit code 130."""
        with self.start(*arguments) as process:
            try:
                when(process)
                process.send_signal(number)
                _, said = process.communicate(timeout=PATIENCE)
            finally:
                process.kill()
        assert process.returncode == 130, (process.returncode, said)

    def call(self, *arguments, code=0, environment=None, timeout=300, **options):
        """Runs the program and asserts its exit code, or that it is one of a tuple of codes."""
        command = self.command(*arguments)
        options.setdefault("stdout", subprocess.PIPE)
        done = subprocess.run(command, stderr=subprocess.PIPE, cwd=self.folder,
                              env={**os.environ, **self.environment,
                                   **(environment or {})}, timeout=timeout, check=False, **options)
        codes = code if isinstance(code, tuple) else (code,)
        assert done.returncode in codes, (command, done.returncode, done.stderr.decode())
        return done

    def refused(self, *arguments, code, names=(), **options):
        """Asserts one line on stderr with all `names`, no stdout, no new or changed file."""
        before = {name: (self.folder / name).stat().st_mtime_ns for name in self.names()}
        done = self.call(*arguments, code=code, **options)
        text = done.stderr.decode()
        assert text.count("\n") == 1 and text.startswith("cvtmesh"), text
        for name in names:
            assert str(name) in text, text
        assert done.stdout == b""
        after = {name: (self.folder / name).stat().st_mtime_ns for name in self.names()}
        assert after == before
        return done

    def printed(self, *arguments):
        """What a command prints with --json."""
        return strict_json(self.call(*arguments, "--json").stdout)

    def report(self, *arguments, code=0, **options):
        """Runs with --report and returns the report."""
        self.call(*arguments, "--report", "report.json", code=code, **options)
        return strict_json(self.path("report.json").read_text())


def of_ranks(program, ranks, *words):
    return ["mpirun", "--oversubscribe", "-n", str(ranks), *program.command(*words)]


def run_ranks(program, ranks, *words, code=0):
    """Asserts the exit code and returns what is on stderr."""
    done = subprocess.run(of_ranks(program, ranks, *words), cwd=program.folder, env=QUIET_MPI,
                          capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == code, done.stderr.decode()
    return done.stderr.decode()


@pytest.fixture
def cvtmesh(tmp_path):
    return Program(tmp_path)


@pytest.fixture
def examples():
    return EXAMPLES


@pytest.fixture
def two_threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")


def pytest_configure():
    # Tests run in parallel; programs with two threads must not spin while they wait.
    os.environ.update(OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
