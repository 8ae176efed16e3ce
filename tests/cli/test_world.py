"""--pixel-size and --origin: sizes of the world in every file, and what pictures say of theirs."""

import subprocess

import meshio
import numpy as np
import pytest

from conftest import output_of, read_obj

Image = pytest.importorskip("PIL.Image")
from PIL.TiffImagePlugin import ImageFileDirectory_v2, IFDRational  # noqa: E402

SHORT, DOUBLE = 3, 12
MESHES = ("obj", "off", "ply", "stl", "vtk", "vtu", "msh", "inp")
WIDTH, HEIGHT = 48, 36
SCALE, LEFT, BOTTOM = 0.65, 1000.25, -30.5
WORLD = ("--pixel-size", "0.65um", "--origin", "1000.25,-30.5")


@pytest.fixture
def picture(cvtmesh):
    x, y = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    grey = (40 + 3 * x + 2 * y).astype(np.uint8)
    image = Image.fromarray(grey)
    image.save(cvtmesh.path("plain.png"))
    return image


def run(cvtmesh, name, *more):
    return cvtmesh.report("run", name, "-n", 90, "--iterations", 4, *more)


def vertices_of(cvtmesh, extension, name="w"):
    path = cvtmesh.path(f"{name}.{extension}")
    if extension == "obj":
        return read_obj(path)[0]
    return meshio.read(path).points[:, :2]


def test_every_file_has_the_same_place(cvtmesh, picture):
    outputs = [f"w.{extension}" for extension in (*MESHES, "csv", "npy", "xyz", "svg", "pdf", "dxf")]
    if not cvtmesh.printed("info").get("pdf", True):
        outputs.remove("w.pdf")
    run(cvtmesh, "plain.png", "-o", "p.npy")
    report = run(cvtmesh, "plain.png", *WORLD, *(word for name in outputs for word in ("-o", name)))
    pixels = cvtmesh.array("p.npy")
    want = np.column_stack([LEFT + SCALE * pixels[:, 0], BOTTOM + SCALE * (HEIGHT - pixels[:, 1])])
    np.testing.assert_array_equal(cvtmesh.array("w.npy"), want)
    np.testing.assert_array_equal(np.loadtxt(cvtmesh.path("w.csv"), delimiter=",", skiprows=1), want)
    np.testing.assert_array_equal(np.loadtxt(cvtmesh.path("w.xyz"))[:, :2], want)
    for extension in MESHES:
        found = vertices_of(cvtmesh, extension)
        if extension == "stl":  # in single precision, in no order
            found, want_here = np.sort(found, axis=0), np.sort(want, axis=0)
            np.testing.assert_allclose(found[[0, -1]], want_here[[0, -1]], rtol=1e-6)
        else:
            np.testing.assert_allclose(found, want, atol=SCALE * 1e-6)  # vertices lie on a grid
    world = report["world"]
    assert world["unit"] == "um" and world["pixel_size"] == SCALE
    assert world["origin"] == [LEFT, BOTTOM]
    assert world["width"] == SCALE * WIDTH and world["height"] == SCALE * HEIGHT
    corners = vertices_of(cvtmesh, "msh")[meshio.read(cvtmesh.path("w.msh")).cells_dict["triangle"]]
    sides = np.roll(corners, -1, axis=1) - corners
    length = np.hypot(sides[..., 0], sides[..., 1])
    area = abs(np.cross(sides[:, 0], sides[:, 1])).sum() / 2
    for key, value in (("mesh_area", area), ("mean_triangle_area", area / len(corners)),
                       ("shortest_edge", length.min()), ("longest_edge", length.max()),
                       ("mean_edge", length.mean())):
        assert world[key] == pytest.approx(value, rel=1e-6), key


