"""What is installed is complete: every public header compiles alone, and so does the example."""

import subprocess

import pytest

from conftest import EXAMPLES, TESTS_BUILD

COMPILE_ALONE = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c"]


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefix")
    subprocess.run(["cmake", "--install", TESTS_BUILD.parent, "--prefix", folder], check=True,
                   stdout=subprocess.DEVNULL)
    return folder


def test_headers_and_the_example_compile(prefix):
    include = prefix / "include" / "cvtmesh"
    headers = sorted(include.rglob("*.h"))
    assert headers, "no header was installed"
    for source in headers + [EXAMPLES / "minimal.c"]:
        subprocess.run([*COMPILE_ALONE, "-I", include, source], check=True)


def test_program_manual_and_packages(prefix):
    for wanted in ("bin/cvtmesh", "share/man/man1/cvtmesh.1"):
        assert (prefix / wanted).is_file(), wanted
    for pattern in ("cvtmesh-config.cmake", "cvtmesh.pc", "bash-completion/completions/cvtmesh",
                    "_cvtmesh", "vendor_completions.d/cvtmesh.fish"):
        assert list(prefix.rglob(pattern)), pattern
