"""Each part has a README that is read in a minute, and pages that tell where things are name files that exist."""
import re

from tree import Finding

SUMMARY = "each part has a short README; files that pages send a reader to exist"

# With the libraries, which are found.
PARTS = ("gateway", "gateway/dispatch", "gateway/door", "executor", "executor/agent", "executor/compiler", "executor/worker",
         "scheduler-plugin", "scheduler-plugin/pilot", "scheduler-plugin/placement", "scheduler-plugin/share",
         "scheduler-plugin/site", "scheduler-plugin/slurm", "scheduler-plugin/spank", "sdk", "cli", "tests", "benchmarks")
SHORTEST, LONGEST = 5, 15  # lines of a part's README
CONTENT = f"what it is, what it must not know, where to start reading, in {SHORTEST} to {LONGEST} lines"

CONTRIBUTING = "CONTRIBUTING.md"
# Of CONTRIBUTING: each item of these names files, and names that are found in them.
SECTIONS = ("## Where is", "## A new constraint of a worker")
# The example of that section: no other file of the product may know it, but the C SDK's.
EXAMPLE = "avoid_host"
OF_C_SDK = "sdk/c/"
ADDS_HOSTS = "gateway/src/leases/worker_broker_plan.cpp"  # states that constraint by itself, for hosts with old executors
QUOTED = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.-]+(/[\w.-]+)*/?")
FILE = re.compile(r"[\w.-]+\.(cpp|h|hpp|c|py|md|txt|cmake|yaml|toml|json)")
NAME = re.compile(r"(?:\w+::)*([A-Za-z_]\w*)")


def check(tree):
    findings = readmes(tree)
    places = tree.paths | {"/".join(file.parts[:depth]) for file in tree.files for depth in range(1, len(file.parts))}
    for file in tree.files:
        if tells_where_things_are(file.path):
            findings += [Finding(file.path, number, f"there is no '{path}'")
                         for number, path in quoted(file) if is_missing(path, file, places)]
        if file.path == CONTRIBUTING:
            findings += names_not_found(file, tree)
            findings += example_elsewhere(file, tree)
    return findings


def readmes(tree):
    libraries = {"/".join(file.parts[:2]) for file in tree.files if file.parts[0] == "libs" and len(file.parts) > 2}
    parts = libraries | {part for part in PARTS if any(file.path.startswith(f"{part}/") for file in tree.files)}
    lengths = {file.path: len(file.lines) for file in tree.files if file.name == "README.md"}
    findings = []
    for path in sorted(f"{part}/README.md" for part in parts):
        if path not in lengths:
            findings.append(Finding(path, 1, f"is missing: say {CONTENT}"))
        elif not SHORTEST <= lengths[path] <= LONGEST:
            findings.append(Finding(path, 1, f"has {lengths[path]} lines: say {CONTENT}"))
    return findings


def tells_where_things_are(path):
    return (path in (CONTRIBUTING, "docs/ARCHITECTURE.md") or path.startswith("docs/architecture/")
            or (path.endswith("/README.md") and not path.startswith(("functions/", "docs/", "tests/data/"))))


def quoted(file):
    return [(number, text) for number, line in enumerate(file.lines, 1) for text in QUOTED.findall(line)]


def is_missing(text, page, places):
    """Whether `text` is a path, from the root or from the page's folder, of something that is not there."""
    if not PATH.fullmatch(text):
        return False
    folder = "/".join(page.parts[:-1])
    path = text.rstrip("/")
    if "/" not in path:
        under = f"{folder}/" if folder else ""
        return bool(FILE.fullmatch(path)) and not any(
            place.startswith(under) and place.split("/")[-1] == path for place in places)
    near = f"{folder}/{path}" if folder else path
    if path in places or near in places:
        return False
    first = path.split("/")[0]
    return first in places or (folder and f"{folder}/{first}" in places) or bool(FILE.fullmatch(path.split("/")[-1]))


def names_not_found(page, tree):
    """What an item of these sections names must be in a file that the same item names."""
    texts = {file.path: file.text for file in tree.files}
    findings = []
    for number, item in items(page):
        words = QUOTED.findall(item)
        files = [texts[word] for word in words if word in texts]
        if not files:
            findings.append(Finding(page.path, number, "name the file, as `folder/file.cpp`"))
            continue
        for word in words:
            name = NAME.fullmatch(word)
            if name and not any(re.search(rf"\b{name[1]}\b", text) for text in files):
                findings.append(Finding(page.path, number, f"'{word}' is in none of the files that this item names"))
    return findings


def example_elsewhere(page, tree):
    """Files of the product that know the example of a constraint, and are not listed as those that a constraint touches."""
    listed = {word for _, item in items(page) for word in QUOTED.findall(item)}
    return [Finding(file.path, 1, f"knows '{EXAMPLE}', and {CONTRIBUTING} does not list it: let it walk visit_constraints")
            for file in tree.code
            if file.parts[0] not in ("tests", "benchmarks") and file.path not in listed
            and file.path != ADDS_HOSTS and not file.path.startswith(OF_C_SDK) and re.search(rf"\b{EXAMPLE}\b", file.text)]


def items(page):
    """(line number, text) of each list item of these sections, its lines as one."""
    found, inside = [], False
    for number, line in enumerate(page.lines, 1):
        if line.startswith("## "):
            inside = line.startswith(SECTIONS)
        elif inside and line.startswith("- "):
            found.append((number, line))
        elif inside and found and line.startswith("  "):
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
    return found


README = "# clock\n\nTime that is passed in.\n\nStart with `clock.h`.\n"
BAD = [
    {"libs/clock/clock.h": ""},
    {"libs/clock/clock.h": "", "libs/clock/README.md": "# clock\n"},
    {"libs/clock/clock.h": "", "libs/clock/README.md": README + "\n" * 11},
    {"libs/clock/timer.h": "", "libs/clock/README.md": README},
    {"libs/clock/clock.h": "", "libs/clock/README.md": README, "docs/ARCHITECTURE.md": "In `libs/clocks`.\n"},
    {CONTRIBUTING: "## Where is …\n\n- a lease's end: `Leases::expire`\n"},
    {CONTRIBUTING: "## Where is …\n\n- a lease's end: `Leases::expire`\n  in `cli/leases.cpp`\n", "cli/leases.cpp": "void end();\n"},
    {CONTRIBUTING: "## A new constraint of a worker\n\n- the field: `Wish` in `cli/wish.h`\n", "cli/wish.h": "struct Want;\n"},
    {CONTRIBUTING: "## A new constraint of a worker\n\n- the field: `Wish` in `cli/wish.h`\n", "cli/wish.h": "struct Wish;\n",
     "cli/README.md": README.replace("clock.h", "wish.h"), "cli/other.cpp": "avoid_host\n"},
]
GOOD = [
    {"libs/clock/clock.h": "", "libs/clock/README.md": README,
     "docs/ARCHITECTURE.md": "In `libs/clock`, by `GET /v1/hosts`, `text/plain`, `key=value`.\n"},
    {CONTRIBUTING: "## Where is …\n\n- a lease's end: `Leases::expire`\n  in `cli/a/leases.cpp`\n\n## More\n\n- `other`\n",
     "cli/a/leases.cpp": "void Leases::expire();\n", "cli/README.md": README.replace("clock.h", "leases.cpp")},
]
