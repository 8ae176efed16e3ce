"""The manual page as a page of the site, by mandoc: the same anchors, a heading for each section."""

import re
import subprocess


def sentence(title):
    words = re.sub(r"\s+", " ", title).strip().capitalize()
    return re.sub(r"^Options of (\w+)$", lambda m: f"Options of {m.group(1)}", words)


def write(program, template, target):
    with open(template) as source:
        page = subprocess.run([program, "help", "man"], check=True, stdin=source,
                              stdout=subprocess.PIPE).stdout
    text = subprocess.run(["mandoc", "-T", "html", "-O", "fragment"], check=True, input=page,
                          stdout=subprocess.PIPE).stdout.decode()
    page = ["# The manual", "", "The text of `man cvtmesh`.", ""]
    for section in re.findall(r'<section class="Sh">\n(.*?)</section>\n(?=<section class="Sh">|</div>)',
                              text, re.S):
        title, body = re.match(r'<h1 class="Sh" id="[^"]*"><a[^>]*>(.*?)</a></h1>\n(.*)', section,
                               re.S).groups()
        page += [f"## {sentence(title)}", "", "```{raw} html", f'<div class="manual">\n{body}</div>',
                 "```", ""]
    assert page.count("```") > 20
    target.write_text("\n".join(page))
