"""Drawings in several colours. The SVG is rendered here by itself, with inks that multiply in linear
light, blurred, and compared with the picture in OKLab."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from conftest import EXAMPLES, blurred, covered, from_srgb

SIDE, SAMPLES = 96, 6
INKSCAPE = "{http://www.inkscape.org/namespaces/inkscape}"
PENS = "# three pens\nsky & sea = #0090e0\nrose = #f02080\n\nink black = #101010 1.5,4\n"
FEW = ("-n", 600, "--iterations", 30)


def oklab(rgb):
    """Ottosson 2020, from linear light."""
    lms = np.cbrt(rgb @ np.array([[0.4122214708, 0.5363325363, 0.0514459929],
                                  [0.2119034982, 0.6806995451, 0.1073969566],
                                  [0.0883024619, 0.2817188376, 0.6299787005]]).T)
    return lms @ np.array([[0.2104542553, 0.7936177850, -0.0040720468],
                           [1.9779984951, -2.4285922050, 0.4505937099],
                           [0.0259040371, 0.7827717662, -0.8086757660]]).T


def photograph():
    """A picture of smooth colours, 8 bits."""
    y, x = (np.mgrid[:SIDE, :SIDE] + 0.5) / SIDE
    waves = [0.6 + 0.25 * np.sin(5 * x + 2 * y), 0.55 + 0.25 * np.cos(4 * y - x),
             0.6 + 0.25 * np.sin(6 * x * y + 1)]
    return (255 * np.stack(waves, -1)).round().astype(np.uint8)


def ppm(picture):
    return b"P6 %d %d 255\n" % picture.shape[1::-1] + picture.tobytes()


@pytest.fixture
def picture(cvtmesh):
    cvtmesh.file("a.ppm", ppm(photograph()))
    return "a.ppm"


def layers_of(path):
    root = ElementTree.parse(path).getroot()
    return root, [layer for layer in root if layer.get(INKSCAPE + "groupmode") == "layer"]


def dots_of(layer):
    return np.array([[float(dot.get(name)) for name in ("cx", "cy", "r")] for dot in layer])


def colour_of(layer):
    text = layer.get("fill")
    return from_srgb(np.array([int(text[k:k + 2], 16) / 255 for k in (1, 3, 5)]))


def render(path):
    """Linear light of the pixels of the picture, and the coverage by each ink."""
    fine, shares = np.ones((SIDE * SAMPLES, SIDE * SAMPLES, 3)), []
    for layer in layers_of(path)[1]:
        plane = covered(dots_of(layer), SIDE, SIDE, SAMPLES) if len(layer) else np.zeros(fine.shape[:2], bool)
        fine[plane] *= colour_of(layer)
        shares.append(plane.mean())
    return fine.reshape(SIDE, SAMPLES, SIDE, SAMPLES, 3).mean((1, 3)), shares


@pytest.mark.parametrize("source", [("--colours", "cmyk"), ("--colours", 3)])
def test_the_drawing_has_the_colours_of_the_picture(cvtmesh, picture, source):
    report = cvtmesh.report("run", picture, "-n", 2500, *source, "-o", "a.svg", "-o", "a.csv")
    drawn, shares = render(cvtmesh.path("a.svg"))
    error = report["colour_error"]
    a, b = (blurred(image, error["blur"]) for image in (drawn, from_srgb(photograph() / 255)))
    distance = np.linalg.norm(oklab(a) - oklab(b), axis=-1)
    assert abs(distance.mean() - error["mean"]) < 0.003
    assert abs(np.sqrt((distance**2).mean()) - error["rms"]) < 0.004
    assert error["mean"] < error["of_inks"]["mean"] + 0.01 < 0.04
    y = (0.2126, 0.7152, 0.0722)
    assert abs((a @ y).std() / (b @ y).std() - error["contrast"]) < 0.02
    assert abs(np.corrcoef((a @ y).ravel(), (b @ y).ravel())[0, 1] - error["correlation"]) < 0.003
    for pen, share in zip(report["pens"], shares, strict=True):
        assert abs(pen["coverage"] - share) < 0.003
        assert abs(pen["coverage"] - pen["coverage_asked"]) < 0.02
    points = np.loadtxt(cvtmesh.path("a.csv"), delimiter=",", skiprows=1)
    assert points.shape == (2500, 3)
    assert [pen["sites"] for pen in report["pens"]] == [
        (points[:, 2] == k + 1).sum() for k in range(len(report["pens"]))]
    classes = cvtmesh.printed("stats", "a.csv", "--width", SIDE, "--height", SIDE)["classes"]
    used = [(number, pen) for number, pen in enumerate(report["pens"], 1) if pen["sites"] > 0]
    for (number, pen), found in zip(used, classes, strict=True):
        own = points[points[:, 2] == number, :2]
        distance = np.linalg.norm(own[:, None] - own[None], axis=-1) + np.diag([np.inf] * len(own))
        assert (found["class"], found["points"]) == (number, len(own))
        for figures in (pen, found):
            assert abs(figures["nearest_mean"] - distance.min(1).mean()) < 1e-9
            assert abs(figures["nearest_least"] - distance.min()) < 1e-9


def test_sizes_follow_the_blurred_picture(cvtmesh):
    """Colours that the inks can give. Sizes that follow the mixtures of inks err by 0.005."""
    muted = (0.35 * photograph() + 70).astype(np.uint8)
    cvtmesh.file("muted.ppm", ppm(muted))
    report = cvtmesh.report("run", "muted.ppm", "-n", 2500, "--colours", "cmyk", "-o", "a.svg")
    drawn, _ = render(cvtmesh.path("a.svg"))
    for spacings, most in ((1.5, 0.0025), (4, 0.0015)):
        blur = spacings * SIDE / np.sqrt(2500)
        a, b = (blurred(image, blur) for image in (drawn, from_srgb(muted / 255)))
        assert np.linalg.norm(oklab(a) - oklab(b), axis=-1).mean() < most
    assert report["colour_error"]["mean"] < 0.002


def test_a_preview_has_the_light_of_the_picture(cvtmesh):
    """Fewer and larger dots have the same ink: as without a preview, dots of different inks overlap by chance.
    Where they keep a distance, a fifth of the light is lost."""
    muted = (0.35 * photograph() + 70).astype(np.uint8)  # colours that the inks can give
    large = np.kron(muted, np.ones((4, 4, 1), np.uint8))
    cvtmesh.file("large.ppm", ppm(large))
    report = cvtmesh.report("run", "large.ppm", "--pen", "1px", "--colours", "cmyk", "--effort", "preview",
                            "--time-limit", 60, "--svg", "dots", "-o", "a.svg")
    assert report["sites"] == 20000 < report["sites_asked"]
    fine = np.ones((4 * 4 * SIDE, 4 * 4 * SIDE, 3))
    for layer in layers_of(cvtmesh.path("a.svg"))[1]:
        fine[covered(dots_of(layer), 4 * SIDE, 4 * SIDE, 4)] *= colour_of(layer)
    assert fine.mean() == pytest.approx(from_srgb(large / 255).mean(), rel=0.03)


def test_a_column_of_other_things_is_no_class(cvtmesh):
    cvtmesh.file("cats.csv", "x,y,class\n1,1,cat\n3,2,cat\n2,4,dog\n")
    assert "classes" not in cvtmesh.printed("stats", "cats.csv")
    cvtmesh.file("few.csv", "class,y,x\n7,1,1\n3,2,3\n7,5,4\n")
    classes = cvtmesh.printed("stats", "few.csv")["classes"]
    assert classes == [{"class": 3, "points": 1, "nearest_least": None, "nearest_mean": None},
                       {"class": 7, "points": 2, "nearest_least": 5, "nearest_mean": 5}]


def test_every_class_and_the_union_are_spaced(cvtmesh, picture):
    report = cvtmesh.report("run", picture, "-n", 2000, "--colours", "cmyk", "-o", "a.npy")
    assert 1 < report["energy_ratio"] < 1.08
    for pen in report["pens"]:
        if pen["sites"] > 100:
            assert 1 < pen["energy_ratio"] < 1.2
    points = cvtmesh.array("a.npy")
    union = np.linalg.norm(points[:, None, :2] - points[None, :, :2], axis=-1)
    np.fill_diagonal(union, np.inf)
    spacing = SIDE / np.sqrt(len(points))
    assert np.quantile(union.min(1), 0.01) > 0.4 * spacing


def test_pens_and_their_files(cvtmesh, picture):
    cvtmesh.file("my.pens", PENS)
    cvtmesh.file("tool.profile", "up = M5\ndown = M3\npause = M0\npen = T{pen} M6 ({name})\n"
                 "travel = G0 X{x} Y{y}\ndraw = G1 X{x} Y{y}\n")
    outputs = [word for end in ("svg", "hpgl", "gcode") for word in ("-o", "a." + end)]
    report = cvtmesh.report("run", picture, *FEW, "--colours", "my.pens", "--page", "A5", "--order",
                            "plot", "--plotter", "tool.profile", *outputs, "-o", "a.csv")
    names = [pen["name"] for pen in report["pens"]]
    assert names == ["sky & sea", "rose", "ink black"]
    assert report["order"]["kind"] == "plot"
    root, layers = layers_of(cvtmesh.path("a.svg"))
    assert root.get("width") == "148mm"
    assert [layer.get(INKSCAPE + "label") for layer in layers] == [
        f"{k + 1} {name}" for k, name in enumerate(names)]
    assert [layer.get("fill") for layer in layers] == ["#0090e0", "#f02080", "#101010"]
    counts = [len(layer) for layer in layers]
    assert counts == [pen["sites"] for pen in report["pens"]]
    diameters = 2 * dots_of(layers[2])[:, 2]
    assert diameters.min() >= 1.5 - 0.002 and diameters.max() <= 4 + 0.002
    parts = re.split(r"SP(\d);", cvtmesh.read("a.hpgl").decode())
    drawn = {int(parts[k]): parts[k + 1].count("PD;") for k in range(1, len(parts), 2)}
    assert [drawn[k + 1] for k in range(3)] == counts
    gcode = cvtmesh.read("a.gcode").decode()
    assert re.findall(r"^T.*", gcode, re.M) == [
        f"T{k + 1} M6 ({name})" for k, name in enumerate(names)]
    assert [part.count("M3") for part in re.split(r"^T.*", gcode, flags=re.M)[1:]] == counts
    assert gcode.count("M0\n") == 2


def test_paths_of_each_pen(cvtmesh, picture):
    cvtmesh.call("run", picture, *FEW, "--colours", "cmyk", "--order", "tsp", "--svg", "path", "-o",
                 "a.svg", "-o", "a.csv")
    points = np.loadtxt(cvtmesh.path("a.csv"), delimiter=",", skiprows=1)
    for k, layer in enumerate(layers_of(cvtmesh.path("a.svg"))[1]):
        count = (points[:, 2] == k + 1).sum()
        corners = sum(len(re.findall("[ML]", path.get("d"))) for path in layer)
        assert corners == (count + 1 if count > 2 else count if count == 2 else 0)


def test_size_of_pens_gives_their_numbers(cvtmesh, picture):
    cvtmesh.file("a.pens", "thin = #0090e0 1\nthick = #d03000 2\n")
    report = cvtmesh.report("run", picture, "--iterations", 20, "--colours", "a.pens", "-o", "a.svg")
    for pen, diameter in zip(report["pens"], (1, 2)):
        assert pen["smallest_dot"] == pen["largest_dot"] == diameter
        count = pen["coverage_asked"] * SIDE**2 / (np.pi / 4 * diameter**2)
        assert abs(pen["sites"] / count - 1) < 0.02
    assert report["points_found"]["from"] == "dot-size"


def test_no_dots_overlap(cvtmesh, picture):
    cvtmesh.call("run", picture, *FEW, "--iterations", 10, "--colours", 3, "--no-overlap", "-o",
                 "a.svg")
    dots = np.concatenate([dots_of(layer) for layer in layers_of(cvtmesh.path("a.svg"))[1]])
    gap = np.linalg.norm(dots[:, None, :2] - dots[None, :, :2], axis=-1)
    gap -= dots[:, None, 2] + dots[None, :, 2]
    np.fill_diagonal(gap, np.inf)
    assert gap.min() > -1e-6


def test_same_files_for_any_number_of_threads(cvtmesh, picture):
    for threads in (1, 2):
        cvtmesh.call("run", picture, *FEW, "--iterations", 10, "--colours", 2, "--threads", threads, "-o",
                     f"{threads}.svg", "-o", f"{threads}.png", "--picture-size", 100)
    assert cvtmesh.read("1.svg") == cvtmesh.read("2.svg")
    assert cvtmesh.read("1.png") == cvtmesh.read("2.png")


def test_grey_pictures_and_regions(cvtmesh, picture):
    report = cvtmesh.report("run", EXAMPLES / "coins.png", "-n", 600, "--iterations", 3, "--colours", 3, "-o",
                            "a.svg")
    assert len(report["pens"]) == 1  # black gives all greys
    mask = np.zeros((SIDE, SIDE), np.uint8)
    mask[:, :40] = 255
    cvtmesh.file("m.ppm", ppm(np.repeat(mask[..., None], 3, -1)))
    cvtmesh.call("run", picture, *FEW, "--colours", "cmyk", "--within", "m.ppm", "-o", "a.npy")
    assert cvtmesh.array("a.npy")[:, 0].max() <= 40


def test_batch(cvtmesh, picture):
    cvtmesh.file("a.pens", PENS)
    for k, source in enumerate((("--colours", "cmyk"), ("--colours", "a.pens"), ("--colours", 2))):
        words = picture, "-n", 200, "--iterations", 5, *source
        cvtmesh.call("batch", *words, "-o", "{stem}-%d.svg" % k)
        cvtmesh.call("run", *words, "-o", "b.svg")
        assert cvtmesh.read(f"a-{k}.svg") == cvtmesh.read("b.svg")


@pytest.mark.parametrize("text, reason", [
    ("", "no pens"), ("red #ff0000\n", "line 1"), ("red = ff0000\n", "line 1"),
    ("\n# c\nred = #ff00\n", "line 3"), ("red = #ff0000 0\n", "line 1"),
    ("red = #ff0000 2,1\n", "line 1"), ("a = #ff0000\na = #00ff00\n", "line 2"),
    ("paper = #ffffff\n", "white"), (" = #ff0000\n", "line 1"), (b"\xff = #ff0000\n", "UTF-8"),
    (b"a\0b = #ff0000\n", "not text"), ("".join(f"p{k} = #0000{k:02x}\n" for k in range(17)), "16")])
def test_bad_pens(cvtmesh, picture, text, reason):
    cvtmesh.file("bad.pens", text)
    cvtmesh.refused("run", picture, *FEW, "--colours", "bad.pens", "-o", "a.svg", code=3,
                    names=("bad.pens", reason))


@pytest.mark.parametrize("words", [
    ("--colours", 3, "--preset", "paper"), ("--colours", 3, "--invert"),
    ("--colours", 3, "--equal-mass"), ("--colours", 3, "--svg", "cells"),
    ("--colours", 3, "-o", "a.obj"), ("--colours", 3, "-o", "a.xyz"),
    ("--colours", 3, "--iterations", 0), ("--colours", 3, "--noise", "blue")])
def test_what_has_no_colours_is_refused(cvtmesh, picture, words):
    cvtmesh.refused("run", picture, "-n", 100, "-o", "a.svg", *words, code=2)


def test_pictures_without_colours(cvtmesh):
    cvtmesh.file("d.npy", np.ones((20, 20)))
    cvtmesh.refused("run", "d.npy", "-n", 100, "--colours", 3, "-o", "a.svg", code=3,
                    names=("d.npy", "data has no colours"))
    cvtmesh.file("pale.ppm", ppm(np.full((20, 20, 3), 254, np.uint8)))
    cvtmesh.refused("run", "pale.ppm", "-n", 100, "--colours", 3, "-o", "a.svg", code=3,
                    names=("pale.ppm", "needs no ink"))


def test_what_cannot_be_measured_is_not_printed(cvtmesh):
    """Distances of a pen with less than two dots, contrast of an even picture."""
    yellow = ppm(np.full((32, 32, 3), (255, 242, 0), np.uint8))
    cvtmesh.file("yellow.ppm", yellow)
    cvtmesh.file("points.csv", "x,y,class\n1,2,1\n3,4,2\n6,4,2\n")
    inks = cvtmesh.call("run", "yellow.ppm", "-n", 60, "--colours", "cmyk", "-o", "a.csv").stderr
    assert re.search(rb"yellow +\d+ dots, the nearest at \d", inks)
    assert re.search(rb"black +0 dots; ink 0\.00 %, wanted 0\.00 %\n", inks)
    assert re.search(rb"colour +error 0\.\d+ in OKLab", inks) and b"nan" not in inks
    dots = cvtmesh.call("run", "yellow.ppm", "-n", 60, "-o", "a.svg").stderr
    assert re.search(rb"tone +ink \d", dots) and b"nan" not in dots
    classes = cvtmesh.call("stats", "points.csv").stdout
    assert b"1: 1 point\n" in classes and b"2: 2 points, the nearest at 3 px" in classes


def half_by_dither(light, pattern):
    """Left an even tone, right a pattern of black and white."""
    light = np.full((80, 160), light)
    light[:, 80:] = np.tile(pattern, (80 // len(pattern), 80 // len(pattern)))
    levels = np.where(light < 1, 1.055 * light ** (1 / 2.4) - 0.055, 1).clip(0)
    return b"P5 160 80 255\n" + (255 * levels).round().astype(np.uint8).tobytes()


def test_a_dithered_half_has_as_many_dots_as_an_even_one(cvtmesh):
    cvtmesh.file("half.pgm", half_by_dither(0.75, [[0, 1], [1, 1]]))
    cvtmesh.file("black.pens", b"black = #000000\n")
    cvtmesh.call("run", "half.pgm", "-n", 400, "--colours", "black.pens", "-o", "a.npy")
    assert np.mean(cvtmesh.array("a.npy")[:, 0] < 80) == pytest.approx(0.5, abs=0.015)


def test_thin_strokes_are_no_dither(cvtmesh):
    rng = np.random.default_rng(2)
    grey = np.full((96, 192), 255, np.uint8)
    for _ in range(250):
        y, x = rng.integers(4, 88), rng.integers(4, 184)
        if rng.random() < 0.5:
            grey[y:y + 6, x] = 26
        else:
            grey[y, x:x + 6] = 26
    cvtmesh.file("strokes.pgm", b"P5 192 96 255\n" + grey.tobytes())
    report = cvtmesh.report("run", "strokes.pgm", "--pen", "0.4px", "-n", 4000, "--gamma", 3, "--levels", "0,0.8",
                            "-o", "a.svg")
    assert report["tone"]["correlation"] > 0.985


BAYER = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]])


def test_touches_over_a_dither_overlap_as_over_an_even_tone(cvtmesh):
    """As many touches as the ink asks for: they are closer than the pixels of the dither."""
    cvtmesh.file("half.pgm", half_by_dither(0.5, BAYER < 8))
    report = cvtmesh.report("run", "half.pgm", "--pen", "1.35px", "-o", "a.npy", "-o", "a.svg")
    assert np.mean(cvtmesh.array("a.npy")[:, 0] < 80) == pytest.approx(0.5, abs=0.01)
    assert report["tone"]["ink"] == pytest.approx(report["tone"]["picture_ink"], rel=0.02)


def test_a_dithered_half_has_the_inks_of_an_even_one(cvtmesh):
    cvtmesh.file("half.pgm", half_by_dither(0.5, BAYER < 8))
    cvtmesh.call("run", "half.pgm", "--pen", "1px", "-n", 1600, "--tone", "linear", "--colours", "cmyk", "-o", "a.csv")
    x, _, ink = np.loadtxt(cvtmesh.path("a.csv"), delimiter=",", skiprows=1)[:, :3].T
    for k in np.unique(ink):
        assert np.mean(x[ink == k] < 80) == pytest.approx(0.5, abs=0.04)


def test_chosen_inks_do_not_look_alike(cvtmesh):
    """Browns and their shadows: the least error alone takes several inks that are nearly black."""
    y, x = (np.mgrid[:SIDE, :SIDE] + 0.5) / SIDE
    light = (0.5 + 0.45 * np.sin(9 * x) * np.cos(7 * y)) ** 2
    rgb = light[..., None] * np.stack([0.9 + 0 * x, 0.62 + 0.15 * y, 0.35 + 0.3 * x], -1)
    cvtmesh.file("brown.ppm", ppm((255 * rgb).round().astype(np.uint8)))
    pens = cvtmesh.report("run", "brown.ppm", "-n", 300, "--iterations", 2, "--colours", 5, "-o", "a.svg")["pens"]
    colours = oklab(from_srgb(np.array([[int(p["colour"][k:k + 2], 16) / 255 for k in (1, 3, 5)] for p in pens])))
    distance = np.linalg.norm(colours[:, None] - colours[None], axis=-1) + np.eye(len(pens))
    assert len(pens) == 5 and distance.min() > 0.1
