"""The manual page as a page of the site, by mandoc: the same anchors, a heading for each section."""

import re
import subprocess


def sentence(title):
    words = re.sub(r"\s+", " ", title).strip().capitalize()
    return re.sub(r"^Options of (\w+)$", lambda m: f"Options of {m.group(1)}", words)


def write(source, target):
    text = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", source], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    page = ["# The manual", "", "The text of `man cvtmesh`.", ""]
    for section in re.findall(r'<section class="Sh">\n(.*?)</section>\n(?=<section class="Sh">|</div>)',
                              text, re.S):
        title, body = re.match(r'<h1 class="Sh" id="[^"]*"><a[^>]*>(.*?)</a></h1>\n(.*)', section,
                               re.S).groups()
        page += [f"## {sentence(title)}", "", "```{raw} html", f'<div class="manual">\n{body}</div>',
                 "```", ""]
    assert page.count("```") > 20
    target.write_text("\n".join(page))
