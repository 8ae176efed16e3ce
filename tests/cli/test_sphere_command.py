"""cvtmesh sphere: the files as SciPy and NumPy read them, their cells against SciPy's, maps of every kind,
what is left out, and bad input."""

import json
import re

import numpy as np
import pytest
from scipy.io import netcdf_file
from scipy.spatial import SphericalVoronoi

from conftest import PROGRAM, catches_interrupts, output_of

RADIUS = 6371229.0
reads_netcdf = pytest.mark.skipif("NetCDF" not in output_of(PROGRAM, "info"), reason="a build without NetCDF")


def read(path):
    """Variables and attributes of a NetCDF file, connectivity as it stands."""
    with netcdf_file(path, mmap=False) as file:
        values = {name: v[()].copy() if v.shape == () else v[:].copy() for name, v in file.variables.items()}
        return values, dict(file._attributes), {name: v._attributes for name, v in file.variables.items()}


def grid(cvtmesh, *arguments):
    cvtmesh.call("sphere", *arguments, "-o", "grid.nc")
    return read(cvtmesh.path("grid.nc"))[0]


def points(g, kind):
    return np.stack([g[axis + kind] for axis in "xyz"], 1)


def a_map(rows=60, columns=120):
    """Pixels; widths in km between 500 and 1000."""
    latitude = (np.arange(rows) + 0.5) * 180 / rows - 90
    longitude = (np.arange(columns) + 0.5) * 360 / columns - 180
    near = np.exp(-((latitude[:, None] - 40)**2 + longitude**2) / 1500)
    return 1000 - 500 * near


def write_map(path, values, north_first=False, west=-180.0):
    rows, columns = values.shape
    with netcdf_file(path, "w") as file:
        for name, size, first in (("lat", rows, -90), ("lon", columns, west)):
            step = (180 if name == "lat" else 360) / size
            file.createDimension(name, size)
            at = first + step * (np.arange(size) + 0.5)
            file.createVariable(name, "d", (name,))[:] = at[::-1] if name == "lat" and north_first else at
        file.createVariable("cellWidth", "d", ("lat", "lon"))[:] = values[::-1] if north_first else values


def test_cells_are_those_of_scipy(cvtmesh):
    cvtmesh.file("w.npy", a_map())
    g = grid(cvtmesh, "w.npy", "-n", 600)
    assert len(g["xCell"]) == 600
    centres = points(g, "Cell") / RADIUS
    diagram = SphericalVoronoi(centres, threshold=1e-9)
    assert len(diagram.vertices) == len(g["xVertex"])
    diagram.sort_vertices_of_regions()
    assert np.allclose(diagram.calculate_areas() * RADIUS**2, g["areaCell"], rtol=1e-9)
    assert [len(region) for region in diagram.regions] == list(g["nEdgesOnCell"])
    corners = points(g, "Vertex") / RADIUS
    for cell, region in enumerate(diagram.regions):
        own = corners[g["verticesOnCell"][cell, :g["nEdgesOnCell"][cell]] - 1]
        distance = np.linalg.norm(own[:, None] - diagram.vertices[region], axis=2).min(1)
        assert distance.max() < 1e-9


def test_mpas_file(cvtmesh):
    cvtmesh.file("w.npy", a_map())
    cvtmesh.call("sphere", "w.npy", "-o", "grid.nc")
    g, attributes, _ = read(cvtmesh.path("grid.nc"))
    assert attributes["on_a_sphere"] == b"YES" and attributes["is_periodic"] == b"NO"
    assert attributes["sphere_radius"] == RADIUS and attributes["mesh_spec"] == b"1.0"
    assert re.fullmatch(b"[0-9a-z]{10}", attributes["file_id"])
    assert abs(g["areaTriangle"].sum() / (4 * np.pi * RADIUS**2) - 1) < 1e-13
    # Latitudes and longitudes are those of the points.
    for kind in ("Cell", "Edge", "Vertex"):
        lat, lon = g["lat" + kind], g["lon" + kind]
        assert lon.min() >= 0 and lon.max() < 2 * np.pi
        again = RADIUS * np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], 1)
        assert abs(again - points(g, kind)).max() < 1e-7
        assert (g[f"indexTo{kind}ID"] == np.arange(1, len(lat) + 1)).all()
    pair = points(g, "Cell")[g["cellsOnEdge"] - 1]
    chord = np.linalg.norm(pair[:, 1] - pair[:, 0], axis=1)
    assert np.allclose(2 * RADIUS * np.arcsin(chord / 2 / RADIUS), g["dcEdge"], rtol=1e-12)
    used = np.arange(g["edgesOnEdge"].shape[1]) < g["nEdgesOnEdge"][:, None]
    assert ((g["edgesOnEdge"] > 0) == used).all() and (g["weightsOnEdge"][~used] == 0).all()
    assert not g["boundaryVertex"].any() and not g["boundaryEdge"].any()
    # The density is width^-4; its largest value is 1.
    latitude = np.degrees(g["latCell"])
    near = np.exp(-((latitude - 40)**2 + ((np.degrees(g["lonCell"]) + 180) % 360 - 180)**2) / 1500)
    density = (1000 - 500 * near)**-4.0
    assert g["meshDensity"].max() == 1
    assert abs(g["meshDensity"] - density / density.max()).max() < 0.03  # the map has steps of 3 degrees


