"""Arrays on a CUDA device: of PyTorch, CuPy, JAX and Numba where they are installed. Needs the CUDA
side: cvtmesh-cuda13, or python/check.sh -DCVTMESH_CUDA=ON."""

import gc
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import cvtmesh

if cvtmesh.cuda_devices() == 0:
    pytest.skip("no CUDA device or no CUDA side", allow_module_level=True)


def put_torch(array):
    return pytest.importorskip("torch").tensor(array, device="cuda")


def put_cupy(array):
    return pytest.importorskip("cupy").asarray(array)


def put_jax(array):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return jax.device_put(array, jax.devices("gpu")[0])


def put_numba(array):
    return pytest.importorskip("numba.cuda").to_device(array)


def take(array):
    """On the host."""
    return array.cpu().numpy() if hasattr(array, "cpu") else array.get()


FRAMEWORKS = [put_torch, put_cupy, put_jax, put_numba]
TWO = [put_torch, put_cupy]
POINTS = np.random.default_rng(0).uniform(0, [128, 96], (500, 2))


def test_points_are_near_those_of_the_cpu(image):
    a = cvtmesh.tessellate(image, 300, device="cuda")
    b = cvtmesh.tessellate(image, 300, device="cpu")
    assert a.energy_ratio == pytest.approx(b.energy_ratio, rel=1e-3)


@pytest.mark.parametrize("put", FRAMEWORKS)
def test_images_on_the_device(put, image):
    b = cvtmesh.tessellate(image, 300, device="cuda", iterations=20)
    for array in (put(image), put(image.astype(np.float64))):
        a = cvtmesh.tessellate(array, 300, iterations=20)
        assert np.array_equal(take(a.points), b.points)
        for name in ("points", "triangles", "mass", "centroids", "density"):
            assert hasattr(getattr(a, name), "__cuda_array_interface__")
            assert take(getattr(a, name)).dtype == getattr(b, name).dtype
        assert a.weights is None and len(a.cells) == 300 and repr(a)
        assert a.report["device"].startswith("cuda")
    assert isinstance(cvtmesh.tessellate(array, 30, device="cpu").points, np.ndarray)


@pytest.mark.parametrize("put", TWO)
def test_results_go_through_pickle(put, image):
    t = cvtmesh.tessellate(put(image), 100, iterations=2)
    pickled = pickle.loads(pickle.dumps(t))
    assert isinstance(pickled.points, type(t.points))
    assert np.array_equal(take(pickled.points), take(t.points))


@pytest.mark.parametrize("put", TWO)
def test_a_density_is_used_where_it_lies(put, image):
    """Its bits are those of a copy, whatever makes a copy necessary."""
    host = cvtmesh.tessellate(image, 200, device="cuda")
    for array in (put(image).T, put(np.ascontiguousarray(image.T)).T):
        wanted = cvtmesh.tessellate(take(array), 200, device="cuda")
        assert np.array_equal(take(cvtmesh.tessellate(array, 200).points), wanted.points)
    assert np.array_equal(wanted.points, host.points)
    array = put(image)
    for options in ({"grade": 1.0}, {"equal_mass": True}, {"noise": "blue"}, {"iterations": 0}):
        a = cvtmesh.tessellate(array, 200, **options)
        b = cvtmesh.tessellate(image, 200, device="cuda", **options)
        assert np.array_equal(take(a.points), b.points)
        assert np.array_equal(take(a.density), b.density)
    assert np.array_equal(take(array), image)
    with pytest.raises(ValueError, match=r"image: the value -1 at pixel \(7, 5\)"):
        array[5, 7] = -1
        cvtmesh.tessellate(array, 200)


