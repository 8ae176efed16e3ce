"""Short options that share a word."""

import pytest


@pytest.mark.parametrize("count", [2, 10, 5000])
def test_any_number_of_short_options_in_a_word(cvtmesh, count):
    cvtmesh.file("points.csv", "1,1\n9,2\n4,8\n7,7\n")
    cvtmesh.call("mesh", "points.csv", "-" + "q" * count + "o", "out.obj")
    assert "out.obj" in cvtmesh.names()