def test_spacings_follow_the_map(cvtmesh):
    """From the middle of the fine part to the other side."""
    cvtmesh.file("w.npy", a_map())
    g = grid(cvtmesh, "w.npy")
    spacing = np.sqrt(2 / np.sqrt(3) * g["areaCell"]) / 1000
    longitude = (np.degrees(g["lonCell"]) + 180) % 360 - 180
    wanted = 1000 - 500 * np.exp(-((np.degrees(g["latCell"]) - 40)**2 + longitude**2) / 1500)
    assert np.median(abs(spacing / wanted - 1)) < 0.05
    assert np.quantile(abs(spacing / wanted - 1), 0.99) < 0.2


def test_ugrid_file(cvtmesh):
    cvtmesh.call("sphere", "1500", "-o", "a.ugrid.nc", "-o", "grid.nc")
    u, attributes, notes = read(cvtmesh.path("a.ugrid.nc"))
    g = read(cvtmesh.path("grid.nc"))[0]
    assert b"UGRID-1.0" in attributes["Conventions"]
    mesh = notes["mesh"]
    assert mesh["cf_role"] == b"mesh_topology" and mesh["topology_dimension"] == 2
    for key, name in mesh.items():
        if key.endswith("_connectivity"):
            assert notes[name.decode()]["cf_role"] == key.encode() and notes[name.decode()]["start_index"] == 0
        elif key.endswith("_coordinates"):
            assert all(part in u for part in name.decode().split())
    assert np.allclose(np.radians(u["face_lat"]), g["latCell"])
    assert (u["face_nodes"] + 1 == g["verticesOnCell"]).all()
    assert (u["edge_nodes"] + 1 == g["verticesOnEdge"]).all()
    assert notes["face_nodes"]["_FillValue"] == -1


def test_other_files(cvtmesh):
    import meshio  # pylint: disable=import-outside-toplevel
    names = ("graph.info", "cells.vtu", "cells.obj", "globe.png", "grid.nc")
    cvtmesh.call("sphere", "300", "--radius", 1000, *[word for name in names for word in ("-o", name)])
    g = read(cvtmesh.path("grid.nc"))[0]
    lines = cvtmesh.path("graph.info").read_text().splitlines()
    assert lines[0] == f"{len(g['xCell'])} {len(g['xEdge'])}"
    for cell, line in enumerate(lines[1:]):
        assert sorted(map(int, line.split())) == sorted(g["cellsOnCell"][cell, :g["nEdgesOnCell"][cell]])
    vtu = meshio.read(cvtmesh.path("cells.vtu"))
    assert np.allclose(vtu.points, points(g, "Vertex"))
    assert sum(len(block.data) for block in vtu.cells) == len(g["xCell"])
    faces = [line for line in cvtmesh.path("cells.obj").read_text().splitlines() if line[0] == "f"]
    assert [len(line.split()) - 1 for line in faces] == list(g["nEdgesOnCell"])
    from PIL import Image  # pylint: disable=import-outside-toplevel
    picture = np.asarray(Image.open(cvtmesh.path("globe.png")))
    assert picture.shape == (2000, 2000, 3)
    red = (picture[..., 0] > 200) & (picture[..., 1] < 100)
    assert red.any() and (picture[0, 0] == 255).all()
    cvtmesh.call("sphere", "300", "--radius", 1000, "--view", "120,-20", "-o", "other.png")
    other = np.asarray(Image.open(cvtmesh.path("other.png")))  # the halves change places
    swapped = np.roll(picture, 1000, 1)
    assert (other[:1000] != swapped[:1000]).mean() < 1e-3 < (picture[:1000] != swapped[:1000]).mean()
    cvtmesh.refused("sphere", "300", "--view", "0,91", "-o", "other.png", code=2, names=["--view"])


