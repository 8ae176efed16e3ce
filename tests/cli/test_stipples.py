"""The dots of an SVG reproduce the tone of the picture: the drawing is rendered here by itself, blurred
as the eye does it from some distance, and compared with the picture in linear light."""

import re

import numpy as np
import pytest

from conftest import EXAMPLES, blurred, covered, pgm_bytes, strict_json

CAMERA, COINS = EXAMPLES / "camera.png", EXAMPLES / "coins.png"
HORSE = EXAMPLES / "horse.png"
DOMAIN = ("-n", 5000, "--invert", "--domain", "image", "--domain-smooth", 1.5, "--domain-smallest", 20)
SAMPLES = 8  # of a pixel, in x and in y
SHORT = ("--iterations", 25)  # for what does not depend on how well the sites are placed


def read_dots(cvtmesh, name):
    text = cvtmesh.read(name).decode()
    dots = re.findall(r'<circle cx="([^"]+)" cy="([^"]+)" r="([^"]+)"/>', text)
    return np.array(dots, float)


def render(dots, shape):
    """The share of each pixel that dots cover."""
    plane = covered(dots, *shape, SAMPLES)
    return plane.reshape(shape[0], SAMPLES, shape[1], SAMPLES).mean((1, 3))


def picture_ink(cvtmesh, picture, *options):
    cvtmesh.call("density", picture, "-o", "ink.npy", "--density-from", "density", *options)
    return np.load(cvtmesh.path("ink.npy"))


def compare(dots, ink):
    """Contrast, correlation and the ratio of the inks."""
    drawn = render(dots, ink.shape)
    sigma = 1.5 * np.sqrt(ink.size / len(dots))
    a, b = blurred(drawn, sigma), blurred(ink, sigma)
    return a.std() / b.std(), np.corrcoef(a.ravel(), b.ravel())[0, 1], drawn.mean() / ink.mean()


def draw(cvtmesh, picture, *options):
    report = cvtmesh.report("run", picture, "-n", 2000, "-o", "a.svg", *options)
    return report["tone"]


@pytest.mark.parametrize("picture", [CAMERA, COINS])
def test_the_default_dots_look_like_the_picture(cvtmesh, picture):
    tone = draw(cvtmesh, picture)
    dots, ink = read_dots(cvtmesh, "a.svg"), picture_ink(cvtmesh, picture)
    contrast, correlation, ratio = compare(dots, ink)
    assert 0.9 < contrast < 1.1
    assert correlation > 0.97
    assert ratio == pytest.approx(1, abs=0.02)
    # What the report says is what was measured here.
    assert tone["contrast"] == pytest.approx(contrast, abs=0.01)
    assert tone["correlation"] == pytest.approx(correlation, abs=0.003)
    assert tone["ink"] / tone["picture_ink"] == pytest.approx(ratio, abs=0.003)
    assert tone["picture_ink"] == pytest.approx(ink.mean(), rel=1e-5)
    assert tone["blur"] == pytest.approx(1.5 * np.sqrt(ink.size / 2000))
    assert tone["largest_dot"] == pytest.approx(2 * dots[:, 2].max(), abs=0.01)
    assert 0.9 < tone["ssim"] <= 1


def test_the_report_of_a_flat_picture_is_not_that_of_its_border(cvtmesh):
    """Sides that are no multiple of the squares on which the report measures."""
    x = np.linspace(0, 1, 307)[None, :] * np.ones((259, 1))
    cvtmesh.file("flat.pgm", pgm_bytes((100 + 25 * x).astype(np.uint8)))
    tone = draw(cvtmesh, "flat.pgm", *SHORT)
    contrast, correlation, _ = compare(read_dots(cvtmesh, "a.svg"), picture_ink(cvtmesh, "flat.pgm"))
    assert tone["contrast"] == pytest.approx(contrast, abs=0.003)
    assert tone["correlation"] == pytest.approx(correlation, abs=0.001)


def test_equal_dots_have_the_ink_of_the_picture(cvtmesh):
    tone = draw(cvtmesh, CAMERA, *SHORT, "--dots", "equal")
    dots, ink = read_dots(cvtmesh, "a.svg"), picture_ink(cvtmesh, CAMERA)
    assert len(set(dots[:, 2])) == 1
    contrast, correlation, ratio = compare(dots, ink)
    assert ratio == pytest.approx(1, abs=0.02)
    assert correlation > 0.97
    assert tone["contrast"] == pytest.approx(contrast, abs=0.01)


