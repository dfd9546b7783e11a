"""What was found beside what is wanted; a test ends where they differ."""
import sys


def same(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found!r} and not {wanted!r}")


def expect_in(what, part, text):
    if part not in text:
        sys.exit(f"{what}: '{part}' is not in {text!r}")
