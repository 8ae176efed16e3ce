"""What is installed is complete and can be used: headers, both libraries, pkg-config, CMake, the
examples in C and C++. The shared library exports what the headers declare, and nothing else."""

import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, EXAMPLES, ROOT, output_of

WARNINGS = ["-Wall", "-Wextra", "-Werror"]
C = ["cc", "-std=c11", *WARNINGS]
CXX = ["c++", "-std=c++17", *WARNINGS]
# The example, and what its output must hold.
RESULTS = {
    "minimal.c": r"[01]\.\d{4} of the energy of hexagons",
    "run.c": r"^5000 sites$",
    "outline.c": r"^\d{4} triangles$",
    "domain_mesh.c": r"smallest angle (29\.9|30|[34]\d)",
    "minimize.c": r"500 variables at a bound",
    "lcp.c": r"tolerance after .*x in the middle 0\.100000, 1 at the bound",
    "device_arrays.c": r"energy 10431\.1467, mass 6112\.000, largest gradient 0\.2846",
    "minimize_cuda.cu": r"f = 22222\.2\d* after .* 66667 variables at a bound",
    "threads.c": r"4 threads, 0 results differ",
    "cxx.cpp": r"cvtmesh \d+\.\d+\.\d+: 1\.0",
}
CUDA = [name for name in RESULTS if name.endswith(".cu")]
ARGUMENTS = {"domain_mesh.c": [EXAMPLES / "horse.png", "horse.msh"],
             "run.c": [EXAMPLES / "camera.png"],
             "outline.c": [EXAMPLES / "plate.geojson"]}
# Examples that do what a command does, and the words of that command.
COMMANDS = {
    "run": (f"run {EXAMPLES / 'camera.png'} -n 5000", ["a.svg", "a.msh"]),
    "outline": (f"mesh {EXAMPLES / 'plate.geojson'} --size 0.2+0.1*d(hole)", ["plate.msh", "plate.svg"]),
}


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefix")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", folder], check=True,
                   stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture(scope="module")
def shared(prefix):
    found = list(prefix.rglob("libcvtmesh.so"))
    if not found:
        pytest.skip("this build has no shared library")
    return found[0]


@pytest.fixture(scope="module")
def headers(prefix):
    include = prefix / "include"
    assert [path.name for path in include.iterdir()] == ["cvtmesh"]
    return sorted(str(path.relative_to(include)) for path in include.rglob("*.h"))


@pytest.fixture(scope="module")
def sanitizers(shared):
    """What programs need that link a library with sanitizers."""
    return ["-fsanitize=address,undefined"] if b"__asan_init" in shared.read_bytes() else []


def flags_of(prefix, *options, package="cvtmesh"):
    folder = next(prefix.rglob("cvtmesh.pc")).parent
    path = f"{folder}:{os.environ.get('PKG_CONFIG_PATH', '')}"
    return output_of("pkg-config", *options, package,
                     env={**os.environ, "PKG_CONFIG_PATH": path}).split()


def preprocessed(prefix, headers, *options):
    text = "".join(f"#include <{header}>\n" for header in headers)
    return output_of(*C, "-I", prefix / "include", "-E", *options, "-x", "c", "-", input=text)


@pytest.mark.parametrize("compiler", [C, CXX], ids=["C", "C++"])
def test_every_header_compiles_alone(prefix, headers, compiler):
    assert len(headers) > 40
    language = "c" if compiler is C else "c++"
    for header in headers:
        subprocess.run([*compiler, "-I", prefix / "include", "-fsyntax-only", "-x", language, "-"],
                       input=f"#include <{header}>\n", text=True, check=True)


def test_one_header_includes_all(prefix, headers):
    text = (prefix / "include/cvtmesh/cvtmesh.h").read_text()
    assert sorted(re.findall("#include <(.*)>", text)) == [
        name for name in headers if name != "cvtmesh/cvtmesh.h"
        and not (prefix / "include" / name).read_text().startswith("/* Moved to ")
    ]


def test_names_have_a_prefix(prefix, headers):
    """Macros, functions, types and enumerators of the headers cannot collide with others."""
    ours = False
    for line in preprocessed(prefix, headers, "-dD").splitlines():
        if re.match(r"# \d+ ", line):
            ours = "/cvtmesh/" in line
        name = re.match(r"#define (\w+)", line)
        assert not (ours and name) or name.group(1).startswith(("CVTM_", "CVTMESH_")), line


