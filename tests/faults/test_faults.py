"""Every allocation, open, read, write, close, sync and rename of a command fails, one at a time.

fault_shim.c makes the K-th call fail. Afterwards either the command has succeeded, and its files
are those of an undisturbed run, or it ends with exit code 1 (3 where an input cannot be read) and
one line on stderr, and every output is absent, as it was before, or whole. Where the program is
built with AddressSanitizer, each of these runs is also searched for memory errors and, except for
those that draw, as OpenGL drivers leak, for leaks.

CVTMESH_FAULTS=N takes at most N calls of a kind and command, 2 where it is not set, evenly spread
over those that the program reaches by a stack of calls at which no earlier fault was; "all" takes
every K of every kind.
CVTMESH_FAULTS_KEEP_ON=1 lets all later calls of the kind fail too, as on a full disk.
CVTMESH_FAULTS_FIGURES names a file that gets a line of figures for every command."""

import concurrent.futures
import json
import os
import re
import shutil
import subprocess

import numpy as np
import pytest
from conftest import BUILD, PROGRAM, ROOT, output_of

SHIM = str(BUILD / "tests" / "libfault_shim.so")
SUPPRESSIONS = ROOT / "tests" / "faults" / "lsan.supp"
SEEDS = ROOT / "tests" / "fuzz" / "seeds"
KINDS = ("alloc", "open", "read", "write", "close", "sync", "rename")
MOST = os.environ.get("CVTMESH_FAULTS", "2")
KEEP_ON = "+" if os.environ.get("CVTMESH_FAULTS_KEEP_ON") == "1" else ""
EARLIER = b"an earlier file\n"
# What differs from run to run.
PASSING = re.compile("seconds|peak_memory|done_per_second")

JOBS = """{"input":"tiny.png","output":["j1.csv"],"points":12}
{"input":"tiny.npy","output":"j2.off","points":15}
"""
SQUARE = "<svg><polygon points='2,2 17,3 16,13 3,12'/></svg>"
GEOJSON = json.dumps({"type": "Polygon",
                      "coordinates": [[[2, 2], [17, 3], [16, 13], [3, 12], [2, 2]]]})
MATRIX = """%%MatrixMarket matrix coordinate real general
4 4 10
1 1 4
2 2 4
3 3 4
4 4 4
1 2 -1
2 1 -1
2 3 -1
3 2 -1
3 4 -1
4 3 -1
"""
FEATURES = "\n".join(
    '{"type":"Feature","properties":{"name":"%s"},"geometry":{"type":"Polygon","coordinates":'
    '[[[%d,%d],[%d,%d],[%d,%d],[%d,%d]]]}}' % (name, x, y, x + 8, y, x + 8, y + 6, x, y + 6)
    for name, x, y in (("a", 0, 0), ("b", 5, 3)))
ROUND = '<svg><circle cx="9" cy="9" r="8"/></svg>'
RUN = ["run", "-n", "20", "--iterations", "6", "--report", "report.json"]
HLCP = ["hlcp", "--matrix-a", "a.mtx", "--matrix-b", "a.mtx", "--rhs", "q.npy", "--output-z",
        "z.npy", "--output-w", "w.npy", "--report", "report.json"]
