"""Power spectra and pair correlations against their definitions, and of sets that are known."""

import numpy as np
import pytest

import cvtmesh


def direct(points, width, height, periodic):
    """Frequencies and powers by the definition, each twice (f and -f), without f = 0."""
    spacing = np.sqrt(width * height / len(points))
    k, l = (np.arange(-int(6 * side / spacing), int(6 * side / spacing) + 1) for side in (width, height))
    weight = np.ones(len(points))
    if not periodic:
        weight = (np.sin(np.pi * points / [width, height])**2).prod(axis=1)
    sums = (np.exp(-2j * np.pi * np.outer(k, points[:, 0] / width)) * weight) @ np.exp(
        -2j * np.pi * np.outer(points[:, 1] / height, l))
    if not periodic:
        window = [np.choose(np.minimum(abs(part), 2), [0.5, -0.25, 0]) for part in (k, l)]
        sums -= 4 * weight.sum() * np.outer(*window)
    power = abs(sums)**2 / (weight**2).sum()
    frequency = np.hypot(k[:, None] / width, l / height) * spacing
    return frequency[frequency > 0], power[frequency > 0], spacing


def pairs(points, width, height, periodic):
    offset = points[:, None] - points
    weight = np.ones(offset.shape[:2])
    if periodic:
        offset -= np.round(offset / [width, height]) * [width, height]
    else:
        weight = 1 / (1 - abs(offset) / [width, height]).prod(axis=2)
    distance = np.hypot(*np.moveaxis(offset, 2, 0))
    np.fill_diagonal(distance, np.inf)
    return distance, weight


@pytest.mark.parametrize("periodic", [False, True])
def test_against_the_definitions(periodic):
    width, height, count = 40, 90, 700
    points = np.random.default_rng(1).random((count, 2)) * [width, height]
    found = cvtmesh.spectrum(points, (height, width), periodic=periodic)

    frequency, power, spacing = direct(points, width, height, periodic)
    rings, step = len(found.power), 2 * found.frequency[0]
    ring = (frequency / step).astype(int)
    inside = ring < rings
    number = np.bincount(ring[inside], minlength=rings)
    mean = np.bincount(ring[inside], power[inside], rings) / np.maximum(number, 1)
    np.testing.assert_array_equal(np.isnan(found.power), number == 0)
    np.testing.assert_allclose(found.power[number > 0], mean[number > 0], rtol=1e-8)
    assert found.low_frequency_power == pytest.approx(power[frequency <= 0.5].mean(), rel=1e-8)
    # f and -f are one frequency: half of `number` are independent.
    square = np.bincount(ring[inside], power[inside]**2, rings) / np.maximum(number, 1)
    some = number > 2
    variance = (square - mean**2)[some] * number[some] / (number[some] - 2)
    np.testing.assert_allclose(found.anisotropy[some], variance / mean[some]**2, rtol=1e-6)
    np.testing.assert_allclose(found.plane, found.plane[::-1, ::-1], rtol=1e-12)
    assert found.plane.mean() == pytest.approx(1, abs=0.1)

    distance, weight = pairs(points, width, height, periodic)
    hexagonal = np.sqrt(2 / np.sqrt(3)) * spacing
    assert found.least_distance == pytest.approx(distance.min() / hexagonal)
    assert found.mean_distance == pytest.approx(distance.min(axis=1).mean() / hexagonal)
    gap = 2 * found.distance[0] * spacing
    bins = np.arange(len(found.distance) + 1) * gap
    counts = np.histogram(distance, bins, weights=weight)[0]
    expected = counts * width * height / (count * (count - 1) * np.pi * np.diff(bins**2))
    np.testing.assert_allclose(found.pair_correlation, expected, atol=1e-9)