@pytest.mark.parametrize("options", [("--invert",), ("--equal-mass", "--mass-tolerance", 1e-3),
                                     ("--gamma", 2), ("--density-from", "density"),
                                     ("--periodic",), DOMAIN])
def test_the_ink_is_right_whatever_places_the_dots(cvtmesh, options):
    tone = draw(cvtmesh, COINS, *SHORT, *options)
    assert tone["ink"] / tone["picture_ink"] == pytest.approx(1, abs=0.02)
    assert tone["correlation"] > 0.97
    assert tone["contrast"] == pytest.approx(1, abs=0.1)


def test_dots_on_the_outline_of_a_domain(cvtmesh):
    """They do not reach far over it: the ink is right, and little of it is outside."""
    report = cvtmesh.report("run", HORSE, "-n", 1500, *SHORT, "--domain", "image", "-o", "a.svg")
    dots, ink = read_dots(cvtmesh, "a.svg"), picture_ink(cvtmesh, HORSE)
    drawn = render(dots, ink.shape)
    assert drawn.mean() == pytest.approx(ink.mean(), rel=0.003)
    assert drawn[ink < 0.01].sum() < 0.02 * drawn.sum()
    assert report["tone"]["ink"] == pytest.approx(drawn.mean(), rel=0.003)


def test_light_dots_on_a_dark_ground(cvtmesh):
    def inks():
        text = cvtmesh.read("a.svg").decode()
        return re.findall('<rect width="100%" height="100%" fill="(.*?)"/>', text), \
            re.findall('<g .*(?:fill|stroke)="(#.*?)"', text)

    dark, light = (["#000"], ["#fff"]), ([], ["#000"])
    small = "-n", 100, "--iterations", 3, "-o", "a.svg"
    cvtmesh.call("run", COINS, *small)
    assert inks() == light
    for options in (("--invert",), ("--dark",)):
        cvtmesh.call("run", COINS, *small, *options)
        assert inks() == dark
    cvtmesh.call("run", COINS, *small, "--invert", "--svg", "cells")
    assert inks() == light


def test_the_same_dots_from_any_number_of_threads(cvtmesh):
    for threads in "12":
        draw(cvtmesh, COINS, "--iterations", 5, "--threads", threads)
        cvtmesh.path("a.svg").rename(cvtmesh.path(threads + ".svg"))
    assert cvtmesh.read("1.svg") == cvtmesh.read("2.svg")


def test_the_same_places_whatever_files_are_written(cvtmesh):
    for name in ("points.csv", "dots.svg"):
        cvtmesh.call("run", CAMERA, "-n", 300, *SHORT, "-o", name, "-o", "places.csv")
        cvtmesh.file(f"{name}.places", cvtmesh.read("places.csv"))
    assert cvtmesh.read("points.csv.places") == cvtmesh.read("dots.svg.places")


def test_data_have_no_tone(cvtmesh):
    np.save(cvtmesh.path("even.npy"), np.ones((40, 60)))
    report = cvtmesh.report("run", "even.npy", "-n", 50, "-o", "a.svg")
    assert "tone" not in report
    assert report["options"]["dots"] == "equal"
    np.testing.assert_allclose(read_dots(cvtmesh, "a.svg")[:, 2], 0.3 * np.sqrt(2400 / 50),
                               atol=1e-3)
    cvtmesh.call("run", "even.npy", "-n", 50, "-o", "a.svg", "--dots", "mass", "--iterations", 2)
    assert len(set(read_dots(cvtmesh, "a.svg")[:, 2])) > 10


def test_dots_that_follow_the_tone(cvtmesh):
    tone = draw(cvtmesh, CAMERA, *SHORT, "--dots", "tone")
    dots, ink = read_dots(cvtmesh, "a.svg"), picture_ink(cvtmesh, CAMERA)
    contrast, correlation, ratio = compare(dots, ink)
    assert contrast == pytest.approx(1, abs=0.1)
    assert correlation > 0.97
    assert ratio == pytest.approx(1, abs=0.02)
    assert tone["contrast"] == pytest.approx(contrast, abs=0.01)
    # Away from edges the diameters follow 1/2 + tone / 2.
    local = blurred(ink, 6)[dots[:, 1].astype(int), dots[:, 0].astype(int)]
    bright, dark = np.median(dots[local < 0.5, 2]), np.median(dots[local > 0.9, 2])
    assert 1.2 < dark / bright < 2
    cvtmesh.refused("run", CAMERA, "-n", 50, "--dots", "tone", "--equal-mass", "-o", "b.svg", code=2)
    np.save(cvtmesh.path("even.npy"), np.ones((40, 60)))
    cvtmesh.refused("run", "even.npy", "-n", 50, "--dots", "tone", "-o", "b.svg", code=3)


