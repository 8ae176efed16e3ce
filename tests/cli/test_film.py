"""batch --follow: dots of a film keep their numbers, move with the scene, and come and go with it."""

import numpy as np
import pytest

from conftest import pgm_bytes

WIDTH, HEIGHT, COUNT = 120, 80, 400
SPACING = np.sqrt(WIDTH * HEIGHT / COUNT)


def frame(cvtmesh, name, x, extra=0):
    """A dark disc at x on grey, and another one of the darkness `extra`."""
    i, j = np.meshgrid(np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5)
    tone = 0.25 + 0.6 / (1 + np.exp(np.hypot(i - x, j - 30) - 15))
    tone = tone + extra / (1 + np.exp(np.hypot(i - 100, j - 15) - 8))
    cvtmesh.file(name, pgm_bytes((255 * (1 - tone) ** 0.45).round().astype(np.uint8)))


def sites_of(cvtmesh, stem):
    assert cvtmesh.read(stem + ".csv").startswith(b"x,y,id\n")
    rows = np.loadtxt(cvtmesh.path(stem + ".csv"), delimiter=",", skiprows=1)
    assert len(rows) == COUNT and len(set(rows[:, 2])) == COUNT
    return {int(number): np.array([x, y]) for x, y, number in rows}


@pytest.fixture
def film(cvtmesh):
    for k, (x, extra) in enumerate(((40, 0), (41, 0), (41, 0), (41, 0.6), (41, 0.6))):
        frame(cvtmesh, f"f{k}.pgm", x, extra)
    names = [f"f{k}.pgm" for k in range(5)]
    cvtmesh.call("batch", *names, "--follow", "-n", COUNT, "--tone", "linear", "-o", "{stem}.csv",
                 "-o", "{stem}.npy", "-q")
    assert (cvtmesh.array("f3.npy")[:, 2] == list(sites_of(cvtmesh, "f3"))).all()
    return [sites_of(cvtmesh, f"f{k}") for k in range(5)]


def moves(before, after, near=None):
    kept = sorted(set(before) & set(after))
    ways = np.array([after[k] - before[k] for k in kept])
    places = np.array([before[k] for k in kept])
    return ways if near is None else ways[np.hypot(*(places - near).T) < 12]


def test_dots_move_with_the_scene(film):
    ways = moves(film[0], film[1], (40, 30))
    assert 0.8 < np.median(ways[:, 0]) < 1.2
    assert np.median(np.abs(ways[:, 1])) < 0.1 * SPACING
    still = moves(film[0], film[1], (100, 65))
    assert len(still) > 5 and np.median(np.hypot(*still.T)) < 0.1 * SPACING


def test_a_small_disc_takes_its_dots_with_it(cvtmesh):
    """It moves by 0.8 spacings a frame, on a ground without any texture."""
    for k in range(4):
        frame(cvtmesh, f"s{k}.pgm", 30 + 4 * k)
    cvtmesh.call("batch", "s*.pgm", "--follow", "-n", COUNT, "-o", "{stem}.csv", "-q")
    seen = [sites_of(cvtmesh, f"s{k}") for k in range(4)]
    for k in range(3):
        ways = moves(seen[k], seen[k + 1], (30 + 4 * k, 30))
        assert np.median(np.hypot(*(ways - (4, 0)).T)) < 0.2 * SPACING
        still = moves(seen[k], seen[k + 1], (105, 70))
        assert len(still) > 5 and np.median(np.hypot(*still.T)) < 0.1 * SPACING


@pytest.mark.parametrize("threads", [1, 3])
def test_frames_do_not_depend_on_the_threads(cvtmesh, film, threads):
    cvtmesh.call("batch", "f*.pgm", "--follow", "-n", COUNT, "--tone", "linear", "-o", "t-{stem}.csv", "-q",
                 "--threads", threads)
    for k in range(5):
        assert cvtmesh.read(f"t-f{k}.csv") == cvtmesh.read(f"f{k}.csv")


