#!/usr/bin/python3
"""compare.py PROGRAMS LEASE COUNT SEED MEMORY FOLDER [WORDS...]: sorts COUNT numbers with MEMORY bytes of buffers, as the function 'outofcore'
in the leased memory, and as a program with a file in FOLDER. WORDS come before that program, such as those of a command that gives it as
little memory as the worker has. Prints both times in seconds. Exit status 1: their results differ."""
import os
import pathlib
import subprocess
import sys
import time


def timed(command):
    began = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return int(done.stdout), time.monotonic() - began


def main():
    programs, lease, count, seed, memory, folder, *words = sys.argv[1:]
    programs = pathlib.Path(programs)
    arguments = f'["{lease}", {count}, {seed}, {memory}]'
    remote, in_memory = timed([programs / "orchid", "invoke", "outofcore", "--args", arguments, "--deadline", "20m"])
    local, in_file = timed([*words, programs / "outofcore-in-file", count, seed, memory, folder])
    print(f"numbers={count} megabytes={int(count) * 8 / 1e6:.0f} buffers={int(memory) / 1e6:.0f} leased_memory_s={in_memory:.2f} "
          f"file_s={in_file:.2f} ratio={in_memory / in_file:.2f}")
    return os.EX_OK if remote == local else 1


sys.exit(main())
