"""What bash, zsh and fish complete, asked of the shells themselves."""

import os
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, commands, options

COMMANDS = commands()

# zsh in a terminal of its own; compadd prints what it adds.
ZSH = r"""
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1=''; fpath=($PWD \$fpath); autoload -U compinit; compinit -u -d $PWD/dump"
zpty -w z 'compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return $?; fi
  typeset -a hits; builtin compadd -A hits "$@"; builtin compadd "$@"
  for hit in $hits; do print -r -- "HIT:$hit"; done }'
zpty -w z 'tab() { zle complete-word; print -r DONE: }; zle -N tab; bindkey "^I" tab; print READY:'
zpty -r -m z text '*READY:*READY:*'
zpty -w -n z "$1"$'\t'
zpty -r -m z text '*DONE:*'
print -r -- "$text"
"""


def said(words, folder):
    path = f"{BUILD}:{os.environ['PATH']}"  # the scripts ask the program
    environment = {**os.environ, "HOME": str(folder), "TERM": "dumb", "PATH": path}
    return subprocess.run(words, stdout=subprocess.PIPE, check=True, cwd=folder, timeout=60,
                          env=environment).stdout.decode(errors="replace")


def bash(folder, words):
    quoted = " ".join(f"'{word}'" for word in words)
    return said(["bash", "-c", f"source ./bash; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}\n"
                 "_cvtmesh; printf '%s\\n' \"${COMPREPLY[@]}\""], folder).split("\n")


def zsh(folder, words):
    text = said(["zsh", "-f", "-c", ZSH, "zsh", " ".join(words)], folder).replace("\r", "")
    return [hit.replace("\\", "") for hit in re.findall("HIT:(.*)", text)]


def fish(folder, words):
    text = said(["fish", "--no-config", "-c", f"source ./fish; complete -C '{' '.join(words)}'"],
                folder)
    return [line.split("\t")[0] for line in text.split("\n")]


@pytest.fixture(params=[bash, zsh, fish], ids=["bash", "zsh", "fish"])
def complete(request, cvtmesh):
    """The completions of a last word, as a set."""
    shell = request.param.__name__
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    script = cvtmesh.call("completion", shell).stdout
    cvtmesh.file("_cvtmesh" if shell == "zsh" else shell, script)
    cvtmesh.file("a photo.png", "")
    return lambda *words: set(request.param(cvtmesh.folder, words)) - {""}


def test_commands(complete):
    assert complete("cvtmesh", "vo") == {"voronoi"}
    assert complete("cvtmesh", "completion", "") == {"bash", "zsh", "fish"}
    assert set(COMMANDS) <= complete("cvtmesh", "help", "")


def test_names_of_options(complete):
    assert complete("cvtmesh", "run", "--domain-sm") == {"--domain-smooth", "--domain-smallest"}
    assert complete("cvtmesh", "mesh", "--elem") == {"--element-order"}
    assert "--points" not in complete("cvtmesh", "stats", "--p")


def test_values(complete):
    """Choices, words of free texts, files; nothing where a number belongs."""
    assert complete("cvtmesh", "run", "--method", "l") == {"lloyd", "lbfgsb"}
    assert complete("cvtmesh", "voronoi", "--method", "jfa") >= {"jfa"}
    assert complete("cvtmesh", "run", "--page", "le") == {"letter", "legal"}
    assert complete("cvtmesh", "run", "--init", "a") == {"a photo.png"}
    assert complete("cvtmesh", "run", "-o", "a") == {"a photo.png"}
    assert complete("cvtmesh", "run", "--plotter", "") >= {"grbl-z", "marlin-servo", "a photo.png"}
    assert complete("cvtmesh", "segment", "--initial", "g") == {"grow"}
    assert complete("cvtmesh", "run", "--gamma", "") == set()


def test_operands(complete):
    assert complete("cvtmesh", "run", "a") == {"a photo.png"}
    assert complete("cvtmesh", "minimize", "g") == {"gl1", "gl2"}
    assert complete("cvtmesh", "run", "--help", "dra") == {"drawing"}


def test_every_option_and_choice(cvtmesh):
    """In bash, whose script is asked for all of them."""
    cvtmesh.file("bash", cvtmesh.call("completion", "bash").stdout)
    assert set(COMMANDS) <= set(bash(cvtmesh.folder, ["cvtmesh", ""]))
    for command in COMMANDS:
        rows = options(command)
        names = bash(cvtmesh.folder, ["cvtmesh", command, "--"])
        assert sorted(names)[1:] == sorted("--" + row.name for row in rows)
        for row in rows:
            if row.choices:
                found = bash(cvtmesh.folder, ["cvtmesh", command, "--" + row.name, ""])
                assert found[:-1] == row.choices


def test_words_of_free_texts_are_taken(cvtmesh):
    """No word that is completed is refused as a value."""
    cvtmesh.file("bash", cvtmesh.call("completion", "bash").stdout)
    cvtmesh.file("four.csv", "x,y\n1,1\n9,2\n4,8\n7,7\n")
    for option in ("page", "plotter"):
        for word in bash(cvtmesh.folder, ["cvtmesh", "mesh", "--" + option, ""])[:-1]:
            if not cvtmesh.path(word).exists():
                page = () if option == "page" else ("--page", "A5")
                cvtmesh.call("mesh", "four.csv", "--" + option, word, *page, "--svg", "path", "-o",
                             "out.gcode", "-o", "out.svg", "-o", "out.hpgl")
    for problem in bash(cvtmesh.folder, ["cvtmesh", "minimize", ""])[:-1]:
        size = ("--atoms", 9) if problem == "lj" else ()
        cvtmesh.call("minimize", problem, *size, "--iterations", 1, "-q", code=(0, 4))


def test_unknown_shell(cvtmesh):
    for wrong in (["tcsh"], []):
        done = cvtmesh.call("completion", *wrong, code=2)
        assert (done.stdout, done.stderr.count(b"\n")) == (b"", 1)
