"""Densities, objects, domains and diagrams are those of the program."""

import numpy as np
import pytest

import cvtmesh
from conftest import ROOT

COINS = ROOT / "docs/examples" / "coins.png"
meshio = pytest.importorskip("meshio")


def test_condition_is_the_command_density(image, program, tmp_path):
    np.save(tmp_path / "image.npy", image)
    program("density", "image.npy", "--grade", 20, "--smooth", "2,0.3", "-o", "rho.npy")
    rho = cvtmesh.condition(image, grade=20, smooth=(2, 0.3))
    assert np.array_equal(rho, np.load(tmp_path / "rho.npy"))


def test_weights_take_arrays(image):
    region = np.zeros(image.shape)
    region[:, :64] = 1
    rho = cvtmesh.condition(image, weight=[(region, 3.0)])
    assert np.allclose(rho[:, :60], 3 * image[:, :60]) and np.allclose(rho[:, 70:], image[:, 70:])


def test_segment_is_the_command_segment(program, tmp_path):
    seeds = {"inside": [(75, 75, 10)], "outside": [(10, 10, 5)]}
    program("segment", COINS, "--inside", "75,75,10", "--outside", "10,10,5", "-o", "u.npy")
    s = cvtmesh.segment(COINS, **seeds)
    assert np.array_equal(s.level_set, np.load(tmp_path / "u.npy"))
    assert s.mask.any() and not s.mask[~(s.level_set < 0)].any()
    assert s.contour.startswith(b"<svg") and s.report["segmentation"]["pixels"] == s.mask.sum()


def test_labels_of_voronoi_are_the_nearest_points():
    points = np.random.default_rng(1).uniform(0, 50, (40, 2))
    labels = cvtmesh.voronoi(points, (50, 60))
    y, x = np.mgrid[0:50, 0:60] + 0.5
    d = np.hypot(x[..., None] - points[:, 0], y[..., None] - points[:, 1])
    assert labels.shape == (50, 60) and np.array_equal(labels, d.argmin(-1))
    moved = cvtmesh.voronoi(points + 0.1, (50, 60), labels_from=labels.astype(np.int64))
    assert np.array_equal(moved, cvtmesh.voronoi(points + 0.1, (50, 60)))


def test_delaunay_agrees_with_scipy(tmp_path):
    spatial = pytest.importorskip("scipy.spatial")
    points = np.random.default_rng(2).uniform(0, 9, (500, 2))
    mesh = cvtmesh.delaunay(points)
    ours = {tuple(sorted(t)) for t in mesh.triangles.tolist()}
    theirs = {tuple(sorted(t)) for t in spatial.Delaunay(points).simplices.tolist()}
    assert ours == theirs
    mesh.save(tmp_path / "m.off")
    assert meshio.read(tmp_path / "m.off").cells_dict["triangle"].shape == mesh.triangles.shape


def same_mesh(ours, theirs):
    assert np.allclose(ours.points, theirs.points, atol=1e-6)
    for kind, cells in theirs.cells_dict.items():
        assert np.array_equal(ours.cells_dict[kind], cells)


def test_groups_of_a_domain_survive_into_meshio(tmp_path):
    labels = np.zeros((60, 80), np.int32)
    labels[10:50, 10:40] = 1
    labels[10:50, 40:70] = 2
    t = cvtmesh.mesh_domain(np.ones((60, 80)), 300, domain=("labels", labels))
    t.save(tmp_path / "a.vtu", format="ascii")
    t.save(tmp_path / "a.msh")
    ours, vtu, msh = t.to_meshio(), meshio.read(tmp_path / "a.vtu"), meshio.read(tmp_path / "a.msh")
    same_mesh(ours, vtu)
    for name in ("region", "curve"):
        for kind in ("triangle", "line"):
            assert np.array_equal(
                ours.cell_data_dict[name].get(kind), vtu.cell_data_dict[name].get(kind)
            )
    assert ours.field_data.keys() == msh.field_data.keys() >= {"outer", "region-1", "region-2"}
    for name, group in msh.field_data.items():
        assert np.array_equal(ours.field_data[name], group)
    for name, (tag, dimension) in msh.field_data.items():
        kind = "triangle" if dimension == 2 else "line"
        theirs = np.vstack([c.data for c in msh.cells if c.type == kind])
        tags = np.hstack([d for c, d in zip(msh.cells, msh.cell_data["gmsh:physical"]) if c.type == kind])
        assert np.array_equal(
            np.sort(ours.cells_dict[kind][ours.cell_sets_dict[name][kind]], axis=0),
            np.sort(theirs[tags == tag], axis=0),
        )
    assert set(np.unique(ours.cell_data_dict["region"]["triangle"])) == {1, 2}


@pytest.mark.parametrize(
    ("ring", "groups"),
    [
        ([[5, 5], [95, 5], [95, 75], [5, 75]], {"outer"}),
        ([[0, 0], [95, 0], [95, 75], [0, 75]], {"left", "right", "top", "bottom"}),
    ],
)
def test_groups_of_polygons_without_a_shape(ring, groups):
    t = cvtmesh.mesh_domain([ring], 200, iterations=5)
    assert t.to_meshio().field_data.keys() == groups | {"region-1"}


def test_the_whole_picture_is_a_domain(image):
    t = cvtmesh.mesh_domain(image, 200, domain="frame", iterations=5)
    assert t.to_meshio().field_data.keys() == {"left", "right", "top", "bottom", "region-1"}


def test_polygons_make_a_domain():
    square = np.array([[5, 5], [95, 5], [95, 75], [5, 75]], float)
    hole = np.array([[40, 30], [60, 30], [60, 50], [40, 50]], float)
    t = cvtmesh.mesh_domain([square, hole], 400, shape=(80, 100))
    a, b, c = (t.points[t.triangles[:, k]] for k in range(3))
    u, v = b - a, c - a
    area = np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]).sum() / 2
    assert area == pytest.approx(90 * 70 - 20 * 20, rel=1e-6)
    for corner in np.vstack([square, hole]):
        assert np.hypot(*(t.points - corner).T).min() < 1e-6
