"""Limits: of time, of the threads' waiting, of the number of sites."""

import os
import struct
import subprocess
import zlib

import numpy as np
import PIL.Image
import pytest

from conftest import EXAMPLES, PROGRAM, png_bytes


def openmp_settings(**chosen):
    """The settings that the OpenMP runtime shows; those of the program's last start."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")}
    environment.update(OMP_NUM_THREADS="2", OMP_DISPLAY_ENV="verbose", KMP_SETTINGS="1")
    environment.update(chosen)
    done = subprocess.run([PROGRAM, "info"], env=environment, capture_output=True, check=True)
    shown = (done.stdout + done.stderr).decode()
    settings = {}
    for line in shown.splitlines():
        name, equals, value = line.replace("[host] ", "").strip().partition("=")
        if equals:
            settings[name.strip()] = value.strip().strip("'")
    return settings


def test_threads_that_wait_soon_sleep():
    settings = openmp_settings()
    if "GOMP_SPINCOUNT" in settings:
        assert settings["GOMP_SPINCOUNT"] == "1000"
    else:
        assert settings["KMP_BLOCKTIME"].startswith("0")


def test_a_single_thread_needs_no_limit():
    settings = openmp_settings(OMP_NUM_THREADS="1")
    assert settings.get("GOMP_SPINCOUNT") != "1000"


@pytest.mark.parametrize("name, value", [("OMP_WAIT_POLICY", "ACTIVE"), ("GOMP_SPINCOUNT", "7")])
def test_the_users_choice_of_waiting_stands(name, value):
    settings = openmp_settings(**{name: value})
    if "GOMP_SPINCOUNT" not in settings:
        pytest.skip("not libgomp")
    assert settings[name] == value
    assert settings["GOMP_SPINCOUNT"] != "1000"


def edges_over_sizes(path, sizes):
    """The lengths of a mesh's edges (OBJ, y up) over the sizes at their middles."""
    points, edges = [], set()
    for line in path.read_text().splitlines():
        kind, *rest = line.split() or [""]
        if kind == "v":
            points.append([float(value) for value in rest[:2]])
        elif kind == "f":
            corners = [int(value.split("/")[0]) - 1 for value in rest]
            edges.update(tuple(sorted(pair)) for pair in zip(corners, corners[1:] + corners[:1]))
    points = np.array(points)
    a, b = points[[i for i, _ in edges]], points[[j for _, j in edges]]
    column, row = ((a + b) / 2 + [0, -sizes.shape[0]]).T * [[1], [-1]]
    there = sizes[row.clip(0, sizes.shape[0] - 1).astype(int),
                  column.clip(0, sizes.shape[1] - 1).astype(int)]
    return np.hypot(*(a - b).T) / there


CONSTANT = np.full((180, 220), 7.0)
GRADED = np.broadcast_to(np.linspace(4, 12, 220), (180, 220)).copy()


@pytest.mark.parametrize("sizes", [CONSTANT, GRADED], ids=["constant", "graded"])
@pytest.mark.parametrize("options", [[], ["--periodic"], ["--equal-mass"]],
                         ids=["plain", "periodic", "equal mass"])
def test_sizes_are_spacings_in_pixels(cvtmesh, sizes, options):
    cvtmesh.file("sizes.npy", sizes)
    report = cvtmesh.report("run", "sizes.npy", "--density-from", "size", "--domain", "none", "-o",
                            "mesh.obj", *options)
    ratios = edges_over_sizes(cvtmesh.path("mesh.obj"), sizes)
    assert abs(np.median(ratios) - 1) < 0.03
    hexagons = 2 / np.sqrt(3) * np.sum(sizes ** -2.0)
    assert abs(report["sites"] - hexagons) <= 1
    assert report["sites_asked"] == report["sites"]
    assert report["options"]["points"] == report["sites"]


def test_sizes_hold_in_a_domain(cvtmesh):
    cvtmesh.file("sizes.npy", GRADED)
    cvtmesh.file("domain.csv", "20,20\n200,30\n190,160\n30,150\n")
    report = cvtmesh.report("run", "sizes.npy", "--density-from", "size", "-o", "mesh.obj",
                            "--domain", "polygon=domain.csv")
    ratios = edges_over_sizes(cvtmesh.path("mesh.obj"), GRADED)
    assert abs(np.median(ratios) - 1) < 0.03
    assert report["sites_asked"] >= report["sites"] > 0.98 * report["sites_asked"]


def test_a_number_of_sites_overrides_sizes(cvtmesh):
    cvtmesh.file("sizes.npy", CONSTANT)
    report = cvtmesh.report("run", "sizes.npy", "--density-from", "size", "-n", 300, "-o", "x.csv")
    assert report["sites"] == 300


