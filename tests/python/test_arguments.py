"""Keywords, arrays, and wrong input."""

import ast
import inspect
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import cvtmesh
from cvtmesh import _arguments, _core
from cvtmesh._left_out import LEFT_OUT, PROGRAM_ALONE

COMMANDS = {
    "run": cvtmesh.tessellate,
    "density": cvtmesh.condition,
    "segment": cvtmesh.segment,
    "voronoi": cvtmesh.voronoi,
    "sphere": cvtmesh.sphere,
    "stats": cvtmesh.stats,
    "batch": cvtmesh.batch,
    "minimize": cvtmesh.minimize,
    "lcp": cvtmesh.lcp,
    "hlcp": cvtmesh.hlcp,
}
# Parameters that stand for the option of the same name, with its default.
ALIKE = {"run": {"points"}, "voronoi": {"method"}}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_its_keyword_with_the_same_default(command):
    keywords = inspect.signature(COMMANDS[command]).parameters
    for row in _core.options(command):
        name = row["name"].replace("-", "_")
        if name in PROGRAM_ALONE | LEFT_OUT[command] - ALIKE.get(command, set()):
            continue
        assert name in keywords, name
        if name != "points" or command != "run":
            assert keywords[name].default == row["default"], name
        assert f"\n{name} : " in COMMANDS[command].__doc__, name


def test_an_option_is_one_row(monkeypatch):
    """A row that the table gets is a keyword, with its type, default and help, and reaches the core."""
    row = {"name": "fake-count", "type": "integer", "default": 7, "choices": [], "argument": "COUNT",
           "help": "number of fakes to count", "reads": False, "writes": False}
    rows = [*_core.options("run"), row]
    monkeypatch.setattr(_core, "options", lambda command: rows)
    _arguments.table.cache_clear()
    try:

        @_arguments.with_options("run")
        def call(image, points=None, **options):
            """A call.

            {options}
            """
            return _arguments.convert("run", options)

        assert inspect.signature(call).parameters["fake_count"].default == 7
        assert "\nfake_count : int, default 7\n    number of fakes to count\n" in call.__doc__ + "\n"
        assert call("a.png", fake_count=3) == ([("fake_count", 3)], [])
        with pytest.raises(TypeError, match="fake_count: 'x' is not an integer"):
            call("a.png", fake_count="x")
        with pytest.raises(TypeError, match="did you mean 'fake_count'"):
            call("a.png", fake_counts=3)
    finally:
        _arguments.table.cache_clear()


def test_the_table_is_that_of_the_programs_help(program):
    for command in COMMANDS:
        text = subprocess.run(
            [os.environ["CVTMESH_PROGRAM"], command, "--help", "all"], capture_output=True, text=True
        ).stdout
        for row in _core.options(command):
            assert f"--{row['name']}" in text or f"--no-{row['name']}" in text, row["name"]


# delaunay and mesh_domain do what `mesh` does, info() has no options. The wheels hold no window, and
# the others are about the program itself.
WITHOUT_KEYWORDS = {"mesh", "info", "view", "page", "completion", "help"}


def test_every_command_has_its_function():
    text = subprocess.run(
        [os.environ["CVTMESH_PROGRAM"], "--help"], capture_output=True, text=True
    ).stdout
    commands = set(re.findall(r"^  (\w+) ", text, re.M))
    assert commands == COMMANDS.keys() | WITHOUT_KEYWORDS


def test_the_keywords_for_type_checkers_are_those_of_the_table():
    import cvtmesh._keywords

    tree = ast.parse(inspect.getsource(cvtmesh._keywords))
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for command, function in COMMANDS.items():
        fields = {f.target.id for f in classes[f"{command.capitalize()}Options"].body}
        parameters = inspect.signature(function).parameters
        rows = {row["name"].replace("-", "_") for row in _core.options(command)}
        assert fields == (parameters.keys() & rows) - LEFT_OUT[command]