def test_drawings_have_real_sizes(cvtmesh, picture):
    run(cvtmesh, "plain.png", "--pixel-size", "2mm", "-o", "a.svg", "-o", "a.dxf", "-o", "a.nc", "-o",
        "a.npy")
    svg = cvtmesh.read("a.svg").decode()
    sides = 2 * WIDTH, 2 * HEIGHT  # of a drawing by a pen, as beside G-code
    assert 'width="%smm" height="%smm"' % sides in svg and 'viewBox="0 0 %s %s"' % sides in svg
    run(cvtmesh, "plain.png", "--pixel-size", "2mm", "-o", "b.svg")
    svg = cvtmesh.read("b.svg").decode()
    assert f'width="{2 * WIDTH}mm" height="{2 * HEIGHT}mm" viewBox="0 0 {WIDTH} {HEIGHT}"' in svg
    dots = cvtmesh.array("a.npy")
    moves = [line.split() for line in cvtmesh.read("a.nc").decode().splitlines()
             if line.startswith("G0 X")]
    places = np.array([[float(word[1:]) for word in words[1:3]] for words in moves])
    nearest = np.hypot(*(places[:, None] - dots[None]).transpose(2, 0, 1)).min(axis=0)
    assert nearest.max() < 0.01  # mm: three decimals
    lines = cvtmesh.read("a.dxf").decode().split("\n")
    x = [float(lines[k + 1]) for k, line in enumerate(lines[:-1]) if line.strip() == "10"]
    assert 0 <= min(x) and WIDTH < max(x) <= 2 * WIDTH
    cvtmesh.refused("run", "plain.png", "-n", 9, "--pixel-size", 2, "-o", "b.nc", code=2,
                    names=["b.nc", "--page"])


def test_units_of_files(cvtmesh, picture):
    """--unit converts; without a unit of the size files have the unit of the size."""
    run(cvtmesh, "plain.png", "-o", "p.npy")
    pixels = cvtmesh.array("p.npy")
    for size, unit, scale in (("0.65um", "nm", 650), ("2in", "mm", 50.8), ("1ft", "m", 0.3048),
                              ("3", None, 3), ("0.5,0.5cm", None, 0.5), ("2µm", None, 2)):
        more = ["--unit", unit] if unit else []
        report = run(cvtmesh, "plain.png", "--pixel-size", size, *more, "-o", "w.npy")
        np.testing.assert_allclose(cvtmesh.array("w.npy")[:, 0], scale * pixels[:, 0], rtol=1e-14)
        assert report["world"]["pixel_size"] == pytest.approx(scale, rel=1e-14)
    run(cvtmesh, "plain.png", "--pixel-size", "1um", "--origin", "1,2mm", "-o", "w.npy")
    np.testing.assert_allclose(cvtmesh.array("w.npy")[:, 0], 1000 + pixels[:, 0], rtol=1e-14)


def test_mesh_and_stats(cvtmesh, picture):
    run(cvtmesh, "plain.png", "-o", "p.npy", "-o", "p.obj")
    size = ("--width", WIDTH, "--height", HEIGHT)
    report = cvtmesh.report("mesh", "p.npy", *size, *WORLD, "-o", "w.obj", "-o", "w.csv")
    assert report["world"]["unit"] == "um"
    wanted = cvtmesh.printed("stats", "p.obj", *size)
    for name in ("w.obj", "w.csv"):
        found = cvtmesh.printed("stats", name, *size, *WORLD)
        assert found["quality"] == pytest.approx(wanted["quality"], rel=1e-5)
        assert found["world"]["mesh_area"] == pytest.approx(report["world"]["mesh_area"], rel=1e-6)
    cvtmesh.refused("stats", "w.csv", *WORLD, code=3, names=["w.csv", "--width"])
    cvtmesh.refused("stats", "w.obj", *WORLD, code=3, names=["w.obj", "--width"])


