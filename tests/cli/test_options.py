"""Every command and every option, as the program lists them: help, manual, completion, bad use."""

import functools
import re
import subprocess

import pytest

from conftest import BUILD, PROGRAM, ROOT, commands, help_text, options

COMMANDS = commands()
every_command = pytest.mark.parametrize("command", COMMANDS)
# What else a command needs before it looks at an option's value.
OPERANDS = {
    command: [] if command in ("info", "lcp", "hlcp") else ["operand"]
    for command in COMMANDS
}


@functools.lru_cache
def manual(program=PROGRAM):
    """The manual page without its fonts and escapes, as the build makes it."""
    with open(ROOT / "docs/cvtmesh.1.in") as template:
        page = subprocess.run([program, "help", "man"], stdin=template, stdout=subprocess.PIPE,
                              check=True).stdout.decode()
    return re.sub(r"\\f[PRBI]", "", page).replace("\\", "")


def test_commands():
    assert len(COMMANDS) >= 12
    assert set(COMMANDS) >= {"run", "batch", "view", "info"}


def rows_of(text):
    """The names of the options that a help text lists; its lines are well-formed."""
    for line in text.splitlines():
        assert len(line) <= 100
        # Rows of options and formats, and lines that go on; a row that Option does not see fails.
        assert not line.startswith("  ") or re.match(
            r"  (-\w,|   ) --[\w-]+|  \.\w+| {31}\S| {6}all( \w+)+$", line), line
    return re.findall(r"^  (?:-\w,|   ) --([\w-]+)", text, re.M)


@every_command
def test_help(cvtmesh, command):
    text = cvtmesh.call(command, "--help").stdout.decode()
    assert text == cvtmesh.call(command, "-h").stdout.decode()
    assert text == cvtmesh.call("help", command).stdout.decode()
    whole = help_text(command, "--help", "all")
    assert whole == cvtmesh.call("help", command, "all").stdout.decode()
    assert text.startswith(f"usage: cvtmesh {command} ") and whole.startswith(text[:40])
    names = rows_of(whole)
    assert len(names) == len(set(names)) == len(options(command))
    assert {"config", "quiet", "verbose", "help", "version"} <= set(names)
    # The short help lists some options of each group, or everything where that is short.
    assert set(rows_of(text)) <= set(names) and {"help", "quiet"} <= set(rows_of(text))
    assert ("TOPIC" in text) == (len(rows_of(text)) < len(names))
    headings = re.findall(r"^([A-Z][\w ]+):$", whole, re.M)
    assert len(headings) == len(set(headings)) > 1


def test_help_by_topics(cvtmesh):
    text = cvtmesh.call("run", "--help").stdout.decode()
    topics = re.search(r"^ {6}all formats (.*)$", text, re.M).group(1).split()
    parts = [rows_of(cvtmesh.call("run", "--help", topic).stdout.decode()) for topic in topics]
    assert all(parts)
    assert sorted(sum(parts, [])) == sorted(option.name for option in options("run"))
    # A word that is no topic is an operand.
    assert cvtmesh.call("run", "--help", "photo.png").stdout.decode() == text
    cvtmesh.refused("help", "run", "clouds", code=2, names=["clouds"])
    cvtmesh.refused("run", "--help", "drawng", code=2, names=["'drawing'"])


def test_overview_and_version(cvtmesh):
    text = cvtmesh.call("--help").stdout.decode()
    assert text == cvtmesh.call("help").stdout.decode() == cvtmesh.call("-h").stdout.decode()
    for line in text.splitlines():
        assert len(line) <= 100
    research = text[text.index("Research:"):]
    assert set(re.findall(r"^  (\w+) ", research, re.M)) == {"minimize", "hlcp", "lcp"}
    whole = cvtmesh.call("--help", "all").stdout.decode()
    assert whole.startswith(text)
    for command in COMMANDS:
        assert help_text(command, "--help", "all") in whole
    version = cvtmesh.call("--version").stdout.decode()
    assert re.fullmatch(r"cvtmesh \d+\.\d+\.\d+\n", version)
    assert cvtmesh.call("-V").stdout.decode() == version
    for k, command in enumerate(COMMANDS):
        assert cvtmesh.call(command, ("--version", "-V")[k % 2]).stdout.decode() == version


@every_command
def test_manual_has_the_command(command):
    assert re.search(rf"^\.B cvtmesh {command}$", manual(), re.M)


def test_manual_documents_every_option_and_no_other():
    """An option is documented by the tag of a paragraph."""
    tags = re.findall(r"^\.TP\n(.*)$", manual(), re.M)
    documented = {name for tag in tags for name in re.findall(r"--([\w-]+)", tag)}
    known = {option.name for command in COMMANDS for option in options(command)}
    flags = {
        option.name
        for command in COMMANDS
        for option in options(command)
        if not option.argument
    }
    assert known - documented - {name[3:] for name in documented if name[:3] == "no-"} == set()
    assert documented - known - {"no-" + name for name in flags} == set()