@pytest.mark.parametrize("put", FRAMEWORKS)
def test_a_density_is_conditioned_where_it_lies(put, image):
    for options in (
        {"grade": 20.0, "smooth": (2.0, 0.3)},
        {"grade": (20.0, 5.0)},
        {},
        {"grade_size": 0.1},  # on the host
        {"grade": 20.0, "floor": 2.0},
    ):
        wanted, array = cvtmesh.condition(image, device="cuda", **options), put(image)
        made = cvtmesh.condition(array, **options)
        assert hasattr(made, "__cuda_array_interface__")
        assert take(made).dtype == np.float64 and np.array_equal(take(made), wanted)
        assert np.array_equal(np.asarray(cvtmesh.condition(array, device="cpu")), image)
    with pytest.raises(ValueError, match=r"image: the value -1 at pixel \(7, 5\)"):
        spoilt = image.copy()
        spoilt[5, 7] = -1
        cvtmesh.condition(put(spoilt), grade=1.0)
    with pytest.raises(ValueError, match="grade"):
        cvtmesh.condition(put(image), grade=(-1.0, 5.0))


def test_a_density_in_place_leaves_the_memory_of_a_copy():
    torch = pytest.importorskip("torch")

    def taken(density):
        free, seen = torch.cuda.mem_get_info()[0], []
        cvtmesh.tessellate(
            density,
            50,
            device="cuda",
            iterations=3,
            callback=lambda _: seen.append(torch.cuda.mem_get_info()[0]),
        )
        return free - min(seen)

    density = torch.rand(4096, 4096, device="cuda") + 1
    host = density.cpu().numpy()
    taken(host)  # what a process takes once
    assert taken(host) - taken(density) > host.nbytes // 2


def test_tessellate_follows_the_callers_stream(image):
    torch = pytest.importorskip("torch")
    stream = torch.cuda.Stream()
    density = put_torch(image.astype(np.float32))
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(10**8)
        density += 1
        points = cvtmesh.tessellate(density, 100, iterations=10).points
    host = cvtmesh.tessellate(image.astype(np.float32) + 1, 100, device="cuda", iterations=10)
    assert np.array_equal(take(points), host.points)


def test_two_threads_give_the_bits_of_one_after_the_other(image):
    torch = pytest.importorskip("torch")
    matrix, q = tridiagonal(2000), put_torch(np.linspace(-1, 1, 2000))
    start = torch.full((5000,), 3.0, dtype=torch.float64, device="cuda")
    points = put_torch(POINTS)
    work = [
        lambda: cvtmesh.tessellate(image, 400, device="cuda", seed=1).points,
        lambda: cvtmesh.tessellate(image, 400, device="cuda", seed=2).points,
        lambda: take(cvtmesh.minimize(quadratic(1), start, bounds=[(2, 4)] * 5000).x),
        lambda: take(cvtmesh.lcp(matrix, q).x),
        lambda: take(cvtmesh.voronoi(points, (96, 128))),
        lambda: take(cvtmesh.delaunay(points).triangles),
    ]
    alone = [each() for each in work]
    with ThreadPoolExecutor(len(work)) as pool:
        for _ in range(3):
            together = [future.result() for future in [pool.submit(each) for each in work]]
            assert all(np.array_equal(a, b) for a, b in zip(alone, together))


@pytest.mark.parametrize("put", FRAMEWORKS)
def test_triangles_of_points_on_the_device(put):
    mesh = cvtmesh.delaunay(put(POINTS))
    host = cvtmesh.delaunay(POINTS)
    assert hasattr(mesh.triangles, "__cuda_array_interface__")
    assert str(mesh.triangles.dtype).endswith("int32")
    assert np.array_equal(take(mesh.triangles), host.triangles)
    assert np.array_equal(take(mesh.points), POINTS)
    assert mesh.quality == host.quality


@pytest.mark.parametrize("put", TWO)
def test_hard_triangulations_on_the_device(put):
    angles = np.arange(3000)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    for points in (circle, [[0, 0], [1, 1], [2, 2]], [[3, 4]], [[0, 0], [1, 0], [0, 1], [0, 0]]):
        mesh = cvtmesh.delaunay(put(np.array(points, np.float64)))
        assert np.array_equal(take(mesh.triangles), cvtmesh.delaunay(points).triangles)
    with pytest.raises(ValueError, match=r"points\[1, 0\] is nan"):
        cvtmesh.delaunay(put(np.array([[0, 1], [np.nan, 2]])))


