"""What is unfinished is an issue, not a comment."""
import re

from tree import Finding

SUMMARY = "no leftover markers of unfinished work"

# Written in halves, so that this file is clean itself.
MARKERS = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")


def check(tree):
    findings = []
    for file in tree.files:
        if not (file.is_code or file.is_script or file.name == "CMakeLists.txt" or file.suffix in (".cmake", ".md", ".yaml")):
            continue
        for number, line in enumerate(file.lines, 1):
            match = MARKERS.search(line)
            if match:
                findings.append(Finding(file.path, number, f"'{match.group(0)}' is left over: do it, or open an issue"))
            if re.match(r"(<{7}|>{7}) ", line):
                findings.append(Finding(file.path, number, "a conflict marker is left over"))
    return findings


BAD = [{"cli/src/a.cpp": "int a;  // TO" + "DO later\n"}, {"docs/a.md": "FIX" + "ME\n"}, {"tests/tidy/a.py": "# XX" + "X\n"},
       {"cli/src/a.cpp": "<" * 7 + " HEAD\n"}]
GOOD = [{"cli/src/a.cpp": "// why, not what\n"}]
