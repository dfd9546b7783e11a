#!/usr/bin/python3
"""Names the tests that failed once and passed when they were repeated: unstable_tests.py CTEST_OUTPUT LOG_FOLDER

CTEST_OUTPUT is what `ctest --repeat until-pass:2 --output-on-failure` printed. What an unstable test printed when it failed is
kept in LOG_FOLDER/NAME.log. Exit status: 1 when more than MOST tests are unstable: then something is wrong with all of them.
"""
import pathlib
import re
import sys

MOST = 3
RESULT = re.compile(r"^\s*(?:\d+/\d+ )?Test\s+#\d+: (\S+) \.*\s*(.*?)\s+\d+\.\d+ sec")
OTHER_LINE = re.compile(r"^\s*(?:Start\s+\d+: |\d+% tests passed)")


def results(lines):
    """(test, whether it passed, what it printed), in the order of the runs."""
    found, printed = [], None
    for line in lines:
        match = RESULT.match(line)
        if match:
            printed = []
            found.append((match[1], match[2].startswith("Passed"), printed))
        elif OTHER_LINE.match(line):
            printed = None
        elif printed is not None:
            printed.append(line)
    return found


def unstable(lines):
    """What each test printed that failed first and passed in the end, by name."""
    failed, repeated = {}, {}
    for name, passed, printed in results(lines):
        if not passed:
            failed[name] = printed
        elif name in failed:
            repeated[name] = failed[name]
    return repeated


def main():
    output, folder = map(pathlib.Path, sys.argv[1:3])
    found = unstable(output.read_text(errors="replace").splitlines())
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.log"):
        old.unlink()
    for name, printed in sorted(found.items()):
        log = folder / f"{name}.log"
        log.write_text("\n".join(printed) + "\n")
        print(f"unstable: {name} failed once and passed when it was repeated; what it printed is in {log}")
    if len(found) > MOST:
        print(f"unstable: {len(found)} tests, and more than {MOST} are too many to be chance")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