@pytest.mark.parametrize("put", FRAMEWORKS)
@pytest.mark.parametrize("method", ["exact", "jfa"])
def test_labels_stay_on_the_device(put, method):
    labels = cvtmesh.voronoi(put(POINTS), (96, 128), method)
    assert hasattr(labels, "__cuda_array_interface__") and str(labels.dtype).endswith("int32")
    host = cvtmesh.voronoi(POINTS, (96, 128), method, device="cpu")
    assert np.array_equal(take(labels), host)
    assert isinstance(cvtmesh.voronoi(put(POINTS), (96, 128), method, device="cpu"), np.ndarray)


@pytest.mark.parametrize("put", TWO)
def test_labels_are_updated_on_the_device(put):
    old = cvtmesh.voronoi(put(POINTS), (96, 128))
    before = take(old)
    new = cvtmesh.voronoi(put(POINTS + 0.4), (96, 128), labels_from=old)
    assert np.array_equal(take(new), cvtmesh.voronoi(POINTS + 0.4, (96, 128)))
    assert np.array_equal(take(old), before)
    with pytest.raises(ValueError, match="labels_from: shape"):
        cvtmesh.voronoi(put(POINTS), (96, 100), labels_from=old)


def test_labels_follow_the_callers_stream():
    """The points are changed by work that the stream still has before it."""
    torch = pytest.importorskip("torch")
    stream = torch.cuda.Stream()
    points = put_torch(POINTS)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(10**8)
        points += 0.7
        labels = cvtmesh.voronoi(points, (96, 128))
    assert np.array_equal(take(labels), cvtmesh.voronoi(POINTS + 0.7, (96, 128), device="cpu"))


# --- minimize -------------------------------------------------------------------------------------


def quadratic(shift):
    return lambda x: (0.5 * ((x - shift) ** 2).sum(), x - shift)


@pytest.mark.parametrize("put", TWO)
def test_minimize_keeps_arrays_on_the_device(put):
    start = put(np.full((50, 20), 3.0))

    def fun(x):
        assert type(x) is type(start) and x.device == start.device and x.shape == start.shape
        return quadratic(1)(x)

    for bounds in ([(0, 2)] * 1000, np.tile([0.0, 2.0], (1000, 1)), put(np.tile([0.0, 2], (1000, 1)))):
        r = cvtmesh.minimize(fun, start, bounds=bounds)
        assert r.success and type(r.x) is type(r.jac) is type(start) and r.x.shape == start.shape
        assert float(abs(r.x - 1).max()) < 1e-8
    r = cvtmesh.minimize(fun, start, bounds=put(np.tile([1.5, 2.0], (1000, 1))))
    assert float(abs(r.x - 1.5).max()) == 0 and r.active == 1000
    assert float(start.sum()) == 3000
    with pytest.raises(ValueError, match="cuda:0"):
        cvtmesh.minimize(fun, start, device="cpu")


def test_starts_of_numba_become_arrays_of_cupy():
    cupy = pytest.importorskip("cupy")
    r = cvtmesh.minimize(quadratic(2), put_numba(np.zeros(10)))
    assert isinstance(r.x, cupy.ndarray) and float(abs(r.x - 2).max()) < 1e-8


@pytest.mark.parametrize("put", TWO)
def test_minimize_goes_the_way_of_host_arrays(put):
    def rosenbrock(x):
        a, b = x[0], x[1]
        g = x * 0
        g[0] = -400 * a * (b - a * a) - 2 * (1 - a)
        g[1] = 200 * (b - a * a)
        return 100 * (b - a * a) ** 2 + (1 - a) ** 2, g

    a = cvtmesh.minimize(rosenbrock, put(np.array([-1.2, 1.0])))
    b = cvtmesh.minimize(rosenbrock, np.array([-1.2, 1.0]), device="cuda")
    assert a.nit == b.nit and np.allclose(take(a.x), b.x, rtol=0, atol=1e-12)


