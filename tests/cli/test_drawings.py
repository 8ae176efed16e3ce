"""Drawings as PDF and DXF, and of cells and meshes on a page, read back by other programs and by the
reader below."""

import re
import shutil
import subprocess
import zlib

import numpy as np
import pytest

from conftest import EXAMPLES, clip, length_of, output_of, read_obj

CAMERA, COINS, HORSE = [EXAMPLES / name for name in ("camera.png", "coins.png", "horse.png")]
SMALL = "run", CAMERA, "-n", 300, "--iterations", 5


@pytest.fixture
def pdf(cvtmesh):
    if not cvtmesh.printed("info")["cairo"]:
        cvtmesh.refused(*SMALL, "-o", "a.pdf", code=2, names=["cairo"])
        pytest.skip("this build writes no PDF")
    if not shutil.which("pdftoppm"):
        pytest.skip("no poppler")
    return cvtmesh


def size_in_mm(path):
    text = output_of("pdfinfo", path)
    assert re.search(r"^Pages: +1$", text, re.M)
    return [float(n) * 25.4 / 72 for n in re.search(r"Page size: +(\S+) x (\S+) pts", text).groups()]


def rendered(path, dots_per_mm, *options):
    """The light, 0 to 1, of each pixel in each channel."""
    done = subprocess.run(["pdftoppm", "-r", str(25.4 * dots_per_mm), *options, path], check=True,
                          stdout=subprocess.PIPE)
    _, size, _, data = done.stdout.split(b"\n", 3)
    width, height = map(int, size.split())
    return np.frombuffer(data, np.uint8).reshape(height, width, -1) / 255


def dots_of_svg(cvtmesh, name):
    text = cvtmesh.read(name).decode()
    return np.array(re.findall(r'<circle cx="([^"]+)" cy="([^"]+)" r="([^"]+)"/>', text), float)


def discs(dots, shape, scale):
    """The share of each pixel that dots cover, by 4 x 4 samples."""
    covered = np.zeros((4 * shape[0], 4 * shape[1]), bool)
    for x, y, r in dots * (4 * scale):
        x0, y0 = max(int(x - r), 0), max(int(y - r), 0)
        part = covered[y0:int(y + r) + 2, x0:int(x + r) + 2]
        dy, dx = np.ogrid[y0:y0 + part.shape[0], x0:x0 + part.shape[1]]
        part |= (dx + 0.5 - x)**2 + (dy + 0.5 - y)**2 < r * r
    return covered.reshape(shape[0], 4, shape[1], 4).mean((1, 3))


@pytest.mark.parametrize("light", [[], ["--invert"]])
def test_dots_of_a_pdf(pdf, light):
    """The size of the page, and the discs of the SVG in their places."""
    pdf.call(*SMALL, *light, "--page", "A6", "-o", "a.pdf", "-o", "a.svg")
    assert size_in_mm(pdf.path("a.pdf")) == pytest.approx([105, 148], abs=0.01)
    drawn = 1 - rendered(pdf.path("a.pdf"), 10, "-gray")[..., 0]
    assert drawn.shape == pytest.approx((1480, 1050), abs=1)
    wanted = discs(dots_of_svg(pdf, "a.svg"), drawn.shape, 10)
    if light:
        wanted = 1 - wanted
    assert np.abs(drawn - wanted).mean() < 0.01
    assert drawn.mean() == pytest.approx(wanted.mean(), rel=0.01)


def test_small_discs_of_a_pdf_are_round(pdf):
    pdf.call("run", CAMERA, "-n", 30, "--page", "A6", "--dot-size", "0.3mm", "-o", "a.pdf")
    drawn = 1 - rendered(pdf.path("a.pdf"), 40, "-gray")[..., 0]
    assert drawn.sum() / 40**2 == pytest.approx(30 * np.pi * 0.15**2, rel=0.01)


def test_a_pdf_without_a_page_is_as_large_as_the_svg_in_a_browser(pdf):
    pdf.call(*SMALL, "-o", "a.pdf")
    assert size_in_mm(pdf.path("a.pdf")) == pytest.approx([512 / 96 * 25.4] * 2, abs=0.01)


def test_a_pdf_is_the_same_each_time_and_compressed(pdf):
    found = []
    for _ in range(2):
        pdf.call(*SMALL, "--page", "A4", "-o", "a.pdf")
        found.append(pdf.read("a.pdf"))
    assert found[0] == found[1]
    streams = re.findall(rb"/FlateDecode.*?stream\r?\n(.*?)endstream", found[0], re.S)
    page = max((zlib.decompressobj().decompress(stream) for stream in streams), key=len)
    assert len(page) > 1.5 * len(found[0])
    assert len(re.findall(rb"\sc\s", page)) >= 4 * 300  # curves: the dots are vectors