def test_hexagonal_lattice():
    """26 x 30 points: all power lies in peaks. Triangles are flat by a thousandth: 15 sqrt 3 is nearly 26."""
    row, column = np.divmod(np.arange(780), 26)
    points = np.stack([(column + 0.5 * (row % 2)) * 20, row * 520 / 30], axis=1)
    found = cvtmesh.spectrum(points, (520, 520), periodic=True)
    assert abs(found.least_distance - 1) < 1e-3 and abs(found.mean_distance - 1) < 1e-3
    assert abs(found.effective_nyquist - np.sqrt(2 / np.sqrt(3))) < 4 * found.frequency[0]
    assert found.low_frequency_power < 1e-12 and found.peak_power > 10
    assert cvtmesh.bond_order(points, cvtmesh.delaunay(points).triangles) > 1 - 1e-2


@pytest.mark.parametrize("periodic", [False, True])
def test_independent_points(periodic):
    """Within 5 standard deviations. Hann's window correlates neighbouring frequencies: four count as one."""
    points = np.random.default_rng(3).random((3000, 2)) * (300, 200)
    found = cvtmesh.spectrum(points, (200, 300), periodic=periodic)
    assert abs(found.low_frequency_power - 1) < (5 if periodic else 10) / np.sqrt(1170)
    assert abs(found.pair_correlation[75] - 1) < 5 / np.sqrt(1125)
    assert abs(found.dispersion - 1) < 5 * np.sqrt(2 / 180)
    assert abs(found.anisotropy_db) < 0.4
    assert found.oscillation < 0.5 and found.effective_nyquist < 0.1
    assert cvtmesh.spectrum(points[:900] ** 2 / (300, 200), (200, 300)).dispersion > 2


def test_jittered_points():
    """One point in each unit square: P(f) = 1 - sinc(f_x)^2 sinc(f_y)^2."""
    side = 48
    points = np.stack(np.divmod(np.arange(side**2), side), 1) + np.random.default_rng(4).random((side**2, 2))
    found = cvtmesh.spectrum(points, (side, side), periodic=True)
    turn = np.arange(64) * np.pi / 32
    for f, power in list(zip(found.frequency, found.power))[10:96:7]:
        expected = 1 - (np.sinc(f * np.cos(turn)) * np.sinc(f * np.sin(turn)))**2
        assert abs(power / expected.mean() - 1) < 5 / np.sqrt(np.pi * f * side)


def test_many_points():
    """By finufft; without it the message says what to install."""
    points = np.random.default_rng(5).random((8193, 2))
    try:
        import finufft
    except ImportError:
        with pytest.raises(ImportError, match=r"pip install cvtmesh\[spectrum\]"):
            cvtmesh.spectrum(points, (1, 1))
        return
    from cvtmesh._spectrum import sums_of

    found = sums_of(points, np.ones(len(points)), (900, 900))
    assert found.shape == (1801, 901) and finufft
    for k, l in ((-900, 0), (0, 0), (17, 900), (-3, 5)):
        wanted = np.exp(-2j * np.pi * (points @ (k, l))).sum()
        assert abs(found[k + 900, l] - wanted) < 1e-7 * len(points)


def test_bond_order():
    angle = 2 * np.pi * np.arange(6) / 6
    points = np.concatenate([np.zeros((1, 2)), np.stack([np.cos(angle), np.sin(angle)], 1)])
    fan = [[0, k + 1, (k + 1) % 6 + 1] for k in range(6)]
    assert cvtmesh.bond_order(points, fan) == pytest.approx(1, abs=1e-12)
    assert np.isnan(cvtmesh.bond_order(points, fan[:5]))
    points[1:6] = np.stack([np.cos(angle[:5] * 1.2), np.sin(angle[:5] * 1.2)], 1)
    assert cvtmesh.bond_order(points, [[0, k + 1, (k + 1) % 5 + 1] for k in range(5)]) < 1e-12


@pytest.mark.parametrize("points, message", [([[1, 2]], "n > 1"), ([[1, 2], [1, 9]], "outside"),
                                             ([[1, 2], [np.nan, 1]], "outside"), ([1, 2, 3], "shape")])
def test_refusals(points, message):
    with pytest.raises(ValueError, match=message):
        cvtmesh.spectrum(points, (5, 5))