def test_minimize_works_on_the_callers_stream():
    torch = pytest.importorskip("torch")
    stream, seen = torch.cuda.Stream(), []
    start = put_torch(np.zeros(1000))
    torch.cuda.synchronize()

    def fun(x):
        seen.append(torch.cuda.current_stream())
        torch.cuda._sleep(10**6)  # what follows is late
        return quadratic(4)(x)

    with torch.cuda.stream(stream):
        start += 1
        r = cvtmesh.minimize(fun, start)
        assert float(abs(r.x - 4).max()) < 1e-8
    assert all(s == stream for s in seen)


def test_minimize_takes_gradients_of_autograd():
    torch = pytest.importorskip("torch")

    def fun(x):
        x = x.detach().requires_grad_()
        f = ((x - 1) ** 4).sum() + (x**2).sum()
        f.backward()
        return f, x.grad

    r = cvtmesh.minimize(fun, torch.zeros(100, dtype=torch.float64, device="cuda"))
    assert float(r.jac.abs().max()) < 1e-6
    r = cvtmesh.minimize(fun, torch.zeros(100, dtype=torch.float32, device="cuda"))
    assert r.x.dtype == torch.float64


@pytest.mark.parametrize("put", TWO)
@pytest.mark.parametrize(
    ("fun", "error", "message"),
    [
        (lambda x: (0.0, x[:-1]), ValueError, "gradient of 9 numbers"),
        (lambda x: (x, x), ValueError, "10 values"),
        (lambda x: x.sum(), TypeError, "value and the gradient"),
        (lambda x: (0.0, x * 1j), TypeError, "gradient: .*complex"),
        (lambda x: 1 / 0, ZeroDivisionError, "division"),
    ],
)
def test_wrong_objectives_are_named(put, fun, error, message):
    with pytest.raises(error, match=message):
        cvtmesh.minimize(fun, put(np.ones(10)))


@pytest.mark.parametrize("put", TWO)
def test_wrong_bounds_are_named(put):
    fun, x = quadratic(0), put(np.ones(10))
    with pytest.raises(ValueError, match=r"bounds: shape \(9, 2\)"):
        cvtmesh.minimize(fun, x, bounds=put(np.zeros((9, 2))))
    with pytest.raises(ValueError, match="x0 is empty"):
        cvtmesh.minimize(fun, put(np.ones(0)))
    with pytest.raises((ValueError, FloatingPointError)):
        cvtmesh.minimize(fun, put(np.full(10, np.nan)))
    with pytest.raises(ValueError):
        cvtmesh.minimize(fun, x, bounds=put(np.tile([1.0, 0.0], (10, 1))))


def test_host_arrays_cross_the_bus():
    r = cvtmesh.minimize(lambda x: ((x - 1) ** 2, 2 * (x - 1)), np.float64(3), device="cuda")
    assert r.success and abs(float(r.x) - 1) < 1e-8


def test_figures_of_a_large_batch_are_those_of_a_small_one():
    torch = pytest.importorskip("torch")
    centre = torch.tensor(np.random.default_rng(0).random((5000, 3)), device="cuda")
    scale = torch.tensor([1.0, 3.0, 20.0], device="cuda", dtype=torch.float64)

    def solve(rows):
        def fun(x):
            return (scale * (x - centre[:rows]) ** 2).sum(1), 2 * scale * (x - centre[:rows])

        return cvtmesh.minimize(fun, torch.zeros_like(centre[:rows]), [(0.1, 0.9)] * 3, gradient_tolerance=1e-6)

    large, small = solve(5000), solve(20)
    for name in ("fun", "status", "success", "message", "nit", "nfev", "njev", "active", "projected_gradient"):
        assert np.array_equal(large[name][:20], small[name]) and len(large[name]) == 5000, name
    assert torch.equal(large.x[:20], small.x) and large.success.all()


