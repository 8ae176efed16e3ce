"""Commands of README.md and of the pages of docs/, and what README.md says of their results."""

import re
import shlex

import meshio
import numpy as np
import pytest
from scipy.spatial import Delaunay

from conftest import EXAMPLES, ROOT, options, read_obj

COINS = EXAMPLES / "coins.png"  # 384 x 303 pixels


@pytest.fixture
def coins(cvtmesh):
    cvtmesh.call("run", COINS, "--invert", "-n", 500, "--iterations", 20, "-o", "run.obj", "-o",
                 "coins.csv")
    return cvtmesh


# Every page that shows commands.
PAGES = [ROOT / "README.md", ROOT / "docs/site/gallery.py", *(ROOT / "docs").rglob("*.md")]


@pytest.fixture(scope="module")
def known():
    found = {}

    def of(command):
        if command not in found:
            found[command] = {"--" + option.name for option in options(command)}
        return found[command]
    return of


@pytest.mark.parametrize("page", PAGES, ids=[str(path.relative_to(ROOT)) for path in PAGES])
def test_every_option_of_a_command_exists(page, known):
    text = re.sub(r" *\\\\?\n +", " ", page.read_text())
    for command, rest in re.findall(r"^ +(?:\[?\"|srun |mpirun -n \d+ )?(?:build/)?cvtmesh (\w+) (.*?)(?:#.*|\".*)?$",
                                    text, re.M):
        named = {word.split("=")[0] for word in shlex.split(rest) if word[:2] == "--"}
        assert named <= known(command) | {"--help"}, rest


def test_the_mesh_of_points_lies_where_that_of_the_run_does(coins):
    done = coins.call("mesh", "coins.csv", "--like", COINS, "-o", "mesh.obj")
    assert b"smallest that holds" not in done.stderr
    ours, theirs = (np.array(read_obj(coins.path(name))[0]) for name in ("mesh.obj", "run.obj"))
    assert np.allclose(ours, theirs, atol=1e-5)
    # Without the size of the picture the program says what it takes instead.
    done = coins.call("mesh", "coins.csv", "-o", "mesh.obj")
    assert b"smallest that holds the points; --like" in done.stderr


def test_labels_have_the_size_of_the_picture(coins):
    coins.call("voronoi", "coins.csv", "--like", COINS, "-o", "labels.npy")
    assert coins.array("labels.npy").shape == (303, 384)


def test_like_beside_width_and_height(coins):
    coins.call("voronoi", "coins.csv", "--like", COINS, "--height", 310, "-o", "labels.npy")
    assert coins.array("labels.npy").shape == (310, 384)
    coins.call("view", "coins.csv", "--like", COINS, "--frames", 1, "--shot", "v.png", "--window",
               "64x48")
    coins.refused("voronoi", "coins.csv", "--like", "absent.png", "-o", "labels.npy", code=3,
                  names=["absent.png"])


def test_stats_like(coins):
    like = coins.call("stats", "coins.csv", "--like", COINS, "--json").stdout
    sizes = coins.call("stats", "coins.csv", "--width", 384, "--height", 303, "--json").stdout
    assert like == sizes


def edges_of(triangles):
    pairs = np.vstack([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [0, 2]]])
    return np.unique(np.sort(pairs, axis=1), axis=0)


@pytest.mark.parametrize("domain", [(), ("--domain", "frame")], ids=["free", "frame"])
def test_sizes_are_spacings(cvtmesh, domain):
    """--density-from size without -n: the median edge has the wanted length within 3 %."""
    y, x = np.mgrid[0:120, 0:160] + 0.5
    size = 7 + 3 * np.sin(x / 30) * np.cos(y / 40)
    cvtmesh.file("size.npy", size.astype(np.float32))
    cvtmesh.call("run", "size.npy", "--density-from", "size", *domain, "-o", "a.vtu", "-o", "a.csv")
    if domain:
        mesh = meshio.read(cvtmesh.path("a.vtu"))
        points, triangles = mesh.points[:, :2] * (1, -1) + (0, 120), mesh.cells_dict["triangle"]
    else:
        points = np.loadtxt(cvtmesh.path("a.csv"), delimiter=",", skiprows=1)
        triangles = Delaunay(points).simplices
    ends = points[edges_of(triangles)]
    length = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
    middle = np.clip(ends.mean(axis=1), 0, (159, 119)).astype(int)
    assert np.median(length / size[middle[:, 1], middle[:, 0]]) == pytest.approx(1, abs=0.03)


def test_a_picture_has_no_sizes(cvtmesh):
    cvtmesh.refused("run", COINS, "--density-from", "size", "-o", "a.csv", code=3,
                    names=["coins.png", "--points"])


def test_a_domain_has_the_sites_that_were_asked_for(cvtmesh):
    report = cvtmesh.report("run", EXAMPLES / "horse.png", "-n", 900, "--domain", "image",
                            "--iterations", 30, "-o", "a.msh")
    # Others are counted: those that the bound on the angles needs.
    refined = report["refinement"]
    added = sum(refined["added_" + why] for why in ("on_boundary", "for_angles", "for_areas"))
    assert report["sites_asked"] == 900
    assert report["sites"] == 900 + added - refined["removed"] and added < 10


def test_the_frame_covers_the_picture(cvtmesh):
    cvtmesh.call("run", COINS, "-n", 400, "--domain", "frame", "--iterations", 20, "-o", "a.vtu")
    mesh = meshio.read(cvtmesh.path("a.vtu"))
    corner = mesh.points[mesh.cells_dict["triangle"]][:, :, :2]
    u, v = corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]
    area = np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]).sum() / 2
    assert area == pytest.approx(384 * 303, rel=1e-9)


def test_the_reference_of_the_energy(cvtmesh):
    """5 / (18 sqrt 3) (integral of sqrt rho)^2 / n, and the energy's ratio to it."""
    rho = np.random.default_rng(1).random((20, 30)).astype(np.float32)
    cvtmesh.file("rho.npy", rho)
    report = cvtmesh.report("run", "rho.npy", "-n", 25, "--iterations", 5, "-o", "a.csv")
    reference = 5 / (18 * np.sqrt(3)) * np.sqrt(rho.astype(float)).sum()**2 / 25
    assert report["energy_reference"] == pytest.approx(reference, rel=1e-6)
    assert report["energy_ratio"] == report["energy"] / report["energy_reference"]
    assert report["energy_bound"] == report["energy_reference"]
