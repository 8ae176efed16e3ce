#!/usr/bin/env python3
"""Writes the bill of materials of a build as SPDX 2.3 JSON: cvtmesh, and the libraries that the
program, the libraries and their pkg-config file name, with their versions.

usage: packaging/sbom.py BUILD_FOLDER > cvtmesh.spdx.json

The time is that of SOURCE_DATE_EPOCH, or of the last commit, so that the file is the same each time.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Licences as the projects state them; pkg-config does not know them.
LICENCES = {
    "libpng": "libpng-2.0", "libjpeg": "IJG", "libcjson": "MIT", "expat": "MIT",
    "libtiff-4": "libtiff", "zlib": "Zlib", "liblz4": "BSD-2-Clause", "lcms2": "MIT",
    "libwebp": "BSD-3-Clause", "libwebpdemux": "BSD-3-Clause", "libisal": "BSD-3-Clause"
}


def output(*words):
    return subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE, cwd=ROOT).stdout.strip()


def version():
    text = (ROOT / "base/version.h").read_text()
    return ".".join(re.search(rf"VERSION_{part} (\d+)", text).group(1)
                    for part in ("MAJOR", "MINOR", "PATCH"))


def created():
    seconds = os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct")
    return datetime.fromtimestamp(int(seconds), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def package(name, number, licence):
    return {
        "name": name, "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name),
        "versionInfo": number, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
        "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION"
    }


def libraries(build):
    """(name, version, licence) of what the build links."""
    requires = re.search(r"^Requires.private: (.*)$", (build / "cvtmesh.pc").read_text(), re.M)
    for name in requires.group(1).split():
        yield name, output("pkg-config", "--modversion", name), LICENCES.get(name, "NOASSERTION")
    private = re.search(r"^Libs.private: (.*)$", (build / "cvtmesh.pc").read_text(), re.M).group(1)
    if "-lgif" in private:
        yield "giflib", "NOASSERTION", "MIT"
    if "-lgomp" in private:
        yield "libgomp", "NOASSERTION", "GPL-3.0-or-later WITH GCC-exception-3.1"
    if "-lcudart_static" in private:
        yield "cudart", "NOASSERTION", "LicenseRef-CUDA-EULA"


def bill(build):
    own = package("cvtmesh", version(), "MIT")
    own["primaryPackagePurpose"] = "LIBRARY"
    packages = [own] + [package(*library) for library in libraries(build)]
    text = json.dumps(packages, sort_keys=True).encode()
    bill_of = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"cvtmesh-{version()}",
        "documentNamespace": "urn:cvtmesh:spdx:" + hashlib.sha256(text).hexdigest(),
        "creationInfo": {"created": created(), "creators": ["Tool: cvtmesh-packaging-sbom.py"]},
        "packages": packages,
        "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                           "relatedSpdxElement": own["SPDXID"]}]
        + [{"spdxElementId": own["SPDXID"], "relationshipType": "DEPENDS_ON",
            "relatedSpdxElement": other["SPDXID"]} for other in packages[1:]],
    }
    if any(p["licenseDeclared"] == "LicenseRef-CUDA-EULA" for p in packages):
        bill_of["hasExtractedLicensingInfos"] = [{
            "licenseId": "LicenseRef-CUDA-EULA", "name": "NVIDIA CUDA Toolkit EULA",
            "extractedText": "https://docs.nvidia.com/cuda/eula/"}]
    return bill_of


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    json.dump(bill(Path(sys.argv[1])), sys.stdout, indent=2)
    print()