LCP = ["lcp", "--report", "report.json", "-o", "x.npy"]
# Of tests/fuzz/seeds/fuzz_image: formats, profiles by tables and by curves.
PICTURES = ("webp2", "gif1", "bmp5", "icc0", "icc1", "icc2")
COMMANDS = {
    "run_png": RUN + ["tiny.png", "-o", "o.off", "-o", "o.csv", "--density-out", "d.npy"],
    "run_jpeg": RUN + ["tiny.jpg", "-o", "o.vtu", "-o", "o.svg"],
    "run_colours": RUN + ["tiny.jpg", "--colours", "2", "-o", "o.svg", "-o", "o.npy", "-o", "o.png",
                          "--picture-size", "64"],
    "run_pens": RUN + ["tiny.jpg", "--colours", "inks.pens", "--page", "A6", "--order", "plot", "-o",
                       "o.hpgl", "-o", "o.csv"],
    "run_tiff": RUN + ["tiny.tif", "-o", "o.ply", "-o", "o.stl"],
    "run_npy": RUN + ["tiny.npy", "-o", "o.msh", "-o", "o.vtk"],
    "run_config": RUN + ["tiny.npy", "--config", "options.txt", "-o", "o.npy"],
    "run_picture": RUN + ["tiny.npy", "--picture-size", "64", "-o", "o.png", "-o", "o.obj"],
    "run_stdout": RUN + ["tiny.npy", "-o", "-"],
    "run_lloyd": RUN + ["tiny.npy", "-o", "o.xyz", "--method", "lloyd", "--init", "points.csv",
                        "-n", "15"],
    "run_pixel": RUN + ["tiny.npy", "-o", "o.csv", "--preset", "paper"],
    "run_periodic": RUN + ["tiny.npy", "-o", "o.csv", "--periodic"],
    "run_effort": RUN + ["tiny.npy", "-o", "o.csv", "--effort", "high"],
    "run_frame": RUN + ["tiny.npy", "-o", "o.msh", "-o", "o.vtu", "--domain", "frame", "--periodic",
                        "--pairs-out", "p.npy"],
    "run_equal_mass": RUN + ["tiny.npy", "-o", "o.csv", "--equal-mass", "--weights-out", "w.npy"],
    "run_polygon": RUN + ["tiny.npy", "-o", "o.off", "--domain", "polygon=p.svg"],
    "run_geojson": RUN + ["tiny.npy", "-o", "o.off", "--domain", "polygon=p.geojson",
                          "--boundary", "sliding"],
    "run_mask": RUN + ["tiny.npy", "-o", "o.off", "--domain", "mask=mask.pgm"],
    "run_conditioned": RUN + ["tiny.npy", "-o", "o.csv", "--within", "p.svg", "--grade", "3",
                              "--smooth", "2,0.3", "--weight", "mask.pgm=2"],
    "run_blue": RUN + ["tiny.npy", "-o", "o.csv", "--noise", "blue"],
    "run_watch": RUN + ["tiny.npy", "-o", "o.csv", "--watch", "frames", "--every", "3", "--window",
                        "64x48"],
    "batch": ["batch", "jobs.jsonl", "--iterations", "4", "--report", "report.json"],
    "voronoi": ["voronoi", "points.csv", "-o", "l.npy", "-o", "l.png", "--width", "20",
                "--height", "16", "--method", "jfa", "--check", "--report", "report.json"],
    "mesh": ["mesh", "points.csv", "-o", "m.off", "-o", "m.vtu", "--report", "report.json"],
    "mesh_outline": ["mesh", "two.geojson", "--size", "2", "--size", "b=1+0.1*d(left)", "--size",
                     "outer=1.5", "-o", "m.off", "-o", "m.png", "--report", "report.json"],
    "mesh_curves": ["mesh", "round.svg", "-n", "60", "-o", "m.off"],
    "mesh_periodic": ["mesh", "box.csv", "--size", "3", "--periodic", "-o", "m.off"],
    "sphere": ["sphere", "widths.npy", "--mask", "p.geojson", "--fixed", "points.csv", "--iterations", "2",
               "-o", "s.obj", "-o", "s.info", "-o", "s.vtu", "-o", "s.png", "-o", "s.nc", "-o", "s.ugrid.nc", "--report", "report.json"],
    "stats": ["stats", "mesh.obj"],
    "stats_json": ["stats", "points.csv", "--density", "tiny.npy", "--json"],
    **{f"density_{name}": ["density", name, "-o", "d.npy"] for name in PICTURES},
    "density": ["density", "tiny.png", "-o", "d.npy", "-o", "d.png", "--within", "p.geojson",
                "--grade", "3", "--report", "report.json"],
    "segment": ["segment", "tiny.png", "-o", "s.npy", "-o", "s.png", "--inside", "10,8,3",
                "--outside", "1,1,1", "--steps", "4", "--report", "report.json"],
    "minimize": ["minimize", "pjb", "--nx", "6", "--ny", "6", "-o", "x.npy", "--history",
                 "--report", "report.json"],
    "hlcp_example": ["hlcp", "--example", "1", "--size", "5", "--output-z", "z.npy",
                     "--report", "report.json"],
    **{"hlcp_" + method: HLCP + ["--method", method]
       for method in ("mmj", "mmgs", "mmsor", "mmaor", "newton")},
    **{"lcp_" + method: LCP + ["--problem", "torsion", "--size", "7", "--method", method]
       for method in ("psor", "tnnmg", "pdas")},
    "lcp_files": LCP + ["--matrix", "a.mtx", "--rhs", "q.npy", "--lower", "zero.npy"],
    "lcp_matrix_free": LCP + ["--problem", "membrane", "--size", "7", "--storage", "matrix-free"],
    "view": ["view", "tiny.npy", "-n", "12", "--shot", "shot.png", "--frames", "3", "--paused",
             "--layers", "cells,sites", "--window", "64x48"],
    "info": ["info"],
    "info_json": ["info", "--json"],
    "help": ["run", "--help"],
    "completion": ["completion", "bash"],
}
NEEDED = {"view": "viewer", "run_watch": "viewer"}
NO_DEVICE = {"mesh", "info", "completion"}