def test_sizes_of_dots(cvtmesh, picture):
    """0.001 mm is 2 pixels of 0.5 um."""
    run(cvtmesh, "plain.png", "--dot-size", "2px", "-o", "a.svg")
    run(cvtmesh, "plain.png", "--dot-size", "0.001mm", "--pixel-size", "0.5um", "-o", "b.svg")
    circles = [line for line in cvtmesh.read("a.svg").decode().splitlines() if "circle" in line]
    assert len(circles) == 90
    assert circles == [line for line in cvtmesh.read("b.svg").decode().splitlines() if "circle" in line]


def test_gmsh_reads_the_coordinates(cvtmesh, picture):
    Image.new("L", (WIDTH, HEIGHT), 255).save(cvtmesh.path("white.png"))
    cvtmesh.call("run", "plain.png", "-n", 900, "--iterations", 4, "--domain",
                 "mask=white.png", *WORLD, "-o", "w.msh", "-o", "w.node")
    geo = f'Merge "{cvtmesh.path("w.msh")}"; Printf("corners %.17g %.17g %.17g %.17g", ' \
          'General.MinX, General.MinY, General.MaxX, General.MaxY);\n'
    path = cvtmesh.file("w.geo", geo)
    said = output_of("gmsh", "-", str(path), stderr=subprocess.STDOUT)
    assert "corners " in said, said
    found = [float(word) for word in said.split("corners ")[1].split()[:4]]
    want = [LEFT, BOTTOM, LEFT + SCALE * WIDTH, BOTTOM + SCALE * HEIGHT]
    np.testing.assert_allclose(found, want, atol=1e-6)
    nodes = np.loadtxt(cvtmesh.path("w.node"), skiprows=1, comments="#")[:, 1:3]
    np.testing.assert_allclose([*nodes.min(axis=0), *nodes.max(axis=0)], want, atol=1e-6)


# --- What the picture's file says ---


def world_of(cvtmesh, name, *more):
    return run(cvtmesh, name, "--pixel-size", "file", *more, "-o", "w.npy")["world"]


@pytest.mark.parametrize("kind", ["png", "jpeg", "tiff"])
def test_resolution(cvtmesh, picture, kind):
    picture.save(cvtmesh.path("r." + kind), dpi=(300, 300))
    world = world_of(cvtmesh, "r." + kind)
    assert world["unit"] == "mm" and world["origin"] == [0, 0]
    assert world["pixel_size"] == pytest.approx(25.4 / 300, rel=1e-5)  # PNG: whole pixels a metre
    plain = run(cvtmesh, "r." + kind, "-o", "plain.npy")
    assert "world" not in plain  # not without being asked
    assert cvtmesh.array("plain.npy").max() > 10
    inches = world_of(cvtmesh, "r." + kind, "--unit", "in", "--origin", "1,2")
    assert inches["pixel_size"] == pytest.approx(1 / 300, rel=1e-5)
    assert inches["origin"] == [1, 2] and inches["unit"] == "in"


def save_tiff(cvtmesh, picture, tags):
    """tags: number: (type, values)."""
    info = ImageFileDirectory_v2()
    for number, (kind, values) in tags.items():
        info.tagtype[number] = kind
        info[number] = values
    picture.save(cvtmesh.path("t.tif"), tiffinfo=info)


TEXT, RATIONAL = 2, 5


@pytest.mark.parametrize("unit, name", [("micron", "um"), ("\\u00B5m", "um"), ("nm", "nm"),
                                        ("inch", "in")])
def test_imagej(cvtmesh, picture, unit, name):
    save_tiff(cvtmesh, picture, {
        270: (TEXT, f"ImageJ=1.53t\nimages=1\nunit={unit}\nmin=0.0\n"),
        282: (RATIONAL, IFDRational(8, 5)), 283: (RATIONAL, IFDRational(8, 5)), 296: (SHORT, 1)
    })
    world = world_of(cvtmesh, "t.tif")
    assert world["unit"] == name
    assert world["pixel_size"] == pytest.approx(0.625, rel=1e-6)