def test_inks_of_a_pdf(pdf):
    """Dots of each pen in the colour of its layer; where pens overlap, their colours multiply."""
    pdf.call("run", COINS, "-n", 300, "--iterations", 3, "--colours", "cmyk", "--page", "A6", "-o",
             "a.pdf", "-o", "a.svg", "-o", "a.dxf")
    drawn = rendered(pdf.path("a.pdf"), 10)
    height, width, _ = drawn.shape
    wanted = np.ones_like(drawn)
    layers = re.findall(r'<g [^>]*label="([^"]+)"[^>]* fill="#(\w{6})">(.*?)</g>',
                        pdf.read("a.svg").decode(), re.S)
    assert len(layers) == 4
    for _, colour, body in layers:
        dots = np.array(re.findall(r'cx="([^"]+)" cy="([^"]+)" r="([^"]+)"', body), float)
        if len(dots):
            paint = np.array([int(colour[k:k + 2], 16) for k in (0, 2, 4)]) / 255
            wanted *= 1 - discs(dots, (height, width), 10)[..., None] * (1 - paint)
    assert np.abs(drawn - wanted).mean() < 0.01
    assert np.abs(drawn - wanted).mean((0, 1)).max() < 0.012
    names = [label.replace(" ", "_").upper() for label, _, _ in layers]
    assert list(read_dxf(pdf.read("a.dxf"))[0]) == names


def lines_of_svg(cvtmesh, name):
    text = cvtmesh.read(name).decode()
    return [np.array(re.findall(r"-?[\d.]+", data), float).reshape(-1, 2)
            for data in re.findall(r'<path d="([^"]+)"', text)]


def cells_by_clipping(sites, box, weights=None):
    """The Voronoi cell or power cell of each site in a box: left, top, right, bottom."""
    left, top, right, bottom = box
    power = (sites**2).sum(1) - (0 if weights is None else weights)
    for k, site in enumerate(sites):
        cell = np.array([(left, top), (right, top), (right, bottom), (left, bottom)], float)
        normal, offset = 2 * (sites - site), power - power[k]
        while True:
            beyond = (cell @ normal.T - offset).max(0)
            if not beyond.max(initial=0) > 1e-9:
                break
            cut = beyond.argmax()
            cell = clip(cell, normal[cut], offset[cut])
        yield cell


def closed(cells):
    return [np.vstack([cell, cell[:1]]) for cell in cells]


def segments(strokes):
    """Both ends of all lines that are longer than half a mm; each pair sorted."""
    pairs = np.concatenate([np.hstack([stroke[:-1], stroke[1:]]) for stroke in strokes])
    ends = pairs.reshape(-1, 2, 2)
    ends = ends[np.hypot(*(ends[:, 0] - ends[:, 1]).T) > 0.5]
    return np.array([sorted(map(tuple, pair)) for pair in ends]).reshape(-1, 4)


def assert_same_segments(found, wanted):
    """Each wanted line is found once, in either direction, within a hundredth of a mm."""
    assert len(found) == len(wanted)
    apart = np.minimum(np.abs(found[:, None] - wanted).max(2),
                       np.abs(found[:, None] - wanted[:, [2, 3, 0, 1]]).max(2))
    assert (apart.min(0) < 0.01).all() and (apart.min(1) < 0.01).all()


@pytest.mark.parametrize("options", [("--svg", "cells"), ("--svg", "cells", "--equal-mass"),
                                     ("--svg", "mesh")])
def test_edges_on_a_page_are_drawn_once(cvtmesh, options):
    """Without a page, too, but for the place."""
    weights = ("--weights-out", "w.npy") if "--equal-mass" in options else ()
    cvtmesh.call(*SMALL, *options, "-o", "a.svg", "-o", "a.obj", "-o", "a.npy", *weights)
    cvtmesh.call(*SMALL, *options, "--page", "400x400", "--margin", 20, "-o", "b.svg")
    scale = 360 / 512
    if "cells" in options:
        strokes = closed(cells_by_clipping(cvtmesh.array("a.npy"), (0, 0, 512, 512),
                                           cvtmesh.array("w.npy") if weights else None))
        assert len(strokes) == 300
    else:
        vertices, triangles = read_obj(cvtmesh.path("a.obj"))
        strokes = closed((np.array(vertices) * (1, -1) + (0, 512))[np.array(triangles)])
        assert len(strokes) > 400
    plain = segments(lines_of_svg(cvtmesh, "a.svg"))
    half = scale * 0.05 * 512 / np.sqrt(300) / 2  # of the width of a line, which the margins keep out
    wanted = segments([np.clip(20 + scale * stroke, 20 + half, 380 - half) for stroke in strokes])
    wanted = np.unique(wanted.round(2), axis=0)
    _, first = np.unique((wanted * 2).round(), axis=0, return_index=True)
    assert_same_segments(segments(lines_of_svg(cvtmesh, "b.svg")), wanted[first])
    on_page = segments([np.clip(20 + scale * plain.reshape(-1, 2, 2), 20 + half, 380 - half)[k]
                        for k in range(len(plain))])
    assert_same_segments(on_page, wanted[first])


