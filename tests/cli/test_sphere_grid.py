"""The C-grid of cvtmesh sphere, as its MPAS file has it, against its identities: areas, orthogonality, orders, and
those of the weights (Thuburn et al. 2009)."""

import numpy as np
import pytest
from scipy.io import netcdf_file
from scipy.sparse import csr_array


class Grid:
    """The variables of a file; indices count from 0, -1: none."""

    def __init__(self, cvtmesh, *words):
        cvtmesh.call("sphere", *words, "--radius", 1, "-o", "grid.nc")
        with netcdf_file(cvtmesh.path("grid.nc"), mmap=False) as file:
            for name, variable in file.variables.items():
                values = variable[:].astype(variable[:].dtype.newbyteorder("="))
                setattr(self, name, values - 1 if "On" in name and name[0] in "cev" else values)
        for kind in ("Cell", "Edge", "Vertex"):
            setattr(self, kind, np.stack([getattr(self, axis + kind) for axis in "xyz"], 1))
        # Edge k of a cell, and the next one; the tangent of an edge, from its normal velocities.
        self.cell, self.k = np.nonzero(np.arange(self.edgesOnCell.shape[1]) < self.nEdgesOnCell[:, None])
        self.after = (self.k + 1) % self.nEdgesOnCell[self.cell]
        row, k = np.nonzero(np.arange(self.edgesOnEdge.shape[1]) < self.nEdgesOnEdge[:, None])
        self.tangential = csr_array((self.weightsOnEdge[row, k], (row, self.edgesOnEdge[row, k])),
                                    shape=2 * (len(self.Edge),))


@pytest.fixture(params=["even", "random"], name="grid")
def any_grid(cvtmesh, request):
    """A good mesh, and one of random sites, where kites may have negative areas."""
    if request.param == "even":
        return Grid(cvtmesh, 0.15)
    random = np.random.default_rng(4)
    places = np.stack([random.uniform(-180, 180, 250), np.degrees(np.arcsin(random.uniform(-1, 1, 250)))], 1)
    np.savetxt(cvtmesh.path("random.csv"), places, delimiter=",", header="x,y", comments="")
    grid = Grid(cvtmesh, 0.2, "-n", 500, "--fixed", "random.csv", "--iterations", 0)
    assert (grid.kiteAreasOnVertex < 0).sum() > 20
    return grid


def dot(a, b):
    return np.einsum("ij,ij->i", a, b)


def area(a, b, c):
    return 2 * np.arctan2(dot(a, np.cross(b - a, c - a)), 1 + dot(a, b) + dot(b, c) + dot(c, a))


def test_areas(grid):
    for values in (grid.areaCell, grid.areaTriangle, grid.kiteAreasOnVertex):
        assert abs(values.sum() / (4 * np.pi) - 1) < 1e-13
    assert abs(area(*grid.Cell[grid.cellsOnVertex.T]) - grid.areaTriangle).max() < 1e-14
    # The area of a cell is that of the triangles between its corners, too; they are counterclockwise.
    corner, following = (grid.Vertex[grid.verticesOnCell[grid.cell, k]] for k in (grid.k, grid.after))
    fan = area(grid.Vertex[grid.verticesOnCell[grid.cell, 0]], corner, following)
    around = area(grid.Cell[grid.cell], corner, following)
    for parts in (fan, around):
        assert abs(np.bincount(grid.cell, parts) - grid.areaCell).max() < 1e-13


def test_numbers_have_eulers_sums(grid):
    assert len(grid.Cell) - len(grid.Edge) + len(grid.Vertex) == 2
    assert (6 - grid.nEdgesOnCell).sum() == 12


def test_edges_are_orthogonal(grid):
    """The normal goes from the first cell to the second, the tangent to the left of it between the vertices."""
    normal = np.diff(grid.Cell[grid.cellsOnEdge], axis=1)[:, 0]
    tangent = np.diff(grid.Vertex[grid.verticesOnEdge], axis=1)[:, 0]
    dc, dv = np.linalg.norm(normal, axis=1), np.linalg.norm(tangent, axis=1)
    assert abs(2 * np.arcsin(dc / 2) - grid.dcEdge).max() < 1e-14
    assert abs(2 * np.arcsin(dv / 2) - grid.dvEdge).max() < 1e-14
    assert abs(dot(grid.Edge, grid.Edge) - 1).max() < 1e-15
    assert abs(dot(grid.Edge, normal)).max() < 1e-15
    long = dv > 1e-3  # a short edge has no exact direction
    assert long.sum() > 0.95 * len(dv)
    assert (abs(dot(normal, tangent)) <= 1e-12 * dc * dv / np.minimum(1, 100 * dv))[long].all()
    assert (dot(np.cross(grid.Edge, normal), tangent) > 0)[long].all()
    east = np.cross([0, 0, 1], grid.Edge)
    east /= np.linalg.norm(east, axis=1)[:, None]
    north = np.cross(grid.Edge, east)
    assert abs(dot(normal, east) / dc - np.cos(grid.angleEdge)).max() < 1e-12
    assert abs(dot(normal, north) / dc - np.sin(grid.angleEdge)).max() < 1e-12


