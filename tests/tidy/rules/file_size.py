"""A file that has outgrown a reader's head holds more than one concept."""
from tree import Finding

SUMMARY = "no product file of more than 400 lines, no test of more than 600"

USUAL, LONGEST_TEST = 400, 600
TESTS = ("tests", "benchmarks")  # cases that stand one after the other are read one by one


def check(tree):
    findings = []
    for file in tree.files:
        if not (file.is_code or file.is_script):
            continue
        limit = LONGEST_TEST if file.parts[0] in TESTS else USUAL
        count = len(file.lines)
        if count > USUAL:
            findings.append(Finding(file.path, count, f"{count} lines; split it (limit {limit}, usual 100 to {USUAL})",
                                    warning=count <= limit))
    return findings


BAD = [{"cli/src/a.cpp": "int a;\n" * 401}, {"tests/unit/a/a_test.cpp": "int a;\n" * 601}, {"dev": "#!/bin/sh\n" + "true\n" * 401}]
GOOD = [{"cli/src/a.cpp": "int a;\n" * 400, "tests/unit/a/a_test.cpp": "int a;\n" * 600, "docs/long.md": "x\n" * 2000}]