def write_inputs(folder):
    generator = np.random.default_rng(7)
    field = generator.uniform(0.2, 1, (16, 20)).astype(np.float32)
    np.save(folder / "tiny.npy", field)
    mask = np.zeros((16, 20), np.uint8)
    mask[3:13, 4:17] = 255
    (folder / "mask.pgm").write_bytes(b"P5 20 16 255\n" + mask.tobytes())
    for name in PICTURES:
        shutil.copy(SEEDS / "fuzz_image" / name, folder / name)
    shutil.copy(SEEDS / "fuzz_image" / "jpg31", folder / "tiny.jpg")
    shutil.copy(SEEDS / "fuzz_image" / "tif20", folder / "tiny.tif")
    subprocess.run([PROGRAM, "density", "mask.pgm", "-o", "tiny.png", "-q", "--device", "cpu",
                    "--floor", "0.1"], cwd=folder, check=True)
    points = generator.uniform((0, 0), (20, 16), (15, 2))
    np.savetxt(folder / "points.csv", points, delimiter=",", fmt="%.17g")
    (folder / "mesh.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 1 3 4\n")
    np.save(folder / "q.npy", np.array([1.0, -2, 3, -4]))
    np.save(folder / "zero.npy", np.zeros(4))
    np.save(folder / "widths.npy", np.full((6, 12), 3000.0))
    for name, text in (("jobs.jsonl", JOBS), ("p.svg", SQUARE),
                       ("p.geojson", GEOJSON), ("two.geojson", FEATURES), ("round.svg", ROUND), ("box.csv", "0,0\n9,0\n9,6\n0,6\n"), ("a.mtx", MATRIX),
                       ("inks.pens", "blue = #0040c0\nred = #d02010 1,3\n"),
                       ("options.txt", "seed = 3\ngamma = 1.5\n")):
        (folder / name).write_text(text)


def comparable(value):
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items() if not PASSING.search(key)}
    return [comparable(item) for item in value] if isinstance(value, list) else value


def comparable_bytes(data):
    """Reports without what differs from run to run; everything else as it is."""
    if data.lstrip()[:1] != b"{":
        return data
    return comparable(json.loads(data))


def comparable_file(path):
    """Which state a frame shows depends on two threads: of the picture, that it is whole."""
    data = path.read_bytes()
    if path.name == "shot.png":
        return data[:24], data[-12:]
    return comparable_bytes(data)


