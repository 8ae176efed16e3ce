"""--page: SVG in mm, HPGL and G-code, read back by the interpreters below."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from conftest import EXAMPLES, length_of, read_obj, strict_json

HORSE = EXAMPLES / "horse.png"  # taller than wide
WIDTH, HEIGHT = 128, 96
GCODE = ("grbl-servo", "grbl-z", "marlin-servo")


class Pen:
    """A pen on paper: strokes are lists of points in mm; a dot is a stroke of one point."""

    def __init__(self):
        self.place, self.is_down, self.strokes, self.travelled = (0.0, 0.0), False, [], 0.0

    def set_down(self, is_down):
        if is_down and not self.is_down:
            self.strokes.append([self.place])
        self.is_down = is_down

    def move(self, x, y):
        if self.is_down:
            self.strokes[-1].append((x, y))
        else:
            self.travelled += np.hypot(x - self.place[0], y - self.place[1])
        self.place = (x, y)


def plot_hpgl(data):
    """HPGL of a plotter with one pen: 40 units in a mm."""
    pen, selected = Pen(), 0
    for command in data.decode("ascii").replace("\n", "").split(";"):
        name, numbers = command[:2], [float(n) for n in command[2:].split(",") if n]
        if name == "SP":
            selected = numbers[0]
        elif name in ("PU", "PD"):
            assert selected == 1
            pen.set_down(name == "PD")
            for x, y in zip(numbers[::2], numbers[1::2]):
                assert x == int(x) and y == int(y)
                pen.move(x / 40, y / 40)
        else:
            assert name in ("IN", "PA", "")
    assert selected == 0 and not pen.is_down
    return pen


def words_of(line):
    line = re.sub(r"\(.*?\)|;.*", "", line)
    return [(letter, float(number)) for letter, number in re.findall(r"([A-Z])([-+.0-9]+)", line)]


def plot_gcode(data, is_pen_down):
    """G-code in mm and absolute coordinates. is_pen_down: from the words of a line and whether the
    pen was down."""
    pen, is_metric, is_absolute, feed = Pen(), False, False, None
    for line in data.decode("ascii").splitlines():
        words = words_of(line)
        codes = [(letter, number) for letter, number in words if letter in "GM"]
        values = {letter: number for letter, number in words if letter not in "GM"}
        is_metric |= ("G", 21) in codes
        is_absolute |= ("G", 90) in codes
        pen.set_down(is_pen_down(words, pen.is_down))
        if codes[0] in (("G", 0), ("G", 1)) and "X" in values:
            assert is_metric and is_absolute
            feed = values.get("F", feed)
            if codes[0] == ("G", 1):
                assert feed and pen.is_down
            pen.move(values["X"], values["Y"])
    assert not pen.is_down
    return pen


def servo_grbl(words, was_down):
    if words[0] == ("M", 3):
        return dict(words)["S"] > 500
    return was_down and words[0] != ("M", 5)


def z_axis(words, was_down):
    height = dict(words).get("Z")
    return was_down if height is None else height <= 0


def servo_marlin(words, was_down):
    return dict(words)["S"] < 45 if words[0] == ("M", 280) else was_down


PEN_DOWN = dict(zip(GCODE, (servo_grbl, z_axis, servo_marlin)))


def plot_svg(path, count=1):
    """The size of the page in mm and the strokes of the first of `count` layers; the user unit is
    1 mm."""
    root = ElementTree.parse(path).getroot()
    size = [float(root.get(name).removesuffix("mm")) for name in ("width", "height")]
    assert [float(n) for n in root.get("viewBox").split()] == [0, 0, *size]
    layers = list(root)
    inkscape = "{http://www.inkscape.org/namespaces/inkscape}"
    assert [layer.get(inkscape + "groupmode") for layer in layers] == ["layer"] * (count or len(layers))
    strokes = []
    for shape in layers[0]:
        if shape.tag.endswith("circle"):
            strokes.append([(float(shape.get("cx")), float(shape.get("cy")))])
        else:
            numbers = [float(n) for n in re.findall(r"-?[0-9.]+", shape.get("d"))]
            strokes.append(list(zip(numbers[::2], numbers[1::2])))
    return size, strokes


@pytest.fixture
def points(cvtmesh):
    """300 points of an image of 128 x 96 pixels, in the order of a tour."""
    random = np.random.default_rng(8).random((300, 2)) * (WIDTH, HEIGHT)
    cvtmesh.file("p.npy", random)
    cvtmesh.call(*mesh("p.npy"), "--order", "plot", "-o", "t.npy")
    return cvtmesh.array("t.npy")


def mesh(name):
    return "mesh", name, "--width", WIDTH, "--height", HEIGHT, "--svg", "stipples"


DOT, LINE = 0.3, 0.125  # radius of the pen in mean spacings
TOUCH = 0.25  # radius of the pen of machines, mm


def on_page(points, width, height, margin, choose=min, pen=DOT, touch=0):
    """By the definition: centred, one scale; strokes stay out of the margins with the whole pen."""
    scale = choose((width - 2 * margin) / WIDTH, (height - 2 * margin) / HEIGHT)
    corner = (np.array([width, height]) - scale * np.array([WIDTH, HEIGHT])) / 2
    inset = margin + (touch or scale * pen * np.sqrt(WIDTH * HEIGHT / 300))
    return np.clip(corner + scale * points, inset, np.array([width, height]) - inset)


def assert_strokes(strokes, expected, tolerance):
    assert [len(stroke) for stroke in strokes] == [len(stroke) for stroke in expected]
    np.testing.assert_allclose(np.concatenate(strokes), np.concatenate(expected), atol=tolerance)


def y_up(points, height):
    return np.column_stack([points[:, 0], height - points[:, 1]])


PLAIN_HPGL = "--plotter", "hpgl"  # 40 units/mm from the corner of the page


def test_dots(cvtmesh, points):
    outputs = [*PLAIN_HPGL] + [word for end in ("svg", "hpgl", "plt") for word in ("-o", "a." + end)]
    report = cvtmesh.report(*mesh("t.npy"), "--page", "A4", "--margin", 15, *outputs)
    assert report["page"] == {"width": 297, "height": 210, "mm_per_pixel": 180 / 96}
    expected = on_page(points, 297, 210, 15)
    size, strokes = plot_svg(cvtmesh.path("a.svg"))
    assert size == [297, 210]
    assert_strokes(strokes, expected[:, None], 0.0006)
    expected = on_page(points, 297, 210, 15, touch=TOUCH)
    plotted = plot_hpgl(cvtmesh.read("a.hpgl"))
    assert cvtmesh.read("a.plt") == cvtmesh.read("a.hpgl")
    assert_strokes(plotted.strokes, y_up(expected, 210)[:, None], 0.0126)
    for profile in GCODE:
        for end in ("gcode", "nc"):
            cvtmesh.call(*mesh("t.npy"), "--page", "A4", "--margin", 15, "--plotter", profile, "-o",
                         "a." + end)
            assert cvtmesh.read("a." + end).count(b"G4 P") >= 300
            plotted = plot_gcode(cvtmesh.read("a." + end), PEN_DOWN[profile])
            assert_strokes(plotted.strokes, y_up(expected, 210)[:, None], 0.0006)


@pytest.mark.parametrize("order", ["tsp", "plot"])
def test_path(cvtmesh, points, order):
    words = (*mesh("t.npy")[:-2], "--order", order, "--svg", "path", "--page", "150x150", "-o")
    cvtmesh.call(*words, "o.npy")
    found = cvtmesh.array("o.npy")
    expected = on_page(np.vstack([found, found[:1]]) if order == "tsp" else found, 150, 150, 10,
                       pen=LINE)
    cvtmesh.call(*words, "a.svg", "-o", "a.hpgl", "-o", "a.gcode")
    size, strokes = plot_svg(cvtmesh.path("a.svg"))
    assert size == [150, 150]
    assert_strokes(strokes, expected[None], 0.0006)
    assert_strokes(plot_hpgl(cvtmesh.read("a.hpgl")).strokes, y_up(expected, 150)[None], 0.0126)
    plotted = plot_gcode(cvtmesh.read("a.gcode"), servo_grbl)
    assert_strokes(plotted.strokes, y_up(expected, 150)[None], 0.0006)
    assert sorted(map(tuple, found)) == sorted(map(tuple, points))


def test_machines_draw_the_path_of_tsp(cvtmesh, points):
    words = ("mesh", "t.npy", "--width", WIDTH, "--height", HEIGHT, "--order", "tsp", "--page", "A5")
    cvtmesh.call(*words, "-o", "a.hpgl")
    assert [len(s) for s in plot_hpgl(cvtmesh.read("a.hpgl")).strokes] == [len(points) + 1]
    cvtmesh.call(*words, "--svg", "stipples", "-o", "a.hpgl")
    assert len(plot_hpgl(cvtmesh.read("a.hpgl")).strokes) == len(points)


def test_split(cvtmesh, points):
    words = ("mesh", "t.npy", "--width", WIDTH, "--height", HEIGHT, "--svg", "path", "--order", "plot",
             "--page", "A4", "-o")
    cvtmesh.call(*words, "a.hpgl", *PLAIN_HPGL)
    whole = plot_hpgl(cvtmesh.read("a.hpgl")).strokes[0]
    cvtmesh.call(*words, "b.hpgl", "-o", "b.svg", "-o", "b.gcode", "--split", 700, *PLAIN_HPGL)
    head, *tail = re.split(b"SP0;SP1;", cvtmesh.read("b.hpgl"))
    parts = [plot_hpgl(head + b"SP0;")]
    parts += [plot_hpgl(b"SP1;" + part + b"SP0;") for part in tail[:-1]]
    parts.append(plot_hpgl(b"SP1;" + tail[-1]))
    assert len(parts) > 3
    for part in parts[:-1]:
        assert 600 < length_of(part.strokes) < 700.5
    joined = [part.strokes[0] for part in parts]
    for before, after in zip(joined[:-1], joined[1:]):
        assert before[-1] == after[0]
    assert sum([stroke[1:] for stroke in joined], [joined[0][0]]) == whole
    assert cvtmesh.read("b.gcode").count(b"M0\n") == len(parts) - 1
    assert len(plot_gcode(cvtmesh.read("b.gcode"), servo_grbl).strokes) == len(parts)
    labels = re.findall(rb'label="([^"]+)"', cvtmesh.read("b.svg"))
    assert labels == [b"%d black" % (k + 1) for k in range(len(parts))]


def test_order_saves_travel(cvtmesh, points):
    travelled = {}
    for name in ("p.npy", "t.npy"):
        cvtmesh.call(*mesh(name), "--page", "A4", "-o", "a.hpgl")
        travelled[name] = plot_hpgl(cvtmesh.read("a.hpgl")).travelled
    assert travelled["t.npy"] < 0.12 * travelled["p.npy"]


def units_of(cvtmesh, name):
    """All places of an HPGL file, in units of the plotter, but for the last one, where the pen rests."""
    return np.array(re.findall(rb"P[UD](-?\d+),(-?\d+);", cvtmesh.read(name)), int)[:-1]


@pytest.mark.parametrize("shape", [(40, 60), (60, 40)])
@pytest.mark.parametrize("machine, paper, area, unit", [
    ("hp7475a", "A4", (11040, 7721), 0.02488), ("hp7475a", "A3", (16158, 11040), 0.02488),
    ("hp7475a", "letter", (10365, 7962), 0.02488), ("hp7475a", "tabloid", (16640, 10365), 0.02488),
    ("hp7550", "letter", (10170, 7840), 0.025), ("hp7550", "A3", (15970, 10870), 0.025),
    ("dxy", "A3", (16158, 11040), 0.025)])
def test_plotters_stay_in_their_area(cvtmesh, shape, machine, paper, area, unit):
    """A dark picture that fills the area, along the longer side of the paper or turned."""
    np.save(cvtmesh.path("dark.npy"), np.ones(shape))
    report = cvtmesh.report("run", "dark.npy", "-n", 200, "--iterations", 3, "--page", f"{paper},fill",
                            "--margin", 0, "--plotter", machine, "--order", "plot", "-o", "a.hpgl", "-o", "a.csv",
                            "--unit", "mm")
    places = units_of(cvtmesh, "a.hpgl")
    assert (places >= 0).all() and (places <= area).all()
    assert (np.ptp(places, axis=0) > 0.8 * np.array(area)).all()
    # Turned or not, x of the machine runs along the longer side; its y is up.
    mm = np.loadtxt(cvtmesh.path("a.csv"), delimiter=",", skiprows=1)
    seen = mm if shape[1] > shape[0] else np.column_stack([mm[:, 1], -mm[:, 0]])
    centre = (seen.max(0) + seen.min(0)) / 2
    if len(places) == len(mm):
        middle = (places.max(0) + places.min(0)) / 2
        moved = (places - middle) * (unit, -unit) - (seen - centre)
        assert np.median(np.abs(moved)) < 1
    assert report["plot"]["plotter"].startswith(machine)
    assert report["plot"]["strokes"] == len(places)


def test_the_area_of_a_plotter(cvtmesh, points):
    cvtmesh.refused(*mesh("t.npy"), "--page", "A2", "--plotter", "hp7475a", "-o", "a.hpgl", code=2,
                    names=["274.7 x 192.1", "594"])
    for machine, area in (("axidraw-a4", "300.0 x 218.0"), ("hp7475a-a4", "274.7 x 192.1")):
        cvtmesh.refused(*mesh("t.npy"), "--page", "A3", "--plotter", machine, "-o",
                        "a.svg" if machine.startswith("axi") else "a.hpgl", code=2, names=[area, "420"])
    cvtmesh.call(*mesh("t.npy"), "--page", "A3", "--plotter", "axidraw", "-o", "a.svg")
    cvtmesh.refused(*mesh("t.npy"), "--plotter", "axidraw-a4", "-o", "a.hpgl", code=2, names=[".svg"])
    cvtmesh.refused(*mesh("t.npy"), "--plotter", "hp747a", "-o", "a.hpgl", code=2, names=["hp7475a"])
    cvtmesh.call(*mesh("t.npy"), "--plotter", "axidraw-a3", "-o", "a.svg")
    assert plot_svg(cvtmesh.path("a.svg"))[0] == [420, 297]
    # HPGL without a plotter is for the commonest one where the page is its paper.
    for page, most in (("A4", (11040, 7721)), ("A3", (16158, 11040))):
        cvtmesh.call(*mesh("t.npy"), "--page", page, "--margin", 0, "-o", "a.hpgl")
        assert (units_of(cvtmesh, "a.hpgl") <= most).all()


def test_the_list_of_plotters(cvtmesh, points):
    listed = cvtmesh.call("run", "--plotter", "list").stdout.decode()
    for name, file, *_ in [line.split() for line in listed.splitlines()[1:]]:
        page = ("--page", "A4") if file == "gcode" or name == "hpgl" else ()
        cvtmesh.call(*mesh("t.npy"), "--plotter", name, *page, "-o", "a." + file)
    assert "274.7 x 192.1" in listed


@pytest.mark.parametrize("shown, most", [("cells", 0.5), ("mesh", 0.15)])
def test_lines_are_in_an_order_of_little_travel(cvtmesh, shown, most):
    """Cells have three edges at each corner, so an order without travel does not exist."""
    cvtmesh.call("run", EXAMPLES / "camera.png", "-n", 1500, "--iterations", 10, "--svg", shown,
                 "--page", "A4", "-o", "a.hpgl")
    plotted = plot_hpgl(cvtmesh.read("a.hpgl"))
    assert plotted.travelled < most * length_of(plotted.strokes)


def inside(points, width, height, margin):
    return ((points >= margin) & (points <= np.array([width, height]) - margin)).all(axis=1)


def test_fill(cvtmesh, points):
    words = (*mesh("t.npy"), "--page", "100x100,fill", "--margin", 5, "-o")
    expected = on_page(points, 100, 100, 5, max)
    whole = on_page(points, 100, 100, 5, max, pen=-100)
    kept = inside(whole, 100, 100, 5)
    assert 100 < kept.sum() < 280
    cvtmesh.call(*words, "a.svg", "-o", "a.hpgl")
    _, strokes = plot_svg(cvtmesh.path("a.svg"))
    assert_strokes(strokes, expected[kept][:, None], 0.0006)
    assert len(plot_hpgl(cvtmesh.read("a.hpgl")).strokes) == kept.sum()
    # Lines end at the margins; together they are as long as what a fine sampling finds inside.
    cvtmesh.call(*words, "b.svg", "--svg", "path")
    _, strokes = plot_svg(cvtmesh.path("b.svg"))
    length = sum(np.hypot(*np.diff(stroke, axis=0).T).sum() for stroke in strokes)
    along = np.linspace(0, 1, 2001)[1:] - 1 / 4000
    expected_length = 0
    border = 5 + 90 / HEIGHT * LINE * np.sqrt(WIDTH * HEIGHT / 300)  # the whole pen stays inside
    for a, b in zip(whole[:-1], whole[1:]):
        samples = a + along[:, None] * (b - a)
        expected_length += np.hypot(*(b - a)) * inside(samples, 100, 100, border).mean()
    assert len(strokes) > 1
    assert abs(length / expected_length - 1) < 1e-3
    assert inside(np.concatenate(strokes), 100, 100, border - 0.001).all()
    for stroke in strokes[1:]:
        assert np.abs(np.abs(np.array(stroke[0]) - 50) - (50 - border)).min() < 0.001


def test_orientation(cvtmesh, points):
    for how, size in (("", [297, 210]), (",portrait", [210, 297]), (",landscape", [297, 210])):
        cvtmesh.call(*mesh("t.npy"), "--page", "A4" + how, "-o", "a.svg")
        assert plot_svg(cvtmesh.path("a.svg"))[0] == size
    cvtmesh.call("run", HORSE, "-n", 50, "--iterations", 2, "--page", "letter,portrait",
                 "--margin", 20, "-o", "h.svg", "-o", "h.gcode", "--plotter", "grbl-z",
                 "--order", "plot")
    size, strokes = plot_svg(cvtmesh.path("h.svg"))
    assert size == [215.9, 279.4]
    assert len(strokes) == 50 and inside(np.concatenate(strokes), *size, 19.999).all()
    plotted = plot_gcode(cvtmesh.read("h.gcode"), z_axis)
    assert_strokes(plotted.strokes, y_up(np.concatenate(strokes), 279.4)[:, None], 0.0011)


ODD = (("a6,landscape",), ("1000x20", "--margin", 2), ("20x1000", "--margin", 2),
       ("1000x20,fill", "--margin", 2), ("5x5", "--margin", 0), ("9000x9000", "--margin", 0),
       ("LETTER", "--margin", 100), ("0.5x0.5mm", "--margin", 0.1), ("A4,fill", "--margin", 60))
SHOWN = (("--svg", "stipples"), ("--svg", "path", "--order", "tsp"), ("--svg", "cells"),
         ("--svg", "mesh"), ("--svg", "path", "--order", "plot", "--split", 120))


@pytest.mark.parametrize("page", ODD)
def test_nothing_is_drawn_over_the_margins(cvtmesh, points, page):
    margin = page[2] if "--margin" in page else 10
    width, height = (148, 105) if page[0] == "a6,landscape" else (279.4, 215.9)
    if "x" in page[0]:
        width, height = map(float, page[0].removesuffix(",fill").removesuffix("mm").split("x"))  # as given, whatever the picture
    elif page[0] == "A4,fill":
        width, height = 297, 210
    for shown in SHOWN:
        cvtmesh.call("mesh", "t.npy", "--width", WIDTH, "--height", HEIGHT, "--page", *page, *shown,
                     *PLAIN_HPGL, "-o", "a.svg", "-o", "a.hpgl", "-o", "a.gcode")
        assert plot_svg(cvtmesh.path("a.svg"), None)[0] == [width, height]
        counts = set()
        for pen, rounding in ((plot_hpgl(cvtmesh.read("a.hpgl")), 0.0126),
                              (plot_gcode(cvtmesh.read("a.gcode"), servo_grbl), 0.0006)):
            assert inside(np.concatenate(pen.strokes), width, height, margin - rounding).all()
            counts.add(len(pen.strokes))
        assert len(counts) == 1


def radii(data):
    return np.array(re.findall(rb' r="([^"]+)"', data), float)


@pytest.mark.parametrize("light", [[], ["--invert"]])
def test_sizes_and_ink_are_those_without_a_page(cvtmesh, light):
    words = ("run", EXAMPLES / "camera.png", "-n", 200, "--iterations", 3, "--order", "plot", *light)
    cvtmesh.call(*words, "-o", "a.svg")
    report = cvtmesh.report(*words, "-o", "b.svg", "--page", "A4")
    scale = report["page"]["mm_per_pixel"]
    assert scale == 190 / 512
    np.testing.assert_allclose(radii(cvtmesh.read("b.svg")), scale * radii(cvtmesh.read("a.svg")),
                               atol=0.001)
    assert (b'fill="#fff"' in cvtmesh.read("b.svg")) == bool(light)
    assert (b'label="1 white"' in cvtmesh.read("b.svg")) == bool(light)


def test_profile_of_a_file(cvtmesh, points):
    cvtmesh.file("mine.profile", "\n".join(
        ["# a laser", "origin = top-left", "start=G21", "start = G90", "up = M5", " down  =  M4 S200 ",
         "travel = G0 X{x} Y{y}", "draw = G1 X{x} Y{y} F900", "end = G0 X0 Y0", ""]))
    cvtmesh.call(*mesh("t.npy"), "--page", "A6", "--plotter", "mine.profile", "-o", "a.gcode")
    lines = cvtmesh.read("a.gcode").decode().splitlines()
    assert lines[:3] == ["G21", "G90", "M5"] and lines[-1] == "G0 X0 Y0"
    assert lines[4:6] == ["M4 S200", "M5"]

    def laser(words, was_down):
        return words[0] == ("M", 4) or (was_down and words[0] != ("M", 5))

    plotted = plot_gcode(cvtmesh.read("a.gcode"), laser)
    assert_strokes(plotted.strokes, on_page(points, 148, 105, 10, touch=TOUCH)[:, None], 0.0006)


@pytest.mark.parametrize("line, what", [("hop = G0", "line 1"), ("up", "line 1"),
                                        ("travel = G0 X{x}", "{y}"), ("origin = middle", "top-left"),
                                        ("up = M5", "missing")])
def test_bad_profiles(cvtmesh, points, line, what):
    cvtmesh.file("bad.profile", line)
    cvtmesh.refused(*mesh("t.npy"), "--page", "A6", "--plotter", "bad.profile", "-o", "a.nc", code=3,
                    names=["bad.profile", what])


def test_batch(cvtmesh):
    words = ("-n", 60, "--iterations", 2, "--page", "A6,portrait,fill", "--margin", 3, "--split", 50, "--plotter", "grbl-z", "-q", "-o")
    cvtmesh.call("run", HORSE, *words, "r.nc")
    cvtmesh.call("batch", HORSE, *words, "b.nc")
    assert cvtmesh.read("b.nc") == cvtmesh.read("r.nc")


def test_refused(cvtmesh, points):
    words = mesh("t.npy")
    cvtmesh.refused(*words, "-o", "a.hpgl", code=2, names=["a.hpgl", "--page"])
    cvtmesh.refused(*words, "--page", "A11", "-o", "a.svg", code=2, names=["A11"])
    cvtmesh.refused(*words, "--page", "0x5", "-o", "a.svg", code=2, names=["0x5"])
    cvtmesh.refused(*words, "--page", "90x50mmm", "-o", "a.svg", code=2, names=["90x50mmm"])
    cvtmesh.refused(*words, "--page", "A6", "--margin", 60, "-o", "a.svg", code=2, names=["margins"])
    cvtmesh.refused(*words, "--page", "A6", "--plotter", "none.profile", "-o", "a.nc", code=3,
                    names=["none.profile"])


UNITS = {"mm": 1, "in": 25.4, "um": 1e-3}


@pytest.mark.parametrize("unit", UNITS)
def test_coordinates_on_the_page(cvtmesh, points, unit):
    """Point files and meshes lie where the drawing is; stats brings them back to pixels."""
    page = "--page", "A4", "--margin", 15, "--unit", unit
    cvtmesh.call(*mesh("t.npy"), *page, "-o", "a.csv", "-o", "a.npy", "-o", "a.xyz", "-o", "a.obj", "-o",
                 "a.vtu")
    expected = on_page(points, 297, 210, 15, pen=0) / UNITS[unit]
    np.testing.assert_allclose(cvtmesh.array("a.npy"), expected, rtol=1e-12)
    np.testing.assert_allclose(np.loadtxt(cvtmesh.path("a.csv"), delimiter=",", skiprows=1), expected,
                               rtol=1e-12)
    np.testing.assert_allclose(np.loadtxt(cvtmesh.path("a.xyz"))[:, :2], expected, rtol=1e-12)
    vertices, triangles = read_obj(cvtmesh.path("a.obj"))
    up = y_up(expected, 210 / UNITS[unit])
    np.testing.assert_allclose(vertices, up, atol=1e-6 / UNITS[unit])
    assert len(triangles) > 500
    cvtmesh.call("mesh", "t.npy", "--width", WIDTH, "--height", HEIGHT, "-o", "p.obj")
    given = "--width", WIDTH, "--height", HEIGHT, "--json"
    wanted = strict_json(cvtmesh.call("stats", "p.obj", *given).stdout)["quality"]
    for name in ("a.obj", "a.vtu", "a.csv"):
        found = strict_json(cvtmesh.call("stats", name, *page, *given).stdout)["quality"]
        assert found == pytest.approx(wanted, rel=1e-5), name


def test_stats_know_the_page(cvtmesh, points):
    page = "--page", "A4,portrait,fill", "--margin", 20, "--unit", "mm"
    cvtmesh.call(*mesh("t.npy"), *page, "-o", "a.npy")
    given = "--width", WIDTH, "--height", HEIGHT, "--json"
    wanted = strict_json(cvtmesh.call("stats", "t.npy", *given).stdout)["quality"]
    found = strict_json(cvtmesh.call("stats", "a.npy", *page, *given).stdout)["quality"]
    assert found == pytest.approx(wanted, rel=1e-5)


def test_unit_of_other_spellings(cvtmesh, points):
    """The value may stand behind = or a space, or in a config file; without it, the width."""
    words = "mesh", "t.npy", "--width", WIDTH, "--height", HEIGHT, "--page", "A4"
    for name, more in (("mm", ["--unit=mm"]), ("space", ["--unit", "mm"]), ("w", ["--unit"]),
                       ("width", ["--unit=width"]), ("no", ["--no-unit"]), ("px", ["--unit", "pixel"])):
        cvtmesh.call(*words, *more, "-o", name + ".obj", "-o", name + ".csv")
    for a, b in (("mm", "space"), ("w", "width"), ("no", "px")):
        for end in (".obj", ".csv"):
            assert cvtmesh.read(a + end) == cvtmesh.read(b + end)
    assert cvtmesh.read("w.csv") == cvtmesh.read("px.csv") != cvtmesh.read("mm.csv")
    assert len({cvtmesh.read(name + ".obj") for name in ("mm", "w", "px")}) == 3
    for line, like in (("unit = true", "w"), ("unit = mm", "mm"), ("unit = false", "px")):
        cvtmesh.file("my.conf", line)
        cvtmesh.call(*words, "--config", "my.conf", "-o", "c.obj")
        assert cvtmesh.read("c.obj") == cvtmesh.read(like + ".obj")
    cvtmesh.refused("mesh", "t.npy", "--unit", "mm", "-o", "c.csv", code=2, names=["--unit", "--page"])
    cvtmesh.refused("stats", "t.npy", "--unit", "mm", code=2, names=["--unit", "--page"])
    cvtmesh.refused("stats", "t.npy", "--unit", "mm", "--page", "A4", code=3, names=["t.npy", "--width"])


CAMERA = EXAMPLES / "camera.png"


def test_sizes_of_dots_on_a_page(cvtmesh):
    """Bounds of the diameters in mm; they give the number of dots."""
    words = "run", CAMERA, "--iterations", 5, "--page", "A5", "-o", "a.svg"
    report = cvtmesh.report(*words, "--dot-size", "2,3")
    scale, found = report["page"]["mm_per_pixel"], report["points_found"]
    assert found["from"] == "dot-size"
    assert [found["smallest_dot"] * scale, found["largest_dot"] * scale] == pytest.approx([2, 3])
    area = found["picture_ink"] * (512 * scale)**2
    assert report["sites"] == pytest.approx(area / (np.pi / 4 * 2.5**2), abs=1)
    sizes = 2 * radii(cvtmesh.read("a.svg"))
    assert 2 - 1e-3 < sizes.min() and sizes.max() < 3 + 1e-3
    assert len(sizes) == report["sites"]
    drawn = cvtmesh.read("a.svg")
    for same in ("2,3mm", "0.2,0.3cm", f"{2 / scale},{3 / scale}px"):
        cvtmesh.call(*words, "--dot-size", same)
        assert cvtmesh.read("a.svg") == drawn
    cvtmesh.refused("run", CAMERA, "--dot-size", "2,3mm", "-o", "a.svg", code=2, names=["--page"])
    cvtmesh.refused("run", CAMERA, "--dot-size", "2,3ell", "-o", "a.svg", code=2, names=["2,3ell"])


def test_the_number_of_dots_by_default(cvtmesh):
    """The ink of the picture over the area of a dot of 1/128 of the longer side."""
    for picture in (CAMERA, HORSE):
        done = cvtmesh.report("run", picture, "--iterations", 0, "-o", "a.csv")
        found = done["points_found"]
        assert found["from"] == "default"
        assert found["smallest_dot"] == found["largest_dot"]
        longer = max(done["width"], done["height"])
        assert found["largest_dot"] == longer / 128
        ink = found["picture_ink"] * done["width"] * done["height"]
        assert done["sites"] == round(ink / (np.pi / 4 * (longer / 128)**2))
    assert "points_found" not in cvtmesh.report("run", CAMERA, "-n", 9, "-o", "a.csv")
