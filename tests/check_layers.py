"""The includes follow the house plan: a room leans on the rooms below it and on no other."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BELOW = {
    "base": [],
    "jfa": ["base"],
    "lbfgsb": ["base"],
    "lcp": ["base"],
    "meshes": ["base"],
    "density": ["base", "lcp", "jfa", "meshes"],
    "cvt": ["base", "jfa", "lbfgsb", "meshes"],
}
BELOW["viewer"] = list(BELOW)
BELOW["cli"] = list(BELOW)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)

wrong = []
seen = 0
for room, below in BELOW.items():
    for path in sorted((ROOT / room).glob("*")):
        if path.suffix not in (".c", ".h", ".cu"):
            continue
        seen += 1
        where = path.relative_to(ROOT)
        if path.suffix == ".cu" and not path.stem.endswith("_cuda"):
            wrong.append(f"{where}: CUDA files are named *_cuda.cu")
        for included in INCLUDE.findall(path.read_text()):
            target = included.split("/")[0]
            if not (ROOT / included).is_file():
                wrong.append(f'{where}: "{included}" is not a file below the root')
            elif target != room and target not in below:
                wrong.append(f"{where}: {room} must not include {included}")
if seen == 0:
    wrong.append("no source file was found")
print("\n".join(wrong) or f"layers: {seen} files follow the plan")
sys.exit(bool(wrong))
