"""Obstacle problems on the triangles of a mesh file."""
import meshio
import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from conftest import EXAMPLES


def elements(points, triangles):
    """Stiffness matrix and loads of linear elements, assembled here."""
    corner = points[triangles]
    side = np.roll(corner, -2, 1) - np.roll(corner, -1, 1)  # opposite each corner
    area = 0.5 * abs(side[:, 0, 0] * side[:, 1, 1] - side[:, 0, 1] * side[:, 1, 0])
    local = np.einsum("tik,tjk->tij", side, side) / (4 * area[:, None, None])
    row, column = np.repeat(triangles, 3, 1).ravel(), np.tile(triangles, 3).ravel()
    n = len(points)
    matrix = scipy.sparse.csr_matrix((local.ravel(), (row, column)), (n, n))
    return matrix, np.bincount(triangles.ravel(), np.repeat(area / 3, 3), n)


def boundary_edges(triangles):
    edges = np.sort(np.vstack([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]))
    edges, times = np.unique(edges, axis=0, return_counts=True)
    return edges[times == 1]


def distances(points, edges):
    a, b = points[edges[:, 0]], points[edges[:, 1]]
    along = np.einsum("pek,ek->pe", points[:, None] - a, b - a) / np.sum((b - a)**2, 1)
    foot = a + np.clip(along, 0, 1)[..., None] * (b - a)
    return np.linalg.norm(points[:, None] - foot, axis=2).min(1)


def active_sets(matrix, b, lower):
    """The solution of A x >= b, x >= lower, by primal-dual active sets with a direct solver."""
    x, active = lower.copy(), np.ones(len(b), bool)
    for _ in range(100):
        free = np.flatnonzero(~active)
        x = lower.copy()
        if len(free):
            x[free] = scipy.sparse.linalg.spsolve(matrix[free][:, free].tocsc(),
                                                  (b - matrix[:, active] @ lower[active])[free])
        new = np.where(active, matrix @ x - b > 0, x < lower)
        if (new == active).all():
            return x, active
        active = new
    raise AssertionError("no active set was found")


def test_torsion_of_a_horse(cvtmesh):
    cvtmesh.call("run", EXAMPLES / "horse.png", "--domain", "image", "-n", 900, "--iterations", 40,
                 "-o", "horse.msh", "-q")
    mesh = meshio.read(cvtmesh.path("horse.msh"))
    triangles = mesh.cells_dict["triangle"]
    points = mesh.points[:, :2]
    points = points / np.ptp(points[np.unique(triangles)], 0).max()
    matrix, load = elements(points, triangles)
    edges = boundary_edges(triangles)
    inner = np.setdiff1d(np.unique(triangles), edges)
    b, lower = -25 * load[inner], -distances(points, edges)[inner]
    x, active = active_sets(matrix[inner][:, inner], b, lower)
    assert 100 < active.sum() < len(inner) - 100, "neither all elastic nor all plastic"
    report = cvtmesh.report("lcp", "--mesh", "horse.msh", "--problem", "torsion", "--load", 25, "-o",
                            "x.npy", "-o", "x.vtu", "-o", "x.png", "--tolerance", 1e-12)
    found = cvtmesh.array("x.npy")
    assert report["unknowns"] == len(inner) and report["active_lower"] == active.sum()
    assert (np.delete(found, inner) == 0).all()
    assert abs(found[inner] - x).max() < 1e-10
    assert abs(report["integral"] - load[inner] @ x) < 1e-12
    written = meshio.read(cvtmesh.path("x.vtu"))
    assert (written.point_data["solution"] == found).all()
    assert abs(written.points - mesh.points).max() < 1e-12 * abs(mesh.points).max()
    cvtmesh.call("lcp", "--mesh", "horse.msh", "--problem", "torsion", "--load", 25, "--tolerance",
                 1e-12, "--format", "ascii", "-o", "text.vtu")
    assert b'format="ascii"' in cvtmesh.read("text.vtu")
    assert cvtmesh.read("x.png").startswith(b"\x89PNG")


def test_membrane_as_on_a_grid(cvtmesh):
    """The diagonals of a grid's squares have no entry: linear elements give the five-point
    operator, and so the same membrane."""
    m = 31
    at = np.arange(m + 2) / 7.0 + 3
    x, y = np.meshgrid(at, at)
    k = np.arange((m + 1) * (m + 2)).reshape(m + 1, m + 2)[:, :-1].ravel()
    triangles = np.vstack([np.column_stack([k, k + 1, k + m + 3]),
                           np.column_stack([k, k + m + 3, k + m + 2])])
    text = "".join(f"v {a!r} {b!r} 0\n" for a, b in zip(x.ravel().tolist(), y.ravel().tolist()))
    text += "".join("f %d %d %d\n" % tuple(t) for t in triangles + 1)
    cvtmesh.file("grid.obj", text)
    on_mesh = cvtmesh.report("lcp", "--mesh", "grid.obj", "--problem", "membrane", "-o", "x.npy",
                             "--tolerance", 1e-12)
    on_grid = cvtmesh.report("lcp", "--problem", "membrane", "--size", m, "-o", "g.npy",
                             "--tolerance", 1e-12)
    inside = cvtmesh.array("x.npy").reshape(m + 2, m + 2)[1:-1, 1:-1]
    assert abs(inside - cvtmesh.array("g.npy")).max() < 1e-10
    assert on_mesh["active_lower"] == on_grid["active_lower"] > 10
    cvtmesh.call("lcp", "--mesh", "grid.obj", "--problem", "obstacle", "-o", "o.npy",
                 "--tolerance", 1e-12)
    assert (cvtmesh.array("o.npy") == cvtmesh.array("x.npy")).all()


def test_bad_input(cvtmesh):
    def refused(code, text, *options):
        assert text.encode() in cvtmesh.call("lcp", *options, code=code).stderr, text

    cvtmesh.file("one.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    cvtmesh.file("flat.obj", "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n")
    mesh = ("--mesh", "one.obj")
    refused(3, "one.obj: the mesh has no inner vertex", *mesh, "--problem", "torsion")
    refused(3, "flat.obj", "--mesh", "flat.obj", "--problem", "torsion")
    refused(3, "none.obj", "--mesh", "none.obj", "--problem", "torsion")
    refused(2, "--mesh needs --problem", *mesh, "--problem", "torsion", "--storage", "matrix-free")
    refused(2, "x.svg: formats of x: npy png ply", *mesh, "--problem", "membrane", "-o", "x.svg")