def test_an_interrupt_writes_the_sites_so_far(cvtmesh):
    cvtmesh.interrupted("sphere", 200, "-n", 20000, "--iterations", 10**8, "-o", "a.nc", when=catches_interrupts)
    with netcdf_file(cvtmesh.path("a.nc"), mmap=False) as file:
        assert file.dimensions["nCells"] > 10000


def test_a_file_that_cannot_be_written_is_found_first(cvtmesh):
    cvtmesh.file("bad.npy", np.zeros((2, 4)))
    cvtmesh.refused("sphere", "bad.npy", "-o", "absent/a.nc", code=1, names=["absent/a.nc"])


def test_even_widths(cvtmesh):
    """For any number of cells that a width gives, with --report and options of the computation."""
    for width in (400, 1234):
        report = cvtmesh.report("sphere", width, "--iterations", 10, "--threads", 1, "--time-limit", 60, "-v")
        assert report["quality"]["degrees"][5:7] == [12, report["cells"] - 12]
        assert report["quality"]["obtuse"] == 0 and report["quality"]["min_angle"] > 50
        assert abs(report["cells"] * np.sqrt(3) / 2 * width**2 / (4 * np.pi * 6371.229**2) - 1) < 0.15


@reads_netcdf
def test_maps_of_every_kind_are_one(cvtmesh):
    """Pixels as NPY and NetCDF, from the south and from the north, from any meridian; and nodes."""
    values = a_map().round(3)
    cvtmesh.file("w.npy", values)
    write_map(cvtmesh.path("w.nc"), values)
    write_map(cvtmesh.path("north.nc"), values, north_first=True)
    write_map(cvtmesh.path("east.nc"), np.roll(values, -60, 1), west=0.0)
    outputs = []
    for name in ("w.npy", "w.nc", "north.nc", "east.nc"):
        cvtmesh.call("sphere", name, "-n", 300, "--iterations", 5, "-o", "grid.obj")
        outputs.append(cvtmesh.read("grid.obj"))
    assert outputs[0] == outputs[1] == outputs[2]
    cells = {len(re.findall(b"^f ", output, re.M)) for output in outputs}
    assert cells == {300}
    nodes = np.full((19, 37), 1200.0)
    cvtmesh.file("nodes.npy", nodes)
    count = cvtmesh.report("sphere", "nodes.npy")["cells"]
    assert abs(count * np.sqrt(3) / 2 * 1200**2 / (4 * np.pi * 6371.229**2) - 1) < 0.02


def test_seed_and_threads(cvtmesh):
    cvtmesh.file("w.npy", a_map())
    files = []
    for more in ((), ("--threads", 1), ("--seed", 2)):
        cvtmesh.call("sphere", "w.npy", *more, "-o", "grid.nc")
        files.append(cvtmesh.read("grid.nc"))
    assert files[0] == files[1] and len(set(files)) == 2


def test_mask_region_and_fixed(cvtmesh):
    cvtmesh.file("w.npy", np.full((20, 40), 800.0))
    land = np.zeros((180, 360))
    land[100:, 90:200] = 1
    cvtmesh.file("land.npy", land)
    cvtmesh.file("stations.csv", "x,y\n10,50\n-120,-30\n")
    whole = grid(cvtmesh, "w.npy", "--fixed", "stations.csv")
    for k, (lon, lat) in enumerate(((10, 50), (-120, -30))):
        assert abs(np.degrees(whole["latCell"][k]) - lat) < 1e-12
        assert abs(np.degrees(whole["lonCell"][k]) - lon % 360) < 1e-12
    lat, lon = np.degrees(whole["latCell"]), np.degrees(whole["lonCell"])
    sea = grid(cvtmesh, "w.npy", "--fixed", "stations.csv", "--mask", "land.npy")
    on_land = (lat >= 10) & ((lon + 180) % 360 >= 90) & ((lon + 180) % 360 < 200)
    assert set(sea["cellParent"] - 1) == set(np.flatnonzero(~on_land))
    lonely = (sea["cellsOnEdge"] == 0).any(1)
    assert (sea["boundaryEdge"] == lonely).all() and lonely.any()
    assert (sea["boundaryVertex"] == (sea["cellsOnVertex"] == 0).any(1)).all()
    cap = grid(cvtmesh, "w.npy", "--fixed", "stations.csv", "--region", "170,20,40")
    centre = np.radians([170, 20])
    cosine = (np.sin(centre[1]) * np.sin(whole["latCell"]) +
              np.cos(centre[1]) * np.cos(whole["latCell"]) * np.cos(whole["lonCell"] - centre[0]))
    zone = cap["bdyMaskCell"]
    assert set(cap["cellParent"][zone == 0] - 1) == set(np.flatnonzero(cosine >= np.cos(np.radians(40))))
    # Seven rings of cells around the region: beside a cell of ring k the smallest ring is k - 1.
    beside = np.where(cap["cellsOnCell"] > 0, zone[cap["cellsOnCell"] - 1], 8).min(1)
    assert set(zone) == set(range(8)) and (beside[zone > 0] == zone[zone > 0] - 1).all()
    assert (zone[(cap["cellsOnCell"] == 0)[:, :5].any(1)] == 7).all()
    assert "bdyMaskCell" not in whole


