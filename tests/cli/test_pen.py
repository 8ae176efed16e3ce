"""--pen: drawings by touches of a pen, its width in every format, and the simulated plot against one
that is made here."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from conftest import EXAMPLES, blurred, covered, pgm_bytes

COINS = EXAMPLES / "coins.png"
FEW = ("--iterations", 25)
SVG = "{http://www.w3.org/2000/svg}"
SAMPLES = 8


def read_layers(path):
    """(name, width, strokes) of each layer; strokes are arrays of points in user units."""
    made = []
    for layer in ElementTree.parse(path).getroot().iter(SVG + "g"):
        assert layer.get("stroke-linecap") == "round" and layer.get("fill") == "none"
        strokes = [np.array([pair.split(",") for pair in re.split("[ML]", p.get("d").split("h")[0])[1:]],
                            float) for p in layer]
        name = layer.get("{http://www.inkscape.org/namespaces/inkscape}label")
        made.append((name, float(layer.get("stroke-width")), strokes))
    return made


def plotted(strokes, width, shape):
    """The share of each pixel that strokes cover, whose points are near each other."""
    points = np.concatenate(strokes)
    dots = np.column_stack([points, np.full(len(points), width / 2)])
    plane = covered(dots, *shape, SAMPLES)
    return plane.reshape(shape[0], SAMPLES, shape[1], SAMPLES).mean((1, 3))


def soft_picture(cvtmesh):
    """A picture whose tones a pen can show by dots that hardly overlap."""
    y, x = np.mgrid[:96, :128] / 96
    grey = 0.55 + 0.3 * np.sin(5 * x + 1) * np.cos(4 * y)
    levels = np.where(grey <= 0.0031308, 12.92 * grey, 1.055 * grey ** (1 / 2.4) - 0.055)
    cvtmesh.file("soft.pgm", pgm_bytes((255 * levels).round().astype(np.uint8)))
    return "soft.pgm"


@pytest.mark.parametrize("more, widest", [((), 1.2), (("--dot-size", "1.2,3"), 3),
                                          (("--dot-size", "0.5,1"), 1.2)])
def test_touches_have_the_tone_of_the_picture(cvtmesh, more, widest):
    """Touches, and spirals for larger dots; by the rule of the pen and measured here."""
    picture = soft_picture(cvtmesh)
    tone = cvtmesh.report("run", picture, "--pen", "1.2px", *more, "-o", "a.svg")["tone"]
    ((name, width, strokes),) = read_layers(cvtmesh.path("a.svg"))
    assert name == "1 black" and width == 1.2
    assert {len(stroke) for stroke in strokes} == {1} or widest > 1.2
    drawn = plotted(strokes, width, (96, 128))
    cvtmesh.call("density", picture, "-o", "ink.npy", "--density-from", "density")
    ink = np.load(cvtmesh.path("ink.npy"))
    assert drawn.mean() == pytest.approx(ink.mean(), rel=0.02)
    sigma = 1.5 * np.sqrt(ink.size / len(strokes))
    assert 0.95 < blurred(drawn, sigma).std() / blurred(ink, sigma).std() < 1.05
    assert tone["ink"] == pytest.approx(drawn.mean(), rel=0.02)
    assert 0.95 < tone["contrast"] < 1.05


def test_the_same_points_measured_later(cvtmesh):
    picture = soft_picture(cvtmesh)
    made = cvtmesh.report("run", picture, "--pen", "1.5px", *FEW, "-o", "a.csv", "-o", "a.svg")
    seen = cvtmesh.printed("stats", "a.csv", "--picture", picture, "--pen", "1.5px")
    read = cvtmesh.printed("stats", "a.svg", "--picture", picture)
    for key in ("ink", "contrast", "correlation"):
        assert seen["tone"][key] == pytest.approx(made["tone"][key], rel=1e-3)
        assert read["tone"][key] == pytest.approx(made["tone"][key], rel=1e-3)
    cvtmesh.file("b.svg", b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 128 96"><g stroke-width="2">'
                 b'<path d="M9,9h.001"/><path d="M20,20L30,30"/></g></svg>')
    cvtmesh.refused("mesh", "b.svg", "-o", "b.csv", code=3, names=["b.svg", "lines"])
    ink = cvtmesh.printed("stats", "b.svg", "--picture", picture)["tone"]["ink"]
    assert ink == pytest.approx((2 * 200**0.5 + 2 * np.pi) / (96 * 128), rel=0.01)


@pytest.mark.parametrize("more", [("--svg", "path", "--order", "tsp"), ("--dot-size", "1.2,3"), ("--svg", "dots")])
@pytest.mark.parametrize("page", [(), ("--page", "A5", "--margin", 0), ("--page", "A6,landscape", "--margin", 20)])
def test_a_drawing_is_measured_as_the_run_did(cvtmesh, page, more):
    """Lines, spirals and dots of the SVG, which says where the picture is on its page."""
    unit = 0.2 if page else 1
    sizes = [word.replace("1.2,3", f"{1.2 * unit},{3 * unit}") for word in more]
    made = cvtmesh.report("run", soft_picture(cvtmesh), "-n", 900, "--pen", 1.2 * unit, *FEW, *page, *sizes, "--tone",
                          "linear", "-o", "a.svg")
    read = cvtmesh.printed("stats", "a.svg", "--picture", "soft.pgm")
    for key in ("ink", "contrast", "correlation"):
        assert read["tone"][key] == pytest.approx(made["tone"][key], rel=0.01)


def test_strokes_of_other_programs_are_measured(cvtmesh):
    """A polyline, a line and a closed path with a curve, in a group that is scaled, on a page in inches."""
    cvtmesh.file("white.pgm", pgm_bytes(np.full((100, 100), 200, np.uint8)))
    cvtmesh.file("c.svg", b'<svg xmlns="http://www.w3.org/2000/svg" width="4in" height="4in" viewBox="0 0 400 400">'
                 b'<g transform="scale(4)" stroke-width="2" fill="none"><polyline points="20,20 20,60 50,60"/>'
                 b'<line x1="60" y1="20" x2="60" y2="50"/><path d="M70,70h20v20h-20z"/>'
                 b'<path d="m30 80a10 10 0 0 1 20 0"/></g></svg>')
    length = 70 + 30 + 80 + 10 * np.pi
    for more in ((), ("--page", "101.6x101.6", "--margin", 0)):
        ink = cvtmesh.printed("stats", "c.svg", "--picture", "white.pgm", *more)["tone"]["ink"]
        assert ink == pytest.approx((2 * length + 3 * np.pi) / 1e4, rel=0.015)


def test_a_pen_of_half_the_width_touches_four_times_as_often(cvtmesh):
    counts = [cvtmesh.report("run", COINS, "--page", "A5", "--pen", width, "--iterations", 0, "-o",
                             "a.svg")["sites"] for width in ("2mm", "0.1cm")]
    assert counts[1] == pytest.approx(4 * counts[0], rel=0.005)


def test_every_format_touches_the_same_places(cvtmesh):
    words = "-n", 300, *FEW, "--page", "A6", "--pen", 0.7, "--order", "plot"
    cvtmesh.call("run", COINS, *words, "-o", "a.svg", "-o", "a.dxf", "-o", "a.nc", "-o", "a.hpgl",
                 "--plotter", "hpgl")
    ((_, width, strokes),) = read_layers(cvtmesh.path("a.svg"))
    places = np.concatenate(strokes)
    assert width == 0.7 and len(places) == 300
    height = min(105, 148)
    hpgl = np.array(re.findall(r"PU(\d+),(\d+);PD;PU;", cvtmesh.read("a.hpgl").decode()), float) / 40
    dxf = np.array(re.findall(r"POINT\n  8\n\w+\n 10\n(.+)\n 20\n(.+)\n",
                              cvtmesh.read("a.dxf").decode()), float)
    gcode = np.array(re.findall(r"G0 X([\d.]+) Y([\d.]+)\nM3 S700\n(?:.*\n){2}M3 S300",
                                cvtmesh.read("a.nc").decode()), float)
    for found in (hpgl, dxf, gcode):
        assert np.abs(found - (places * (1, -1) + (0, height))).max() < 0.013


def test_when_a_drawing_has_touches(cvtmesh):
    """With a pen, for an SVG plotter, on demand; --svg dots has circles all the same."""
    few = "-n", 40, "--iterations", 2, "-o", "a.svg"
    for more, width in ((("--page", "A6", "--pen", 0.3), 0.3), (("--plotter", "axidraw"), 0.5),
                        (("--page", "A6", "--svg", "touches"), 0.5),
                        (("--page", "A6", "--svg", "touches", "--dot-size", "0.8,2"), 0.8)):
        cvtmesh.call("run", COINS, *few, *more)
        assert read_layers(cvtmesh.path("a.svg"))[0][1] == width
    cvtmesh.call("run", COINS, *few, "--plotter", "axidraw", "--svg", "dots")
    assert cvtmesh.read("a.svg").count(b"<circle") == 40
    cvtmesh.refused("run", COINS, *few, "--svg", "touches", code=2, names=["--pen is missing"])
    cvtmesh.refused("run", COINS, *few, "--pen", "0.5mm", code=2, names=["--pen", "--page"])
    cvtmesh.refused("run", COINS, *few, "--pen", "1,2", code=2, names=["--pen", "1,2"])


def test_lines_are_as_wide_as_the_pen(cvtmesh):
    cvtmesh.file("four.csv", b"x,y\n1,1\n9,1\n9,7\n1,7\n")
    for kind in ("mesh", "path"):
        cvtmesh.call("mesh", "four.csv", "--width", 10, "--height", 8, "--page", "A6", "--svg", kind,
                     "--pen", "0.4mm", "-o", "a.svg")
        assert read_layers(cvtmesh.path("a.svg"))[0][1] == 0.4


@pytest.mark.parametrize("kind", ["cells", "mesh"])
def test_a_pen_for_cells_and_meshes_moves_no_sites(cvtmesh, kind):
    sites = []
    for pen in ((), ("--pen", "0.3mm")):
        cvtmesh.call("run", COINS, "-n", 200, *FEW, "--page", "A6", "--svg", kind, *pen, "-o", "a.svg", "-o", "a.csv")
        sites.append(cvtmesh.read("a.csv"))
    assert sites[0] == sites[1]


def test_pens_of_several_widths(cvtmesh):
    cvtmesh.file("two.pens", b"fine = #0000a0 0.3mm\nbroad = #a00000 0.6,1.2mm\n")
    colours = np.zeros((40, 60, 3), np.uint8) + 255
    colours[:, :30, :2] = colours[:, 30:, 1:] = 90
    cvtmesh.file("c.ppm", b"P6 60 40 255\n" + colours.tobytes())
    cvtmesh.call("run", "c.ppm", "-n", 200, *FEW, "--page", "A6", "--colours", "two.pens", "--tone",
                 "linear", "--svg", "touches", "-o", "a.svg")
    fine, broad = read_layers(cvtmesh.path("a.svg"))
    assert fine[:2] == ("1 fine", 0.3) and broad[:2] == ("2 broad", 0.6)
    assert {len(stroke) for stroke in fine[2]} == {1}
    assert max(len(stroke) for stroke in broad[2]) > 12


def waves(cvtmesh, mean, swing):
    """A picture whose ink varies by `swing` around `mean`."""
    y, x = np.mgrid[:100, :140] / 100
    light = 1 - mean - swing * np.sin(7 * x) * np.cos(6 * y)
    levels = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    cvtmesh.file("waves.pgm", pgm_bytes((255 * levels).round().astype(np.uint8)))
    return "waves.pgm"


def test_touches_that_overlap_have_the_tone(cvtmesh):
    """Dark places need more touches than their ink, since touches overlap there."""
    tone = cvtmesh.report("run", waves(cvtmesh, 0.8, 0.17), "--pen", "1.2px", "-o", "a.svg")["tone"]
    assert tone["ink"] == pytest.approx(tone["picture_ink"], rel=0.02)
    assert 0.95 < tone["contrast"] < 1.05


def test_tones_that_the_ink_can_show(cvtmesh):
    """1,500 touches have a seventh of the ink; levels and gamma are chosen, and are those to repeat."""
    words = "run", waves(cvtmesh, 0.55, 0.4), "-n", 1500, "--pen", "1px"
    made = cvtmesh.report(*words, "-o", "a.svg", "-o", "a.csv")
    pale = cvtmesh.report(*words, "--tone", "linear", "-o", "b.svg")
    share = 1500 * np.pi / 4 / 14000
    for report in (made, pale):
        assert report["tone"]["ink"] == pytest.approx(share, rel=0.02)
    assert made["tone"]["picture_ink"] == pytest.approx(share, rel=0.03)
    assert 0.95 < made["tone"]["contrast"] < 1.05
    assert "tone_chosen" not in pale and pale["tone"]["contrast"] < 0.3
    chosen = made["tone_chosen"]
    again = cvtmesh.report(*words, "--levels", f"{chosen['black']},{chosen['white']}", "--gamma",
                           chosen["gamma"], "--flatten", chosen["flatten"], "-o", "c.csv")
    assert "tone_chosen" not in again and cvtmesh.read("a.csv") == cvtmesh.read("c.csv")
    # The same ink shows more of the picture: the drawings, as they look from some distance.
    seen = [blurred(plotted(read_layers(cvtmesh.path(name))[0][2], 1, (100, 140)), 4).std()
            for name in ("a.svg", "b.svg")]
    assert seen[0] > 1.5 * seen[1]


@pytest.mark.parametrize("more", [(), ("--svg", "path", "--order", "tsp")])
def test_details_keep_their_contrast(cvtmesh, more):
    """A dark flat area takes most of the picture, and the details are brighter: a suit and a face. There
    is little ink. The contrast of the details, as the eye sees it from some distance."""
    y, x = np.mgrid[:160, :120]
    details = (y > 20) & (y < 65) & (x > 40) & (x < 85)
    level = np.where(y < 75, 0.8, 0.1) - details * (0.2 + 0.2 * np.sin(x / 3.5) * np.sin(y / 3.5))
    cvtmesh.file("suit.pgm", pgm_bytes((255 * level).round().astype(np.uint8)))
    width = 0.6 if more else 1
    words = "run", "suit.pgm", "-n", 2400, "--pen", f"{width}px", *more
    report = cvtmesh.report("run", "suit.pgm", "-n", 2400, "--pen", "0.6px" if more else "1px", *more,
                            "--picture-size", 640, "-o", "a.ppm", "-o", "a.svg")
    assert report["tone_chosen"]["flatten"] > 0
    grey = np.frombuffer(cvtmesh.read("a.ppm")[-640 * 480:], np.uint8).reshape(640, 480) / 255
    light = blurred(np.where(grey <= 0.04045, grey / 12.92, ((grey + 0.055) / 1.055) ** 2.4), 8)[2::4, 2::4]
    made = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    inner = np.s_[28:58, 48:78]
    own, drawn = level[inner] - level[inner].mean(), made[inner] - made[inner].mean()
    # 0.25 and 0.48; by levels and gamma alone 0.05 and 0.18
    assert (own * drawn).sum() / (own**2).sum() > (0.4 if more else 0.2)
    # What is dark remains darker than what is bright.
    assert made[80:].mean() < made[:15].mean() - 0.04


def test_bright_places_are_shaded_if_there_is_ink(cvtmesh):
    y, x = np.mgrid[:120, :90] / 90
    level = 0.35 + 0.3 * np.sin(5 * x) + 0.15 * np.sin(23 * x) * np.sin(19 * y)
    cvtmesh.file("bright.pgm", pgm_bytes((255 * level.clip(0, 1)).round().astype(np.uint8)))
    made = cvtmesh.report("run", "bright.pgm", "--pen", "1.2px", "-n", 3000, "-o", "a.csv", "-o", "a.svg")
    assert made["tone_chosen"]["white"] >= 0.65
    points = np.loadtxt(cvtmesh.path("a.csv"), delimiter=",", skiprows=1)[:, :2].astype(int)
    bright = (level > 0.5) & (level < 0.62)
    assert bright[points[:, 1], points[:, 0]].mean() > 0.3 * bright.mean()  # 0.18 with white at 0.5


@pytest.mark.parametrize("more", [(), ("--svg", "path", "--order", "tsp"), ("--colours", "cmyk")])
def test_as_many_as_the_machine_draws_in_a_time(cvtmesh, more):
    words = "run", waves(cvtmesh, 0.55, 0.4), "--page", "A3", "--pen", "0.3mm", *more
    made = cvtmesh.report(*words, "-n", "0.1h" if "path" in more else "0.25h", "-o", "a.svg", "-o", "a.csv")
    plot = made["plot"]
    wanted = 360 if "path" in more else 900
    assert made["points_found"] == {"from": "time", "seconds": wanted}
    assert sum(plot["seconds_" + part] for part in ("drawing", "lifting", "travelling")) == pytest.approx(
        wanted, rel=0.06)
    assert made["tone_chosen"]["gamma"] > 0
    cvtmesh.call(*words, "-n", f"{wanted // 60 - 1}min60s", "-o", "b.csv", "-o", "b.svg")
    assert cvtmesh.read("a.csv") == cvtmesh.read("b.csv")
    cvtmesh.refused(*words, "-n", "2x", "-o", "b.svg", code=2, names=["2x", "5000"])
    cvtmesh.refused(*words, "--hours", "2", "-o", "b.svg", code=2, names=["--hours", "-n 2h"])
    for text in ("0h", "2hours", "1e9h", "h", "30min1h", "1h30", "2h-30min"):
        cvtmesh.refused(*words, "-n", text, "-o", "b.svg", code=2, names=[text, "2h"])


def test_a_time_that_is_enough(cvtmesh):
    words = "run", waves(cvtmesh, 0.3, 0.1), "--page", "A6", "--pen", "1mm"
    made = cvtmesh.report(*words, "-n", "90h", "-o", "a.svg")
    assert "tone_chosen" not in made
    assert made["sites"] == pytest.approx(cvtmesh.report(*words, "-o", "a.svg")["sites"], rel=0.01)
    for more, name in (((), "plotter"), (("--page", "A6", "--svg", "mesh"), "pen"),
                       (("--page", "A6", "--pen", "1mm", "--dot-size", "1,2"), "depends on its size")):
        cvtmesh.refused("run", "waves.pgm", "-n", "2h", *more, "-o", "a.svg", code=2, names=["--points", name])


@pytest.mark.parametrize("more", [(), ("--svg", "path", "--order", "tsp"), ("--invert",)])
def test_a_picture_shows_the_drawing(cvtmesh, more):
    """A PPM beside an SVG, against the strokes rendered here; --layers shows the tessellation."""
    words = "run", waves(cvtmesh, 0.5, 0.3), "-n", 800, "--pen", "2px", *more, "--picture-size", 280
    cvtmesh.call(*words, "-o", "a.svg", "-o", "a.ppm")
    grey = np.frombuffer(cvtmesh.read("a.ppm")[-200 * 280:], np.uint8).reshape(200, 280) / 255
    light = np.where(grey <= 0.04045, grey / 12.92, ((grey + 0.055) / 1.055) ** 2.4)
    ((_, width, strokes),) = read_layers(cvtmesh.path("a.svg"))
    steps = np.linspace(0, 1, 9)[:-1, None, None]
    lines = [((1 - steps) * s[:-1] + steps * s[1:]).reshape(-1, 2) if len(s) > 1 else s for s in strokes]
    ink = plotted([2 * line for line in lines], 2 * width, (200, 280))
    assert np.abs((light if more == ("--invert",) else 1 - light) - ink).mean() < 0.02
    cvtmesh.call(*words, "-o", "b.ppm", "--layers", "cells")
    assert cvtmesh.read("b.ppm")[-3 * 200 * 280:] != cvtmesh.read("a.ppm")[-200 * 280:]


def test_tones_that_several_pens_can_show(cvtmesh):
    """A tenth of the ink: its colours keep their contrast, and black draws what is dark."""
    y, x = np.mgrid[:90, :120] / 90
    rgb = np.stack([0.55 + 0.45 * np.sin(6 * x), 0.5 + 0.4 * np.cos(5 * y), 0.4 + 0.3 * np.sin(4 * x + y)], -1)
    cvtmesh.file("c.ppm", b"P6 120 90 255\n" + (255 * rgb).round().astype(np.uint8).tobytes())
    words = "run", "c.ppm", "-n", 1200, "--pen", "1px", "--colours", "cmyk", "-o", "a.svg"
    pale, made = cvtmesh.report(*words, "--tone", "linear"), cvtmesh.report(*words)
    assert 0.9 < made["colour_error"]["contrast"] < 1.15 and pale["colour_error"]["contrast"] < 0.4
    assert sum(pen["coverage_asked"] for pen in made["pens"]) == pytest.approx(
        sum(pen["coverage"] for pen in made["pens"]), rel=0.05)
    assert made["pens"][3]["sites"] > 0.8 * pale["pens"][3]["sites"]
    found = made["tone_chosen"]
    cvtmesh.call(*words[:-1], "b.svg", "--levels", f"{found['black']},{found['white']}", "--gamma", found["gamma"])
    assert cvtmesh.read("b.svg") == cvtmesh.read("a.svg")


@pytest.mark.parametrize("black", ["1px", "0.8,1.2px"])
def test_a_file_of_pens_has_their_widths(cvtmesh, black):
    """Its dots are touches, or spirals, and their tones are mapped to their ink, as with --pen."""
    y, x = np.mgrid[:90, :120] / 90
    rgb = np.stack([0.55 + 0.45 * np.sin(6 * x), 0.5 + 0.4 * np.cos(5 * y), 0.4 + 0.3 * np.sin(4 * x + y)], -1)
    cvtmesh.file("c.ppm", b"P6 120 90 255\n" + (255 * rgb).round().astype(np.uint8).tobytes())
    cvtmesh.file("my.pens", f"sky = #0090d0 0.8px\nred = #e04020 0.8px\nblack = #101010 {black}\n")
    words = "run", "c.ppm", "-n", 1200, "--colours", "my.pens"
    made = cvtmesh.report(*words, "-o", "a.svg")
    sky, _, dark = read_layers(cvtmesh.path("a.svg"))
    assert sky[1] == 0.8 and dark[1] == (1 if black == "1px" else 0.8)
    assert {len(stroke) > 1 for stroke in dark[2]} == {black != "1px"}
    assert made["pens"][2]["largest_dot"] == pytest.approx(1 if black == "1px" else 1.2)
    assert made["tone_chosen"]["gamma"] > 1 and 0.9 < made["colour_error"]["contrast"] < 1.15
    cvtmesh.call(*words, "--svg", "dots", "-o", "b.svg")
    assert cvtmesh.read("b.svg").count(b"<circle") == 1200


def test_dots_of_several_sizes_show_what_their_ink_can(cvtmesh):
    """Too little ink: all have the largest size, and tones are mapped. Between the sizes nothing changes."""
    words = "run", waves(cvtmesh, 0.55, 0.4), "--pen", "0.7px", "--dot-size", "0.7,1px", "-o", "a.svg"
    few, enough = (cvtmesh.report(*words, "-n", count) for count in (1500, 15000))
    assert 0.95 < few["tone"]["contrast"] < 1.05 and few["tone_chosen"]["gamma"] > 0
    assert few["tone"]["smallest_dot"] == few["tone"]["largest_dot"] == 1
    note = b"ink of these dots is far from the picture's"
    for more, is_far in ((("--dots", "tone"), True), ((), False)):
        assert (note in cvtmesh.call(*words, "-n", 1500, *more).stderr) == is_far
    assert "tone_chosen" not in enough and enough["tone"]["smallest_dot"] < enough["tone"]["largest_dot"]


def test_a_picture_shows_the_lines_of_several_pens(cvtmesh):
    """A PPM beside an SVG, against the strokes of each layer, rendered here."""
    y, x = np.mgrid[:90, :120] / 90
    rgb = np.stack([0.55 + 0.45 * np.sin(6 * x), 0.5 + 0.4 * np.cos(5 * y), 0.4 + 0.3 * np.sin(4 * x + y)], -1)
    cvtmesh.file("c.ppm", b"P6 120 90 255\n" + (255 * rgb).round().astype(np.uint8).tobytes())
    cvtmesh.file("two.pens", "red = #d03020\nblue = #2030c0\n")
    cvtmesh.call("run", "c.ppm", "-n", 600, "--pen", "2px", "--colours", "two.pens", "--svg", "path", "--order", "tsp",
                 "--picture-size", 240, "-o", "a.svg", "-o", "a.ppm")
    shown = np.frombuffer(cvtmesh.read("a.ppm")[-180 * 240 * 3:], np.uint8).reshape(180, 240, 3) / 255
    linear = lambda v: np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)
    steps, light = np.linspace(0, 1, 9)[:-1, None, None], np.ones((180, 240, 3))
    layers = read_layers(cvtmesh.path("a.svg"))
    assert len(layers) == 2
    for (_, width, strokes), ink in zip(layers, ((0xd0, 0x30, 0x20), (0x20, 0x30, 0xc0))):
        lines = [((1 - steps) * s[:-1] + steps * s[1:]).reshape(-1, 2) for s in strokes]
        drawn = plotted([2 * line for line in lines], 2 * width, (180, 240))
        light *= 1 - drawn[..., None] * (1 - linear(np.array(ink) / 255))
    assert np.abs(light - 1).mean() > 0.1
    assert np.abs(linear(shown) - light).mean() < 0.02


def test_a_preview_has_the_tone(cvtmesh):
    tone = cvtmesh.report("run", waves(cvtmesh, 0.5, 0.3), "--pen", "0.5px", "--effort", "preview",
                          "--time-limit", 60, "-o", "a.svg")
    assert tone["sites"] == 20000 and tone["sites_asked"] > 30000
    assert tone["tone"]["ink"] == pytest.approx(tone["tone"]["picture_ink"], rel=0.02)
    assert 0.95 < tone["tone"]["contrast"] < 1.05


def test_a_preview_of_a_large_picture_is_that_of_a_small_one(cvtmesh):
    """Squares of the large one, four times as wide, are averaged; the files are in its pixels."""
    small = np.rint(255 * (0.5 + 0.4 * np.sin(np.arange(400) / 40)[:, None] * np.sin(np.arange(300) / 30))).astype(np.uint8)
    words = ("-n", 3000, "--pen", "0.8mm", "--page", "A5", "--effort", "preview", "--time-limit", 60)
    made = {}
    for name, side in (("small", 1), ("large", 4)):
        cvtmesh.file(name + ".pgm", pgm_bytes(np.kron(small, np.ones((side, side), np.uint8))))
        done = cvtmesh.call("run", name + ".pgm", *words, "-o", name + ".csv", "-o", name + ".svg", "--report", "r.json")
        assert (b"squares of 2 pixels" in done.stderr) == (side > 1)
        made[name] = cvtmesh.json("r.json")
        assert (made[name]["width"], made[name]["height"]) == (300 * side, 400 * side)
        points = np.loadtxt(cvtmesh.path(name + ".csv"), delimiter=",", skiprows=1)[:, :2] / side
        assert len(points) == 3000 and points.min() > 0
        assert np.abs(points.max(axis=0) - (300, 400)).max() < 5
        ((_, width, strokes),) = read_layers(cvtmesh.path(name + ".svg"))
        assert width == 0.8 and {len(stroke) for stroke in strokes} == {1}
    small, large = made["small"], made["large"]
    for key in ("contrast", "ink", "picture_ink"):
        assert large["tone"][key] == pytest.approx(small["tone"][key], rel=0.02)
    assert large["tone"]["blur"] == pytest.approx(4 * small["tone"]["blur"], rel=0.01)
    assert large["energy_ratio"] == pytest.approx(small["energy_ratio"], rel=0.01)
    assert large["energy"] == pytest.approx(256 * small["energy"], rel=0.05)


@pytest.mark.parametrize("more", [(), ("-n", 1500)])
def test_a_line_has_the_tone_of_the_picture(cvtmesh, more):
    """The pen gives the number of points, or -n the tones; measured here along the line, by steps that are
    shorter than the pen is wide."""
    made = cvtmesh.report("run", waves(cvtmesh, 0.5, 0.35), "--pen", "1.2px", *more, "--order", "tsp",
                          "--svg", "path", "-o", "a.svg", "-o", "a.csv")
    tone = made["tone"]
    ((_, width, (line,)),) = read_layers(cvtmesh.path("a.svg"))
    assert width == 1.2 and len(line) == made["sites"] + 1
    steps = np.linspace(0, 1, 33)[:-1, None, None]
    drawn = plotted([((1 - steps) * line[:-1] + steps * line[1:]).reshape(-1, 2)], width, (100, 140))
    assert drawn.mean() == pytest.approx(tone["picture_ink"], rel=0.02)
    assert tone["ink"] == pytest.approx(drawn.mean(), rel=0.02)
    assert 0.95 < tone["contrast"] < 1.05
    assert tone["correlation"] > 0.97
    seen = cvtmesh.printed("stats", "a.csv", "--picture", "waves.pgm", "--pen", "1.2px", "--svg", "path")
    assert seen["tone"]["ink"] == pytest.approx(tone["ink"], rel=0.01)  # but for the last edge


def test_lines_of_several_pens_have_their_inks(cvtmesh):
    """Magenta has more ink on the right, cyan the same on both sides; the length goes with the root of the points."""
    asked = np.stack([np.repeat([0.15, 0.45], 90) + np.zeros((120, 1)), np.full((120, 180), 0.3)])
    inks = np.array([[1, 0.05, 1], [0.05, 1, 1]])
    light = np.prod(1 - asked[..., None] * (1 - inks[:, None, None]), 0)
    levels = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    cvtmesh.file("c.ppm", b"P6 180 120 255\n" + (255 * levels).round().astype(np.uint8).tobytes())
    cvtmesh.file("two.pens", "magenta = #ff3fff\ncyan = #3fffff\n")
    report = cvtmesh.report("run", "c.ppm", "--pen", "1px", "--colours", "two.pens", "--svg", "path", "-o", "a.svg")
    assert 0.97 < report["colour_error"]["contrast"] < 1.03
    steps = np.linspace(0, 1, 17)[:-1, None, None]
    for (_, width, (line,)), ink, pen in zip(read_layers(cvtmesh.path("a.svg")), asked, report["pens"]):
        drawn = plotted([((1 - steps) * line[:-1] + steps * line[1:]).reshape(-1, 2)], width, ink.shape)
        assert pen["coverage"] == pytest.approx(drawn.mean(), rel=0.01)
        assert pen["coverage_asked"] == pytest.approx(ink.mean(), rel=0.01)
        left, right = (drawn[:, half].mean() / ink[:, half].mean() for half in (np.s_[8:82], np.s_[98:172]))
        assert left == pytest.approx(1, abs=0.05) and right == pytest.approx(1, abs=0.05)


def test_touches_of_several_pens_have_the_colours(cvtmesh):
    """Inks that cover more than half of the paper: in the mixtures they overlap as if by chance."""
    y, x = np.mgrid[:100, :140]
    asked = np.stack([0.5 + 0.35 * np.sin(x / 15), 0.5 + 0.35 * np.sin((x + y) / 20)])
    light = np.prod(1 - asked[..., None] * (1 - np.array([[1, 0.05, 1], [0.05, 1, 1]])[:, None, None]), 0)
    levels = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    cvtmesh.file("c.ppm", b"P6 140 100 255\n" + (255 * levels).round().astype(np.uint8).tobytes())
    cvtmesh.file("two.pens", "magenta = #ff3fff\ncyan = #3fffff\n")
    found = cvtmesh.report("run", "c.ppm", "--pen", "1.5px", "--colours", "two.pens", "-o", "a.svg")["colour_error"]
    assert 0.98 < found["contrast"] < 1.02 and found["mean"] < 0.006


def test_a_line_has_the_ink_of_textures(cvtmesh):
    """Halves of equal ink, even and in squares: a tour through irregular points is shorter."""
    tone = np.full((180, 270), 0.3)
    tone[:, 135:] = 0.12 + 0.36 * np.kron(np.random.default_rng(3).random((45, 34)) < 0.5, np.ones((4, 4)))[:, :135]
    levels = 1.055 * (1 - tone) ** (1 / 2.4) - 0.055
    cvtmesh.file("halves.pgm", pgm_bytes((255 * levels).round().astype(np.uint8)))
    cvtmesh.call("run", "halves.pgm", "--pen", "1.5px", "--svg", "path", "-o", "a.svg")
    ((_, width, (line,)),) = read_layers(cvtmesh.path("a.svg"))
    steps = np.linspace(0, 1, 9)[:-1, None, None]
    drawn = plotted([((1 - steps) * line[:-1] + steps * line[1:]).reshape(-1, 2)], width, tone.shape)
    even, squares = (drawn[:, half].mean() / tone[:, half].mean() for half in (np.s_[10:123], np.s_[147:260]))
    assert squares == pytest.approx(even, rel=0.03)


def test_all_touches_are_on_a_page_that_the_picture_fills(cvtmesh):
    """Most of the ink is beside the page, where no touches are spent."""
    level = np.full((120, 200), 150, np.uint8)
    level[:, :50] = 20
    cvtmesh.file("wide.pgm", pgm_bytes(level))
    words = "run", "wide.pgm", "--pen", 0.5, "--page", "100x100,fill", "--margin", 5, "-o", "a.svg"
    for more in ((), ("--preview",)):
        cvtmesh.call(*words, "-n", 500, *(("--effort", "preview") if more else ()))
        ((_, _, strokes),) = read_layers(cvtmesh.path("a.svg"))
        assert len(strokes) == 500
        x = np.concatenate(strokes)[:, 0]
        assert 4.9 < x.min() < 12 and (x < 5 + 90 / 12).sum() > 500 / 12  # columns 40 to 50 are dark
    report = cvtmesh.report(*words, "-n", "5min")
    plot = report["plot"]
    assert sum(plot["seconds_" + part] for part in ("drawing", "lifting", "travelling")) == \
        pytest.approx(300, rel=0.05)
    cvtmesh.call(*words, "-n", 500, "-o", "a.csv")  # points are those of the whole picture
    assert (np.loadtxt(cvtmesh.path("a.csv"), delimiter=",", skiprows=1)[:, 0] < 40).any()


def test_spirals_stay_out_of_the_margins(cvtmesh):
    cvtmesh.file("dark.pgm", pgm_bytes(np.full((30, 40), 90, np.uint8)))
    cvtmesh.call("run", "dark.pgm", "-n", 200, *FEW, "--page", "A5,landscape,fill", "--margin", 20,
                 "--pen", 0.5, "--dot-size", "0.5,14", "-o", "a.svg")
    ((_, width, strokes),) = read_layers(cvtmesh.path("a.svg"))
    points = np.concatenate(strokes)
    for side in (points.min(0), np.array([210, 148]) - points.max(0)):
        assert (side - width / 2 > 20 - 1e-3).all() and (side - width / 2 < 20.5).any()


def test_touches_form_no_rows(cvtmesh):
    """Even grey: the share of sites with six neighbours, which a lattice has nearly everywhere."""
    cvtmesh.file("even.pgm", pgm_bytes(np.full((100, 140), 120, np.uint8)))
    share = [cvtmesh.report("run", "even.pgm", "--pen", "2px", *more, "-o", "a.svg")["quality"]["degree6_share"]
             for more in ((), ("--effort", "normal"), ("-o", "a.obj"))]
    assert share[0] < 0.75 and share[1] > 0.85 and share[2] > 0.85  # meshes stay regular
