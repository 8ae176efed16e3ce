"""Arrays on a CUDA device. Needs a build with CUDA: python/check.sh -DCVTMESH_CUDA=ON."""

import numpy as np
import pytest

import cvtmesh

pytestmark = pytest.mark.skipif(cvtmesh.cuda_devices() == 0, reason="no CUDA device or no CUDA side")


def frameworks():
    try:
        import torch

        if torch.cuda.is_available():
            yield pytest.param(lambda a: torch.tensor(a, device="cuda"), id="torch")
    except ImportError:
        pass
    try:
        import cupy

        yield pytest.param(cupy.asarray, id="cupy")
    except ImportError:
        pass


def test_points_are_near_those_of_the_cpu(image):
    a = cvtmesh.tessellate(image, 300, device="cuda")
    b = cvtmesh.tessellate(image, 300, device="cpu")
    assert a.energy_ratio == pytest.approx(b.energy_ratio, rel=1e-3)


@pytest.mark.parametrize("put", frameworks())
def test_images_on_the_device(put, image):
    a = cvtmesh.tessellate(put(image), 300, device="cuda")
    assert np.array_equal(a.points, cvtmesh.tessellate(image, 300, device="cuda").points)


@pytest.mark.parametrize("put", frameworks())
def test_minimize_keeps_arrays_on_the_device(put):
    start = put(np.full(1000, 3.0))

    def fun(x):
        assert type(x) is type(start) and x.device == start.device
        return ((x - 1) ** 2).sum(), 2 * (x - 1)

    r = cvtmesh.minimize(fun, start, device="cuda", bounds=[(0, 2)] * 1000)
    assert r.success and type(r.x) is type(start) and float(abs(r.x - 1).max()) < 1e-8
    with pytest.raises(ValueError, match="device"):
        cvtmesh.minimize(fun, start, device="cpu")


def test_host_arrays_cross_the_bus():
    r = cvtmesh.minimize(lambda x: ((x - 1) ** 2, 2 * (x - 1)), np.float64(3), device="cuda")
    assert r.success and abs(float(r.x) - 1) < 1e-8