@pytest.mark.parametrize(
    "array",
    [
        np.float64(1) + np.zeros((40, 50)),
        np.full((40, 50), 1, np.int64),
        np.full((40, 50), 1, np.uint8),
        np.full((40, 50), 1, np.float16),
        np.full((40, 50), 1, ">f8"),
        np.full((40, 50), 1, np.longdouble),
        np.ma.masked_array(np.full((40, 50), 1.0)),
        np.asfortranarray(np.full((40, 50), 1.0)),
        np.full((80, 100), 1.0)[::2, ::2],
        np.full((40, 50, 1), 1.0),
        np.full((40, 50), 1.0).tolist(),
        np.ones((40, 50), bool),
    ],
)
def test_arrays_of_any_layout_and_type(array):
    t = cvtmesh.tessellate(array, 60, iterations=3)
    plain = cvtmesh.tessellate(np.full((40, 50), 1, np.float32), 60, iterations=3)
    assert np.array_equal(t.points, plain.points)


def test_arrays_are_read_as_files_with_their_elements(image, tmp_path):
    """Pictures, masks, labels, regions, seeds, points: the same bits, and none is written as a file."""
    height, width = image.shape
    y, x = np.mgrid[:height, :width]
    left = x < 100
    labels = (x > 60).astype(np.int16)
    points = np.column_stack([np.linspace(3, 90, 30), np.linspace(2, 90, 30)])
    seeds = np.where(np.hypot(x - 90, y - 30) < 4, 1, np.where(y > 90, -1, 0))
    rows = np.array([[0, 0, 4], [128, 0, 6], [0, 96, 5], [128, 96, 9]], np.float32)
    fixed = points[::-9].copy()

    def calls(given):
        t = cvtmesh.tessellate(
            given("image", image), 34, init=given("init", points.astype(np.float32)),
            fixed=given("fixed", fixed), within=given("within", left), iterations=3,
            obstacle=[given("obstacle", x + y < 9)], weight=[(given("weight", left), 2.5)])
        sized = cvtmesh.tessellate(
            given("image", image), size_from=("size", given("size", rows)), points=40, iterations=3)
        mask = cvtmesh.mesh_domain(given("image", image), 60, domain=("mask", given("mask", left)))
        parts = cvtmesh.mesh_domain(
            given("image", image), 60, domain=("labels", given("labels", labels)), iterations=3)
        s = cvtmesh.segment(
            given("image", image), seeds=given("seeds", seeds), initial=given("first", left), steps=5)
        figures = cvtmesh.stats(points, density=given("image", image))
        return [t.points, sized.points, mask.points, parts.points, s.level_set,
                np.array(figures["energy"])]

    def saved(name, array):
        np.save(tmp_path / f"{name}.npy", array)
        return tmp_path / f"{name}.npy"

    for lent, read in zip(calls(lambda _, array: array), calls(saved)):
        assert np.array_equal(lent, read)


def test_any_exporter_of_dlpack_is_taken(image):
    class Exporter:
        def __dlpack__(self, **keywords):
            return image.astype(np.float64).__dlpack__(**keywords)

        def __dlpack_device__(self):
            return (1, 0)

    a = cvtmesh.tessellate(Exporter(), 30, iterations=2)
    assert np.array_equal(a.points, cvtmesh.tessellate(image, 30, iterations=2).points)


