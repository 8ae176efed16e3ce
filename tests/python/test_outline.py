"""cvtmesh.mesh: outlines of every kind, sizes, groups, and refusals."""

import json
import pickle

import cvtmesh
import numpy as np
import pytest

SQUARE = [[0.1, 0.2], [5.1, 0.2], [5.1, 4.2], [0.1, 4.2]]
HOLE = [[2, 1], [3, 1], [3, 2.5], [2, 2.5]]


def area(mesh):
    a, b, c = (mesh.points[mesh.triangles[:, k]] for k in range(3))
    return 0.5 * ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0])


def test_outlines(tmp_path):
    polygon = {"type": "Polygon", "coordinates": [ring + ring[:1] for ring in (SQUARE, HOLE)]}
    path = tmp_path / "o.geojson"
    path.write_text(json.dumps(polygon))

    class Geometry:
        __geo_interface__ = polygon

    made = [cvtmesh.mesh(outline, size=0.3)
            for outline in (path, str(path), polygon, Geometry(), [SQUARE, HOLE],
                            [np.array(SQUARE), np.array(HOLE)])]
    for mesh in made:
        assert np.array_equal(mesh.points, made[0].points)
        assert area(mesh).min() > 0 and area(mesh).sum() == pytest.approx(20 - 1.5)
        assert mesh.quality["min_angle"] > 36 and mesh.quality["mean_min_angle"] > 54
        assert {tuple(p) for p in SQUARE + HOLE} <= {tuple(p) for p in mesh.points}
    for outline in SQUARE, np.array(SQUARE):
        assert area(cvtmesh.mesh(outline, 0.3)).sum() == pytest.approx(20)


def test_sizes_and_groups(tmp_path):
    mesh = cvtmesh.mesh([SQUARE, HOLE], {"": 0.5, "hole": 0.1}, grade=0.3)
    assert set(mesh.names.values()) == {"left", "right", "bottom", "top", "hole-1"}
    hole = mesh.group("hole-1")
    assert np.hypot(*(mesh.points[hole[:, 0]] - mesh.points[hole[:, 1]]).T) == pytest.approx(0.1)
    assert len(hole) == 50 and set(mesh.region) == {1}
    with pytest.raises(KeyError, match="hole-1"):
        mesh.group("lid")
    assert len(cvtmesh.mesh(SQUARE, points=400).points) == pytest.approx(400, rel=0.06)
    fine = cvtmesh.mesh(SQUARE, "0.1 + 0.1 * d(left)")
    assert len(fine.points) > len(cvtmesh.mesh(SQUARE, 0.5).points)
    mesh.save(tmp_path / "m.obj")
    assert (tmp_path / "m.obj").read_text().count("\nf ") == len(mesh.triangles)
    mesh.save(tmp_path / "m.svg", page="A4")
    assert 'width="297mm"' in (tmp_path / "m.svg").read_text()
    with pytest.raises(ValueError, match="cannot change after"):
        mesh.save(tmp_path / "n.obj", grade=0.7)
    assert not (tmp_path / "n.obj").exists()
    copy = pickle.loads(pickle.dumps(mesh))
    assert np.array_equal(copy.points, mesh.points) and copy.quality == mesh.quality
    with pytest.raises(NotImplementedError, match="pickled"):
        copy.save(tmp_path / "n.obj")
    found = mesh.to_meshio()
    assert len(found.cells_dict["line"]) == len(mesh.edges) and "hole-1" in found.cell_sets


def test_names_of_regions_and_points():
    def feature(name, kind, places):
        return {"type": "Feature", "properties": {"name": name}, "geometry": {"type": kind, "coordinates": places}}

    outline = {"type": "FeatureCollection", "features": [
        feature("steel", "Polygon", [SQUARE + SQUARE[:1]]), feature("pore", "Polygon", [HOLE + HOLE[:1]]),
        feature("probe", "MultiPoint", [[1, 0.5], [4, 4]])]}
    mesh = cvtmesh.mesh(outline, size=0.3)
    assert mesh.region_names == {1: "steel", 2: "pore"} and list(mesh.places) == ["probe"]
    assert {tuple(p) for p in mesh.points[mesh.places["probe"]]} == {(1, 0.5), (4, 4)}
    found = mesh.to_meshio()
    assert found.points[:, 1].max() == 4.2 and found.point_sets == mesh.places
    assert found.cell_sets["pore"][0].tolist() == np.flatnonzero(mesh.region == 2).tolist()
    assert found.cell_sets["left"][1].tolist() == np.flatnonzero(mesh.boundary == 1).tolist()
    assert {name: tuple(value) for name, value in found.field_data.items()} == {
        "probe": (1, 0), "steel": (1, 2), "pore": (2, 2),
        **{name: (tag, 1) for tag, name in mesh.names.items()}}
    skfem = pytest.importorskip("skfem.io.meshio")
    assert set(skfem.from_meshio(found).subdomains) == {"steel", "pore"}


@pytest.mark.parametrize("outline, size, words", [
    (SQUARE, None, "size or points"), (SQUARE, -1, "positive"), (SQUARE, "1+", "number"),
    (SQUARE, {"hole": 1}, "without a name"), (SQUARE, {"": 1, "lid": 2}, "no part 'lid'"),
    ([], 1, "no ring"), ([[0, 0], [1, 0]], 1, "area"),
    ([[0, 0], [2, 2], [2, 0], [0, 2]], 1, "meets itself"), (SQUARE, 1e-14, "too small")])
def test_refusals(outline, size, words):
    with pytest.raises((ValueError, TypeError), match=words):
        cvtmesh.mesh(outline, size)