def test_sizes_that_ask_for_too_many_sites_are_refused(cvtmesh):
    cvtmesh.file("sizes.npy", np.full((50, 50), 1e-4))
    cvtmesh.refused("run", "sizes.npy", "--density-from", "size", "-o", "x.csv", code=3,
                    names=["sizes.npy", "sites"])


def test_a_density_needs_a_number_of_sites(cvtmesh):
    cvtmesh.file("density.npy", CONSTANT)
    cvtmesh.refused("run", "density.npy", "-o", "x.csv", code=3, names=["--points"])


def run_in_coins(cvtmesh, examples, *options):
    report = cvtmesh.report("run", examples / "coins.png", "--invert", "-n", 3000, "-o", "mesh.obj",
                            "--domain", "image", "--domain-smooth", 2, "--effort", "low", *options)
    lines = cvtmesh.path("mesh.obj").read_text().splitlines()
    assert sum(line.startswith("v ") for line in lines) == report["sites"]
    assert report["sites_asked"] == 3000
    return report


def test_a_domain_has_all_sites_that_were_asked_for(cvtmesh, examples):
    assert run_in_coins(cvtmesh, examples, "--iterations", 10)["sites"] == 3000
    # Without time to move sites, the refinement fills up.
    report = run_in_coins(cvtmesh, examples, "--time-limit", 1e-9)
    assert report["sites"] == 3000 and report["refinement"]["min_angle_free"] >= 30


def test_sites_that_are_missing_are_told_of(cvtmesh, examples):
    report = run_in_coins(cvtmesh, examples, "--time-limit", 1e-9, "--min-angle", 0)
    assert report["stop_reason"] == "time"
    assert report["sites"] == 3000 - report["domain"]["dropped_sites"] < 3000
    done = cvtmesh.call("run", examples / "coins.png", "--invert", "-n", 3000, "-o", "mesh.obj",
                        "--domain", "image", "--domain-smooth", 2, "--effort", "low",
                        "--time-limit", 1e-9, "--min-angle", 0)
    assert f"{report['sites']} of the 3000 requested sites" in done.stderr.decode()


def test_preview(cvtmesh):
    """A preview of many sites has fewer, says so, and takes fewer iterations; options stand."""
    horse = EXAMPLES / "horse.png"
    done = cvtmesh.call("run", horse, "-n", "30k", "--effort", "preview", "--iterations", 2, "-o", "p.npy",
                        "--report", "p.json")
    report = cvtmesh.json("p.json")
    assert (report["sites_asked"], report["sites"]) == (30000, 20000)
    assert b"  preview    20000 of 30000 sites; at most 2 seconds" in done.stderr
    done = cvtmesh.call("run", horse, "-n", 500, "--effort", "preview", "--time-limit", 1, "-o", "q.npy",
                        "--report", "q.json")
    assert b"  preview    at most 1 second of" in done.stderr
    cvtmesh.call("run", horse, "-n", 500, "-o", "r.npy", "--report", "r.json")
    assert cvtmesh.json("q.json")["levels"] == 0 < cvtmesh.json("r.json")["levels"]


def test_sides_beyond_65536(cvtmesh):
    """Sites of a long picture have the density's share of each half; its pixels have no labels."""
    density = np.ones((3, 70000), np.uint8)
    density[:, 35000:] = 4
    cvtmesh.file("long.npy", density)
    cvtmesh.call("run", "long.npy", "-n", 60, "-o", "sites.npy")
    x, y = cvtmesh.array("sites.npy").T
    assert ((x > 0) & (x < 70000)).all() and ((y > 0) & (y < 3)).all()
    # In a row the spacing follows rho^(-1/3).
    assert abs((x > 35000).sum() - 60 * 4**(1 / 3) / (1 + 4**(1 / 3))) < 2
    cvtmesh.file("points.csv", "x,y\n1,1\n39999,1\n")
    cvtmesh.refused("voronoi", "points.csv", "--width", 40000, "--height", 2, "-o", "a.npy", code=1,
                    names=("40000 x 2", "32768"))


def test_more_sites_than_a_triangulation_has(cvtmesh):
    cvtmesh.refused("run", EXAMPLES / "horse.png", "-n", 715827883, "-o", "a.npy", code=2,
                    names=("715827883", "715827882"))


