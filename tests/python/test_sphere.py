"""cvtmesh.sphere: the arrays are those of the program's file, for inputs of every kind."""

import numpy as np
import pytest

import cvtmesh

LATITUDE = np.linspace(-87, 87, 30)[:, None]
WIDTHS = 2000 - 1000 * np.exp(-LATITUDE**2 / 900) + np.zeros((30, 60))
SQUARE = {"type": "Polygon", "coordinates": [[[0, 0], [90, 0], [90, 60], [0, 60], [0, 0]]]}


def test_arrays_are_those_of_the_file(program, tmp_path):
    netcdf_file = pytest.importorskip("scipy.io").netcdf_file
    globe = cvtmesh.sphere(WIDTHS, 300, iterations=3)
    np.save(tmp_path / "w.npy", WIDTHS)
    program("sphere", "w.npy", "-n", 300, "--iterations", 3, "-o", "g.nc")
    with netcdf_file(tmp_path / "g.nc", mmap=False) as file:
        assert file.variables.keys() == globe.arrays.keys()
        for name, variable in file.variables.items():
            assert np.array_equal(variable[:], globe.arrays[name]), name
        assert globe.attributes == {name: value.decode() if isinstance(value, bytes) else value
                                    for name, value in file._attributes.items()}
    globe.save(tmp_path / "again.nc")
    assert (tmp_path / "again.nc").read_bytes() == (tmp_path / "g.nc").read_bytes()


def test_geometry():
    globe = cvtmesh.sphere(3000)
    assert np.allclose(np.linalg.norm(globe.points, axis=1), 1)
    a, b, c = (globe.points[globe.triangles[:, k]] for k in range(3))
    assert (np.einsum("ij,ij->i", a, np.cross(b, c)) > 0).all()
    assert len(globe.triangles) == 2 * len(globe.points) - 4 == len(globe.corners)
    # Corners are as far from the sites of their triangles.
    for p in a, b, c:
        assert np.allclose(np.linalg.norm(p - globe.corners, axis=1), np.linalg.norm(a - globe.corners, axis=1))
    assert sorted(map(len, globe.cells))[:12] == [5] * 12 and len(globe.cells) == len(globe.points)
    assert globe.quality["degrees"][5] == 12 and globe.quality["obtuse"] == 0
    assert repr(globe) == f"<Sphere: {len(globe.points)} cells, {len(globe.corners)} corners>"


def test_widths_and_areas_of_every_kind(tmp_path):
    np.save(tmp_path / "w.npy", WIDTHS)
    made = [cvtmesh.sphere(widths, iterations=2).points
            for widths in (WIDTHS, tmp_path / "w.npy", str(tmp_path / "w.npy"), WIDTHS.tolist())]
    assert all(np.array_equal(points, made[0]) for points in made)

    class Geometry:
        __geo_interface__ = SQUARE

    kept = [globe.arrays["cellParent"][globe.arrays["bdyMaskCell"] == 0]
            for globe in (cvtmesh.sphere(900, region=region) for region in (SQUARE, Geometry()))]
    assert np.array_equal(kept[0], kept[1]) and 0 < len(kept[0])
    rest = cvtmesh.sphere(900, mask=SQUARE).arrays["cellParent"]
    assert not set(rest) & set(kept[0])
    assert len(rest) + len(kept[0]) == len(cvtmesh.sphere(900).points)
    land = np.zeros((180, 360))
    land[90:150, 180:270] = 1
    assert abs(len(cvtmesh.sphere(900, mask=land).points) - len(rest)) <= 20
    cap = cvtmesh.sphere(900, region=(10, 50, 30))
    inside = cap.points[cap.arrays["bdyMaskCell"] == 0]
    assert inside.mean(0) @ [np.cos(np.radians(50)), 0, np.sin(np.radians(50))] > 0.8
    fixed = cvtmesh.sphere(WIDTHS, fixed=np.array([[10.0, 20.0]]))
    assert np.allclose(fixed.points[0], [np.cos(np.radians(20)) * np.cos(np.radians(10)),
                                         np.cos(np.radians(20)) * np.sin(np.radians(10)),
                                         np.sin(np.radians(20))])


def test_xarray():
    pytest.importorskip("xarray")
    data = cvtmesh.sphere(3000).to_xarray()
    assert data.areaCell.dims == ("nCells",) and data.weightsOnEdge.dims == ("nEdges", "maxEdges2")
    assert float(data.areaCell.sum()) == pytest.approx(4 * np.pi * 6371229.0**2, rel=1e-13)


def test_bad_widths():
    with pytest.raises(ValueError, match="not positive"):
        cvtmesh.sphere(np.where(WIDTHS > 1500, np.nan, WIDTHS))
    with pytest.raises(ValueError, match="latitudes"):
        cvtmesh.sphere(WIDTHS[0])
    with pytest.raises(ValueError, match="does not fit"):
        cvtmesh.sphere(-3.0)
    with pytest.raises(FileNotFoundError):
        cvtmesh.sphere("nowhere.npy")
    with pytest.raises(TypeError, match="did you mean 'grade'"):
        cvtmesh.sphere(3000, grad=1)
