"""cvtmesh run --domain: meshes of an image, masks, polygons and labels are watertight, fill the
domain, keep its corners and have good angles; gmsh accepts them; Poisson's equation converges on
them at second order; bad domains are refused."""

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import spsolve

from conftest import EXAMPLES, PixelMesh, check_gmsh, pgm_bytes

pytestmark = pytest.mark.usefixtures("two_threads")
WIDTH, HEIGHT = 200, 160
Y, X = np.mgrid[0:HEIGHT, 0:WIDTH] + 0.5


def rings_text(rings):
    return "\n\n".join("\n".join(f"{x!r},{y!r}" for x, y in ring) for ring in rings)


class Mesh(PixelMesh):
    """With the triangles at each edge."""
    def __init__(self, path, height):
        super().__init__(path, height)
        self.sides = defaultdict(list)
        for t, corners in enumerate(self.triangles):
            for k in range(3):
                self.sides[frozenset((corners[k], corners[k - 2]))].append(t)

    def angles(self):
        """Of every triangle at every corner, degrees."""
        p = self.points[self.triangles]
        u = np.roll(p, -1, axis=1) - p
        v = np.roll(p, -2, axis=1) - p
        cross = u[..., 1] * v[..., 0] - u[..., 0] * v[..., 1]  # counterclockwise with y up
        return np.degrees(np.arctan2(cross, (u * v).sum(axis=2)))

    def border(self):
        return [tuple(side) for side, around in self.sides.items() if len(around) == 1]


def check_mesh(name, mesh, loops, components=1):
    """Watertight, its curves are what the lines say, angles away from sharp corners."""
    assert max(map(len, mesh.sides.values())) <= 2, f"{name}: an edge with three triangles"
    assert (mesh.areas() > 0).all(), f"{name}: a flat or turned triangle"
    degree = Counter(v for side in mesh.border() for v in side)
    assert all(d % 2 == 0 for d in degree.values()), f"{name}: the border does not close"
    euler = len(mesh.points) - len(mesh.sides) + len(mesh.triangles)
    assert euler == 2 * components - loops, f"{name}: Euler characteristic {euler}"
    assert set(mesh.triangles.flat) == set(range(len(mesh.points))), f"{name}: a loose vertex"
    lines = {frozenset(line) for line in mesh.lines}
    between = {
        side
        for side, around in mesh.sides.items()
        if len({mesh.region[t]
                for t in around} | ({0} if len(around) == 1 else set())) > 1
    }
    assert lines == between, f"{name}: the lines are not the edges between regions"
    angles = mesh.angles()
    around = np.zeros(len(mesh.points))
    np.add.at(around, mesh.triangles.ravel(), angles.ravel())
    # At a corner below 60 degrees no triangle can have a larger smallest angle than the corner.
    sharp = np.isin(np.arange(len(mesh.points)), list(degree)) & (around < 60)
    blunt = ~sharp[mesh.triangles].any(axis=1)
    least = angles[blunt].min()
    assert least >= 20, f"{name}: an angle of {least:.1f} degrees away from sharp corners"