def test_polygons(cvtmesh):
    """A rectangle across the date line with a hole, beside a second one."""
    def ring(west, south, east, north):
        return [[west, south], [east, south], [east, north], [west, north], [west, south]]

    rings = [[ring(150, -40, 230, 50), ring(170, -10, 200, 20)], [ring(-60, 60, 20, 90)]]
    cvtmesh.file("land.geojson", json.dumps({"type": "MultiPolygon", "coordinates": rings}))
    whole = grid(cvtmesh, "700")
    lat, lon = np.degrees(whole["latCell"]), np.degrees(whole["lonCell"])

    def inside(west, south, east, north):
        return (lat > south) & (lat < north) & ((lon - west) % 360 < east - west)

    land = inside(150, -40, 230, 50) & ~inside(170, -10, 200, 20) | inside(-60, 60, 20, 90)
    assert 50 < land.sum() < len(land) / 2
    sea = grid(cvtmesh, "700", "--mask", "land.geojson")["cellParent"] - 1
    assert set(sea) == set(np.flatnonzero(~land))
    kept = grid(cvtmesh, "700", "--region", "land.geojson")
    assert set(kept["cellParent"][kept["bdyMaskCell"] == 0] - 1) == set(np.flatnonzero(land))
    for option in "--mask", "--region":
        cvtmesh.file("bad.geojson", '{"type": "Polygon", "coordinates": [[[0, 0], [1, "a"]]]}')
        cvtmesh.refused("sphere", "700", option, "bad.geojson", "-o", "grid.nc", code=3, names=["bad.geojson"])
        cvtmesh.refused("sphere", "700", option, "no.geojson", "-o", "grid.nc", code=3, names=["no.geojson"])


def test_pictures(cvtmesh):
    """North is at the top: PFM has the widths, PGM greys between two widths."""
    greys = np.round(255 * (a_map() - 500) / 500).astype(np.uint8)
    widths = (500 + 500 / 255 * greys).astype("<f4")
    cvtmesh.file("w.npy", widths)
    cvtmesh.file("w.pfm", b"Pf 120 60 -1\n" + widths.tobytes())
    cvtmesh.file("w.pgm", b"P5 120 60 255\n" + greys[::-1].tobytes())
    words = "--iterations", 2
    wanted = grid(cvtmesh, "w.npy", *words)
    assert np.array_equal(grid(cvtmesh, "w.pfm", *words)["latCell"], wanted["latCell"])
    found = grid(cvtmesh, "w.pgm", "--picture-widths", "500,1000", *words)
    assert np.allclose(found["latCell"], wanted["latCell"], atol=1e-3)
    cvtmesh.file("land.pgm", b"P5 120 60 1\n" + np.repeat([1, 0], 3600).astype(np.uint8).tobytes())
    assert grid(cvtmesh, "w.npy", "--mask", "land.pgm", *words)["latCell"].max() < 0.03
    cvtmesh.refused("sphere", "w.pgm", "-o", "grid.nc", code=3, names=["w.pgm", "--picture-widths"])
    cvtmesh.refused("sphere", "w.pgm", "--picture-widths", 5, "-o", "grid.nc", code=2, names=["--picture-widths"])