def test_bounds_of_the_sizes(cvtmesh):
    draw(cvtmesh, COINS, *SHORT, "--dot-size", "7,8.5")
    sizes = 2 * read_dots(cvtmesh, "a.svg")[:, 2]
    assert 7 - 1e-3 < sizes.min() < 7.1 and 8.4 < sizes.max() < 8.5 + 1e-3
    for wrong in ("8,7", "0,1", "1,2,3", "x"):
        cvtmesh.refused("run", COINS, "-n", 50, "--dot-size", wrong, "-o", "b.svg", code=2)


@pytest.mark.parametrize("dots,size", [("equal", "5"), ("mass", "4,6"), ("tone", "4,8")])
def test_the_sizes_give_the_number_of_dots(cvtmesh, dots, size):
    report = cvtmesh.report("run", COINS, *SHORT, "--invert", "-o", "a.svg", "--dots", dots,
                            "--dot-size", size)
    ink = picture_ink(cvtmesh, COINS, "--invert")
    least, most = [float(part) for part in (size + "," + size).split(",")[:2]]
    diameter = least + (most - least) * (ink if dots == "tone" else 0.5)
    assert report["sites"] == pytest.approx((ink / (np.pi / 4 * diameter**2)).sum(), abs=1)
    # Bounds cut off some ink.
    assert report["tone"]["ink"] / report["tone"]["picture_ink"] == pytest.approx(1, abs=0.05)
    np.save(cvtmesh.path("even.npy"), np.ones((40, 60)))
    cvtmesh.refused("run", "even.npy", "--dot-size", size, "-o", "b.svg", code=3)


def test_dots_that_do_not_overlap(cvtmesh):
    for options in ((), ("--dots", "tone"), ("--periodic",), ("--equal-mass",)):
        draw(cvtmesh, COINS, "-n", 800, "--no-overlap", "--iterations", 10, *options)
        dots = read_dots(cvtmesh, "a.svg")
        x, y, r = dots.T
        apart = np.hypot(x[:, None] - x, y[:, None] - y) - (r[:, None] + r)
        np.fill_diagonal(apart, 1)
        assert apart.min() >= 0
        assert r.min() > 0
    draw(cvtmesh, COINS, "-n", 800, "--overlap", "--iterations", 10)
    assert read_dots(cvtmesh, "a.svg")[:, 2].max() > r.max()


LEVELS = "--levels", "0.1,0.8", "--contrast", 1.2


def batch_and_view_use(cvtmesh, picture, *tones):
    """`batch` draws the a.svg of `run`, and the tones change the sites of `view`."""
    cvtmesh.call("batch", picture, "-n", 300, "-o", "b.svg", "-q", *tones)
    assert cvtmesh.read("a.svg") == cvtmesh.read("b.svg")
    few = "-n", 40, "--iterations", 8, "--shot", "shot.png", "--window", "64x48"
    cvtmesh.call("view", picture, *few, "-o", "v.csv")
    cvtmesh.call("view", picture, *few, "-o", "w.csv", *tones)
    assert cvtmesh.read("v.csv") != cvtmesh.read("w.csv")


def test_levels(cvtmesh):
    """Each level of the picture goes the way that editors of pictures mean."""
    grey = np.tile(np.arange(256, dtype=np.uint8), (40, 1))
    cvtmesh.file("grey.pgm", pgm_bytes(grey))
    ink = picture_ink(cvtmesh, "grey.pgm", *LEVELS)
    level = np.clip(0.5 + 1.2 * ((grey / 255 - 0.1) / 0.7 - 0.5), 0, 1)
    light = np.where(level <= 0.04045, level / 12.92, ((level + 0.055) / 1.055)**2.4)
    np.testing.assert_allclose(ink, 1 - light, atol=1e-6)
    # In `run` sites and dots follow the same tone.
    report = cvtmesh.report("run", "grey.pgm", "-n", 300, "-o", "a.svg", "-o", "a.csv", *LEVELS)
    assert report["tone"]["picture_ink"] == pytest.approx(ink.mean(), rel=1e-5)
    assert report["tone"]["contrast"] == pytest.approx(1, abs=0.1)
    done = cvtmesh.call("stats", "a.csv", "--density", "grey.pgm", "--json", *LEVELS)
    assert strict_json(done.stdout)["energy_ratio"] == pytest.approx(report["energy_ratio"])
    batch_and_view_use(cvtmesh, "grey.pgm", *LEVELS)
    cvtmesh.refused("run", "grey.pgm", "-n", 40, "-o", "c.svg", "--levels", "0.5,0.4", code=3)
    np.save(cvtmesh.path("even.npy"), np.ones((40, 60)))
    cvtmesh.refused("run", "even.npy", "-n", 40, "-o", "c.svg", "--contrast", 2, code=3)
    cvtmesh.call("batch", COINS, "-n", 100, "--iterations", 3, "-o", "d.svg", "--no-overlap", "-q")