def test_a_mesh_takes_few_strokes(cvtmesh):
    """Trails begin and end at vertices of odd degree; few more are closed."""
    cvtmesh.call(*SMALL, "--svg", "mesh", "--page", "A4", "-o", "a.svg", "-o", "a.hpgl", "-o", "a.obj")
    _, triangles = read_obj(cvtmesh.path("a.obj"))
    edges = {frozenset(pair) for t in triangles for pair in zip(t, t[1:] + t[:1])}
    degree = np.bincount([vertex for edge in edges for vertex in edge])
    strokes = lines_of_svg(cvtmesh, "a.svg")
    assert sum(len(stroke) - 1 for stroke in strokes) == len(edges)
    assert (degree % 2).sum() / 2 <= len(strokes) <= (degree % 2).sum() / 2 + 0.05 * len(edges)
    assert cvtmesh.read("a.hpgl").count(b"PD;") == len(strokes)


def parts_inside(edge, outline):
    """The parts of an edge that are inside an outline of segments, by even and odd."""
    start, way = edge[0], edge[1] - edge[0]
    length = np.hypot(*way)
    if length < 1e-9:
        return []
    a, b = ((outline[:, k] - start) @ np.array([way, (-way[1], way[0])]).T / length**2 for k in (0, 1))
    cross = (a[:, 1] > 0) != (b[:, 1] > 0)
    a, b = a[cross], b[cross]
    at = np.sort(a[:, 0] - a[:, 1] * (b[:, 0] - a[:, 0]) / (b[:, 1] - a[:, 1]))
    return start + np.clip(at, 0, 1).reshape(-1, 2, 1) * way


def test_cells_of_a_domain(cvtmesh):
    """The outline and what is between the cells, once."""
    words = "run", HORSE, "-n", 1500, "--iterations", 3, "--domain", "image", "--svg", "cells"
    cvtmesh.call(*words, "-o", "a.svg", "-o", "a.obj", "-o", "a.npy")
    report = cvtmesh.report(*words, "-o", "b.svg", "--page", "A4", "--margin", 0)
    vertices, triangles = read_obj(cvtmesh.path("a.obj"))
    vertices = np.array(vertices) * (1, -1) + (0, 328)
    halves = {pair for t in triangles for pair in zip(t, t[1:] + t[:1])}
    outline = np.array([vertices[[a, b]] for a, b in halves if (b, a) not in halves])
    between = sum(length_of(parts_inside(edge, outline)) for cell in cells_by_clipping(
        cvtmesh.array("a.npy"), (0, 0, 400, 328)) for edge in zip(cell, np.roll(cell, -1, 0))) / 2
    for name, scale in (("a.svg", 1), ("b.svg", report["page"]["mm_per_pixel"])):
        drawn = length_of(lines_of_svg(cvtmesh, name)) / scale
        assert drawn - between == pytest.approx(length_of(outline), rel=0.01)


def test_cells_of_a_torus(cvtmesh):
    """The picture cuts them; each line is drawn once."""
    cvtmesh.call(*SMALL, "--svg", "cells", "--periodic", "-o", "a.svg", "-o", "a.npy")
    cells = closed(cells_by_clipping(cvtmesh.array("a.npy"), (0, 0, 512, 512)))
    drawn = length_of(lines_of_svg(cvtmesh, "a.svg"))
    assert 2 * drawn == pytest.approx(length_of(cells) + 4 * 512, rel=1e-5)  # coordinates are rounded


# --- DXF ---