def test_grade(cvtmesh):
    """A step from 500 to 2000 km becomes a slope."""
    values = np.full((60, 120), 2000.0)
    values[45:] = 500
    cvtmesh.file("w.npy", values)
    cells = [cvtmesh.report("sphere", "w.npy", "--iterations", 0, "--grade", grade)["cells"] for grade in (5, 0.3, 0.1)]
    assert cells[0] < 0.95 * cells[1] < 0.9 * cells[2]


@pytest.mark.parametrize("change, says", [
    (lambda w: np.where(w > 990, np.nan, w), "width"), (lambda w: np.where(w > 990, 0, w), "width"),
    (lambda w: -w, "width"), (lambda w: np.full_like(w, np.inf), "width"), (lambda w: w[:, 0], "latitudes"),
    (lambda w: w[None], "latitudes"), (lambda w: w[:1], "latitudes"), (lambda w: w * 1e-4, "cells"),
])
def test_bad_maps(cvtmesh, change, says):
    cvtmesh.file("bad.npy", np.ascontiguousarray(change(a_map())))
    cvtmesh.refused("sphere", "bad.npy", "-o", "grid.nc", code=3, names=["bad.npy", says])


@reads_netcdf
def test_bad_input(cvtmesh):
    cvtmesh.file("w.npy", a_map())
    cvtmesh.file("text.nc", "no NetCDF\n")
    cvtmesh.file("half.npy", a_map()[:, :3])
    write_map(cvtmesh.path("part.nc"), a_map())
    with netcdf_file(cvtmesh.path("part.nc"), "a") as file:
        file.variables["lat"][:] *= 0.4
    cvtmesh.refused("sphere", "none.npy", "-o", "grid.nc", code=3, names=["none.npy"])
    cvtmesh.refused("sphere", "none.nc", "-o", "grid.nc", code=3, names=["none.nc"])
    with netcdf_file(cvtmesh.path("huge.nc"), "w") as file:  # a header alone
        for name, size in (("lat", 9), ("lon", 18)):
            file.createDimension(name, size)
            file.createVariable(name, "d", (name,))[:] = np.linspace(-80, 80, size) * (1 + (size > 9))
        file.createVariable("w", "d", ("lat", "lon"))
    cut = cvtmesh.read("huge.nc")[:-600]
    cvtmesh.file("cut.nc", cut)
    cvtmesh.refused("sphere", "cut.nc", "-o", "grid.nc", code=3, names=["cut.nc"])
    cvtmesh.refused("sphere", "text.nc", "-o", "grid.nc", code=3, names=["text.nc"])
    cvtmesh.refused("sphere", "half.npy", "-o", "grid.nc", code=3, names=["half.npy"])
    cvtmesh.refused("sphere", "part.nc", "-o", "grid.nc", code=3, names=["part.nc", "globe"])
    cvtmesh.refused("sphere", "w.jpg", "-o", "grid.nc", code=3, names=["w.jpg"])
    for width in ("0", "-5", "nan", "20000", "0.01"):
        cvtmesh.refused("sphere", "-o", "grid.nc", "--", width, code=3, names=[width])
    cvtmesh.refused("sphere", "w.npy", "-o", "folder/grid.nc", code=1, names=["folder/grid.nc"])
    cvtmesh.refused("sphere", "w.npy", "-o", "grid.msh", code=2, names=["grid.msh", "nc info vtu obj png"])
    cvtmesh.refused("sphere", "w.npy", code=2, names=["--output"])
    for region in ("1,2", "0,95,10", "0,0,0", "a,b,c"):
        cvtmesh.refused("sphere", "w.npy", "--region", region, "-o", "grid.nc", code=2, names=["--region"])
    cvtmesh.file("all.npy", np.ones((10, 20)))
    cvtmesh.refused("sphere", "w.npy", "--mask", "all.npy", "-o", "grid.nc", code=3, names=["mask"])
    cvtmesh.refused("sphere", "w.npy", "--mask", "no.npy", "-o", "grid.nc", code=3, names=["no.npy"])
    cvtmesh.refused("sphere", "w.npy", "--fixed", "no.csv", "-o", "grid.nc", code=3, names=["no.csv"])
    cvtmesh.file("twice.csv", "x,y\n10,50\n10,50\n")
    cvtmesh.refused("sphere", "w.npy", "--fixed", "twice.csv", "-o", "grid.nc", code=3, names=["point 2"])
    cvtmesh.file("beyond.csv", "x,y\n10,95\n")
    cvtmesh.refused("sphere", "w.npy", "--fixed", "beyond.csv", "-o", "grid.nc", code=3, names=["beyond.csv"])
