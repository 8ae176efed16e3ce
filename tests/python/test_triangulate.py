"""cvtmesh.triangulate: Triangle's dictionary and switches."""

import cvtmesh
import numpy as np
import pytest

SQUARE = [[0, 0], [4, 0], [4, 4], [0, 4]]
HOLE = [[1, 1], [3, 1], [3, 3], [1, 3]]
RING = dict(vertices=SQUARE + HOLE,
            segments=[[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [6, 7], [7, 4]])


def areas(made):
    a, b, c = (made["vertices"][made["triangles"][:, k]] for k in range(3))
    return 0.5 * ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0])


def least_angle(made):
    corners = made["vertices"][made["triangles"][:, :3]]
    sides = [corners[:, (k + 1) % 3] - corners[:, k] for k in range(3)]
    turns = [np.arctan2(-u[:, 0] * v[:, 1] + u[:, 1] * v[:, 0], -(u * v).sum(1))
             for u, v in zip(sides, sides[1:] + sides[:1])]
    return np.degrees(np.abs(turns).min())


def sides_of(triangles):
    return np.sort(triangles[:, [[1, 2], [2, 0], [0, 1]]], axis=2)


def check(made):
    """Counterclockwise triangles, each edge once, neighbours opposite to their corners."""
    triangles = made["triangles"].astype(int)
    assert areas(made).min() > 0
    found, count = np.unique(sides_of(triangles).reshape(-1, 2), axis=0, return_counts=True)
    assert count.max() <= 2
    if "edges" in made:
        assert np.array_equal(np.unique(np.sort(made["edges"], axis=1), axis=0), found)
        assert len(made["edges"]) == len(found) == len(made["edge_markers"])
    if "neighbors" in made:
        neighbors = made["neighbors"]
        assert (neighbors < 0).sum() == (count == 1).sum()
        t, k = np.nonzero(neighbors >= 0)
        mine, theirs = sides_of(triangles)[t, k], sides_of(triangles)[neighbors[t, k]]
        assert (theirs == mine[:, None]).all(axis=2).any(axis=1).all()
    return made


def border(made):
    edges, count = np.unique(sides_of(made["triangles"]).reshape(-1, 2), axis=0, return_counts=True)
    return edges[count == 1]


def test_points_alone():
    """The convex hull, Delaunay; vertices nearly on one line of the hull leave no flat triangle."""
    points = np.random.default_rng(1).uniform(-5, 9, (300, 2))
    made = check(cvtmesh.triangulate(dict(vertices=points), "ne"))
    assert np.array_equal(made["vertices"], points)
    assert np.array_equal(made["vertex_markers"][:, 0] == 1, np.isin(range(300), border(made)))
    assert made["edge_markers"].sum() == len(border(made))
    for t, corners in enumerate(points[made["triangles"]]):  # no vertex in a circle
        a, b, c = corners - corners[0]
        d = 2 * (b[0] * c[1] - b[1] * c[0])
        centre = np.array([c[1] * (b @ b) - b[1] * (c @ c), b[0] * (c @ c) - c[0] * (b @ b)]) / d
        distance = np.hypot(*(points - corners[0] - centre).T)
        assert distance.min() > np.hypot(*centre) * (1 - 1e-9), t
    x = np.linspace(0, 1, 60)
    lines = np.vstack([np.column_stack([x, x / 3]), np.column_stack([x, x / 3 + 0.7])])
    flat = check(cvtmesh.triangulate(dict(vertices=lines)))
    assert areas(flat).min() > 1e-4 and areas(flat).sum() == pytest.approx(0.7)
    assert len(np.unique(flat["triangles"])) == 120


def test_segments_holes_and_regions():
    check(made := cvtmesh.triangulate(RING, "pne"))
    assert areas(made).sum() == pytest.approx(16) and len(made["triangles"]) == 10
    assert len(made["segments"]) == 8 and made["segment_markers"].ravel().tolist().count(1) == 4
    hole = dict(RING, holes=[[2, 2]])
    made = check(cvtmesh.triangulate(hole, "pne"))
    assert areas(made).sum() == pytest.approx(12) and (made["edge_markers"] == 1).sum() == 8
    assert made["vertex_markers"].ravel().tolist() == [1] * 8 and "holes" in made
    regions = dict(RING, regions=[[0.5, 0.5, 7.5, 0], [2, 2, -3, 0.05]])
    made = check(cvtmesh.triangulate(regions, "pq30a0.5Aa"))
    inner = made["triangle_attributes"][:, 0] == -3
    assert areas(made)[inner].sum() == pytest.approx(4) and areas(made)[inner].max() <= 0.05
    assert set(made["triangle_attributes"][~inner, 0]) == {7.5}
    assert 0.05 < areas(made)[~inner].max() <= 0.5 and least_angle(made) > 30 - 1e-9
    assert "triangle_attributes" not in cvtmesh.triangulate(regions, "p")
    cross = dict(vertices=SQUARE + [[2, 5]], segments=[[0, 2], [1, 3]])
    made = check(cvtmesh.triangulate(cross, "pce"))  # crossing segments share a vertex
    assert made["vertices"][5].tolist() == [2, 2] and (made["triangles"] == 5).sum() == 5
    assert len(made["segments"]) == 4 + 5


