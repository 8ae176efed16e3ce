"""The reference of the library: the public headers as pages of Sphinx's C domain. A comment of a
header stands above the declarations that follow it, as in the header."""

import re
from pathlib import Path

def public_headers(root):
    text = (root / "packaging/public_headers.cmake").read_text()
    names = re.search(r"set\(cvtmesh_public_headers(.*?)\)", text, re.S).group(1).split()
    return names


def declaration_end(text, start):
    """Past the ; at depth 0, and past a comment behind it in the same line."""
    depth, k = 0, start
    while k < len(text):
        if text.startswith("/*", k):
            k = text.index("*/", k) + 2
            continue
        depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(text[k], 0)
        if depth == 0 and text[k] == ";":
            return k + 1
        if depth == 0 and text[k] == "}" and not re.match(r"\}\s*\w*\s*;", text[k:]):
            return k + 1  # the body of an inline function
        k += 1
    return len(text)


def parts(text):
    """("comment" | "code" | "macro" | "blank", text) in order, of what the guard encloses."""
    k = 0
    while k < len(text):
        if text[k].isspace():
            blank = re.match(r"\s+", text[k:]).group()
            if blank.count("\n") > 1:
                yield "blank", ""
            k += len(blank)
            continue
        if text.startswith("/*", k):
            end = text.index("*/", k)
            yield "comment", text[k + 2:end]
            k = end + 2
        elif text[k] == "#":
            end = re.match(r"#(?:\\\n|[^\n])*", text[k:]).end()
            yield "macro", text[k:k + end]
            k += end
        elif re.match(r"CVTM_API_(BEGIN|END)\b", text[k:]):
            k += len(re.match(r"\w+", text[k:]).group())
        else:
            end = declaration_end(text, k)
            yield "code", text[k:end]
            k = end


def words(comment):
    """The paragraphs of a comment; lines indented further than the rest stay as they are."""
    lines = [re.sub(r"^ ?\*? ?", "", line, count=1) if n else line.lstrip()
             for n, line in enumerate(comment.rstrip().split("\n"))]
    blocks, block, literal = [], [], False
    for line in [*lines, ""]:
        fixed = line.startswith("   ") or re.match(r"\w+  +\S", line) is not None
        if block and (not line.strip() or fixed != literal):
            blocks.append((literal, block))
            block = []
        if line.strip():
            literal = fixed
            block.append(line)
    return blocks


def escape(text):
    return re.sub(r"([\\`*_{}\[\]<>#|$~])", r"\\\1", text)


def linked(text, roles):
    """Text of a comment as Markdown: what is declared becomes a link, `code` stays."""
    def piece(match):
        code, name = match.group(1), match.group(2)
        if code is not None:
            return match.group(0)
        if name is None:
            return escape(match.group(0))
        return f"{{c:{roles[name]}}}`{name}`" if name in roles else f"`{name}`"
    return re.sub(r"`([^`]*)`|\b(cvtm\w+|CVTM\w+)\b|.", piece, text, flags=re.S)


def prose(comment, roles):
    section = re.fullmatch(r" --- (.+?) -+ ", comment)
    if section:
        return [f"## {section[1][0].upper()}{section[1][1:]}", ""]
    out = []
    for literal, lines in words(comment):
        if literal:
            out += ["```text", *lines, "```", ""]
        else:
            text = linked(" ".join(line.strip() for line in lines), roles)
            out += [re.sub(r"^(\d+)([.)])", r"\1\\\2", text), ""]
    return out


def describe(code):
    """(directive, its argument, whether the definition is shown), None for what is none of these."""
    flat = re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", code, flags=re.S)).strip().rstrip(";").strip()
    flat = re.sub(r"^CVTM_PRINTF\(.*?\) | __attribute__\(\(.*\)\)$", "", flat)
    defined = re.match(r"typedef (struct|enum|union) (\w+) ?\{", flat)
    if defined:
        return defined.group(1), defined.group(2), True
    opaque = re.match(r"typedef struct (\w+) \w+$", flat)
    if opaque:
        return "struct", opaque.group(1), False
    if flat.startswith("typedef"):
        return "type", flat[len("typedef "):], False
    if flat.startswith("static inline"):
        return "function", flat[len("static inline "):].split("{")[0].strip(), False
    return ("function", flat, False) if "(" in flat and not flat.startswith("enum {") else None


def name_of(directive, argument):
    if directive in ("function", "type"):
        return re.search(r"\b(cvtm\w+)\s*(?:\)\s*)?(?:\(|$)", argument).group(1)
    return argument


def roles_of(root, names):
    """What the headers declare, and the role of Sphinx that links to it."""
    roles = {}
    for name in names:
        for kind, body in parts((root / name).read_text()):
            what = describe(body) if kind == "code" else None
            if what:
                role = {"function": "func", "type": "type"}.get(what[0], what[0])
                roles[name_of(*what[:2])] = role
    return roles


def page(root, name, roles):
    """A comment goes into the first declaration that follows it, or onto the page if none does."""
    out = [f"# {name}", "", f"`#include <cvtmesh/{name}>`", ""]
    waiting = []
    for kind, body in [*parts((root / name).read_text()), ("blank", "")]:
        what = describe(body) if kind == "code" else None
        if what is None:
            out += waiting
            waiting = []
        if kind == "comment":
            waiting = prose(body, roles)
        elif what is not None:
            directive, argument, shown = what
            out += [f"````{{c:{directive}}} {argument}", "", *waiting]
            waiting = []
            if shown:
                out += ["```{code-block} c", body, "```"]
            out += ["````", ""]
        elif kind == "code" or (kind == "macro" and re.match(r"#define CVTM(?!\w*_H\b)", body)):
            out += ["```{code-block} c", body, "```", ""]
    return "\n".join(out)


def write(root, folder):
    folder.mkdir(parents=True)
    names = public_headers(root)
    names.remove("base/api.h")  # macros around declarations
    roles = roles_of(root, names)
    assert len(roles) > 300
    rooms = {}
    for name in names:
        target = folder / Path(name).with_suffix(".md").as_posix().replace("/", "-")
        target.write_text(page(root, name, roles))
        rooms.setdefault(name.split("/")[0], []).append(target.stem)
    out = ["# The library, header by header", "",
           "The functions and types that `<cvtmesh/cvtmesh.h>` declares, from the comments of the "
           "headers. [The rules that hold for all](../../library.md) are on a page of their own, with "
           "a table of what is where.", ""]
    for room, pages in rooms.items():
        out += ["```{toctree}", ":maxdepth: 1", f":caption: {room}", "", *pages, "```", ""]
    (folder / "index.md").write_text("\n".join(out))