@pytest.mark.parametrize("jac", [True, "autograd"])
@pytest.mark.parametrize("shape", [(30,), (200, 3), (200, 40)])
def test_recorded_functions_give_the_same_bits(shape, jac):
    torch = pytest.importorskip("torch")
    centre = torch.tensor(np.random.default_rng(0).random(shape), device="cuda")
    start = torch.zeros_like(centre)
    calls = []

    def value(x, running=None):
        calls.append(running)
        terms = torch.cosh(x - centre) * torch.arange(1, shape[-1] + 1, device="cuda")
        return terms.sum() if len(shape) == 1 else terms.sum(1)

    def both(x):
        slopes = torch.sinh(x - centre) * torch.arange(1, shape[-1] + 1, device="cuda")
        return value(x), slopes

    def solve(**given):
        calls.clear()
        fun = value if jac == "autograd" and len(shape) > 1 else (lambda x: value(x)) if jac == "autograd" else both
        return cvtmesh.minimize(fun, start, [(0.1, 0.9)] * shape[-1], jac=jac, **given)

    plain = solve()
    with torch.cuda.stream(torch.cuda.Stream()):  # also where another stream is current
        torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())
        for _ in range(2):
            recorded = solve(graph=True)
            assert len(calls) == 4 < np.max(plain.nfev)  # two, the recording, and the last for `jac`
            for name in ("fun", "status", "nit", "nfev", "active"):
                assert np.array_equal(recorded[name], plain[name]), name
            assert torch.equal(recorded.x, plain.x) and torch.equal(recorded.jac, plain.jac)
        other = solve()
    assert torch.equal(other.x, plain.x) and np.all(plain.success)


def test_functions_that_cannot_be_recorded():
    torch = pytest.importorskip("torch")
    x0 = torch.ones((4, 3), device="cuda", dtype=torch.float64)

    def waits(x):
        float(x.sum())
        return (x**4).sum(1), 4 * x**3

    with pytest.raises(RuntimeError, match="graph: fun cannot be recorded"):
        cvtmesh.minimize(waits, x0, graph=True)
    assert cvtmesh.minimize(waits, x0).success.all()
    with pytest.raises(ValueError, match="graph: x0 is not a tensor"):
        cvtmesh.minimize(waits, put_cupy(np.ones((4, 3))), graph=True)


def test_small_calls_keep_no_memory():
    torch = pytest.importorskip("torch")
    import cvtmesh.torch

    sites, density = put_torch(POINTS), torch.ones(96, 128, device="cuda")
    matrix = tridiagonal(len(POINTS))

    def calls(count):
        for _ in range(count):
            cvtmesh.minimize(quadratic(1), torch.zeros(4, dtype=torch.float64, device="cuda"))
            cvtmesh.voronoi(sites, (96, 128))
            cvtmesh.torch.cvt_energy(sites, density)
            cvtmesh.delaunay(sites)
            cvtmesh.lcp(matrix, sites[:, 0])
        gc.collect()
        torch.cuda.synchronize()
        return torch.cuda.mem_get_info()[0]

    calls(5)
    for _ in range(5):  # the device reports its memory for all processes: another one may take some
        free = calls(20)
        if calls(100) >= free - (1 << 20):
            return
    pytest.fail("in each of five times 100 calls kept more than 1 MB")


# --- complementarity ------------------------------------------------------------------------------


def tridiagonal(n):
    sparse = pytest.importorskip("scipy.sparse")
    return sparse.diags([-1.0, 2.5, -1.0], [-1, 0, 1], (n, n), format="csr")


@pytest.mark.parametrize("put", TWO)
def test_complementarity_on_the_device(put):
    n = 400
    matrix, q = tridiagonal(n), np.random.default_rng(1).uniform(-1, 1, n)
    on_device = put(q)
    lower, upper = put(np.full(n, -0.2)), 0.3
    a = cvtmesh.lcp(matrix, on_device, lower, upper)
    b = cvtmesh.lcp(matrix, q, -0.2, upper, device="cuda")
    assert type(a.x) is type(on_device) and np.array_equal(take(a.x), b.x)
    assert a.success and a.active_lower == b.active_lower
    a = cvtmesh.hlcp(matrix, None, on_device, method="newton")
    b = cvtmesh.hlcp(matrix, None, q, method="newton", device="cuda")
    assert type(a.z) is type(a.w) is type(on_device)
    assert np.array_equal(take(a.z), b.z) and np.array_equal(take(a.w), b.w)
    assert isinstance(cvtmesh.lcp(matrix, on_device, device="cpu").x, np.ndarray)
    assert np.array_equal(take(on_device), q)
    with pytest.raises(ValueError, match="lower: 399 numbers for 400 unknowns"):
        cvtmesh.lcp(matrix, on_device, lower[1:])
    with pytest.raises(ValueError, match="lower|bound"):
        cvtmesh.lcp(matrix, on_device, put(np.full(n, 1.0)), put(np.full(n, 0.0)))