ONES = np.ones((8, 9))
NAN = ONES.copy()
NAN[3, 5] = np.nan
NEGATIVE = ONES.copy()
NEGATIVE[2, 7] = -1
MASKED = np.ma.masked_array(ONES, mask=np.isnan(NAN))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: cvtmesh.tessellate(NAN, 3), ValueError, r"image: .*nan at pixel \(5, 3\)"),
        (lambda: cvtmesh.tessellate(NEGATIVE, 3), ValueError, r"image: .*pixel \(7, 2\)"),
        (lambda: cvtmesh.tessellate(0 * ONES, 3), ValueError, "image: .*zero"),
        (lambda: cvtmesh.tessellate(ONES[0], 3), ValueError, "image: .*1 dimensions"),
        (lambda: cvtmesh.tessellate(np.ones((4, 4, 3)), 3), ValueError, r"shape \(4, 4, 3\)"),
        (lambda: cvtmesh.tessellate(np.ones((0, 4)), 3), ValueError, "image: .*no pixels"),
        (lambda: cvtmesh.tessellate(1j * ONES, 3), TypeError, "image: .*complex128"),
        (lambda: cvtmesh.tessellate(np.array([["a"]]), 3), TypeError, "image: .*<U1"),
        (lambda: cvtmesh.tessellate(None, 3), TypeError, "image: NoneType"),
        (lambda: cvtmesh.tessellate([[1, 2], [3]], 3), TypeError, "image"),
        (lambda: cvtmesh.tessellate(b"nonsense", 3), ValueError, "image: unknown image format"),
        (lambda: cvtmesh.tessellate("no-such.png", 3), FileNotFoundError, "no-such.png"),
        (lambda: cvtmesh.tessellate(1e300 * ONES, 3), ValueError, "single precision"),
        (lambda: cvtmesh.tessellate(ONES), ValueError, "; points is missing"),
        (lambda: cvtmesh.tessellate(ONES, 0), ValueError, "points: 0 is not between"),
        (lambda: cvtmesh.tessellate(ONES, 2**70), ValueError, "points: .* is beyond 64 bits"),
        (lambda: cvtmesh.tessellate(ONES, -(2**62)), ValueError, "points: -4.* is not between"),
        (lambda: cvtmesh.tessellate(ONES, 3, tolerance=float("inf")), ValueError, "tolerance: 'inf'"),
        (lambda: cvtmesh.tessellate(ONES, 3, dot_size=(2, 1)), ValueError, "dot_size: '2,1' is neither"),
        (lambda: cvtmesh.tessellate(ONES, 3, colours=ONES), ValueError, "^colours takes no array"),
        (lambda: cvtmesh.tessellate(ONES, 2.5), TypeError, "points: 2.5 is not an integer"),
        (lambda: cvtmesh.tessellate(ONES, True), TypeError, "points: True is not an integer"),
        (lambda: cvtmesh.tessellate(ONES, 3, callback=5), TypeError, "callback: int"),
        (lambda: cvtmesh.tessellate(ONES, 3, weight=[(ONES,)]), TypeError, "weight: tuple is not"),
        (lambda: cvtmesh.tessellate(ONES, 3, weight=5), TypeError, "weight: int is not"),
        (lambda: cvtmesh.tessellate(ONES, 3, within=5), TypeError, "within: int is neither"),
        (lambda: cvtmesh.tessellate(ONES, 3, within=[5]), TypeError, "within: int is neither"),
        (lambda: cvtmesh.tessellate(ONES, 3, output=5), TypeError, "output: int is not a path"),
        (lambda: cvtmesh.tessellate(ONES, 3, device=0), ValueError, "device '0'"),
        (lambda: cvtmesh.tessellate(ONES, 3, tolerance="1e-3"), TypeError, "tolerance: '1e-3' is not"),
        (lambda: cvtmesh.tessellate(ONES, 3, gamma=True), TypeError, "gamma: True is not a number"),
        (lambda: cvtmesh.tessellate(MASKED, 3), ValueError, r"image\[3, 5\] is masked"),
        (lambda: cvtmesh.tessellate(ONES, 3, calback=len), TypeError, "did you mean 'callback'"),
        (lambda: cvtmesh.condition(ONES, output="x.npy"), TypeError, "no option 'output'"),
        (lambda: cvtmesh.voronoi([[1, 2]], (4, 5), width=3), TypeError, "no option 'width'"),
        (lambda: cvtmesh.voronoi([[1, 2]], (4, 10**6)), ValueError, "shape: 4 x 1000000 is beyond"),
        (lambda: cvtmesh.mesh_domain(ONES, 3, shape=(8, 9)), TypeError, "shape: only polygons"),
        (lambda: cvtmesh.mesh_domain([[[0, 0], [1e9, 0], [9, 9]]], 9), ValueError, "shape: .*beyond"),
        (lambda: cvtmesh.mesh_domain([], 3), ValueError, "polygon: there is no ring"),
        (lambda: cvtmesh.voronoi([[1, 2]], 9), TypeError, "shape: 9 is not"),
        (lambda: cvtmesh.voronoi([[1, 2]], (9,)), TypeError, r"shape: \(9,\) is not"),
        (lambda: cvtmesh.voronoi([[1, 2]], (0, 9)), ValueError, "shape: 0 x 9 has no pixels"),
        (lambda: cvtmesh.tessellate(ONES, 3, gama=2), TypeError, "did you mean 'gamma'"),
        (lambda: cvtmesh.tessellate(ONES, 3, gamma="x"), TypeError, "gamma"),
        (lambda: cvtmesh.tessellate(ONES, 3, gamma=-1), ValueError, "gamma"),
        (lambda: cvtmesh.tessellate(ONES, 3, gamma=float("nan")), ValueError, "gamma"),
        (lambda: cvtmesh.tessellate(ONES, 3, method="simplex"), ValueError, "lloyd"),
        (lambda: cvtmesh.tessellate(ONES, 3, method=3), TypeError, "lloyd"),
        (lambda: cvtmesh.tessellate(ONES, 3, periodic=1), TypeError, "periodic"),
        (lambda: cvtmesh.tessellate(ONES, 3, device="abacus"), ValueError, "abacus"),
        (lambda: cvtmesh.tessellate(ONES, 3).cells[3], IndexError, "cell 3 of 3"),
        (lambda: cvtmesh.tessellate(ONES, 3, mass_tolerance=0.1), ValueError, "equal_mass"),
        (lambda: cvtmesh.tessellate(ONES, 3, init=[[1, 1], [20, 1]]), ValueError, "init: point 2"),
        (lambda: cvtmesh.tessellate(ONES, 3, output="x.xyzzy"), ValueError, "x.xyzzy"),
        (lambda: cvtmesh.tessellate(ONES, 3, output="/no/such/x.csv"), OSError, "/no/such"),
        (lambda: cvtmesh.tessellate(ONES, 3, output=ONES), TypeError, "output: ndarray is not a"),
        (lambda: cvtmesh.tessellate(ONES, 3, checkpoint=ONES), TypeError, "checkpoint: ndarray"),
        (lambda: cvtmesh.tessellate(ONES, 3, domain=("mask", "no.png")), FileNotFoundError, "no.png"),
        (lambda: cvtmesh.tessellate(ONES, 3, domain=("mask", "a --no.png")), FileNotFoundError, "^a --no"),
        (lambda: cvtmesh.tessellate(ONES, 3, colours="cmyk", dots="tone"), ValueError, "^dots tone"),
        (lambda: cvtmesh.tessellate(ONES, 3, region_name=(1.5, "a")), ValueError, "region_name: '1.5=a'"),
        (lambda: cvtmesh.tessellate(ONES, 3, page=(100, 0)), ValueError, "page: '100x0' is neither"),
        (lambda: cvtmesh.tessellate(ONES, 3, pixel_size=(2, "parsec")), ValueError, "pixel_size: '2parsec'"),
        (lambda: cvtmesh.tessellate(ONES, 3, inside=(1, 2, 3)), TypeError, "no option 'inside'"),
        (lambda: cvtmesh.tessellate(ONES, 3, ranks=2), NotImplementedError, "one process"),
        (lambda: cvtmesh.mesh_domain(ONES, 3, domain=("mask", np.ones((3, 3)))), ValueError, "mask: 3 x 3"),
        (lambda: cvtmesh.mesh_domain([[[0, 0], [1, float("inf")]]], 9), ValueError, r"\[1, 1\]"),
        (lambda: cvtmesh.condition(ONES, grade=(1, -3)), ValueError, "grade"),
        (lambda: cvtmesh.tessellate(ONES, 3, init=[[1, 1], [2, np.nan]]), ValueError, r"init\[1, 1\] is nan"),
        (lambda: cvtmesh.mesh_domain([[[0, 0], [9, 0], [9, 9]]], 9, shape=3), TypeError, "shape: 3"),
        (lambda: cvtmesh.condition(ONES, weight=[(ONES, "x")]), TypeError, "weight"),
        (lambda: cvtmesh.condition(ONES, weight=[(ONES, -2)]), ValueError, "factor -2.0"),
        (lambda: cvtmesh.segment(ONES), ValueError, "inside"),
        (lambda: cvtmesh.segment(ONES, inside=[(1, 2)]), ValueError, "inside"),
        (lambda: cvtmesh.delaunay([1, 2, 3]), ValueError, "shape"),
        (lambda: cvtmesh.delaunay([[0, 1], [np.nan, 2]]), ValueError, r"points\[1, 0\] is nan"),
        (lambda: cvtmesh.delaunay(np.empty((0, 2))), ValueError, "no point"),
        (lambda: cvtmesh.voronoi([[1, 2]], (4, 5), method="x"), ValueError, "method"),
        (lambda: cvtmesh.voronoi([[1, 2]], (-1, 5)), ValueError, "shape: -1 x 5"),
        (lambda: cvtmesh.voronoi([[1, 2]], (4, 5), labels_from=ONES), TypeError, "labels_from: .*no integers"),
        (lambda: cvtmesh.voronoi([[1, 2]], (4, 5), labels_from=[[1]]), ValueError, "labels_from"),
    ],
)
def test_wrong_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_import_is_light():
    code = "import sys, cvtmesh; print('numpy' in sys.modules, 'torch' in sys.modules)"
    text = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert text.split() == ["False", "False"]


