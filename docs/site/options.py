"""The reference of the commands and their options, from `cvtmesh COMMAND --help all`."""

import html
import re
import subprocess


def commands_of(program):
    """(name, what it does) in the order of the help."""
    text = subprocess.run([program, "--help"], check=True, text=True, stdout=subprocess.PIPE).stdout
    return re.findall(r"^  (\w+) {2,}(\S.*)$", text, re.M)


def groups_of(text):
    """[(group, [(option with its value, description)])]; descriptions begin in column 31."""
    groups = []
    for line in text.splitlines():
        if re.match(r"\w.*:$", line):
            groups.append((line[:-1], []))
        elif groups and re.match(r" {2,6}[-.]", line):
            option = re.match(r" *(\S(?: ?\S)*?)(?: {2,}(\S.*))?$", line)
            name, text_of = option.group(1), option.group(2) or ""
            if not text_of and len(line) > 31 and line[30] == " ":
                name, text_of = line[:30].strip(), line[31:]
            groups[-1][1].append([name, text_of])
        elif groups and groups[-1][1] and line.startswith(" " * 31):
            groups[-1][1][-1][1] += " " + line.strip()
    return groups


def anchor(option):
    """The place that mandoc gives an option or a format: its first name without hyphens and dot."""
    return re.match(r"[-.]+([\w-]+)", option).group(1)


def definition_list(rows):
    lines = ['<dl class="options">']
    for option, text in rows:
        lines.append(f'<dt id="{anchor(option)}"><a href="../manual.html#{anchor(option)}">'
                     f"<code>{html.escape(option)}</code></a></dt>"
                     f"<dd>{html.escape(text.strip())}</dd>")
    return "\n".join([*lines, "</dl>"])


def write(program, folder):
    folder = folder / "commands"
    folder.mkdir(parents=True)
    names = []
    for name, what in commands_of(program):
        if name in ("page", "completion", "help"):  # they have no options
            continue
        names.append(name)
        text = subprocess.run([program, name, "--help", "all"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        usage = text.splitlines()[0]
        groups = groups_of(text)
        count = sum(len(re.findall(r"^ {2,6}[-.]", line)) for line in text.splitlines())
        assert count == sum(len(rows) for _, rows in groups), name
        page = [f"# {name}", "", what[0].upper() + what[1:] + ".", "", "```text", usage, "```", ""]
        for group, rows in groups:
            if rows:
                page += [f"## {group}", "", "```{raw} html", definition_list(rows), "```", ""]
        (folder / f"{name}.md").write_text("\n".join(page))
    index = ["# Commands and options", "",
             "Every command and every option, as `cvtmesh COMMAND --help all` prints them. An option "
             "links to its paragraph of [the manual](../manual.md), if it has one there.", "",
             "```{toctree}", ":maxdepth: 1", "", *names, "```"]
    (folder / "index.md").write_text("\n".join(index))