def read_dxf(data):
    """Layers with their colours, the header, and entities: (kind, layer, points, radius, closed)."""
    words = data.decode("ascii").splitlines()
    assert len(words) % 2 == 0
    groups = [(int(code), value.strip()) for code, value in zip(words[::2], words[1::2])]
    assert groups[-1] == (0, "EOF")
    layers, header, entities, section, variable = {}, {}, [], None, None
    for k, (code, value) in enumerate(groups):
        if (code, value) == (0, "SECTION"):
            section = groups[k + 1][1]
        elif section == "HEADER" and code == 9:
            variable = value
        elif section == "HEADER" and variable and code != 0:
            header.setdefault(variable, []).append(value)
        elif section == "TABLES" and (code, value) == (0, "LAYER"):
            layers[groups[k + 1][1]] = int(groups[k + 3][1])
        elif section == "ENTITIES" and code == 0 and value not in ("ENDSEC", "EOF"):
            entities.append([value, {}])
        elif section == "ENTITIES" and entities and code != 0:
            entities[-1][1][code] = value
    return layers, header, entities


def shapes(data, layer):
    """Circles as (x, y, r), lines as arrays; y is up."""
    circles, lines, current = [], [], None
    for kind, values in read_dxf(data)[2]:
        assert values[8] == layer
        point = [float(values[code]) for code in (10, 20)] if 10 in values else None
        if kind == "CIRCLE":
            circles.append((*point, float(values[40])))
        elif kind == "LINE":
            lines.append(np.array([point, [float(values[code]) for code in (11, 21)]]))
        elif kind == "POLYLINE":
            assert values[66] == "1"
            current, closed = [], values[70] == "1"
        elif kind == "VERTEX":
            current.append(point)
        else:
            assert kind == "SEQEND"
            lines.append(np.array(current + current[:1] if closed else current))
    return np.array(circles), lines


def test_dots_of_a_dxf(cvtmesh):
    cvtmesh.call(*SMALL, "--page", "A5", "-o", "a.dxf", "-o", "a.svg")
    layers, header, _ = read_dxf(cvtmesh.read("a.dxf"))
    assert layers == {"1_BLACK": 7}
    assert header["$ACADVER"] == ["AC1009"] and header["$INSUNITS"] == ["4"]
    assert [float(n) for n in header["$EXTMAX"]] == [148, 210]
    circles, lines = shapes(cvtmesh.read("a.dxf"), "1_BLACK")
    dots = dots_of_svg(cvtmesh, "a.svg")
    dots[:, 1] = 210 - dots[:, 1]
    np.testing.assert_allclose(circles, dots, atol=0.0011)
    assert not lines


def test_a_dxf_without_a_page_is_in_pixels(cvtmesh):
    cvtmesh.call(*SMALL, "-o", "a.dxf", "-o", "a.csv")
    assert read_dxf(cvtmesh.read("a.dxf"))[1]["$INSUNITS"] == ["0"]
    points = np.loadtxt(cvtmesh.path("a.csv"), delimiter=",", skiprows=1)
    circles, _ = shapes(cvtmesh.read("a.dxf"), "1_BLACK")
    np.testing.assert_allclose(circles[:, 0], points[:, 0], atol=6e-4)
    np.testing.assert_allclose(circles[:, 1], 512 - points[:, 1], atol=6e-4)


def test_lines_of_a_dxf(cvtmesh):
    """A closed path, a path in parts, and a mesh: each part is a layer."""
    cvtmesh.call(*SMALL, "--page", "A5", "--order", "tsp", "-o", "a.dxf", "-o", "a.npy", "--unit", "mm")
    _, lines = shapes(cvtmesh.read("a.dxf"), "1_BLACK")
    points = cvtmesh.array("a.npy")
    closed = np.vstack([points, points[:1]])
    np.testing.assert_allclose(lines[0], np.column_stack([closed[:, 0], 210 - closed[:, 1]]), atol=6e-4)
    assert len(lines) == 1
    cvtmesh.call(*SMALL, "--page", "A5", "--order", "tsp", "--split", 500, "-o", "a.dxf")
    layers, _, _ = read_dxf(cvtmesh.read("a.dxf"))
    assert list(layers) == [f"{k + 1}_BLACK" for k in range(len(layers))] and len(layers) > 3
    cvtmesh.call("mesh", "a.npy", "--page", "A5", "-o", "m.dxf", "-o", "m.svg")
    _, lines = shapes(cvtmesh.read("m.dxf"), "1_BLACK")
    drawn = lines_of_svg(cvtmesh, "m.svg")
    assert length_of(lines) == pytest.approx(length_of(drawn), rel=1e-5)
    assert sum(map(len, lines)) == sum(map(len, drawn))


def test_info_names_the_formats(cvtmesh):
    info = cvtmesh.printed("info")
    assert set(info["drawing_formats"]) - {"pdf"} == {"svg", "dxf", "hpgl", "plt", "gcode", "nc"}
    assert ("pdf" in info["drawing_formats"]) == info["cairo"]
