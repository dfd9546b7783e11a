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
    for number, line in enumerate(texts.get(PAGE, "").splitlines(), 1):
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if not cells or cells[-1] == "test" or set(cells[-1]) == {"-"}:
            continue
        findings += [Finding(PAGE, number, message) for message in faults_of(cells[-1], texts)]
    return findings


def faults_of(cell, texts):
    """What is wrong with a row's last cell: `path`: "name", "another name"; `another path`: "name"."""
    path, names, named = None, 0, 0
    for match in NAMED.finditer(cell):
        if match["path"]:
            path, names = match["path"], 0
            if path not in texts:
                yield f"there is no file '{path}'"
        elif path in texts:
            names, named = names + 1, named + 1
            if match["name"] not in joined(texts[path]):
                yield f"'{path}' has no \"{match['name']}\""
    if named == 0 and not cell.startswith(REASONS):
        yield f"name a test, as `path`: \"name\", or begin with {' or '.join(map(repr, REASONS))}"
    elif path in texts and names == 0:
        yield f"name what '{path}' has, in quotation marks"


def joined(text):
    """With the parts of a literal that stands on several lines as one."""
    return re.sub(r'"\s*\n\s*"', "", text)


TABLE = "| failure | test |\n|---|---|\n"
TEST = {"tests/unit/a/a_test.cpp": 'TEST_CASE("a call comes "\n          "back") {\n}\n'}
BAD = [
    {PAGE: TABLE + '| it hangs | `tests/unit/a/b_test.cpp`: "a call comes back" |\n', **TEST},
    {PAGE: TABLE + '| it hangs | `tests/unit/a/a_test.cpp`: "a call came back" |\n', **TEST},
    {PAGE: TABLE + '| it hangs | `tests/unit/a/a_test.cpp`: "a call comes back", "and goes" |\n', **TEST},
    {PAGE: TABLE + "| it hangs | `tests/unit/a/a_test.cpp`: all of it |\n", **TEST},
    {PAGE: TABLE + "| it hangs | somewhere |\n", **TEST},
]
GOOD = [
    {PAGE: TABLE + '| it hangs | `tests/unit/a/a_test.cpp`: "a call comes back" |\n| it burns | Not possible: there is no fire |\n'
     "\nWords | outside of a table\n", **TEST},
    {"docs/OTHER.md": TABLE + "| it hangs | somewhere |\n"},
]
