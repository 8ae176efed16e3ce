"""What is installed stands on its own: every public header compiles alone, and so does the example."""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
build = pathlib.Path(sys.argv[1]).parent

with tempfile.TemporaryDirectory() as prefix:
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True,
                   stdout=subprocess.DEVNULL)
    include = pathlib.Path(prefix) / "include" / "cvtmesh"
    compile_alone = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", include]
    headers = sorted(include.rglob("*.h"))
    assert headers, "no header was installed"
    for source in headers + [ROOT / "examples" / "minimal.c"]:
        subprocess.run([*compile_alone, "-x", "c", source], check=True)
    for wanted in ("bin/cvtmesh", "share/man/man1/cvtmesh.1"):
        assert (pathlib.Path(prefix) / wanted).is_file(), wanted
    for pattern in ("cvtmesh-config.cmake", "cvtmesh.pc"):
        assert list(pathlib.Path(prefix).rglob(pattern)), pattern
print(f"installed: {len(headers)} headers compile alone")