def test_orders_are_those_of_mpas(grid):
    """Around a cell counterclockwise: cell k is beyond edge k, vertex k lies between edges k and k + 1. Around a
    vertex counterclockwise: cell k lies between edges k and k + 1."""
    cell, edge, following = grid.cell, *(grid.edgesOnCell[grid.cell, k] for k in (grid.k, grid.after))
    first, first_of_next = (grid.cellsOnEdge[e, 0] == cell for e in (edge, following))
    assert (grid.cellsOnEdge[edge, 1 - first] == cell).all()
    assert (grid.cellsOnEdge[edge, first * 1] == grid.cellsOnCell[cell, grid.k]).all()
    vertex = grid.verticesOnCell[cell, grid.k]
    assert (grid.verticesOnEdge[edge, first * 1] == vertex).all()
    assert (grid.verticesOnEdge[following, 1 - first_of_next] == vertex).all()
    unused = np.arange(grid.edgesOnCell.shape[1]) >= grid.nEdgesOnCell[:, None]
    assert (grid.edgesOnCell[unused] == -1).all()
    for k in range(3):
        vertex, edge = np.arange(len(grid.Vertex)), grid.edgesOnVertex[:, k]
        second = (grid.verticesOnEdge[edge, 1] == vertex) * 1
        assert (grid.verticesOnEdge[edge, second] == vertex).all()
        between = grid.cellsOnVertex[:, k]
        assert (between == grid.cellsOnEdge[edge, second]).all()
        following = grid.cellsOnEdge[grid.edgesOnVertex[:, (k + 1) % 3]]
        assert (following == between[:, None]).any(1).all()


def test_weights_are_antisymmetric(grid):
    """w(e, e') = -w(e', e): the Coriolis force does no work."""
    assert (grid.nEdgesOnEdge == grid.nEdgesOnCell[grid.cellsOnEdge].sum(1) - 2).all()
    scaled = grid.tangential * grid.dcEdge[:, None] / grid.dvEdge
    assert abs(scaled + scaled.T).max() < 1e-12 and abs(scaled).max() > 0.1


def test_divergence_and_geostrophic_modes(grid):
    """For any velocities: divergences add to nothing, and the tangential velocities flow out of a triangle as the
    normal ones do out of its kites, so that geostrophic modes stay (section 3)."""
    u = np.random.default_rng(6).uniform(-1, 1, len(grid.Edge))
    edge = grid.edgesOnCell[grid.cell, grid.k]
    out = np.where(grid.cellsOnEdge[edge, 0] == grid.cell, 1, -1) * u[edge] * grid.dvEdge[edge]
    flow = np.bincount(grid.cell, out)
    assert abs(flow.sum()) < 1e-12
    sign = np.where(grid.verticesOnEdge[grid.edgesOnVertex, 1] == np.arange(len(grid.Vertex))[:, None], -1, 1)
    circulation = (sign * (grid.tangential @ u * grid.dcEdge)[grid.edgesOnVertex]).sum(1)
    inside = (grid.kiteAreasOnVertex * (flow / grid.areaCell)[grid.cellsOnVertex]).sum(1)
    assert abs(circulation - inside).max() < 1e-12


def test_weights_reconstruct_a_rotation(cvtmesh):
    grid = Grid(cvtmesh, 0.15)
    speed = np.cross([0.3, -0.5, 0.8], grid.Edge)
    normal = np.diff(grid.Cell[grid.cellsOnEdge], axis=1)[:, 0]
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    off = grid.tangential @ dot(speed, normal) - dot(speed, np.cross(grid.Edge, normal))
    assert np.sqrt((off**2).mean()) < 0.06


def test_left_out_cells_are_left_out_alone(cvtmesh):
    """A grid with a hole is the whole grid without what has no cell."""
    cvtmesh.file("land.npy", np.repeat([0.0, 1.0], [130, 50])[:, None] + np.zeros(360))
    whole, part = (Grid(cvtmesh, 0.15, *words) for words in ((), ("--mask", "land.npy")))
    old = part.cellParent - 1
    assert (np.diff(old) > 0).all() and set(old) == set(np.flatnonzero(whole.latCell < np.radians(40)))
    assert (part.areaCell == whole.areaCell[old]).all() and (part.nEdgesOnCell == whole.nEdgesOnCell[old]).all()
    kept = np.isin(np.arange(len(whole.Cell)), old)
    beyond, old_beyond = part.cellsOnCell[part.cell, part.k], whole.cellsOnCell[old[part.cell], part.k]
    assert ((beyond >= 0) == kept[old_beyond]).all()
    assert (old[beyond] == old_beyond)[beyond >= 0].all()
    edge, old_edge = part.edgesOnCell[part.cell, part.k], whole.edgesOnCell[old[part.cell], part.k]
    assert (part.Edge[edge] == whole.Edge[old_edge]).all() and (part.cellsOnEdge[:, 0] >= 0).all()
    first = (part.cellsOnEdge[edge, 0] == part.cell) * 1
    assert (part.cellsOnEdge[edge, first] == beyond).all()
    left = whole.Vertex[whole.verticesOnCell[old[part.cell], part.k]]  # the tangent stays to the left
    assert (part.Vertex[part.verticesOnEdge[edge, first]] == left).all()
    assert 20 < (part.cellsOnEdge[:, 1] < 0).sum() < len(old)
    assert (part.kiteAreasOnVertex[part.cellsOnVertex < 0] == 0).all()
    assert abs(part.kiteAreasOnVertex.sum(1) - part.areaTriangle).max() < 1e-16  # as MPAS counts it
