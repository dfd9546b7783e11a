"""A file is named after the one concept it holds; a name that says nothing collects everything."""
import re

from tree import Finding

SUMMARY = "no file or folder is called util, common, misc, helper or manager; names are snake_case"

FORBIDDEN = re.compile(r"(^|[_\-.])(utils?|common|misc|helpers?|managers?)($|[_\-.])", re.IGNORECASE)
SNAKE = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")


def check(tree):
    findings = []
    for file in tree.files:
        for part in file.parts:
            if FORBIDDEN.search(part):
                findings.append(Finding(file.path, 1, f"'{part}' says nothing about its content; name the concept"))
        if file.is_code and not SNAKE.fullmatch(file.name):
            findings.append(Finding(file.path, 1, "code files are named in snake_case"))
    return findings


BAD = [{"libs/foundation/src/string_util.cpp": ""}, {"gateway/src/common/a.cpp": ""}, {"cli/src/helpers.h": ""},
       {"gateway/src/lease-manager.cpp": ""}, {"cli/src/Invoke.cpp": ""}]
GOOD = [{"gateway/src/leases/lease_book.cpp": "", "cli/src/commands/list.cpp": ""}]
