"""A page that is read in a terminal, in a review and in a browser has short lines and short table cells."""
import re

from tree import Finding

SUMMARY = "pages have table cells of at most 160 characters and lines of at most 120"

CELL, LINE = 160, 120
# Decisions are never rewritten, so their form stays what it is.
EXEMPT = "docs/decisions/"
FENCE = re.compile(r"\s*(```|~~~)")
INDENTED = re.compile(r"(?: {4}|\t)")
BAR = re.compile(r"(?<!\\)\|")
# What stands before a line's first word: indentation, the marks of a list or of a quotation.
BEFORE = re.compile(r"\s*(?:(?:[-*+>]|\d+[.)])\s+)*")
# A link's definition, or a word with an address.
ADDRESS = re.compile(r"\[[^\]]+\]:\s+\S+|\S*(?:\]\(|://)\S*")


def check(tree):
    return [Finding(file.path, number, message) for file in tree.files
            if file.suffix == ".md" and not file.path.startswith(EXEMPT)
            for number, line in outside_of_code(file.lines) for message in faults_of(line)]


def outside_of_code(lines):
    """The numbered lines that are in no code block, be it fenced or indented."""
    fenced, code_may_begin = False, True
    for number, line in enumerate(lines, 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and not (code_may_begin and INDENTED.match(line)):
            code_may_begin = not line.strip()
            yield number, line


def faults_of(line):
    if line.lstrip().startswith("|"):
        for cell in BAR.split(line.strip())[1:]:
            if len(cell.strip()) > CELL:
                yield f"a table cell of {len(cell.strip())} characters (limit {CELL}): say it below the table: '{cell.strip()[:40]}…'"
    elif len(line) > LINE and not ADDRESS.fullmatch(line[BEFORE.match(line).end():].rstrip()):
        yield f"a line of {len(line)} characters (limit {LINE}): break it"


WORDS = "some words " * 12
ROW = "| a | b |\n|---|---|\n"
BAD = [
    {"CHANGELOG.md": WORDS + "\n"},
    {"cli/README.md": WORDS + "\n"},
    {"docs/SPECIFICATION.md": ROW + "| short | " + "x" * 161 + " |\n"},
    {"docs/SPECIFICATION.md": ROW + "| " + "x" * 161 + " | short |\n"},
    {"docs/SPECIFICATION.md": ROW + "| " + r"one cell \| " * 14 + " | short |\n"},
    {"docs/measurements/lane.md": "- " + WORDS + "[a link](lane.md)\n"},
    {"docs/measurements/lane.md": "```\ncode\n```\n" + WORDS + "\n"},
    {"docs/measurements/lane.md": "- an item\n    " + WORDS + "\n"},
]
GOOD = [
    {"CHANGELOG.md": "x" * 120 + "\n", "docs/decisions/0001-a.md": WORDS + "\n", "benchmarks/notes.txt": WORDS + "\n"},
    {"docs/SPECIFICATION.md": ROW + "| " + "x" * 160 + " | short |\n"},
    {"docs/measurements/lane.md": "```sh\n" + WORDS + "\n```\n\n    " + WORDS + "\n    " + WORDS + "\n"},
    {"docs/measurements/lane.md": f"- [{'x' * 60}](https://{'y' * 60})\n\n[x]: https://{'y' * 120}\n"},
]
