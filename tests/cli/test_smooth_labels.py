"""cvtmesh run --domain labels --domain-smooth: curves between regions are smooth, stay within half a
pixel of those of the pixels, and every region keeps its area."""

import meshio
import numpy as np
import pytest
from scipy import ndimage

from conftest import PixelMesh, areas_of, cells_of

pytestmark = pytest.mark.usefixtures("two_threads")


class Mesh(PixelMesh):
    def region_areas(self):
        assert self.areas().min() > 0
        return np.bincount(self.region, self.areas())

    def parts(self):
        """The number of connected parts of every region."""
        owner = np.tile(np.arange(len(self.triangles)), 3)
        sides = np.sort(np.concatenate([self.triangles[:, [k, (k + 1) % 3]] for k in range(3)]),
                        axis=1)
        order = np.lexsort(sides.T)
        same = (sides[order][1:] == sides[order][:-1]).all(axis=1)
        first, second = owner[order][:-1][same], owner[order][1:][same]
        inside = self.region[first] == self.region[second]
        parent = np.arange(len(self.triangles))
        changed = True
        while changed:
            low = np.minimum(parent[first[inside]], parent[second[inside]])
            before = parent.copy()
            np.minimum.at(parent, first[inside], low)
            np.minimum.at(parent, second[inside], low)
            parent = parent[parent]
            changed = (parent != before).any()
        return np.bincount(self.region[np.unique(parent)])


def grains(height, width, count, seed):
    random = np.random.default_rng(seed)
    places = random.random((count, 2)) * (height, width)
    j, i = np.mgrid[0:height, 0:width] + 0.5
    return np.argmin([np.hypot(j - y, i - x) for y, x in places], axis=0) + 1


def turns(mesh, lines):
    """The angles between successive edges at vertices of two edges, degrees."""
    around = {}
    for a, b in lines:
        around.setdefault(a, []).append(b)
        around.setdefault(b, []).append(a)
    found = []
    for v, ends in around.items():
        if len(ends) != 2:
            continue
        u, w = (mesh.points[end] - mesh.points[v] for end in ends)
        found.append(180 - np.degrees(np.arccos(np.clip(
            u @ w / np.linalg.norm(u) / np.linalg.norm(w), -1, 1))))
    return np.array(found)


def run(cvtmesh, labels, points, *options):
    cvtmesh.file("labels.npy", labels.astype(np.int32))
    cvtmesh.file("flat.npy", np.ones(labels.shape, np.float32))
    cvtmesh.call("run", "flat.npy", "-n", points, "--domain", "labels=labels.npy",
                 "-o", "m.msh", "--report", "r.json", *options)
    return Mesh(cvtmesh.path("m.msh"), labels.shape[0])


def check_areas(mesh, labels):
    areas, pixels = mesh.region_areas(), np.bincount(labels.ravel(), minlength=len(mesh.region_areas()))
    assert len(areas) == len(pixels)
    for region in np.unique(labels[labels > 0]):
        assert areas[region] == pytest.approx(pixels[region], rel=1e-3), region


@pytest.mark.parametrize("options", [(), ("--periodic",), ("--boundary", "sliding")],
                         ids=["plain", "periodic", "sliding"])
@pytest.mark.parametrize("sigma", [1, 2, 5])
def test_grains_keep_their_areas(cvtmesh, sigma, options):
    labels = grains(70, 80, 16, 3)
    mesh = run(cvtmesh, labels, 1100, "--domain-smooth", sigma, *options)
    check_areas(mesh, labels)
    assert mesh.parts()[1:].tolist() == [ndimage.label(labels == k)[1] for k in range(1, 17)]


def test_staircases_are_gone(cvtmesh):
    """Straight interfaces between grains: without smoothing edges turn with the steps."""
    labels = grains(90, 110, 12, 4)
    rough, smooth = (run(cvtmesh, labels, 2500, "--domain-smooth", sigma) for sigma in (0, 3))
    before, after = turns(rough, rough.lines), turns(smooth, smooth.lines)
    assert np.percentile(before, 90) > 20
    assert np.percentile(after, 90) < 10
    assert np.mean(after) < np.mean(before) / 3