class Command:
    """One command line, its undisturbed run, and its runs with one fault."""

    def __init__(self, name, place):
        self.name, self.place, self.calls = name, place, place / "calls"
        self.arguments = COMMANDS[name] + ["-q"] * (COMMANDS[name][0] != "completion")
        if self.arguments[0] not in NO_DEVICE:
            self.arguments += ["--device", "cpu", "--threads", "1"]
        self.inputs = place / "inputs"
        self.inputs.mkdir()
        write_inputs(self.inputs)
        line = " ".join(self.arguments)
        for path in self.inputs.iterdir():
            if path.name not in line and not (self.arguments[0] == "batch" and "tiny" in path.name):
                path.unlink()
        self.figures = {}
        clean, folder = self.run("clean", None, [])
        self.code, self.stdout, self.stderr = clean.returncode, clean.stdout, clean.stderr
        assert self.code in (0, 4), clean.stderr.decode()
        assert self.stderr == b""
        calls = [line.split() for line in self.calls.read_text().splitlines()]
        assert calls  # the shim is in place
        self.stacks = {kind: [stack for other, stack in calls if other == kind] for kind in KINDS}
        self.outputs = {path.name: comparable_file(path) for path in self.written(folder)}

    def written(self, folder):
        inputs = {path.name for path in self.inputs.iterdir()}
        return [path for path in folder.iterdir()
                if path.is_file() and path.name not in inputs and ".journal" not in path.name]

    def run(self, name, fault, earlier):
        folder = self.place / name
        folder.mkdir()
        for path in self.inputs.iterdir():
            os.link(path, folder / path.name)
        for output in earlier:
            (folder / output).write_bytes(EARLIER)
        return self.call(folder, fault), folder

    def call(self, folder, fault, *more):
        environment = {**os.environ, "LD_PRELOAD": SHIM,
                       "ASAN_OPTIONS": "verify_asan_link_order=0",
                       "LSAN_OPTIONS": f"suppressions={SUPPRESSIONS}:print_suppressions=0"}
        if NEEDED.get(self.name) == "viewer":
            environment["CVTMESH_FAULT_OWN"] = "1"
            # The leaks of drivers are known by their stacks, which end at the shim.
            environment["ASAN_OPTIONS"] += ":detect_leaks=0"
        if fault:
            environment["CVTMESH_FAULT"] = fault
        elif not more:
            environment["CVTMESH_FAULT_CALLS"] = str(self.calls)
        return subprocess.run([PROGRAM, *self.arguments, *more], cwd=folder, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                              check=False, close_fds=False)

    def try_fault(self, kind, number):
        """Runs with one fault and returns what is wrong, or None."""
        # Files of a batch's journal are not replaced but continued.
        earlier = self.outputs if number % 2 and self.arguments[0] != "batch" else []
        fault = "%s:%d%s" % (kind, number, KEEP_ON)
        done, folder = self.run("%s-%d" % (kind, number), fault, earlier)
        try:
            self.check(kind, done, folder, earlier)
        except AssertionError as failure:
            return "%s %s: %s" % (self.name, fault, failure)
        finally:
            shutil.rmtree(folder)
        return None

    def check(self, kind, done, folder, earlier):
        text = done.stderr.decode()
        code = done.returncode
        found = {path.name: path for path in self.written(folder)}
        self.figures.setdefault(kind, []).append(code)
        assert not [name for name in found if ".tmp" in name], "%s is left" % sorted(found)
        if code == self.code:
            assert text == "", "exit code %d and stderr %r" % (code, text)
            if self.arguments[0] != "info":  # a device may fail to describe itself
                assert comparable_bytes(done.stdout) == comparable_bytes(self.stdout), "stdout"
            assert set(found) == set(self.outputs), "exit code %d, files %s" % (code, set(found))
        else:
            allowed = {1, 3} if kind in ("open", "read", "close") else {1}
            if NEEDED.get(self.name) == "viewer":
                allowed.add(5)  # no OpenGL
            assert code in allowed, "exit code %d, stderr %r" % (code, text)
            assert text.count("\n") == 1 and text.startswith("cvtmesh"), \
                "exit code %d, stderr %r" % (code, text)
        for name, path in found.items():
            if code != self.code and self.arguments[0] == "batch" and not is_output(name):
                continue  # its report says what failed
            if code != self.code and name in earlier and path.read_bytes() == EARLIER:
                continue
            assert comparable_file(path) == self.outputs.get(name), \
                "exit code %d, %s is another" % (code, name)
        if self.arguments[0] == "batch" and code != self.code:
            self.check_resumed(folder)

    def check_resumed(self, folder):
        done = self.call(folder, None, "--resume")
        assert done.returncode == 0, "--resume: %r" % done.stderr.decode()
        for name in filter(is_output, self.outputs):
            assert (folder / name).read_bytes() == self.outputs[name], "--resume: %s" % name


def is_output(name):
    """Of a job of a batch, rather than of the batch."""
    return re.fullmatch(r"[bj]\d\.\w+", name) is not None


# The kinds and stacks at which a fault was, of all commands so far.
tried = set()


def numbers(kind, stacks):
    """The calls, counted from 1, that fail in turn."""
    if MOST == "all":
        return range(1, len(stacks) + 1)
    first = {}
    for number, stack in enumerate(stacks, 1):
        if (kind, stack) not in tried:
            first.setdefault(stack, number)
    chosen = list(first.values())[::max(1, -(-len(first) // int(MOST)))]
    tried.update((kind, stacks[number - 1]) for number in chosen)
    return chosen


@pytest.mark.parametrize("name", COMMANDS)
def test_faults(name, tmp_path):
    if name in NEEDED and not json.loads(output_of(PROGRAM, "info", "--json"))[NEEDED[name]]:
        pytest.skip(f"this build has no {NEEDED[name]}")
    command = Command(name, tmp_path)
    tasks = [(kind, number) for kind in KINDS for number in numbers(kind, command.stacks[kind])]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = [line for line in pool.map(lambda task: command.try_fault(*task), tasks) if line]
    write_figures(command, wrong)
    assert not wrong, "%d of %d faults:\n%s" % (len(wrong), len(tasks), "\n".join(wrong[:40]))


def write_figures(command, wrong):
    path = os.environ.get("CVTMESH_FAULTS_FIGURES")
    if path is None:
        return
    with open(path, "a") as stream:
        for kind, codes in command.figures.items():
            counts = " ".join("%d:%d" % (code, codes.count(code)) for code in sorted(set(codes)))
            stream.write("%s %s %d %s\n" % (command.name, kind, len(codes), counts))
        stream.writelines("wrong: %s\n" % line for line in wrong)
