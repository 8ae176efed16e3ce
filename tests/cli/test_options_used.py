"""Every option of every command is used by a test: a call that ended with 0 or 4, or a process that
was started to be interrupted. conftest.py records the options of the calls; CMake runs this file
after all others."""

import json

import pytest

from conftest import ROOT, commands, options, record_of

# A batch writes nothing to standard output, so --format has no use there.
WITHOUT_USE = {"batch --format"}


def test_every_option_is_used():
    files = [path for path in ROOT.glob("tests/**/test_*.py") if path.stem != "test_options_used"]
    records = [record_of(path) for path in files]
    absent = [record.name for record in records if not record.exists()]
    if absent:
        pytest.skip(f"these tests have not run: {absent}")
    used = {}
    for record in records:
        for line in record.read_text().splitlines():
            command, words = json.loads(line)
            used.setdefault(command, set()).update(words)
    unused = []
    for command in commands():
        words = used.get(command, set())
        for option in options(command):
            names = {"--" + option.name, "--no-" + option.name, f"-{option.letter}"}
            if not names & words:
                unused.append(f"{command} --{option.name}")
    assert not set(unused) - WITHOUT_USE