def check_boundary_angles(mesh, said):
    """The figures of triangles within two elements of the boundary, from the mesh itself."""
    smallest = mesh.angles().min(axis=1)
    on = np.isin(np.arange(len(mesh.points)), mesh.lines)
    beside = np.zeros(len(on), bool)
    beside[mesh.triangles[on[mesh.triangles].any(axis=1)]] = True
    near = beside[mesh.triangles].any(axis=1)
    for name, angles in (("after", smallest[near]), ("inside", smallest[~near])):
        figures = said[name]
        assert figures["triangles"] == len(angles), f"{name}: {figures}"
        found = [np.sort(angles)[k] for k in (0, len(angles) // 20, len(angles) // 2)]
        reported = [figures[key] for key in ("min", "p5", "median")]
        assert np.allclose(found, reported, rtol=0, atol=1e-6), f"{name}: {found}, not {reported}"
    assert said["after"]["p5"] > said["before"]["p5"] + 3, f"no better: {said}"


def inside_rings(points, rings):
    """By the even-odd rule."""
    inside = np.zeros(len(points), bool)
    x, y = points.T
    for ring in rings:
        for (ax, ay), (bx, by) in zip(ring, np.roll(ring, -1, axis=0)):
            crosses = (ay > y) != (by > y)
            at = ax + (bx - ax) * (y - ay) / (by - ay) if by != ay else ax + 0 * y
            inside ^= crosses & (x < at)
    return inside


def ring_area(ring):
    x, y = np.asarray(ring).T
    return abs((x * np.roll(y, -1) - y * np.roll(x, -1)).sum()) / 2


def distance_to_rings(points, rings):
    best = np.full(len(points), np.inf)
    for ring in rings:
        for a, b in zip(np.asarray(ring), np.roll(ring, -1, axis=0)):
            d = b - a
            t = np.clip(((points - a) @ d) / (d @ d), 0, 1)
            best = np.minimum(best, np.hypot(*(points - a - t[:, None] * d).T))
    return best


def along(segments, points):
    """Five points on every segment."""
    a, b = points[segments[:, 0]], points[segments[:, 1]]
    return np.concatenate([a + t * (b - a) for t in np.linspace(0, 1, 5)])


def solve_poisson(mesh):
    """-Laplace u = f with linear elements and u given on the border; the error in L2, relative, for
    u = sin(x / 17) cos(y / 23)."""
    def exact(p):
        return np.sin(p[..., 0] / 17) * np.cos(p[..., 1] / 23)

    p = mesh.points[mesh.triangles]
    area = mesh.areas()
    gradient = np.empty((len(area), 3, 2))
    for k in range(3):
        edge = p[:, k - 1] - p[:, k - 2]
        gradient[:, k] = np.stack([edge[:, 1], -edge[:, 0]], axis=1) / (2 * area)[:, None]
    local = np.einsum("tik,tjk->tij", gradient, gradient) * area[:, None, None]
    n = len(mesh.points)
    i, j = np.repeat(mesh.triangles, 3, axis=1), np.tile(mesh.triangles, (1, 3))
    stiffness = coo_matrix((local.ravel(), (i.ravel(), j.ravel())), (n, n)).tocsr()
    middle = [(p[:, k] + p[:, k - 1]) / 2 for k in range(3)]  # exact for quadratics
    load = np.zeros(n)
    for k in range(3):
        f = (1 / 17**2 + 1 / 23**2) * exact(middle[k]) * area / 6
        np.add.at(load, mesh.triangles[:, k], f)
        np.add.at(load, mesh.triangles[:, k - 1], f)
    u = exact(mesh.points)
    free = np.setdiff1d(np.arange(n), list({v for side in mesh.border() for v in side}))
    fixed = np.setdiff1d(np.arange(n), free)
    u[free] = spsolve(stiffness[free][:, free], load[free] - stiffness[free][:, fixed] @ u[fixed])
    at = u[mesh.triangles]
    error = scale = 0
    for k in range(3):
        error += (((at[:, k] + at[:, k - 1]) / 2 - exact(middle[k]))**2 * area / 3).sum()
        scale += (exact(middle[k])**2 * area / 3).sum()
    return math.sqrt(error / scale)


def check_second_order(name, coarse, fine):
    """h from the number of triangles: errors fall at least like h^1.8."""
    errors = [solve_poisson(mesh) for mesh in (coarse, fine)]
    rate = math.log(errors[0] / errors[1]) / math.log(
        math.sqrt(len(fine.triangles) / len(coarse.triangles)))
    assert rate > 1.8, f"{name}: errors {errors} fall at order {rate:.2f}"


def make(cvtmesh, name, image, sites, *domain, height=HEIGHT):
    """The mesh, and what the report says of the domain."""
    report = cvtmesh.report("run", image, "-n", sites, "-o", f"{name}.msh", "--iterations", 40,
                            *domain)
    path = cvtmesh.path(f"{name}.msh")
    check_gmsh(path)
    cvtmesh.path("report.json").rename(cvtmesh.path(f"{name}.json"))
    return Mesh(path, height), report["domain"]


@pytest.fixture
def black(cvtmesh):
    return cvtmesh.file("black.pgm", pgm_bytes(np.zeros((HEIGHT, WIDTH))))


def three_labels():
    labels = np.zeros((HEIGHT, WIDTH), np.int32)
    labels[20:140, 20:180] = 1
    labels[20:80, 100:180] = 2
    labels[np.hypot(X - 100, Y - 100) < 25] = 3
    return labels


def turn(n, r, phase=0):
    """The corners of a regular polygon."""
    return [(100 + r * math.sin(2 * math.pi * k / n + phase),
             80 + r * math.cos(2 * math.pi * k / n + phase)) for k in range(n)]


def star():
    return [p for pair in zip(turn(5, 75), turn(5, 30, math.pi / 5)) for p in pair]


def test_horse(cvtmesh):
    """The horse: a dark shape with a gap between tail and leg."""
    # After 55 iterations or so, by the tolerance; refinement would change the energies.
    ends = ("--tolerance", 1e-4, "--iterations", 60, "--min-angle", 0)
    horse, said = make(cvtmesh, "horse", EXAMPLES / "horse.png", 1200, "--domain", "image", *ends,
                       height=328)
    check_mesh("horse", horse, loops=said["curves"])
    assert abs(horse.areas().sum() / said["area"] - 1) < 1e-3, "horse: area"
    assert abs(said["mesh_area"] / horse.areas().sum() - 1) < 1e-9, "horse: reported area"
    assert said["hausdorff"] <= 0.5, f"horse: {said['hausdorff']} px from its contour"
    assert said["boundary_edges"] == len(horse.lines), "horse: number of edges"

    # Sites that slide along its boundary lower the energy, and nothing else changes.
    slid, then = make(cvtmesh, "slid", EXAMPLES / "horse.png", 1200, "--domain", "image",
                      "--boundary", "sliding", *ends, height=328)
    check_mesh("slid", slid, loops=then["curves"])
    assert then["slides"] > 0 and said["slides"] == 0, f"slid: {then['slides']} slides"
    steps = cvtmesh.json("slid.json")["iterations"]
    assert steps <= 60, f"slid: {steps} iterations where 60 are allowed"
    energy = {name: cvtmesh.json(f"{name}.json")["energy"] for name in ("horse", "slid")}
    assert energy["slid"] < energy["horse"], "slid: the energy has not fallen"
    assert abs(then["energy_locked"] / energy["horse"] - 1) < 1e-9, "slid: another start"
    assert abs(slid.areas().sum() / then["area"] - 1) < 1e-3, "slid: area"
    assert then["hausdorff"] <= 0.5, f"slid: {then['hausdorff']} px from its contour"
    assert then["corners"] == said["corners"], "slid: corners"


def test_photograph(cvtmesh, black):
    """A thresholded photograph, smoothed; and a disc in noise, which keeps its area."""
    mesh, said = make(cvtmesh, "coins", EXAMPLES / "coins.png", 4000, "--domain", "image",
                      "--domain-smooth", 1, "--domain-smallest", 20, height=303)
    graph = coo_matrix((np.ones(len(mesh.sides)), np.array([tuple(side) for side in mesh.sides]).T),
                       (len(mesh.points),) * 2)
    check_mesh("coins", mesh, loops=said["curves"], components=connected_components(graph)[0])
    report = cvtmesh.json("coins.json")
    check_boundary_angles(mesh, report["boundary_angles"])
    least = mesh.angles().min()
    assert abs(report["refinement"]["min_angle"] - least) < 1e-6, f"coins: {least} degrees"
    assert said["hausdorff"] <= 0.5, f"coins: {said['hausdorff']} px from the contour"
    assert abs(mesh.areas().sum() / said["area"] - 1) < 1e-3, "coins: area"
    assert said["curves"] > 20 and said["dropped_curves"] > 20, f"coins: {said}"
    noise = np.random.default_rng(1).normal(0, 0.25, (HEIGHT, WIDTH))
    disc = np.clip(60.5 - np.hypot(X - 97.3, Y - 81.6) + 0.5, 0, 1)
    file = cvtmesh.file("noise.pgm", pgm_bytes(255 * np.clip(disc + noise, 0, 1)))
    mesh, said = make(cvtmesh, "noise", black, 800, "--domain", f"mask={file}",
                      "--domain-smooth", 3)
    check_mesh("noise", mesh, loops=1)
    assert abs(mesh.areas().sum() / (math.pi * 60.5**2) - 1) < 3e-3, f"noise: {mesh.areas().sum()}"
    assert said["corners"] == 0, f"noise: {said['corners']} corners"


def test_disc(cvtmesh, black):
    """A disc, antialiased, and as whole pixels."""
    distance = np.hypot(X - 97.3, Y - 81.6)
    for name, values in (("disc", np.clip(60.5 - distance + 0.5, 0,
                                          1)), ("pixels", distance < 60.5)):
        mask = cvtmesh.file(f"{name}.pgm", pgm_bytes(255 * values))
        disc, said = make(cvtmesh, name, black, 800, "--domain", f"mask={mask}")
        check_mesh(name, disc, loops=1)
        # The area of a disc of whole pixels differs from that of the circle by so much.
        assert abs(disc.areas().sum() / (math.pi * 60.5**2) - 1) < 1e-3, f"{name}: area"
        off = np.hypot(*(along(np.array(disc.border()), disc.points) - [97.3, 81.6]).T) - 60.5
        assert np.abs(off).max() <= (0.25 if name == "disc" else
                                     1), f"{name}: {np.abs(off).max()} px off"
        assert said["hausdorff"] <= 0.5 and said["corners"] == 0, f"{name}: {said}"
    fine, _ = make(cvtmesh, "fine", black, 1800, "--domain", "mask=disc.pgm")
    coarse, _ = make(cvtmesh, "coarse", black, 450, "--domain", "mask=disc.pgm")
    check_second_order("disc", coarse, fine)


def test_polygons(cvtmesh, black):
    """Polygons: a star around a round hole, and a plate with a slit and a square hole."""
    plate = [(10, 10), (190, 10), (190, 150), (101.5, 150), (100, 60), (98.5, 150), (10, 150)]
    hole = [(30, 30), (60.5, 30), (60.5, 60), (30, 60.25)]
    shapes = {"star": ([star(), turn(100, 10)], 10), "plate": ([plate, hole], 11)}
    for name, (rings, corners) in shapes.items():
        file = cvtmesh.file(f"{name}.csv", rings_text(rings))
        mesh, said = make(cvtmesh, name, black, 500, "--domain", f"polygon={file}")
        check_mesh(name, mesh, loops=2)
        wanted = ring_area(rings[0]) - ring_area(rings[1])
        assert abs(mesh.areas().sum() / wanted - 1) < 1e-3, f"{name}: area {mesh.areas().sum()}"
        assert said["corners"] == corners and abs(said["area"] / wanted -
                                                  1) < 1e-12, f"{name}: {said}"
        for corner in (p for ring in rings if len(ring) < 20 for p in ring):
            near = np.hypot(*(mesh.points - corner).T).min()
            assert near < 1e-6, f"{name}: {corner} is no vertex"  # steps of the exact grid: 2e-7
        assert inside_rings(mesh.points[mesh.triangles].mean(axis=1),
                            rings).all(), f"{name}: a triangle outside"
        off = distance_to_rings(along(np.array(mesh.border()), mesh.points), rings).max()
        assert off <= 0.5 and off <= said["hausdorff"] + 1e-6, f"{name}: {off} px off"
        assert len(set(mesh.curve)) == 2, f"{name}: curves"
        finer, _ = make(cvtmesh, name + "4", black, 2000, "--domain", f"polygon={file}")
        check_second_order(name, mesh, finer)


def test_labels(cvtmesh, black):
    """Labels: two halves and a disc that overlaps both; neighbours share their edges."""
    labels = three_labels()
    cvtmesh.file("labels.npy", labels)
    mesh, said = make(cvtmesh, "labels", black, 700, "--domain", "labels=labels.npy")
    check_mesh("labels", mesh, loops=1)
    for region in (1, 2, 3):
        area = mesh.areas()[mesh.region == region].sum()
        assert abs(area / (labels == region).sum() - 1) < 5e-3, f"labels: region {region}: {area}"
        assert f"region-{region}" in mesh.names, f"labels: no group of region {region}"
    assert abs(mesh.areas().sum() - 160 * 120) < 1, "labels: area"  # corners are whole
    pairs = {
        tuple(sorted(mesh.region[t]
                     for t in mesh.sides[frozenset(line)]))
        for line in mesh.lines
    }
    assert pairs == {(1,), (2,), (1, 2), (1, 3), (2, 3)}, f"labels: pairs {pairs}"
    grey, _ = make(cvtmesh, "grey", black, 700, "--domain",
                   "labels=" + str(cvtmesh.file("labels.pgm", pgm_bytes(80 * labels))))
    assert (grey.triangles == mesh.triangles).all(), "labels: grey levels are other labels"


def test_border(cvtmesh, black):
    """Touching the border, with a hole, an island, and specks of one pixel."""
    mask = np.zeros((HEIGHT, WIDTH))
    mask[:90, :120] = mask[140:, 150:] = 255
    mask[30:50, 30:60] = 0
    mask[70, 70] = 0
    mask[120, 150] = 255
    file = cvtmesh.file("border.pgm", pgm_bytes(mask))
    mesh, said = make(cvtmesh, "border", black, 600, "--domain", f"mask={file}")
    check_mesh("border", mesh, loops=3, components=2)
    assert said["dropped_curves"] == 2, f"border: {said}"
    assert abs(mesh.areas().sum() -
               (90 * 120 + 20 * 50 - 20 * 30)) < 1, f"border: {mesh.areas().sum()}"
    for corner in ((0, 0), (120, 0), (0, 90), (120, 90), (200, 160), (150, 140), (30, 30), (60,
                                                                                            50)):
        assert np.hypot(*(mesh.points - corner).T).min() < 1e-6, f"border: {corner} is no vertex"

    # Same seed, same file, for any number of threads.
    first = cvtmesh.read("border.msh")
    cvtmesh.call("run", black, "-n", 600, "-o", "again.msh", "--iterations", 40, "--domain",
                 f"mask={file}", "--threads", 1)
    assert cvtmesh.read("again.msh") == first, "border: another file with one thread"


def test_a_mesh_of_a_picture_covers_its_frame(cvtmesh, black):
    """By default, from pictures and data, with the bytes of --domain frame. Points and dots stay, and
    a mesh beside them is their dual."""
    def same(options, others, *names):
        for name in names:
            assert cvtmesh.path(options + name).read_bytes() == cvtmesh.path(others + name).read_bytes()

    small = ("--iterations", 20)
    horse = EXAMPLES / "horse.png"
    cvtmesh.file("data.npy", np.random.default_rng(2).uniform(1, 9, (60, 90)).astype(np.float32))
    for picture, width, height in ((horse, 400, 328), ("data.npy", 90, 60)):
        for name, domain in (("auto", []), ("frame", ["--domain", "frame"]),
                             ("none", ["--domain", "none"])):
            cvtmesh.call("run", picture, "-n", 600, *small, *domain, "-o", name + ".msh")
            cvtmesh.call("run", picture, "-n", 600, *small, *domain, "-o", name + ".csv", "-o",
                         name + ".svg", "-o", name + ".obj")
        same("auto", "frame", ".msh")
        same("auto", "none", ".csv", ".svg", ".obj")
        mesh = Mesh(cvtmesh.path("auto.msh"), height)
        corners = {(0, 0), (0, height), (width, 0), (width, height)}
        assert corners <= {tuple(p) for p in np.asarray(mesh.points)[:, :2]}
        assert cvtmesh.printed("stats", "auto.msh")["quality_all"]["min_angle"] > 29.99
        assert cvtmesh.printed("stats", "none.msh")["quality_all"]["min_angle"] < 25
    report = cvtmesh.report("run", horse, *small, "-o", "dots.vtu")  # as many as the ink needs
    assert report["points_found"]["from"] == "default" and report["quality_all"]["min_angle"] > 29.99


def test_labels_without_regions(cvtmesh):
    """A photograph in place of labels is refused at once; specks in labels are not."""
    rng = np.random.default_rng(4)
    labels = np.repeat(np.repeat(rng.integers(1, 200, (6, 8)), 20, axis=0), 20, axis=1)
    noisy = np.clip(labels + rng.normal(0, 3, labels.shape), 0, 255)
    cvtmesh.file("noisy.pgm", pgm_bytes(noisy.astype(np.uint8)))
    cvtmesh.refused("run", "noisy.pgm", "-n", 900, "--domain", "labels=noisy.pgm", "-o", "no.msh", code=3,
                    names=["noisy.pgm", "grey levels", "threshold the picture"])
    x, y = np.meshgrid(np.arange(160) + 0.5, np.arange(120) + 0.5)
    smooth = 40 + 150 * np.clip(np.hypot(x - 80, y - 60) - 40 + 0.5, 0, 1)  # two labels, smoothed edge
    rough = np.where(rng.random(labels.shape) < 0.05, rng.integers(0, 255, labels.shape), labels)
    for picture in smooth, rough:
        cvtmesh.file("two.pgm", pgm_bytes(picture.astype(np.uint8)))
        cvtmesh.refused("run", "two.pgm", "-n", 900, "--domain", "labels=two.pgm", "-o", "no.msh", code=3,
                        names=["two.pgm", "grey levels", "threshold the picture"])
    specks = np.where(rng.random(labels.shape) < 0.01, 255, labels)
    cvtmesh.file("specks.pgm", pgm_bytes(specks.astype(np.uint8)))
    cvtmesh.call("run", "specks.pgm", "-n", 6000, "--domain", "labels=specks.pgm", "--domain-smallest", 9,
                 "--iterations", 5, "-o", "specks.msh")


def test_refusals(cvtmesh, black):
    """Domains that are refused."""
    empty = cvtmesh.file("empty.pgm", pgm_bytes(np.zeros((HEIGHT, WIDTH))))
    speck = np.zeros((HEIGHT, WIDTH))
    speck[7, 9] = 255
    bow = [(10, 10), (100, 100), (100, 10), (10, 100)]
    small = cvtmesh.file("small.pgm", pgm_bytes(np.zeros((9, 9))))
    cvtmesh.file("half.npy", three_labels() + 0.5)
    refused = [
        ("mask", empty, "empty"),
        ("mask", cvtmesh.file("speck.pgm", pgm_bytes(speck)), "empty"),
        ("mask", small, "9 x 9"),
        ("mask", "none.pgm", "none.pgm"),
        ("polygon", cvtmesh.file("bow.csv", rings_text([bow])), "meets itself"),
        ("polygon", cvtmesh.file("out.csv", rings_text([[(0, 0), (300, 0),
                                                         (0, 90)]])), "outside the image"),
        ("polygon", "none.svg", "none.svg"),
        ("labels", "half.npy", "integers"),
    ]
    cvtmesh.file("nan.npy", np.where(three_labels() == 1, np.nan, 1).astype(np.float32))
    refused += [("mask", "nan.npy", "not nan"), ("labels", "nan.npy", "is nan"),
                ("polygon", cvtmesh.file("thin.csv", rings_text([[(5, 30), (75, 30),
                                                                  (75, 30.02)]])), "empty")]
    for kind, file, word in refused:
        cvtmesh.refused("run", black, "-n", 300, "-o", "no.msh", "--domain",
                        f"{kind}={file}", code=3, names=[word, file])
    cvtmesh.file("star.csv", rings_text([star(), turn(100, 10)]))
    cvtmesh.refused("run", black, "-n", 20, "-o", "no.msh", "--domain", "polygon=star.csv", code=3, names=["too few"])
    cvtmesh.refused("run", black, "-n", 3, "-o", "no.msh", code=3, names=["too few", "--domain none"])
    for arguments in (["--domain", "mask"], ["--domain", "mask="],
                      ["--domain", f"image={file}"], ["--domain", "segment"],
                      ["--domain", "image", "--fixed", file],
                      ["--domain", "none", "--boundary", "sliding"],
                      ["--domain", f"polygon={file}", "--domain-smooth", 1]):
        cvtmesh.refused("run", black, "-n", 300, "-o", "no.msh", *arguments, code=2)