def test_complementarity_follows_the_callers_stream():
    torch = pytest.importorskip("torch")
    matrix, stream = tridiagonal(50), torch.cuda.Stream()
    q = put_torch(np.ones(50))
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(10**8)
        q += 1
        x = cvtmesh.lcp(matrix, q).x
    assert np.array_equal(take(x), cvtmesh.lcp(matrix, np.full(50, 2.0), device="cuda").x)


def test_sparse_matrices_on_the_device():
    torch = pytest.importorskip("torch")
    matrix, q = tridiagonal(60), np.linspace(-1, 1, 60)
    wanted = cvtmesh.lcp(matrix, q, device="cuda").x
    dense = torch.tensor(matrix.toarray(), device="cuda")
    for other in (dense, dense.to_sparse_csr(), dense.to_sparse_coo()):
        assert np.array_equal(take(cvtmesh.lcp(other, put_torch(q)).x), wanted)
    sparse = pytest.importorskip("cupyx.scipy.sparse")
    assert np.array_equal(take(cvtmesh.lcp(sparse.csr_matrix(matrix), put_cupy(q)).x), wanted)


# --- cvtmesh.torch --------------------------------------------------------------------------------


def problem(n=200, shape=(90, 110), seed=0):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    sites = torch.tensor(rng.uniform(0, 1, (n, 2)) * [shape[1], shape[0]])
    density = torch.tensor(rng.uniform(0.1, 2, shape), dtype=torch.float32)
    return sites, density


@pytest.mark.parametrize("n", [1, 200, 120000])
def test_energies_and_moments_are_those_of_the_cpu(n):
    import cvtmesh.torch

    sites, density = problem(n, (300, 330))
    host, device = sites.clone().requires_grad_(), sites.cuda().requires_grad_()
    a = cvtmesh.torch.cvt_energy(host, density)
    b = cvtmesh.torch.cvt_energy(device, density.cuda())
    assert b.is_cuda and b.shape == () and b.item() == pytest.approx(a.item(), rel=1e-11)
    (3 * a).backward()
    (3 * b).backward()
    assert device.grad.is_cuda
    assert np.allclose(device.grad.cpu(), host.grad, rtol=0, atol=1e-9 * host.grad.abs().max())
    for a, b in zip(
        cvtmesh.torch.cvt_moments(sites, density),
        cvtmesh.torch.cvt_moments(sites.cuda(), density.cuda()),
    ):
        assert b.is_cuda and np.allclose(b.cpu(), a, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [1, 200, 20000])
def test_gradients_of_moments_by_sites_on_the_device(n):
    import cvtmesh.torch

    sites, density = problem(n, (300, 330))
    grads = []
    for place in ("cpu", "cuda"):
        x = sites.to(place, copy=True).requires_grad_()
        mass, centroid = cvtmesh.torch.cvt_moments(x, density.to(place))
        ((mass**2).sum() + (centroid**3).sum()).backward()
        assert x.grad.device == x.device
        grads.append(x.grad.cpu().numpy())
    assert np.allclose(*grads, rtol=1e-9, atol=1e-9 * abs(grads[0]).max())


@pytest.mark.parametrize("by_density", [False, True])
def test_gradcheck_in_double(by_density):
    import cvtmesh.torch

    torch = pytest.importorskip("torch")
    sites, density = problem(12, (9, 11))
    sites = sites.cuda().requires_grad_()
    density = density.double().cuda().requires_grad_(by_density)
    for function in (cvtmesh.torch.cvt_energy, cvtmesh.torch.cvt_moments):
        assert torch.autograd.gradcheck(
            function, (sites, density), eps=1e-6, atol=1e-5, rtol=1e-6
        )