def test_manual_names_no_other_option():
    known = {option.name for command in COMMANDS for option in options(command)}
    known |= {"no-" + option.name for command in COMMANDS for option in options(command)}
    known |= {"no-NAME"}
    named = set(re.findall(r"--([\w-]+)", manual()))
    assert named - known == set()


@every_command
def test_unknown_option(cvtmesh, command):
    k = COMMANDS.index(command)
    for option in ("--frob", ("--frob=1", "--no-frob", "-Z")[k % 3]):
        cvtmesh.refused(command, *OPERANDS[command], option, code=2,
                        names=[option.split("=")[0].replace("no-", "")[-4:]])


def distinct_options():
    """(command, option); one that several commands share comes once."""
    found = {}
    for command in COMMANDS:
        for option in options(command):
            found.setdefault(option.help, (command, option))
    return list(found.values())


def of_each_argument():
    """(command, option) as above, the first of each kind of argument: how options of one kind take values
    does not depend on the option."""
    found = {}
    for command, option in distinct_options():
        found.setdefault((option.argument, option.is_switch), (command, option))
    return list(found.values())


def test_missing_value(cvtmesh):
    for command, option in of_each_argument():
        if option.argument and not option.is_switch:
            cvtmesh.refused(command, *OPERANDS[command], "--" + option.name, code=2,
                            names=[option.name])


def test_value_of_a_flag(cvtmesh):
    for command, option in distinct_options():
        if not option.argument and not option.is_switch:
            cvtmesh.refused(command, *OPERANDS[command], f"--{option.name}=1", code=2,
                            names=[option.name])


def test_value_out_of_range(cvtmesh):
    first = of_each_argument()
    for command, option in distinct_options():
        number = not option.choices and re.search(r" \[[-+.\de]+\]$", option.help)
        values = ["1e999"] if number else ["nonsense"] if option.choices else []
        if number and (command, option) in first:
            values.append("nonsense")
        for value in values:
            words = [f"--{option.name}={value}"] if option.is_switch else ["--" + option.name, value]
            cvtmesh.refused(command, *OPERANDS[command], *words, code=2, names=["--" + option.name])


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "batch"])
def test_surplus_operand(cvtmesh, command):
    cvtmesh.refused(command, *OPERANDS[command], "surplus", code=2, names=["surplus"])


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "info"])
def test_missing_operand(cvtmesh, command):
    cvtmesh.refused(command, code=2, names=["missing" if OPERANDS[command] else "is needed"])


def test_an_option_is_one_row(tmp_path):
    """A program whose table has one more row parses, lists, completes, reads and documents it."""
    program = BUILD / "tests/program_with_row"

    def call(*arguments, code=0):
        done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    assert call("info", "--fake-count", "3") == call("info") == call("info", "-F", "4")
    assert "not between 0 and 99" in call("info", "--fake-count", "100", code=2)
    assert "unknown option" in call("stats", "--fake-count", "3", code=2)
    for topic in ([], ["basic"], ["all"]):
        assert re.search(r"-F, --fake-count COUNT +number of fakes to count \[0\]",
                         call("run", "--help", *topic))
    assert call("completion", "--", "run", "--fake") == "--fake-count\tnumber of fakes to count\n"
    for words in (["-F", ""], ["--fake-count", "th"], ["--fake-count", "=", "t"]):
        assert call("completion", "--", "run", *words) == "three\t\n"
    assert call("completion", "--", "run", "--fake-count=t") == "--fake-count=three\t\n"
    config = tmp_path / "fake.conf"
    config.write_text("fake-count = x\n")
    assert "'x' is not a whole number" in call("info", "--config", config, code=2)
    page = manual(program)
    assert page.count("--fake-count") == 1
    assert ('.BR -F ", " --fake-count " COUNT"\nNumber of fakes to count [0].\n'
            "A fake is counted once.\nSee --json.\n") in page
    assert "fake" not in manual()


def test_former_names(cvtmesh, tmp_path):
    """A name that went says what stands in its place, wherever it is written."""
    source = (ROOT / "cli/option_table.c").read_text()
    table = source[source.index("cli_former_options[] = {"):source.index("{NULL, 0, NULL}")]
    rows = re.findall(r'\{"([\w-]+)", ([\w |]+), "([^"]+)"\}', table)
    assert len(rows) == table.count('{"') > 10
    for k, (name, where, instead) in enumerate(rows):
        command = where.lower().split(" | ")[0].replace("run_alone", "run")
        assert name not in [option.name for option in options(command)]
        words = ([f"--{name}", "x"], [f"--{name}"], [f"--{name}=x"])[k % 3]
        cvtmesh.refused(command, *OPERANDS[command], *words, code=2, names=[f"--{name}", instead])
    config = tmp_path / "old.conf"
    config.write_text(f"{name} = x\n")
    cvtmesh.refused(command, "operand", "--config", config, code=2, names=[f"'{name}'", instead])
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text('{"input": "a.png", "points": 9, "output": "a.csv", "mask": "b.png"}\n')
    cvtmesh.refused("batch", jobs, code=2, names=["mask", "--domain mask=FILE"])
