"""docs/reference/report.md explains every key of the reports of all commands, and no other."""

import sys

from conftest import EXAMPLES, PROGRAM, ROOT

sys.path.insert(0, str(ROOT / "docs/site"))
import report_keys  # noqa: E402


def test_every_key_is_explained():
    report_keys.check(PROGRAM, EXAMPLES, ROOT / "docs/reference/report.md")