def test_flatten(cvtmesh):
    """The mean around each pixel comes nearer to that of the picture; in colours, too."""
    y, x = np.mgrid[:60, :100]
    grey = np.where(x < 55, 60, 170) + (20 * np.sin(x / 2) * np.sin(y / 3)).round().astype(int)
    cvtmesh.file("two.pgm", pgm_bytes(grey.astype(np.uint8)))
    how = "--flatten", 0.6
    ink = picture_ink(cvtmesh, "two.pgm", *how)
    around = blurred(grey / 255, 8.5)
    level = np.clip(grey / 255 - 0.6 * (around - around.mean()), 0, 1)
    light = np.where(level <= 0.04045, level / 12.92, ((level + 0.055) / 1.055)**2.4)
    np.testing.assert_allclose(ink, 1 - light, atol=2e-5)
    report = cvtmesh.report("run", "two.pgm", "-n", 300, "-o", "a.svg", "-o", "a.csv", *how)
    assert report["tone"]["picture_ink"] == pytest.approx(ink.mean(), rel=1e-5)
    found = strict_json(cvtmesh.call("stats", "a.csv", "--picture", "two.pgm", "--density", "two.pgm", "--json",
                                     *how).stdout)
    assert found["tone"]["picture_ink"] == pytest.approx(ink.mean(), rel=1e-5)
    assert found["energy_ratio"] == pytest.approx(report["energy_ratio"])
    batch_and_view_use(cvtmesh, "two.pgm", *how)
    cvtmesh.file("two.ppm", b"P6 100 60 255\n" + np.repeat(grey, 3).astype(np.uint8).tobytes())
    cvtmesh.file("one.pens", "black = #000000\n")
    pen = cvtmesh.report("run", "two.ppm", "-n", 300, "--colours", "one.pens", "-o", "c.svg", *how)["pens"][0]
    assert pen["coverage_asked"] == pytest.approx(ink.mean(), rel=0.01)
    np.save(cvtmesh.path("even.npy"), np.ones((40, 60)))
    cvtmesh.refused("run", "even.npy", "-n", 40, "-o", "c.svg", *how, code=3, names=["even.npy", "--flatten"])



def test_stats_agree_with_run(cvtmesh):
    for options in ((), ("--dots", "equal"), ("--dot-size", "6,8"), ("--no-overlap",)):
        report = cvtmesh.report("run", COINS, "-n", 500, "--iterations", 20, "-o", "a.svg", "-o",
                                "a.npy", "--tone", "linear", *options)
        done = cvtmesh.call("stats", "a.npy", "--picture", COINS, "--json", *options)
        tone = strict_json(done.stdout)["tone"]
        assert tone == pytest.approx(report["tone"], rel=1e-6), options
    assert b"tone: contrast" in cvtmesh.call("stats", "a.npy", "--picture", COINS).stdout
    cvtmesh.refused("stats", "a.npy", "--picture", COINS, "--density", CAMERA, code=3)
    np.save(cvtmesh.path("even.npy"), np.ones((303, 384)))
    cvtmesh.refused("stats", "a.npy", "--picture", "even.npy", code=3)