DECIMALS = """
import json, locale, sys
import numpy as np, cvtmesh
if sys.argv[1:]:
    locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
    assert locale.str(1.5) == "1,5"
y, x = np.mgrid[0:48, 0:64]
t = cvtmesh.tessellate(1.0 + x, 40, gamma=1.5, grade=2.5, iterations=5, page="100x80")
t.save("a.csv"), t.save("a.vtu", format="ascii"), t.save("a.svg"), t.save("a.geojson.obj")
np.save("image.npy", 1.0 + x)
run = {"input": "image.npy", "points": 20, "gamma": 1.5, "output": "b.csv", "report": "b.json"}
assert cvtmesh.batch([run], tolerance=0.5)["done"] == 1
ring = [[1.5, 1.25], [60.5, 2], [50, 40.75]]
m = cvtmesh.mesh_domain([ring], 30, iterations=2)
s = cvtmesh.stats(t.points, width=64, height=48)
options = json.load(open("b.json"))["options"]
try:
    cvtmesh.tessellate(1.0 + x, 40, gamma=-1.5)
except ValueError as error:
    print(error)
print(repr(t), t.report["options"]["gamma"], options["gamma"], options["tolerance"])
print(s["quality"], m.points.tolist())
"""


def test_a_decimal_comma_changes_nothing(tmp_path):
    """Also where the numbers of the locale have one (Debian: locales has its source)."""
    locale = tmp_path / "de_DE.UTF-8"
    subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", locale], check=True)
    results = []
    for words in ([], ["comma"]):
        folder = tmp_path / f"with-{len(words)}"
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", DECIMALS, *words], cwd=folder, capture_output=True, text=True,
            env={**os.environ, "LOCPATH": str(tmp_path)}, timeout=300,
        )
        assert done.returncode == 0, done.stderr
        files = {p.name: p.read_bytes() for p in folder.iterdir() if p.suffix != ".json"}
        results.append((done.stdout, {k: v for k, v in files.items() if "journal" not in k}))
    assert results[0] == results[1]
    assert " 1.5 1.5 0.5\n" in results[0][0]