def declared(prefix, headers):
    """The functions of the headers that are not inline."""
    flat = re.sub(r"^#.*$|__attribute__\(\(format\(.*?\)\)\)", "",
                  preprocessed(prefix, headers, "-P"), flags=re.M)
    names = set()
    for line in re.split(r"[;}]", flat):
        name = re.search(r"^[^{(=]*?\b(cvtm\w+)\s*\((?!\*)[^{]*\)(\s*__attribute__.*)?\s*$", line, re.S)
        if name and "typedef" not in line and "static" not in line:
            names.add(name.group(1))
    return names


def test_exports(prefix, headers, shared):
    table = output_of("nm", "-D", "--defined-only", shared)
    names = {line.split()[2] for line in table.splitlines() if line.split()[1] in "TDB"}
    names = {name for name in names if not name.startswith((".gomp", "__", "_init", "_fini"))}
    wanted = declared(prefix, headers)
    assert names - wanted == set() and wanted - names == set() and len(names) > 200


def test_soname(shared):
    text = output_of("readelf", "-d", shared)
    major = re.search(r"VERSION_MAJOR (\d+)", (ROOT / "base/version.h").read_text()).group(1)
    assert f"[libcvtmesh.so.{major}]" in text


def run_example(name, program, folder):
    said = output_of(program, *ARGUMENTS.get(name, []), cwd=folder)
    assert re.search(RESULTS[name], said), said


def test_every_example_is_here():
    assert set(RESULTS) == {path.name for path in EXAMPLES.glob("*.c*")}


@pytest.mark.parametrize("name", [name for name in RESULTS if name not in CUDA])
def test_example_with_the_shared_library(prefix, shared, sanitizers, name, tmp_path, monkeypatch):
    compiler = C if name.endswith(".c") else CXX
    flags = flags_of(prefix, "--cflags", "--libs")
    assert not [flag for flag in flags if flag.startswith("-l") and flag != "-lcvtmesh"]
    program = tmp_path / "program"
    command = re.search(rf"\b{re.escape(name)} .*", (EXAMPLES / name).read_text()).group()
    own = [flag for flag in ("-pthread", "-lm") if flag in command]  # as its first comment says
    subprocess.run([*compiler, *sanitizers, EXAMPLES / name, *flags, *own, "-o", program], check=True)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(shared.parent))
    assert "libcvtmesh.so" in output_of("ldd", program)
    run_example(name, program, tmp_path)


@pytest.mark.parametrize("example", COMMANDS)
def test_example_writes_what_the_program_writes(prefix, sanitizers, example, tmp_path):
    if not list(prefix.rglob("libcvtmesh.a")):
        pytest.skip("this build has no static library")
    flags = flags_of(prefix, "--cflags", "--libs", package="cvtmesh-static")
    source, program = f"{example}.c", tmp_path / "example"
    subprocess.run([*C, *sanitizers, EXAMPLES / source, *flags, "-o", program], check=True)
    words, files = COMMANDS[example]
    commands = {"library": [program, *ARGUMENTS[source]],
                "program": [prefix / "bin/cvtmesh", *words.split(), "-q",
                            *(word for file in files for word in ("-o", file))]}
    for name, command in commands.items():
        (tmp_path / name).mkdir()
        subprocess.run(command, cwd=tmp_path / name, check=True, stdout=subprocess.DEVNULL)
    for file in files:
        made = [(tmp_path / name / file).read_bytes() for name in commands]
        assert len(made[0]) > 100000 and made[0] == made[1], file


def test_example_with_the_static_library(prefix, sanitizers, tmp_path):
    if not list(prefix.rglob("libcvtmesh.a")):
        pytest.skip("this build has no static library")
    flags = flags_of(prefix, "--cflags", "--libs", package="cvtmesh-static")
    program = tmp_path / "program"
    subprocess.run([*C, *sanitizers, EXAMPLES / "minimal.c", *flags, "-o", program], check=True)
    assert "libcvtmesh" not in output_of("ldd", program)
    run_example("minimal.c", program, tmp_path)