def vtu_of_zeros(points):
    """Points without a mesh, in blocks that zlib makes 1000 times smaller."""
    block = 1 << 16
    blocks, last = divmod(24 * points, block)
    sizes = [block] * blocks + [last] * (last > 0)
    packed = [zlib.compress(bytes(block), 9)] * blocks + [zlib.compress(bytes(last), 9)] * (last > 0)
    data = struct.pack("<III", len(sizes), block, last) + struct.pack(
        "<%dI" % len(sizes), *map(len, packed)) + b"".join(packed)
    array = '<DataArray type="%s" Name="%s" NumberOfComponents="%d" format="appended" offset="0"/>'
    cells = "".join(array % ("Int32", name, 1) for name in ("connectivity", "offsets", "types"))
    return (b'<VTKFile type="UnstructuredGrid" byte_order="LittleEndian" header_type="UInt32" '
            b'compressor="vtkZLibDataCompressor"><UnstructuredGrid>'
            b'<Piece NumberOfPoints="%d" NumberOfCells="0"><Points>%s</Points><Cells>%s</Cells>'
            b'</Piece></UnstructuredGrid><AppendedData encoding="raw">_%s</AppendedData></VTKFile>' %
            (points, (array % ("Float64", "p", 3)).encode(), cells.encode(), data))


@pytest.mark.parametrize("name", ["a.png", "a.gif", "a.jpg", "a.webp", "a.tif", "a.bmp"])
def test_pictures_that_become_large(cvtmesh, name):
    """The limit is on 4 bytes a pixel, before anything is decoded; of WebP on 8."""
    image = PIL.Image.new("L", (1000, 800), 9)
    options = {"a.webp": {"lossless": True}, "a.tif": {"compression": "tiff_lzw"}}.get(name, {})
    if name == "a.bmp":  # Pillow writes no runs
        runs = (b"\xff\x01" * 3 + b"\xeb\x01" + b"\0\0") * 800 + b"\0\1"
        cvtmesh.file(name, b"BM" + struct.pack("<IHHI", 0, 0, 0, 54 + 1024) + struct.pack(
            "<IiiHHIIiiII", 40, 1000, 800, 1, 8, 1, len(runs), 0, 0, 0, 0) + b"\1\2\3\0" * 256 + runs)
    else:
        image.save(cvtmesh.path(name), **options)
    size = cvtmesh.path(name).stat().st_size
    needed = (8 if name == "a.webp" else 4) * 1000 * 800
    run = ("run", name, "-n", 5, "--iterations", 1, "-o", "a.csv")
    cvtmesh.call(*run, environment={"CVTMESH_READ_LIMIT": str(needed)})
    if needed // 128 > size:
        cvtmesh.refused(*run, code=3, names=[name, "%d bytes" % size, "CVTMESH_READ_LIMIT=1G"],
                        environment={"CVTMESH_READ_LIMIT": str(needed - 1)})
    else:
        cvtmesh.call(*run, environment={"CVTMESH_READ_LIMIT": "1K"})


def test_limits_that_are_no_size(cvtmesh):
    cvtmesh.file("a.png", png_bytes(np.zeros((2, 3))))
    for bad in ("", "G", "-1", "1X", "1G1", "99999999999999999999", "99999999999T"):
        cvtmesh.refused("run", "a.png", "-n", 5, "-o", "a.csv", code=3,
                        names=["CVTMESH_READ_LIMIT", "'%s'" % bad], environment={"CVTMESH_READ_LIMIT": bad})


def test_files_that_become_large_by_default(cvtmesh):
    """Each would take more than 2 GiB."""
    cvtmesh.file("a.vtu", vtu_of_zeros(60_000_000))
    cvtmesh.refused("stats", "a.vtu", code=3, names=["a.vtu", "2.68 GiB", "CVTMESH_READ_LIMIT=3G"])
    cvtmesh.file("a.png", png_bytes(np.zeros((1, 1)), 30000, 30000))
    cvtmesh.refused("run", "a.png", "-n", 5, "-o", "a.csv", code=3, names=["a.png"])
    cvtmesh.file("a.webp", bytes.fromhex("5249464614000000574542505650384c080000002ffebfff0f888808"))
    cvtmesh.refused("run", "a.webp", "-n", 5, "-o", "a.csv", code=3,
                    names=["a.webp", "2 GiB", "CVTMESH_READ_LIMIT=2G"])
    cvtmesh.file("b.vtu", vtu_of_zeros(100_000))
    cvtmesh.refused("stats", "b.vtu", code=3, names=["GiB"], environment={"CVTMESH_READ_LIMIT": "1K"})
    cvtmesh.call("stats", "b.vtu")
    cvtmesh.file("r.npy", np.zeros(3))
    cvtmesh.file("a.mtx", "%%MatrixMarket matrix coordinate real general\n"
                 "100000000 100000000 200000\n" + "1 1 1\n" * 200000)
    cvtmesh.refused("lcp", "--matrix", "a.mtx", "--rhs", "r.npy", "-o", "a.npy", code=3,
                    names=["a.mtx", "CVTMESH_READ_LIMIT=2G"])