def test_markers_and_attributes():
    tri = dict(RING, holes=[[2, 2]], segment_markers=[10, 11, 12, 13, 20, 20, 20, 0],
               vertex_markers=[5, 0, 0, 0, 0, 0, 0, 9],
               vertex_attributes=[[2 * x + 3 * y, 1] for x, y in SQUARE + HOLE])
    made = check(cvtmesh.triangulate(tri, "pq30a0.1e"))
    points = made["vertices"]
    linear = 2 * points[:, 0] + 3 * points[:, 1]
    assert made["vertex_attributes"][:, 0] == pytest.approx(linear, abs=1e-6)
    assert made["vertex_attributes"][:, 1] == pytest.approx(1)
    for marker, axis, place in ((10, 1, 0), (11, 0, 4), (12, 1, 4), (13, 0, 0)):
        edges = made["segments"][made["segment_markers"][:, 0] == marker]
        assert (points[edges][..., axis] == place).all()
        length = np.abs(np.diff(points[edges], axis=1)).sum()
        assert length == pytest.approx(4) and len(edges) > 1
    assert made["vertex_markers"][[0, 7], 0].tolist() == [5, 9]
    inside = np.setdiff1d(np.arange(len(points)), border(made))
    assert len(inside) > 9 and not made["vertex_markers"][inside].any()
    assert made["vertex_markers"][border(made)].all()
    cross = dict(vertices=SQUARE, segments=[[0, 2], [1, 3]], vertex_attributes=[[0], [1], [8], [3]])
    crossed = cvtmesh.triangulate(cross, "pc")
    assert crossed["vertex_attributes"][:, 0].tolist() == [0, 1, 8, 3, 4]


def test_refining_triangles():
    made = cvtmesh.triangulate(dict(RING, regions=[[2, 2, 4, 0], [0.5, 0.5, 5, 0]]), "pA")
    made["triangle_max_area"] = np.where(made["triangle_attributes"] == 4, 0.02, -1)
    finer = check(cvtmesh.triangulate(made, "prq25a"))
    inner = finer["triangle_attributes"][:, 0] == 4
    assert areas(finer)[inner].sum() == pytest.approx(4) and areas(finer)[inner].max() <= 0.02
    assert areas(finer)[~inner].max() > 0.1 and least_angle(finer) > 25 - 1e-9
    assert np.array_equal(finer["vertices"][:8], made["vertices"])
    clockwise = dict(vertices=SQUARE, triangles=[[0, 2, 1], [0, 3, 2]])
    assert areas(check(cvtmesh.triangulate(clockwise, "ra0.1"))).max() <= 0.1


def test_steiner_points_borders_and_numbers():
    tri = dict(RING, holes=[[2, 2]])
    many = cvtmesh.triangulate(tri, "pq30a0.01")
    few = check(cvtmesh.triangulate(tri, "pq30a0.01S20"))
    assert len(many["vertices"]) > 500 and 8 < len(few["vertices"]) <= 28
    assert len(cvtmesh.triangulate(tri, "pq30a0.01S0")["vertices"]) == 8
    kept = check(cvtmesh.triangulate(tri, "pq20a0.05Y"))
    assert len(border(kept)) == 8 and len(kept["vertices"]) > 30
    line = dict(vertices=SQUARE, segments=[[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]])
    assert len(cvtmesh.triangulate(line, "pa0.1Y")["segments"]) > 5
    assert len(cvtmesh.triangulate(line, "pa0.1YY")["segments"]) == 5
    spare = dict(tri, vertices=[*tri["vertices"], [2, 2], [0.5, 0.5]])
    assert len(cvtmesh.triangulate(spare, "p")["vertices"]) == 10
    left = check(cvtmesh.triangulate(spare, "pjne"))
    assert len(left["vertices"]) == 9 and left["triangles"].max() == left["segments"].max() + 1 == 8
    six = cvtmesh.triangulate(tri, "pa1o2")
    ends = sides_of(six["triangles"][:, :3])
    assert six["triangles"].shape[1] == 6
    assert np.array_equal(six["vertices"][six["triangles"][:, 3:]], six["vertices"][ends].mean(axis=2))
    bare = cvtmesh.triangulate(tri, "pBPzQ")
    assert sorted(bare) == ["holes", "triangles", "vertices"]
    # D: also at segments, no vertex in the circle on one
    thin = dict(vertices=[[0, 0], [9, 0], [9, 1], [5, 0.4], [0, 1]],
                segments=[[0, 1], [1, 2], [2, 4], [4, 0]])
    made = check(cvtmesh.triangulate(thin, "pD"))
    for a, b in made["vertices"][made["segments"]]:
        inside = np.hypot(*(made["vertices"] - (a + b) / 2).T) < np.hypot(*(b - a)) / 2 * (1 - 1e-9)
        assert not inside.any()


