"""The files for package managers agree with the tree: options, version, dependencies, licences, and
the bytes of the source tarball."""

import json
import os
import re
import shutil
import subprocess
import tarfile

import pytest

from conftest import BUILD, ROOT, output_of

PACKAGING = ROOT / "packaging"
# What CMake finds, as Debian names the packages with headers.
LIBRARIES = {
    "libpng-dev", "libjpeg-dev", "libcjson-dev", "libexpat1-dev", "zlib1g-dev", "liblz4-dev",
    "libhdf5-dev", "libtiff-dev", "libwebp-dev", "libgif-dev", "libheif-dev", "liblcms2-dev",
    "libcairo2-dev", "libisal-dev", "libnetcdf-dev"
}
# When a file needs them: programs do not link them.
LOADED = {"libcairo2-dev", "libhdf5-dev", "libheif-dev", "libnetcdf-dev"}


def recipes():
    return [path for path in PACKAGING.rglob("*") if path.is_file()]


def test_options_of_recipes_exist():
    text = (ROOT / "CMakeLists.txt").read_text()
    known = set(re.findall(r"(?:option\(|set\()(CVTMESH_\w+)", text))
    named = set()
    for path in recipes():
        if path.suffix != ".in" and path.parent.name != "tests":
            found = re.findall(r"(?:-D|\"|formats )(CVTMESH_[A-Z_0-9]+)", path.read_text())
            assert set(found) <= known, path
            named |= set(found)
    assert {"CVTMESH_CUDA", "CVTMESH_TESTS", "CVTMESH_STATIC"} <= named


def test_debian_knows_the_libraries():
    text = (PACKAGING / "debian/control").read_text()
    build, packages = text.split("\nPackage:", 1)
    development = packages[packages.index("libcvtmesh-dev"):].split("\nPackage:")[0]
    for name in LIBRARIES:
        assert name in build and (name in development) == (name not in LOADED), name
    assert set(re.findall(r"^Package: (.*)$", text, re.M)) == {
        "cvtmesh", "libcvtmesh1", "libcvtmesh-dev", "cvtmesh-doc"
    }


def test_symbols_of_the_library():
    """A function of the list that is gone breaks programs, one that is not listed has no version."""
    library = BUILD / "libcvtmesh.so"
    if not library.exists():
        pytest.skip("this build has no shared library")
    table = output_of("nm", "-D", "--defined-only", library)
    listed = re.findall(r"^ (\S+)@Base", (PACKAGING / "debian/libcvtmesh1.symbols").read_text(), re.M)
    assert len(listed) > 200 and listed == sorted(set(listed))
    assert set(listed) == {line.split()[2] for line in table.splitlines()}


def test_recipes_can_be_parsed():
    for path in PACKAGING.rglob("*.sh"):
        subprocess.run(["bash", "-n", path], check=True)
    for path in (PACKAGING / "debian/tests").glob("[!c]*"):
        subprocess.run(["sh", "-n", path], check=True)


def test_every_file_has_a_licence():
    """Each licence of REUSE.toml has its text, and no other text is there."""
    named = set(re.findall('License-Identifier = "(.*)"', (ROOT / "REUSE.toml").read_text()))
    assert named == {path.stem if path.suffix == ".txt" else path.name
                     for path in (ROOT / "LICENSES").iterdir()}
    if not shutil.which("reuse"):
        return
    if int(re.search(r"\d+", output_of("reuse", "--version")).group()) >= 4:  # those before do not know REUSE.toml
        subprocess.run(["reuse", "lint", "--quiet"], cwd=ROOT, check=True)


def test_the_source_tarball_is_the_same_each_time(tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("no git repository")
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        subprocess.run([PACKAGING / "source_tarball.sh", tmp_path / name], check=True,
                       stdout=subprocess.DEVNULL)
        (tarball,) = (tmp_path / name).iterdir()
        found.append((tarball.name, tarball.read_bytes()))
        with tarfile.open(tarball) as files:
            names = files.getnames()
        assert f"{tarball.name[:-7]}/CMakeLists.txt" in names
    assert found[0] == found[1]


def test_bill_of_materials():
    """SPDX 2.3: every library of the pkg-config file with its version, and a licence for each."""
    bill = json.loads(output_of(PACKAGING / "sbom.py", BUILD,
                                env={**os.environ, "SOURCE_DATE_EPOCH": "0"}))
    assert bill["creationInfo"]["created"] == "1970-01-01T00:00:00Z"
    packages = {package["name"]: package for package in bill["packages"]}
    needed = re.search("^Requires.private: (.*)$",
                       (BUILD / "cvtmesh.pc").read_text(), re.M).group(1).split()
    assert "libpng" in needed and set(needed) < set(packages)
    for name in needed:
        assert packages[name]["versionInfo"] == output_of("pkg-config", "--modversion", name).strip()
        assert packages[name]["licenseDeclared"] != "NOASSERTION"
    linked = {row["relatedSpdxElement"] for row in bill["relationships"]}
    assert linked == {package["SPDXID"] for package in bill["packages"]}
