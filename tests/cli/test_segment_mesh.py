"""cvtmesh segment --mesh against steps that are assembled and solved here."""
import meshio
import numpy as np
import scipy.sparse
import scipy.sparse.linalg

SIDE, TAU, K = 64, 5e-3, 10


def disc_image():
    t = (np.arange(SIDE) + 0.5) / SIDE - 0.5
    x, y = np.meshgrid(t, t)
    return (np.hypot(x, y) < 0.3).astype(np.float32)


def elements(points, triangles):
    """Areas, and products of the gradients of the shape functions times the area."""
    corner = points[triangles]
    side = np.roll(corner, -2, 1) - np.roll(corner, -1, 1)
    area = 0.5 * abs(side[:, 0, 0] * side[:, 1, 1] - side[:, 0, 1] * side[:, 1, 0])
    return area, np.einsum("tik,tjk->tij", side, side) / (4 * area[:, None, None])


def gradient_squared(local, area, f):
    return np.einsum("ti,tij,tj->t", f, local, f) / area


def at_points(field, points):
    """Bilinear between pixel centres, constant beyond."""
    x, y = np.clip(points.T * SIDE - 0.5, 0, SIDE - 1)
    i, j = np.minimum(x.astype(int), SIDE - 2), np.minimum(y.astype(int), SIDE - 2)
    s, t = x - i, y - j
    return ((1 - t) * ((1 - s) * field[j, i] + s * field[j, i + 1]) + t *
            ((1 - s) * field[j + 1, i] + s * field[j + 1, i + 1]))


def below(matrix, b, upper):
    """The solution of A u <= b, u <= upper, by primal-dual active sets."""
    active = np.zeros(len(b), bool)
    for _ in range(100):
        u, free = upper.copy(), np.flatnonzero(~active)
        u[free] = scipy.sparse.linalg.spsolve(matrix[free][:, free].tocsc(),
                                              (b - matrix[:, active] @ upper[active])[free])
        new = np.where(active, matrix @ u - b < 0, u > upper)
        if (new == active).all():
            return u
        active = new
    raise AssertionError("no active set was found")


def take_step(u, points, triangles, image, upper, epsilon):
    area, local = elements(points, triangles)
    g = 1 / (1 + K * gradient_squared(local, area, image[triangles]))
    q = np.sqrt(epsilon**2 + gradient_squared(local, area, u[triangles]))
    mass = np.bincount(triangles.ravel(), np.repeat(area / (3 * q), 3), len(points))
    row, column = np.repeat(triangles, 3, 1).ravel(), np.tile(triangles, 3).ravel()
    values = TAU * (g / q)[:, None, None] * local
    matrix = scipy.sparse.csr_matrix((values.ravel(), (row, column)), (len(points), ) * 2)
    return below((matrix + scipy.sparse.diags(mass)).tocsr(), mass * u, upper)


def make_inputs(cvtmesh):
    cvtmesh.file("disc.npy", disc_image())
    cvtmesh.file("even.npy", np.ones((SIDE, SIDE), np.float32))
    cvtmesh.call("run", "even.npy", "-n", 600, "--iterations", 3, "-o", "m.msh", "-q")
    return ("segment", "disc.npy", "--mesh", "m.msh", "--sigma", 0, "--initial", "32,32,26",
            "--inside", "42,32,4", "--tolerance", 0, "-q")


def test_steps(cvtmesh):
    command = make_inputs(cvtmesh)
    mesh = meshio.read(cvtmesh.path("m.msh"))
    triangles, points = mesh.cells_dict["triangle"], mesh.points[:, :2].copy()
    points[:, 1] = SIDE - points[:, 1]
    pixel = np.minimum(points.astype(int), SIDE - 1)
    seed = np.hypot(pixel[:, 0] + 0.5 - 42, pixel[:, 1] + 0.5 - 32) <= 4
    upper = np.where(seed, -0.05, np.inf)
    image = at_points(disc_image().astype(float), points / SIDE)
    t = np.arange(SIDE) + 0.5
    distance = (np.hypot(t - 32, t[:, None] - 32) - 26) / SIDE
    for epsilon in (1, 0.1):
        u = np.minimum(at_points(distance, points / SIDE), upper)
        for _ in range(3):
            u = take_step(u, points / SIDE, triangles, image, upper, epsilon)
        cvtmesh.call(*command, "--epsilon", epsilon, "--steps", 3, "-o", "u.npy", "-o", "u.vtu",
                     "--report", "r.json")
        found = cvtmesh.array("u.npy")
        assert abs(found - u).max() < 1e-7 and seed.sum() > 5
        written = meshio.read(cvtmesh.path("u.vtu"))
        assert (written.point_data["level_set"] == found).all()
        assert abs(written.points - mesh.points).max() < 1e-12 * SIDE
        report = cvtmesh.json("r.json")["segmentation"]
        area, _ = elements(points / SIDE, triangles)
        share = np.bincount(triangles.ravel(), np.repeat(area / 3, 3), len(points))
        assert abs(report["area"] - share[u < 0].sum() / area.sum()) < 1e-12
        assert len(report["history"]) == 4 and "pixels" not in report


def test_object(cvtmesh):
    """In the end the curve lies about the disc, as on the pixels."""
    command = make_inputs(cvtmesh)
    cvtmesh.call(*command, "--k", 1000, "--steps", 60, "-o", "u.npy", "--report", "r.json")
    disc = np.pi * 0.3**2
    assert abs(cvtmesh.json("r.json")["segmentation"]["area"] - disc) < 0.25 * disc


def test_refusals(cvtmesh):
    command = make_inputs(cvtmesh)
    cvtmesh.file("flat.obj", "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n")
    for code, text, options in (
            (2, "with --mesh the level set is written", ("-o", "mask.png")),
            (3, "none.msh", ("--mesh", "none.msh", "-o", "u.npy")),
            (3, "no vertex lies in a seed", ("--mesh", "flat.obj", "-o", "u.npy"))):
        assert text.encode() in cvtmesh.call(*command, *options, code=code).stderr, text
