"""A sleep in a test is either too short for a slow machine or too long for all others: wait for a condition with a deadline."""
import re

from tree import Finding

SUMMARY = "unit tests do not sleep"

SLEEP = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(")


def check(tree):
    return [Finding(file.path, number, f"'{match.group(1)}': use a fake clock, or wait for a condition with a deadline")
            for file in tree.code if file.path.startswith("tests/unit/")
            for number, line in enumerate(file.lines, 1) if (match := SLEEP.search(line.split("//")[0]))]


BAD = [{"tests/unit/a/a_test.cpp": "std::this_thread::sleep_for(1s);\n"}, {"tests/unit/a/a_test.cpp": "  usleep(10);\n"}]
GOOD = [{"tests/unit/a/a_test.cpp": "clock.advance(1s);\nclient.prepare_to_sleep();\n", "tests/data/functions/sleeps.c": "nanosleep(&t, 0);\n"}]
