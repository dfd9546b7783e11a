#!/usr/bin/python3
"""readme.py PROGRAMS: "Five minutes" of README.md, typed line by line in one shell, with the programs that are built in place of those
that its first line builds. (`./dev demo` has tests of its own, and `./dev test` is what runs this one.)"""
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from blocks import PROGRAMS, SOURCES, Terminal, blocks_of  # noqa: E402 (found only after the line above)

README = SOURCES / "README.md"
BUILD = "./dev build release programs && export PATH=$PWD/build/release/bin:$PATH"
REFUSED = "echo 'int main;' > /tmp/bad.bc && orchid deploy /tmp/bad.bc"


def figures(said):
    """The numbers that a line of wc begins with."""
    return [word for word in said.split() if word.isdigit()]


def walk(terminal, folder):
    two_commands, *minutes = blocks_of(README)
    if [line.split("#")[0].strip() for line in two_commands.text.splitlines()] != ["./dev demo", "./dev test"]:
        sys.exit(f"README.md has other commands first: {two_commands.text}")
    lines = [line for block in minutes for line in block.text.splitlines()]
    if lines[0] != BUILD or REFUSED not in lines:
        sys.exit(f"README.md says '{BUILD}' or '{REFUSED}' no more: change this test with it")
    terminal.run(f"export PATH={PROGRAMS}:$PATH")
    said = {}
    for line in lines[1:]:
        if line == REFUSED:
            status, text = terminal.try_to(line.replace("/tmp", str(folder)))
            if status != 1 or "LLVM bitcode" not in text:
                sys.exit(f"'{line}' is not refused with 1, but ends with {status}: {text}")
        else:
            said[line] = terminal.run(line)
    counted = next(text for line, text in said.items() if line.startswith("orchid invoke wordcount <"))
    if figures(counted) != figures(next(text for line, text in said.items() if " wc " in line)):
        sys.exit(f"the function and wc count differently: {said}")
    terminal.run("wait")  # for what the last line ends


def main():
    with tempfile.TemporaryDirectory(prefix="orchid-", dir="/tmp") as name:
        folder = pathlib.Path(name)
        for part in ("functions", "LICENSE"):
            (folder / part).symlink_to(SOURCES / part)
        (folder / "run").mkdir(mode=0o700)
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("ORCHID_", "XDG_"))}
        with Terminal({**environment, "HOME": name, "XDG_RUNTIME_DIR": f"{name}/run"}, folder) as terminal:
            walk(terminal, folder)


main()