def test_stats_of_a_drawing_that_fills_its_page(cvtmesh):
    """The drawing is compared with the part of the picture that is on the page: black bars lie beyond it."""
    picture = np.tile(np.linspace(100, 240, 200), (200, 1))
    picture[:28] = picture[172:] = 0
    cvtmesh.file("bars.pgm", pgm_bytes(picture.astype(np.uint8)))
    page = "--page", "A5,landscape,fill", "--margin", 7
    for name, pen in (("discs.svg", ("-n", 1500)), ("touches.svg", ("--pen", "1mm", "--svg", "touches"))):
        cvtmesh.call("run", "bars.pgm", "--iterations", 20, *pen, *page, "-o", name)
        found = cvtmesh.printed("stats", name, "--picture", "bars.pgm", *page)
        cvtmesh.refused("stats", name, "--picture", "bars.pgm", code=3, names=[name, "--page"])
        rows = 134 / 0.98  # the page has 134 mm between its margins, a pixel is 196 mm / 200
        assert (found["width"], found["height"]) == (200, np.ceil(100 + rows / 2) - np.floor(100 - rows / 2)), name
        tone = found["tone"]  # black bars would ask for 69 % ink, and no correlation would be left
        assert tone["ink"] == pytest.approx(tone["picture_ink"], abs=0.02) and tone["correlation"] > 0.95, name
        assert tone["contrast"] == pytest.approx(1, abs=0.05), name


SHOT = "--frames", 2, "--window", "64x48", "--shot", "shot.png"


def test_view_draws_the_dots_of_run(cvtmesh):
    if not cvtmesh.printed("info")["viewer"]:
        pytest.skip("built without the viewer")
    words = "--dots", "mass", "--dot-size", "2,9", "--overlap", "--margin", 12, "--page"
    words += "A5,landscape,fill", "-o"
    cvtmesh.call("run", COINS, "-n", 200, "--iterations", 5, "-o", "a.npy")
    for more in ((), words[:4], words[:-1], ("--no-overlap",), ("--invert",)):
        start = "--init", "a.npy", "--iterations", 0, *more, "-o"
        cvtmesh.call("run", COINS, *start, "r.svg")
        cvtmesh.call("view", COINS, *SHOT, *start, "v.svg")
        assert cvtmesh.read("v.svg") == cvtmesh.read("r.svg"), more
    for more, code in ((("--dots", "tone", "--density-from", "density"), 3), (("--page", "A11"), 2),
                       (("-o", "v.gcode"), 2)):
        cvtmesh.refused("view", COINS, *SHOT, *more, "-o", "w.svg", code=code)


def test_stats_of_a_drawing(cvtmesh):
    """The dots of an SVG are measured as they are drawn, on a page and moved by transforms too."""
    report = cvtmesh.report("run", COINS, "-n", 400, "--iterations", 9, "--dots", "tone", "-o", "a.svg")
    page = "--page", "A5", "--margin", 7
    text = cvtmesh.read("a.svg").decode()
    scale = 134 / 303  # A5 is 210 mm wide, 148 mm high
    place = f'<g transform="translate({105 - scale * 384 / 2} 7) scale({scale})" fill="#000">'
    on_page = text.replace('width="384" height="303" viewBox="0 0 384 303"',
                           'width="210mm" height="148mm" viewBox="0 0 210 148"')
    cvtmesh.file("p.svg", re.sub("<g .*>", place, on_page))
    box = text.replace('viewBox="0 0 384 303"', 'viewBox="-20 30 192 151.5"')
    moved = re.sub("<g .*>", '<g transform="translate(-20 30) scale(.5)">', box)
    assert moved != box != text
    cvtmesh.file("m.svg", moved)
    for name, more in (("a.svg", ()), ("p.svg", page), ("m.svg", ())):
        tone = cvtmesh.printed("stats", name, "--picture", COINS, *more)["tone"]
        assert tone == pytest.approx(report["tone"], rel=2e-3), name
    points = read_dots(cvtmesh, "a.svg")[:, :2]
    cvtmesh.call("mesh", "a.svg", "-o", "a.npy")
    np.testing.assert_array_equal(cvtmesh.array("a.npy"), points)
    size = "--width", 384, "--height", 303, "-o"
    cvtmesh.call("voronoi", "a.svg", *size, "l.npy")
    cvtmesh.call("voronoi", "a.npy", *size, "k.npy")
    assert cvtmesh.read("l.npy") == cvtmesh.read("k.npy")
    cvtmesh.refused("stats", "p.svg", "--picture", COINS, code=3, names=["p.svg", "--page"])
    for body, what in (("<circle r='-1'/>", "negative"), ("<circle cx='4em' r='1'/>", "cx"), ("", "circle"),
                       ("<circle r='1e999'/>", "r="), ("<g><circle r='1'/>", "line 1")):
        cvtmesh.file("bad.svg", f"<svg viewBox='0 0 9 9'>{body}</svg>")
        cvtmesh.refused("stats", "bad.svg", code=3, names=["bad.svg", what])
