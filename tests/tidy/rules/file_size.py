"""A file that has outgrown a reader's head holds more than one concept."""
from tree import Finding

SUMMARY = "no file of more than 600 lines; more than 400 is worth a look"

WARN, FAIL = 400, 600


def check(tree):
    findings = []
    for file in tree.files:
        if file.is_code or file.is_script:
            count = len(file.lines)
            if count > WARN:
                findings.append(Finding(file.path, count, f"{count} lines; split it (limit {FAIL}, usual 100 to {WARN})",
                                        warning=count <= FAIL))
    return findings


BAD = [{"cli/src/a.cpp": "int a;\n" * 601}, {"dev": "#!/bin/sh\n" + "true\n" * 700}]
GOOD = [{"cli/src/a.cpp": "int a;\n" * 600, "docs/long.md": "x\n" * 2000}]