@pytest.mark.parametrize("name", CUDA)
def test_cuda_example(prefix, shared, name, tmp_path, monkeypatch):
    """It compiles where nvcc is; it runs where the library sees a GPU."""
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:/usr/local/cuda/bin")
    if not shutil.which("nvcc"):
        pytest.skip("no nvcc")
    program = tmp_path / "program"
    subprocess.run(["nvcc", "-Werror=all-warnings", "-arch=sm_90", EXAMPLES / name,
                    *flags_of(prefix, "--cflags", "--libs"), "-c" if b"__asan_init" in
                    shared.read_bytes() else "-O1", "-o", program], check=True)
    info = output_of(prefix / "bin/cvtmesh", "info", "--json")
    if not any(device["name"].startswith("cuda") for device in json.loads(info)["devices"]):
        pytest.skip("compiled; no GPU to run it")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(shared.parent))
    run_example(name, program, tmp_path)


PROJECT = """cmake_minimum_required(VERSION 3.25)
project(user C CXX)
find_package(cvtmesh {version} REQUIRED)
add_executable(program {source})
target_link_libraries(program PRIVATE cvtmesh::cvtmesh)
"""


@pytest.mark.parametrize("library", ["shared", "static"])
def test_cmake_package(prefix, sanitizers, library, tmp_path):
    if not list(prefix.rglob(f"cvtmesh-{library}.cmake")):
        pytest.skip(f"this build has no {library} library")
    (tmp_path / "CMakeLists.txt").write_text(
        PROJECT.format(version="1.0", source=EXAMPLES / "cxx.cpp"))
    build = tmp_path / "build"
    subprocess.run(["cmake", "-S", tmp_path, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
                    f"-DCVTMESH_USE_STATIC={'ON' if library == 'static' else 'OFF'}",
                    f"-DCMAKE_CXX_FLAGS={' '.join(sanitizers)}"], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", build], check=True, stdout=subprocess.DEVNULL)
    assert ("libcvtmesh.so" in output_of("ldd", build / "program")) == (library == "shared")
    run_example("cxx.cpp", build / "program", tmp_path)


def test_a_package_of_another_major_version_is_refused(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        PROJECT.format(version="2.0", source=EXAMPLES / "cxx.cpp"))
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build",
                           f"-DCMAKE_PREFIX_PATH={prefix}"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    assert done.returncode != 0 and b"2.0" in done.stderr


def test_program_manual_and_packages(prefix):
    for wanted in ("bin/cvtmesh", "share/man/man1/cvtmesh.1"):
        assert (prefix / wanted).is_file(), wanted
    for pattern in ("cvtmesh-config.cmake", "cvtmesh.pc", "bash-completion/completions/cvtmesh",
                    "_cvtmesh", "vendor_completions.d/cvtmesh.fish"):
        assert list(prefix.rglob(pattern)), pattern


def test_the_tree_can_be_moved(prefix, sanitizers, shared, tmp_path, monkeypatch):
    moved = tmp_path / "moved"
    shutil.copytree(prefix, moved, symlinks=True)
    flags = flags_of(moved, "--cflags", "--libs")
    assert any(str(moved) in flag for flag in flags)
    assert not any(str(prefix) in flag for flag in flags)
    program = tmp_path / "program"
    subprocess.run([*C, *sanitizers, EXAMPLES / "minimal.c", *flags, "-o", program], check=True)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(next(moved.rglob("libcvtmesh.so")).parent))
    run_example("minimal.c", program, tmp_path)


def test_the_page_is_opened(prefix, tmp_path):
    """Whether this machine could build the page or not."""
    page, program, opener = prefix / "share/cvtmesh/cvtmesh.html", prefix / "bin/cvtmesh", tmp_path / "xdg-open"
    page.unlink(missing_ok=True)
    done = subprocess.run([program, "page"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "not installed" in done.stderr and done.stdout == ""
    page.parent.mkdir(exist_ok=True)
    page.write_text("<!doctype html>")
    done = subprocess.run([program, "page"], capture_output=True, text=True, check=False, env={"PATH": str(tmp_path)})
    assert done.returncode == 1 and "open the file above in a browser" in done.stderr
    opener.write_text("#!/bin/sh\necho x-www-browser: not found >&2\nexit 3\n")
    opener.chmod(0o755)
    done = subprocess.run([program, "page"], capture_output=True, text=True, check=False, env={"PATH": str(tmp_path)})
    assert done.returncode == 1 and done.stdout == f"{page.resolve()}\n"
    assert "no browser was found" in done.stderr and "not found\n" not in done.stderr
    opener.write_text("#!/bin/sh\necho opened \"$@\"\n")
    opener.chmod(0o755)
    text = output_of(program, "page", env={"PATH": str(tmp_path)})
    assert text == f"{page.resolve()}\nopened {page.resolve()}\n"