SLIT = dict(vertices=[[0, 0], [9, 0], [9, 1e-6], [0, 1e-6]], segments=[[0, 1], [1, 2], [2, 3], [3, 0]])


def test_steiner_points_may_be_more_than_angles_get_by_themselves():
    assert len(cvtmesh.triangulate(SLIT, "pq30S220000")["vertices"]) == pytest.approx(220004, abs=9)


@pytest.mark.parametrize("tri, switches, words", [
    (RING, "v", "v, the Voronoi"), (RING, "pu", "u, a test"), (RING, "pK", "'K' is not a switch"),
    (RING, "pq50", "above 40"), (RING, "pa0", "must be positive"), (RING, "p-", "'-' is not"),
    (RING, "o3", "order 3"), (RING, "r", "triangles: missing"),
    (dict(), "", "vertices: missing"), (dict(vertices=SQUARE, verts=1), "", "'verts'"),
    (dict(vertices=[[0, 0, 0]]), "", r"\(1, 3\)"), (dict(vertices=[[0, "a"]]), "", "vertices"),
    (dict(vertices=[[0, 0], [1, 1]]), "", "2 vertices"),
    (dict(vertices=[[0, 0], [1, 1], [2, 2]]), "", "on one line"),
    (dict(vertices=[[1, 1]] * 4), "", "line|place"),
    (dict(vertices=[[0, 0], [1, 0], [np.nan, 1]]), "", "vertex 2"),
    (dict(vertices=SQUARE, segments=[[0, 4]]), "p", "vertex 4"),
    (dict(vertices=SQUARE, segments=[[0, -1]]), "p", "vertex -1"),
    (dict(vertices=SQUARE, segments=[[0, 0.5]]), "p", "not integers"),
    (dict(vertices=SQUARE, segments=[[0, 1]]), "p", "enclose nothing"),
    (dict(vertices=SQUARE, vertex_markers=[1]), "", "1 rows for 4"),
    (dict(vertices=SQUARE, triangles=[[0, 1, 1]]), "r", "triangle 0"),
    (dict(vertices=SQUARE, triangles=[[0, 1, 2], [0, 1, 3]]), "r", "triangle|edge|overlap"),
    (dict(RING, holes=[[2, 2], [0.5, 0.5]]), "p", "enclose nothing"),
    (dict(vertices=SQUARE), "a1e-30", "areas|small|triangles"), (SLIT, "pq30", "needs more than 200020 vertices")])
def test_refusals(tri, switches, words):
    with pytest.raises(ValueError, match=words):
        cvtmesh.triangulate(tri, switches)
    with pytest.raises(TypeError, match="dict"):
        cvtmesh.triangulate([1, 2])


def test_random_dictionaries():
    """A triangulation or a ValueError, whatever comes: points in one place or on lines, segments
    that cross and repeat, points of regions anywhere."""
    rng = np.random.default_rng(43)
    switches = ["", "p", "pc", "pq", "pq33a", "pAa0.7", "pqD", "pqYY", "pqS9", "pjne", "qa2", "ne", "o2e",
                "pcq30A", "rq", "rpa0.3"]
    made = 0
    for case in range(200):
        count = int(rng.integers(1, 25))
        vertices = rng.integers(0, 6, (count, 2)) * rng.choice([1, 0.1, 1e-7, 1e9, 1 / 3])
        if case % 3 == 0:
            vertices = vertices + rng.normal(0, rng.choice([1, 0.1, 1e-15]), (count, 2))
        tri = dict(vertices=vertices, segments=rng.integers(0, count, (int(rng.integers(0, 30)), 2)),
                   holes=rng.uniform(-1, 6, (int(rng.integers(0, 3)), 2)),
                   regions=rng.uniform(0, 6, (int(rng.integers(0, 3)), 4)),
                   vertex_attributes=rng.normal(size=(count, 2)))
        if rng.random() < 0.4:
            tri["triangles"] = rng.integers(0, count, (int(rng.integers(1, 4)), 3))
        if rng.random() < 0.1:
            vertices[0, 0] = rng.choice([np.nan, np.inf, 1e300, -1e-300])
        text = str(rng.choice(switches))
        try:
            found = cvtmesh.triangulate(tri, text)
        except ValueError:
            continue
        made += 1
        assert np.array_equal(found["vertices"][:count], vertices) or "j" in text
        assert np.isfinite(found["vertices"]).all() and np.isfinite(found["vertex_attributes"]).all()
        check(dict(found, triangles=found["triangles"][:, :3]))
    assert made > 80