def test_gradients_of_a_density_on_the_device():
    import cvtmesh.torch

    sites, density = problem()
    grads = []
    for place in ("cpu", "cuda"):
        rho = density.to(place, copy=True).requires_grad_()
        mass, centroid = cvtmesh.torch.cvt_moments(sites.to(place), rho)
        energy = cvtmesh.torch.cvt_energy(sites.to(place), rho)
        (energy + (mass**2).sum() + centroid.sum()).backward()
        assert rho.grad.device == rho.device and rho.grad.dtype == rho.dtype
        grads.append(rho.grad.cpu().double().numpy())
    assert np.allclose(*grads, rtol=1e-5)


def test_gradients_do_not_depend_on_other_calls():
    """The device keeps the cells of the last call alone."""
    import cvtmesh.torch

    torch = pytest.importorskip("torch")

    def forward(seed, n):
        sites, density = (tensor.cuda().requires_grad_() for tensor in problem(n, seed=seed))
        mass, centroid = cvtmesh.torch.cvt_moments(sites, density)
        return (mass**2).sum() + (centroid**2).sum(), (sites, density)

    def alone(seed, n):
        value, inputs = forward(seed, n)
        return torch.autograd.grad(value, inputs)

    wanted = [alone(1, 200), alone(2, 200), alone(3, 150)]
    values = [forward(1, 200), forward(2, 200), forward(3, 150)]
    for (value, inputs), gradients in zip(values, wanted):
        for found, expected in zip(torch.autograd.grad(value, inputs), gradients):
            assert torch.equal(found, expected)


def test_gradients_of_a_crowded_density():
    """Of cells too small for the device."""
    import cvtmesh.torch

    sites, density = problem(3000, (12, 14))
    grads = []
    for place in ("cpu", "cuda"):
        rho = density.to(place, copy=True).requires_grad_()
        cvtmesh.torch.cvt_energy(sites.to(place), rho).backward()
        grads.append(rho.grad.cpu().double().numpy())
    assert np.allclose(*grads, rtol=1e-5)


def test_a_density_that_changes_is_seen():
    import cvtmesh.torch

    sites, density = problem()
    sites, density = sites.cuda(), density.cuda()
    first = cvtmesh.torch.cvt_energy(sites, density).item()
    density *= 2
    assert cvtmesh.torch.cvt_energy(sites, density).item() == 2 * first
    more = cvtmesh.torch.cvt_energy(sites[:50], density).item()
    assert more > 2 * first and cvtmesh.torch.cvt_energy(sites, density).item() == 2 * first
    other = density.T.contiguous()
    assert cvtmesh.torch.cvt_energy(sites.flip(1), other).item() == pytest.approx(2 * first, rel=1e-9)
    assert cvtmesh.torch.cvt_energy(sites.flip(1), density.T).item() == pytest.approx(2 * first, rel=1e-9)


def test_tensors_may_go_while_the_device_works():
    """Results do not depend on what is deleted, and used again, after a call."""
    import cvtmesh.torch

    torch = pytest.importorskip("torch")
    sites, density = problem(5000, (600, 700))
    sites, density = sites.cuda(), density.cuda()
    wanted = cvtmesh.torch.cvt_energy(sites, density).item()
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        energies = []
        for _ in range(20):
            a, b = sites.clone(), density.double()
            energies.append(cvtmesh.torch.cvt_energy(a, b))
            del a, b
            torch.full((600, 700), 1e9, device="cuda", dtype=torch.float64)
        assert [e.item() for e in energies] == [wanted] * 20


