"""A link within the project leads to a file, and to a heading of it."""
import posixpath
import re

from tree import Finding

SUMMARY = "links between pages lead to a file and a heading that exist"

LINK = re.compile(r"\]\(([^)\s]+)\)")  # its text may have begun a line before
CODE = re.compile(r"`[^`\n]*`")


def check(tree):
    files = {file.path: file for file in tree.files}
    places = set(files) | {"/".join(file.parts[:depth]) for file in tree.files for depth in range(1, len(file.parts))}
    findings = []
    for file in tree.files:
        if file.suffix != ".md":
            continue
        for number, line in prose(file):
            for target in LINK.findall(CODE.sub("", line)):
                fault = fault_of(target, file, files, places)
                if fault:
                    findings.append(Finding(file.path, number, fault))
    return findings


def fault_of(target, page, files, places):
    if re.match(r"[a-z]+:", target):
        return None
    path, _, anchor = target.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page.path), path)) if path else page.path
    if path not in places:
        return f"there is no '{path}'"
    if anchor and (path not in files or anchor not in anchors_of(files[path])):
        return f"'{path}' has no heading '#{anchor}'"
    return None


def anchors_of(file):
    """The names under which headings are reached, as Git hosts make them of the text."""
    headings = [match[1] for _, line in prose(file) if (match := re.match(r"#+ +(.*)", line))]
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def prose(file):
    """(line number, line) of what is not between fences."""
    fenced = False
    for number, line in enumerate(file.lines, 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


BAD = [
    {"README.md": "[how](docs/HOW.md)\n"},
    {"docs/a.md": "[how](b.md#the-end)\n", "docs/b.md": "# The start\n"},
    {"docs/a.md": "[how](#below)\n"},
    {"docs/a.md": "[how to\ndo it](HOW.md)\n"},
]
GOOD = [
    {"README.md": "[how](docs/a.md#2-the-end), [folder](docs), [elsewhere](https://example.org/#x), `[not](a link)`\n",
     "docs/a.md": "# How\n\n## 2. The end\n\n[up](../README.md)\n\n```\n[not](this)\n```\n"},
]