def test_ome(cvtmesh, picture):
    text = '<?xml version="1.0"?><OME><Image><Pixels PhysicalSizeX="{}" PhysicalSizeXUnit="nm" ' \
           'PhysicalSizeY="{}" PhysicalSizeYUnit="nm" SizeX="48"/></Image></OME>'
    save_tiff(cvtmesh, picture, {270: (TEXT, text.format(325, 325))})
    world = world_of(cvtmesh, "t.tif")
    assert (world["pixel_size"], world["unit"]) == (325, "nm")
    save_tiff(cvtmesh, picture, {270: (TEXT, text.format(0.5, 0.25).replace(' PhysicalSizeXUnit="nm"', ""))})
    cvtmesh.refused("run", "t.tif", "-n", 9, "--pixel-size", "file", "-o", "x.npy", code=3,
                    names=["t.tif", "--pixel-size"])


GEO = {33550: (DOUBLE, (2.5, 2.5, 0.0)), 33922: (DOUBLE, (0.0, 0.0, 0.0, 448000.5, 5412345.0, 0.0))}


@pytest.mark.parametrize("keys, unit, shift", [((1024, 1), "m", 0), ((1024, 2), None, 0),
                                               ((3076, 9002), "ft", 0), ((1025, 2), None, 1.25)])
def test_geotiff(cvtmesh, picture, keys, unit, shift):
    directory = (1, 1, 0, 1, keys[0], 0, 1, keys[1])
    save_tiff(cvtmesh, picture, {**GEO, 34735: (SHORT, directory)})
    world = world_of(cvtmesh, "t.tif")
    assert world["pixel_size"] == 2.5 and world["unit"] == unit
    assert world["origin"] == [448000.5 - shift, 5412345 + shift - 2.5 * HEIGHT]
    points = cvtmesh.array("w.npy")
    assert points[:, 0].min() > 448000 - shift and points[:, 1].max() < 5412345 + shift
    if unit is None:
        cvtmesh.refused("run", "t.tif", "-n", 9, "--pixel-size", "file", "--unit", "mm", "-o", "x.npy",
                        code=3, names=["t.tif", "--unit mm"])


def test_turned_pictures(cvtmesh, picture):
    """The origin of a picture that is turned is not known, and its pixel is turned, too."""
    save_tiff(cvtmesh, picture, {**GEO, 274: (SHORT, 6)})
    assert world_of(cvtmesh, "t.tif")["origin"] == [0, 0]


# --- Refused ---


def test_refused(cvtmesh, picture):
    first = "run", "plain.png", "-n", 9, "-o", "x.npy"
    for more, names in ((("--origin", "1,2"), ["--origin", "--pixel-size"]),
                        (("--pixel-size", "0"), ["--pixel-size", "'0'"]),
                        (("--pixel-size", "-1mm"), ["'-1mm'"]),
                        (("--pixel-size", "1mile"), ["'1mile'"]),
                        (("--pixel-size", "1px"), ["'1px'"]),
                        (("--pixel-size", "1,2um"), ["1,2um", "square"]),
                        (("--pixel-size", "1um", "--origin", "4"), ["--origin", "'4'"]),
                        (("--pixel-size", "1um", "--unit", "width"), ["--unit width"]),
                        (("--pixel-size", "1", "--unit", "mm"), ["--unit mm", "no unit"])):
        cvtmesh.refused(*first, *more, code=2, names=names)
    cvtmesh.refused(*first, "--pixel-size", "file", code=3, names=["plain.png", "--pixel-size"])
    picture.save(cvtmesh.path("fax.png"), dpi=(200, 100))
    cvtmesh.refused("run", "fax.png", "-n", 9, "-o", "x.npy", "--pixel-size", "file", code=3,
                    names=["fax.png", "square"])
    run(cvtmesh, "plain.png", "-o", "p.npy")
    cvtmesh.refused("mesh", "p.npy", "-o", "x.obj", "--pixel-size", "file", code=2,
                    names=["--pixel-size file"])