def test_a_frame_that_cannot_be_read_is_left_out(cvtmesh, film):
    cvtmesh.file("f1.pgm", b"P5 nothing")
    said = cvtmesh.call("batch", "f*.pgm", "--follow", "-n", COUNT, "-o", "l-{stem}.csv", "-q", code=1)
    assert "job 2: f1.pgm" in said.stderr.decode()
    assert set(sites_of(cvtmesh, "l-f2")) == set(sites_of(cvtmesh, "l-f0"))


def test_a_frame_of_another_size_is_left_out(cvtmesh, film):
    """The frame after it takes its motion from the last one of the film's size."""
    cvtmesh.call("batch", "f0.pgm", "f2.pgm", "--follow", "-n", COUNT, "-o", "a-{stem}.csv", "-q")
    cvtmesh.file("f1.pgm", pgm_bytes(np.zeros((9, 9), np.uint8)))
    said = cvtmesh.call("batch", "f[012].pgm", "--follow", "-n", COUNT, "-o", "m-{stem}.csv", "-q", code=1)
    assert "job 2: f1.pgm" in said.stderr.decode()
    assert cvtmesh.read("m-f2.csv") == cvtmesh.read("a-f2.csv")


def test_nothing_moves_while_the_scene_rests(film):
    assert set(film[1]) == set(film[2]) and set(film[3]) == set(film[4])
    assert np.median(np.hypot(*moves(film[1], film[2]).T)) < 0.05 * SPACING


def test_dots_come_where_the_scene_becomes_dark(film):
    new = np.array([film[3][k] for k in set(film[3]) - set(film[2])])
    assert len(new) > 5
    assert min(set(film[3]) - set(film[2])) >= COUNT
    assert np.mean(np.hypot(*(new - (100, 15)).T) < 14) > 0.8
    inside = [sum(np.hypot(*(p - (100, 15))) < 8 for p in sites.values()) for sites in film[2:4]]
    assert inside[1] > 1.7 * inside[0]


def test_refused(cvtmesh):
    frame(cvtmesh, "a.pgm", 40)
    frame(cvtmesh, "b.pgm", 50)
    words = "batch", "a.pgm", "b.pgm", "--follow", "-n", 50, "-o", "{stem}.csv"
    for more in (("--resume",), ("--shard", "0/2")):
        cvtmesh.refused(*words, *more, code=2, names=["--follow"])
    cvtmesh.refused(*words, "--order", "plot", code=2, names=["--follow", "--order"])
    cvtmesh.file("c.pgm", pgm_bytes(np.zeros((9, 9), np.uint8)))
    said = cvtmesh.call("batch", "a.pgm", "c.pgm", *words[3:], code=1).stderr.decode()
    assert "job 2: c.pgm: the frame has 9 x 9 pixels, but the frame before 120 x 80" in said


def test_touches_move_with_a_camera(cvtmesh):
    """The scene moves by 0.16 spacings a frame; in the median the dots leave this motion by less than 0.1."""
    y, x = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    for k in range(4):
        tone = 0.5 + 0.3 * np.sin((x - 0.8 * k) / 6) * np.cos(y / 8) + 0.15 * np.sin((x - 0.8 * k + y) / 15)
        cvtmesh.file(f"p{k}.pgm", pgm_bytes((255 * (1 - tone) ** 0.45).round().astype(np.uint8)))
    cvtmesh.call("batch", "p*.pgm", "--follow", "-n", COUNT, "--pen", "1.5px", "-o", "{stem}.csv", "-q")
    seen = [sites_of(cvtmesh, f"p{k}") for k in range(4)]
    ways = np.concatenate([moves(a, b) for a, b in zip(seen, seen[1:])])
    assert len(ways) > 2.8 * COUNT
    assert np.median(np.hypot(*(ways - (0.8, 0)).T)) < 0.1 * SPACING
