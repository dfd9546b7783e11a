"""A header says first what it is, in its own words, and can be included twice."""
import re

from tree import Finding

SUMMARY = "each header opens with a comment and has '#pragma once'"

# User code that is compiled as plain C by any compiler keeps the classic guard.
CLASSIC_GUARD = ("libs/function_abi/", "sdk/c/")


def check(tree):
    findings = []
    for file in tree.files:
        if not file.is_header:
            continue
        if not re.match(r"//|/\*", file.text):
            findings.append(Finding(file.path, 1, "open it with one line that says what the file is"))
        guarded = re.search(r"^#pragma once$", file.text, re.MULTILINE)
        if not guarded and not (file.path.startswith(CLASSIC_GUARD) and re.search(r"^#ifndef \w+_H(PP)?$", file.text, re.MULTILINE)):
            findings.append(Finding(file.path, 1, "'#pragma once' is missing"))
    return findings


BAD = [{"cli/src/a.h": "#pragma once\nint a();\n"}, {"cli/src/a.h": "// a.h: a thing.\nint a();\n"}]
GOOD = [{"cli/src/a.h": "// a.h: a thing.\n#pragma once\n",
         "libs/function_abi/include/orchid/function.h": "/* The ABI. */\n#ifndef ORCHID_FUNCTION_H\n#endif\n"}]
