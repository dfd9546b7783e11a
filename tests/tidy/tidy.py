#!/usr/bin/python3
"""The project's own rules: tidy.py [--list] [--self-test] [FOLDER] [RULE...]: of the tree in FOLDER, by default its own. Exit status 1: findings, each with file, line and what to do."""
import importlib
import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here))
sys.dont_write_bytecode = True
from tree import Tree  # noqa: E402 (found only after the line above)

RULES = ("include_directions", "folder_graph", "vendor_homes", "file_names", "leftovers", "file_size", "function_size", "headers", "layout",
         "remote_memory", "test_waits", "failures_page", "links", "where_is", "pages")


def load(name):
    if name not in RULES:
        sys.exit(f"tidy.py: no rule '{name}'; there are: {', '.join(RULES)}")
    return importlib.import_module(f"rules.{name}")


def self_test(names):
    """Shows that each rule can fail, and does not when it should not."""
    failures = 0
    for name in names:
        rule = load(name)
        for sample in rule.BAD:
            if not any(not finding.warning for finding in rule.check(Tree(sample))):
                failures += 1
                print(f"{name}: finds nothing in the bad sample {sorted(sample)}")
        for sample in rule.GOOD:
            for finding in rule.check(Tree(sample)):
                if not finding.warning:
                    failures += 1
                    print(f"{name}: finds in the good sample: {finding}")
        print(f"{name}: {len(rule.BAD)} bad and {len(rule.GOOD)} good samples")
    return failures


def main(arguments):
    words = [argument for argument in arguments if not argument.startswith("-")]
    folders = [word for word in words if word not in RULES and pathlib.Path(word).is_dir()]
    names = [word for word in words if word not in folders] or RULES
    if "--list" in arguments:
        for name in names:
            print(f"{name:20} {load(name).SUMMARY}")
        return 0
    if "--self-test" in arguments:
        return 1 if self_test(names) else 0
    tree = Tree.read(pathlib.Path(folders[0]).resolve() if folders else here.parent.parent)
    failures = 0
    for name in names:
        for finding in load(name).check(tree):
            print(f"{finding} [{name}]")
            failures += not finding.warning
    print(f"tidy: {len(tree.files)} files, {len(names)} rules, {failures} findings")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
