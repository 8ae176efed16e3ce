"""./bootstrap, as --dry-run shows it, and with the tools replaced by some that print what is asked of
them. CMake compiles for the GPUs that are there, and says so; without one, for the CPU."""

import os
import re
import subprocess
import sys

import pytest

from conftest import ROOT


@pytest.fixture
def tools(tmp_path):
    """An environment in which programs of these names run these lines of shell."""

    def of(**scripts):
        for name, text in scripts.items():
            path = tmp_path / name.replace("_", "-")
            path.write_text(f"#!/bin/bash\n{text}\n")
            path.chmod(0o755)
        return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}

    return of


@pytest.fixture
def bootstrap(tools):
    """What the script prints where all packages are installed."""
    environment = tools(dpkg_query="echo ii")

    def call(*arguments, code=0):
        done = subprocess.run([ROOT / "bootstrap", *arguments], text=True, capture_output=True,
                              env=environment, check=False)
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stdout + done.stderr

    return call


def configured(folder, environment, *options):
    parts = ("MPI", "VIEWER", "TESTS", "BENCH")
    done = subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *options,
                           *(f"-DCVTMESH_{part}=OFF" for part in parts)],
                          text=True, capture_output=True, env=environment, check=True)
    return done.stdout


def test_the_gpus_that_are_there(tools, tmp_path):
    environment = tools(nvcc="false", nvidia_smi="printf '9.0\\n8.9\\n7.5\\n9.0\\n12.0\\n'")
    assert "GPUs of this machine: 90-real;89-real;120-real;" in configured(tmp_path / "some", environment)
    assert "GPU" not in configured(tmp_path / "some", environment, "-DCVTMESH_CUDA=OFF")


def test_no_gpu(tools, tmp_path):
    """The compiler is not even looked for, unless its GPUs are named."""
    environment = tools(nvcc="false", nvidia_smi="echo 'No devices were found'; exit 6")
    text = configured(tmp_path / "none", environment)
    assert "no CUDA; CVTMESH_CUDA=ON" in text and "Looking for a CUDA compiler" not in text
    text = configured(tmp_path / "none", environment, "-DCMAKE_CUDA_ARCHITECTURES=90-real")
    assert "no CUDA" not in text and "Looking for a CUDA compiler" in text


def test_run(bootstrap):
    text = bootstrap("--dry-run")
    assert "-DCVTMESH_CUDA=AUTO -UCMAKE_CUDA_ARCHITECTURES\n" in text
    assert "--target cvtmesh_program\n" in text and "build/cvtmesh run docs/examples/camera.png" in text
    assert "ctest" not in text
    assert "-DCVTMESH_CUDA=ON " in bootstrap("--cuda", "--dry-run")


def test_check(bootstrap):
    text = bootstrap("check", "--dry-run")
    assert re.findall(r"--preset (\w+)", text) == ["check"] * 3 and "-R" not in text
    assert "--target test_info\n" in bootstrap("check", "test_info", "--dry-run")


def test_check_all(bootstrap):
    """Every stage once, and the tests first, but for the one that a stage repeats with more faults."""
    text = bootstrap("check", "--all", "--dry-run")
    assert text.startswith(bootstrap("check", "--dry-run").rstrip() + " -E ^test_faults$\n")
    for part in ("check_format.sh", "--target site", "check_abi.sh", "check_tidy.sh", "run_fuzzers.sh",
                 "python/check.sh", "CVTMESH_FAULTS=24 ctest", "ctest --preset tsan",
                 "ctest --preset sanitize"):
        assert text.count(part) == 1, part


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/testing.md"])
def test_the_cases_of_the_examples_are_there(page):
    text = (ROOT / page).read_text()
    found = re.findall(r"='(?:-k )?(\w+)\*?' \./bootstrap check '\^(\w+)\$'", text)
    assert len(found) == 2
    for case, name in found:
        test, = ROOT.glob(f"tests/*/{name}.*")
        assert re.search(rf"^(def test_\w*|TEST\(){case}", test.read_text(), re.M), (case, name)


@pytest.mark.parametrize("arguments", [("chekc",), ("--al",), ("--all",), ("check", "a", "b"),
                                       ("check", "--all", "a")])
def test_bad_arguments(bootstrap, arguments):
    text = bootstrap(*arguments, "--dry-run", code=2)
    assert text.startswith("bootstrap: misplaced or unknown argument: ") and "usage:" in text


LISTED = """  Test  #3: test_csv
  Test #14: test_run

Total Tests: 2"""
RESULTS = """ 1/4 Test  #3: test_csv ..............   Passed    0.01 sec
 2/4 Test #14: test_run ..............***{}
 3/4 Test #15: test_npy ..............***Skipped   0.02 sec
 4/4 Test #16: soak ..................   Passed    5.01 sec"""