def test_wrong_tensors_are_named():
    import cvtmesh.torch

    torch = pytest.importorskip("torch")
    sites, density = problem()
    sites, density = sites.cuda(), density.cuda()
    energy = cvtmesh.torch.cvt_energy
    with pytest.raises(ValueError, match="density: shape"):
        energy(sites, density[0])
    with pytest.raises(ValueError, match="sites: shape"):
        energy(sites[:, 0], density)
    with pytest.raises(ValueError, match="no point"):
        energy(sites[:0], density)
    for wrong in (-1.0, float("nan"), float("inf")):
        spoilt = density.clone()
        spoilt[3, 5] = wrong
        with pytest.raises(ValueError, match=rf"density: {wrong} at pixel \(5, 3\)"):
            energy(sites, spoilt)
    for wrong in (float("nan"), 1e10):
        spoilt = sites.clone()
        spoilt[7, 1] = wrong
        with pytest.raises(ValueError, match=r"sites"):
            energy(spoilt, density)
    assert torch.isfinite(energy(sites, density))


# --- batches --------------------------------------------------------------------------------------


def quartics(x, centre):
    return ((x - centre) ** 2 + (x - centre) ** 4).sum(axis=1), 2 * (x - centre) + 4 * (x - centre) ** 3


@pytest.mark.parametrize("n", [3, 70])
@pytest.mark.parametrize("put", [put_torch, put_cupy, put_jax])
def test_batches_stay_on_the_device(put, n):
    rng = np.random.default_rng(1)
    centre, x0 = rng.uniform(-2, 2, (2, 200, n))
    bounds = np.tile([-1.0, 1.5], (200, n, 1))
    bounds[::3] = [-np.inf, np.inf]
    on_device, seen = put(centre), []

    def fun(x, running):
        assert type(x) is type(on_device) and str(running.dtype).endswith("bool")
        seen.append(int(running.sum()))
        return quartics(x, on_device)

    r = cvtmesh.minimize(fun, put(x0), put(bounds), gradient_tolerance=1e-9)
    assert type(r.x) is type(on_device) and r.success.all() and r.fun.shape == (200,)
    assert np.allclose(np.asarray(take(r.x) if put is not put_jax else r.x), np.clip(centre, bounds[..., 0], bounds[..., 1]), atol=1e-8)
    assert seen[0] == seen[-1] == 200 and sum(seen) == r.nfev.sum()
    few = put(centre[50:60])
    part = cvtmesh.minimize(lambda x: quartics(x, few), put(x0[50:60]), bounds[50:60], gradient_tolerance=1e-9)
    assert bool((part.x == r.x[50:60]).all()) and np.array_equal(part.nit, r.nit[50:60])


def test_batches_of_the_host_on_the_device():
    centre = np.random.default_rng(2).uniform(-2, 2, (50, 4))
    seen = []

    def fun(x, running):
        seen.append(running.sum())
        return quartics(x, centre)

    r = cvtmesh.minimize(fun, np.zeros((50, 4)), [(-1, 1)] * 4, device="cuda", gradient_tolerance=1e-9)
    assert np.allclose(r.x, np.clip(centre, -1, 1), atol=1e-8) and sum(seen) == r.nfev.sum()


@pytest.mark.parametrize("put", [put_torch, put_jax])
def test_gradients_by_the_framework(put):
    centre = put(np.random.default_rng(2).uniform(-2, 2, (50, 4)))
    r = cvtmesh.minimize(lambda x: ((x - centre) ** 2).sum(axis=1), put(np.zeros((50, 4))), jac="autograd")
    assert r.success.all() and float(abs(r.x - centre).max()) < 1e-9


def test_an_optimiser_of_parameters_on_the_device():
    torch = pytest.importorskip("torch")
    import cvtmesh.torch

    x = torch.zeros(100, device="cuda", dtype=torch.double, requires_grad=True)
    target = torch.linspace(-2, 2, 100, device="cuda", dtype=torch.double)
    optimizer = cvtmesh.torch.LBFGSB([x], -1, torch.tensor(1.5, device="cuda"), max_iter=2, gradient_tolerance=1e-9)

    def closure():
        optimizer.zero_grad()
        loss = ((x - target) ** 2 + (x - target) ** 4).sum()
        loss.backward()
        return loss

    while optimizer.message == "running":
        loss = optimizer.step(closure)
    assert optimizer.message == "gradient" and loss.is_cuda
    assert torch.allclose(x.detach(), target.clamp(-1, 1.5), atol=1e-8)
