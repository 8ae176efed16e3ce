"""The two versions of loops, for baseline vectors and for AVX2, give the same bits."""

import pathlib

import numpy as np
import pytest

CASES = {
    "minimize-ept": ["minimize", "ept", "--nx", 61, "--ny", 43, "-o", "x.npy"],
    "minimize-exact":
    ["minimize", "pjb", "--nx", 61, "--ny", 43, "--cauchy", "exact", "-o", "x.npy"],
    "minimize-msa": ["minimize", "msa", "--nx", 61, "--ny", 43, "-o", "x.npy"],
    "minimize-free": ["minimize", "gl1", "--n", 3001, "--iterations", 40, "-m", 3, "-o", "x.npy"],
    "lcp-sparse": ["lcp", "--problem", "torsion", "--size", 127, "-o", "x.npy"],
    "lcp-free":
    ["lcp", "--problem", "torsion", "--size", 127, "--storage", "matrix-free", "-o", "x.npy"],
    "lcp-stretched": [
        "lcp", "--problem", "membrane", "--width", 300, "--height", 100, "--storage", "matrix-free",
        "-o", "x.npy"
    ],
    "hlcp-newton":
    ["hlcp", "--example", 3, "--method", "newton", "--size", 40, "--output-z", "x.npy"],
    "density": ["density", "rho.npy", "--smooth", 3, "--grade", 2, "-o", "x.npy"],
    "segment": ["segment", "rho.npy", "--inside", "40,30,5", "--steps", 5, "-o", "x.npy"],
    "run": ["run", "rho.npy", "-n", 300, "-o", "x.npy"],
    "mesh": ["mesh", "star.csv", "-n", 900, "-o", "x.msh"],
}


@pytest.mark.skipif("avx2" not in pathlib.Path("/proc/cpuinfo").read_text(), reason="no AVX2 here")
@pytest.mark.parametrize("case", CASES)
def test_same_bits(cvtmesh, case):
    cvtmesh.file("rho.npy", np.random.default_rng(8).random((67, 91)).astype(np.float32))
    cvtmesh.file("star.csv", "0,0\n9,2\n20,0\n13,7\n15,20\n8,9\n")
    name = CASES[case][-1]
    found = []
    for vectors in ("baseline", "widest"):
        cvtmesh.call(*CASES[case], environment={"CVTMESH_VECTORS": vectors}, code=(0, 4))
        found.append(cvtmesh.read(name))
    assert found[0] == found[1]


def test_first_steps_on_a_gpu(cvtmesh):
    """Sums of a GPU are rounded elsewhere; the first steps are those of the CPU all the same."""
    cvtmesh.file("even.npy", np.ones((290, 290), np.float32))
    words = ("run", "even.npy", "-n", 400, "--preset", "paper", "--iterations", 10,
             "-o", "x.npy", "-q", "--report", "r.json", "--device")
    if cvtmesh.call(*words, "cuda", code=(0, 5)).returncode == 5:
        pytest.skip("no CUDA device")
    gpu = [record["energy"] for record in cvtmesh.json("r.json")["history"]]
    cvtmesh.call(*words, "cpu")
    cpu = [record["energy"] for record in cvtmesh.json("r.json")["history"]]
    assert len(cpu) == 11 and cpu[-1] < 0.7 * cpu[0] and gpu == pytest.approx(cpu, rel=1e-9)