@pytest.fixture
def copy(tmp_path):
    """The script alone, where nothing else is, with packages that are all there."""
    folder = tmp_path / "copy"
    (folder / "packaging" / "debian").mkdir(parents=True)
    (folder / "build-check").mkdir()
    (folder / "packaging" / "debian" / "control").write_text("Build-Depends:\n\n")
    (folder / "bootstrap").write_bytes((ROOT / "bootstrap").read_bytes())
    return folder / "bootstrap"


def run_copy(copy, environment, *arguments):
    return subprocess.run(["bash", copy, *arguments], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=environment, check=False)


@pytest.mark.parametrize("word, failures", [("Failed    0.01 sec", 1), ("Timeout  600.00 sec", 1),
                                            ("Exception: SegFault  0.1 sec", 1), ("Not Run  0.0 sec", 1)])
def test_the_last_line_counts(tools, copy, word, failures):
    results = RESULTS.format(word)
    environment = tools(cmake="", dpkg_query="echo ii", ctest=f"cat <<'E'\n{results}\nE\nexit 8")
    done = run_copy(copy, environment, "check")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == f"2 passed, {failures} failed, 1 skipped"
    # What follows the tests is not begun.
    assert run_copy(copy, environment, "check", "--all").stdout.replace(" -E ^test_faults$", "") == done.stdout


def test_tests_by_pattern(tools, copy):
    """What these tests need is built, and they run."""
    environment = tools(cmake='echo "cmake $*"', dpkg_query="echo ii",
                        ctest=f"if [[ $* == *-N* ]]; then cat <<'E'\n{LISTED}\nE\nelse echo \"ctest $*\"; fi")
    text = run_copy(copy, environment, "check", "csv|run").stdout
    assert "--target test_csv test_run\n" in text and "ctest --preset check -R csv|run\n" in text
    done = run_copy(copy, tools(ctest=""), "check", "absent")
    assert done.returncode == 2 and "no test has a name like absent" in done.stdout


def test_stages(tools, copy):
    """One line each; what a stage printed is shown if it failed; the others go on."""
    environment = tools(dpkg_query="echo ii", ctest="echo '1/1 Test #1: a ...   Passed    0.01 sec'",
                        cmake='[[ $* != *"--preset fuzz"* ]] || { echo "broken fuzzer"; exit 3; }')
    (copy.parent / "python").mkdir()
    (copy.parent / "tests").mkdir()
    for name, code in (("check_format", 0), ("check_abi", 77), ("check_tidy", 0), ("run_fuzzers", 0)):
        path = copy.parent / "tests" / (name + ".sh")
        path.write_text(f"#!/bin/sh\necho {name} says\nexit {code}\n")
        path.chmod(0o755)
    path = copy.parent / "python" / "check.sh"
    path.write_text("#!/bin/sh\nfalse\n")
    path.chmod(0o755)
    done = run_copy(copy, environment, "check", "--all")
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert [line for line in lines if re.match(r"format +\d+ s  passed$", line)]
    assert [line for line in lines if re.match(r"ABI .* s  skipped: check_abi says$", line)]
    assert [line for line in lines if re.match(r"fuzzers +\d+ s  FAILED", line)]
    assert "broken fuzzer" in lines and "check_format says" not in lines
    assert re.match(r"\d+ passed, 2 failed, [12] skipped$", lines[-1]), lines[-1]


def test_the_program_of_the_tests(tools, tmp_path):
    """The newest of the build folders or the one that is named, never one of PATH."""
    environment = tools(cvtmesh="true")
    environment.pop("CVTMESH_PROGRAM", None)
    tree = tmp_path / "tree"
    (tree / "tests").mkdir(parents=True)
    (tree / "tests" / "conftest.py").write_bytes((ROOT / "tests" / "conftest.py").read_bytes())
    (tree / "tests" / "test_it.py").write_text("import conftest\ndef test_it():\n    print(conftest.PROGRAM)\n")

    def found(code, **more):
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "tests"],
                              cwd=tree, env={**environment, **more}, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        assert done.returncode == code, done.stdout
        return done.stdout

    assert f"no program in {tree}/build*" in found(1)
    for age, name in enumerate(("build-new", "build-old", "build-older")):
        (tree / name).mkdir()
        (tree / name / "cvtmesh").write_text("")
        (tree / name / "cvtmesh").chmod(0o755)
        os.utime(tree / name / "cvtmesh", (0, 1000 - age))
    assert f"{tree}/build-new/cvtmesh\n" in found(0)
    named = str(tree / "build-old" / "cvtmesh")
    assert named + "\n" in found(0, CVTMESH_PROGRAM=named)
    assert "CVTMESH_PROGRAM=cvtmesh is no program" in found(1, CVTMESH_PROGRAM="cvtmesh")


def test_the_script_has_no_faults():
    subprocess.run(["bash", "-n", ROOT / "bootstrap"], check=True)
