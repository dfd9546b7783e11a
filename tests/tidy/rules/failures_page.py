"""docs/FAILURES.md says which test watches for which failure; a test that is renamed or removed is missed there."""
import re

from tree import Finding

SUMMARY = "each failure in docs/FAILURES.md has a test that exists, or a reason"

PAGE = "docs/FAILURES.md"
NAMED = re.compile(r'"(?P<name>[^"]+)"|`(?P<path>[^`]+)`:')
REASONS = ("Not possible: ", "Not tested: ")


def check(tree):
    texts = {file.path: file.text for file in tree.files}
    findings = []
    for number, tests in failures(texts.get(PAGE, "")):
        if not tests:
            findings.append(Finding(PAGE, number, "say below it, as an item of its own, which test watches for it"))
        for test_number, test in tests:
            findings += [Finding(PAGE, test_number, message) for message in faults_of(test, texts)]
    return findings


def failures(page):
    """(line number, tests) of each item of the lists; its tests are the items below: (line number, text, its lines as one)."""
    found = []
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("- "):
            found.append((number, []))
        elif line.startswith("  - ") and found:
            found[-1][1].append((number, line[4:]))
        elif line.startswith("    ") and found and found[-1][1]:
            start, text = found[-1][1][-1]
            found[-1][1][-1] = (start, f"{text} {line.strip()}")
    return found


def faults_of(test, texts):
    """What is wrong with one test: `path`: "name", "another name"; or words in its place."""
    path, names, named = None, 0, 0
    for match in NAMED.finditer(test):
        if match["path"]:
            path, names = match["path"], 0
            if path not in texts:
                yield f"there is no file '{path}'"
        elif path in texts:
            names, named = names + 1, named + 1
            if match["name"] not in joined(texts[path]):
                yield f"'{path}' has no \"{match['name']}\""
    if named == 0 and not test.startswith(REASONS):
        yield f"name a test, as `path`: \"name\", or begin with {' or '.join(map(repr, REASONS))}"
    elif path in texts and names == 0:
        yield f"name what '{path}' has, in quotation marks"


def joined(text):
    """With the parts of a literal that stands on several lines as one."""
    return re.sub(r'"\s*\n\s*"', "", text)


ITEM = "- it hangs\n"
TEST = {"tests/unit/a/a_test.cpp": 'TEST_CASE("a call comes "\n          "back") {\n}\n'}
BAD = [
    {PAGE: ITEM + '  - `tests/unit/a/b_test.cpp`: "a call comes back"\n', **TEST},
    {PAGE: ITEM + '  - `tests/unit/a/a_test.cpp`: "a call came back"\n', **TEST},
    {PAGE: ITEM + '  - `tests/unit/a/a_test.cpp`: "a call comes back",\n    "and goes"\n', **TEST},
    {PAGE: ITEM + "  - `tests/unit/a/a_test.cpp`: all of it\n", **TEST},
    {PAGE: ITEM + "  - somewhere\n", **TEST},
    {PAGE: ITEM + '- it burns\n  - `tests/unit/a/a_test.cpp`: "a call comes back"\n', **TEST},
]
GOOD = [
    {PAGE: ITEM + '  - `tests/unit/a/a_test.cpp`:\n    "a call comes back"\n- it burns,\n  and smokes\n  - Not possible: there is no fire\n'
     "\nWords outside of a list\n", **TEST},
    {"docs/OTHER.md": ITEM + "  - somewhere\n"},
]