def test_smooth_curves_follow_the_pixels(cvtmesh):
    """Pixels a pixel and a half or more inside their region are in triangles of that region, and
    the report's distance from the contour is below half a pixel."""
    labels = grains(90, 110, 12, 4)
    mesh = run(cvtmesh, labels, 2500, "--domain-smooth", 3)
    middle = mesh.points[mesh.triangles].mean(axis=1)
    i, j = middle.astype(int).T
    deep = np.zeros(labels.shape, bool)
    for k in range(1, 13):
        deep |= ndimage.binary_erosion(labels == k, np.ones((3, 3)), border_value=1)
    assert (labels[j, i] == mesh.region)[deep[j, i]].all()
    assert cvtmesh.json("r.json")["domain"]["hausdorff"] < 0.6


def test_small_regions_are_kept(cvtmesh):
    """Regions of one to a few pixels, alone, side by side, on a side and in a corner."""
    labels = np.ones((40, 50), int)
    labels[10, 10] = 2
    labels[10, 20:22] = 3
    labels[20:22, 20:22], labels[20:22, 22:24] = 4, 5
    labels[30, 30], labels[30, 31], labels[31, 30] = 6, 7, 8
    labels[0, 25], labels[39, 49], labels[15, 0] = 9, 10, 11
    labels[5:35, 40] = 12  # a line of single pixels
    for sigma in (1, 3):
        mesh = run(cvtmesh, labels, 2500, "--domain-smooth", sigma)
        check_areas(mesh, labels)


def test_no_label_is_lost(cvtmesh):
    """Without smoothing single pixels are dropped, but not the last ones of a label."""
    labels = np.ones((40, 50), int)
    labels[10, 10] = 2
    labels[20, 20], labels[25, 30] = 3, 3
    labels[30:36, 5:12] = 4
    labels[5, 40], labels[15, 45] = 4, 0
    mesh = run(cvtmesh, labels, 1500)
    assert mesh.parts().tolist() == [0, 1, 1, 2, 1]
    assert cvtmesh.json("r.json")["domain"]["dropped_curves"] == 2


@pytest.mark.parametrize("options", [(), ("--periodic",)])
def test_areas_without_smoothing(cvtmesh, options):
    labels = grains(70, 90, 12, 5)
    check_areas(run(cvtmesh, labels, 2500, "--iterations", 10, *options), labels)


@pytest.mark.parametrize("options", [(), ("--periodic",)], ids=["plain", "periodic"])
def test_parabolas_keep_areas(cvtmesh, options):
    """With --element-order 2 the areas between parabolas are those of the pixels."""
    labels = grains(60, 70, 20, 5)
    labels[30, 35] = 21
    cvtmesh.file("labels.npy", labels.astype(np.int32))
    cvtmesh.file("flat.npy", np.ones(labels.shape, np.float32))
    cvtmesh.call("run", "flat.npy", "-n", 2500, "--domain", "labels=labels.npy",
                 "--domain-smooth", 2, "--element-order", 2, "-o", "m.vtu", *options)
    found = meshio.read(cvtmesh.path("m.vtu"))
    triangles, region = cells_of(found, "triangle6"), cells_of(found, "triangle6", "region")
    p = found.points[:, :2]
    areas = areas_of(p, triangles)
    for k in range(3):  # between an edge and its parabola
        areas += 4 / 3 * areas_of(p, triangles[:, [k, 3 + k, (k + 1) % 3]])
    found_areas = np.bincount(region, areas)
    assert found_areas[1:] == pytest.approx(np.bincount(labels.ravel())[1:], rel=1e-6)


def test_smallest_counts_pixels(cvtmesh):
    labels = np.ones((40, 50), int)
    labels[10, 10], labels[20:22, 20:22] = 2, 3
    mesh = run(cvtmesh, labels, 1000, "--domain-smooth", 1, "--domain-smallest", 2)
    assert mesh.region_areas() == pytest.approx([0, 40 * 50 - 4, 0, 4], rel=1e-6)
    assert cvtmesh.json("r.json")["domain"]["dropped_curves"] == 1
