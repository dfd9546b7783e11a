#!/usr/bin/python3
"""Two looks at our C++: check_sources.py [--within SECONDS] TOGETHER APART [FILE...]

clang-tidy looks at what users run. It takes its commands from the build directory TOGETHER, in which one file includes several
sources: most of its time goes into the headers of libraries, which it then reads once for all of them.
The compiler's front end reads each source by itself, with the commands of the build directory APART: a source that does not
include what it uses is found here, though a build of several together would not notice. Tests are read so only when FILE names
them: the build has compiled them, there are as many as of all others, and their missing includes harm nobody who uses Orchid.

Both run two at a time. What was clean is not looked at again until a source, a header of ours that it includes, its compile
command, .clang-tidy, the program that looks at it or a package of headers changes; the marks of what was clean lie in the user's
cache, where other clones of the project find them, too, and are forgotten when they were of no use for two months. What was changed
last is looked at first. --within: no look begins after that time; how many are left is said, and the next run takes them. FILE: look
at these sources alone. Exit status 1: findings.
"""
import argparse
import concurrent.futures
import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import threading
import time

CLANG_TIDY = "clang-tidy-19"
# g++ flags that clang does not know, and warnings that are g++'s business.
EXTRA_ARGUMENTS = ["--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-error"]
OWN_FOLDERS = ("libs", "executor", "gateway", "flows", "scheduler-plugin", "sdk", "cli", "functions", "tests", "benchmarks")
# Benchmarks are compiled by no other part of continuous integration.
APART_FOLDERS = tuple(folder for folder in OWN_FOLDERS if folder != "tests")
# What users run. Tests and benchmarks have the compiler's warnings and tests/tidy.
TIDY_FOLDERS = ("libs", "executor", "gateway", "flows", "scheduler-plugin", "sdk", "cli", "functions")
KEPT_DAYS = 60
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)

root = pathlib.Path(__file__).resolve().parent.parent


class Headers:
    """Finds our headers by the text of an #include, and all that a file includes. One thread."""

    def __init__(self):
        self.by_suffix = {}
        for folder in OWN_FOLDERS:
            for path in (root / folder).rglob("*"):
                if path.suffix in (".h", ".hpp"):
                    parts = path.relative_to(root).parts
                    for start in range(len(parts)):
                        self.by_suffix.setdefault("/".join(parts[start:]), []).append(path)
        self.includes = {}

    def direct(self, path):
        if path not in self.includes:
            names = INCLUDE.findall(path.read_text(errors="replace"))
            # A name that fits several headers brings them all: too many reruns rather than too few.
            self.includes[path] = [header for name in names for header in self.by_suffix.get(name, [])]
        return self.includes[path]

    def all_of(self, paths):
        seen, waiting = set(), list(paths)
        while waiting:
            current = waiting.pop()
            if current not in seen:
                seen.add(current)
                waiting.extend(self.direct(current))
        return sorted(seen)


@dataclasses.dataclass
class Look:
    """What is looked at in one run of a program."""
    sources: list  # of ours
    command: list
    directory: pathlib.Path
    compiled_by: list  # the words of the compile command, where `command` does not have them

    @property
    def name(self):
        return " ".join(str(source.relative_to(root)) for source in self.sources)

    def fingerprint(self, files, version):
        """`files`: the sources and all of ours that they include."""
        digest = hashlib.sha256()
        digest.update(version)
        digest.update((root / ".clang-tidy").read_bytes())
        digest.update(shlex.join([*self.command, *self.compiled_by]).replace(str(root), ".").encode())
        for file in files:
            digest.update(str(file.relative_to(root)).encode() + b"\0")
            digest.update(file.read_bytes())
        return digest.hexdigest()


def own(path, folders):
    return path.is_relative_to(root) and path.is_file() and path.relative_to(root).parts[0] in folders and path.suffix == ".cpp"


def commands(build):
    """(file, words of its compile command, its directory) for each entry of a build directory."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        directory = pathlib.Path(entry["directory"])
        yield (directory / entry["file"]).resolve(), entry.get("arguments") or shlex.split(entry["command"]), directory


def tidy_looks(build):
    for file, words, _ in commands(build):
        if not file.is_relative_to(build):
            sources = [file]
        elif file.name.startswith("unity_"):
            sources = [pathlib.Path(name) for name in INCLUDE.findall(file.read_text())]
        else:
            continue  # made by the build
        sources = [source for source in sources if own(source, TIDY_FOLDERS)]
        if sources:
            yield Look(sources, [CLANG_TIDY, "--quiet", "-p", str(build), *EXTRA_ARGUMENTS, str(file)], root, words)


def front_end_looks(build, wanted):
    for file, words, directory in commands(build):
        if own(file, OWN_FOLDERS if file in wanted else APART_FOLDERS):
            words = [word for word in words if not word.endswith("ccache")]
            output = words.index("-o")
            yield Look([file], [*words[:output], *words[output + 2:], "-fsyntax-only"], directory, [])


def folder_of_marks():
    folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "orchid" / "lint"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a home that cannot be written
        folder = root / "build" / "lint"
        folder.mkdir(parents=True, exist_ok=True)
    too_old = time.time() - KEPT_DAYS * 24 * 3600
    for mark in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another run forgets it, too
            if mark.stat().st_mtime < too_old:
                mark.unlink()
    return folder


def versions():
    """Of the programs that look, and of the libraries whose headers they read."""
    found = b"".join(subprocess.run([program, "--version"], capture_output=True, check=True).stdout for program in (CLANG_TIDY, "g++"))
    return found + subprocess.run(["dpkg-query", "--show", "lib*-dev", "llvm-*-dev"], capture_output=True, check=False).stdout


def last_changes():
    """When each file was last changed, as far as git knows; what was changed since the last commit is the newest."""
    log = subprocess.run(["git", "log", "--format=@%ct", "--name-only"], cwd=root, capture_output=True, text=True, check=False).stdout
    status = subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=False).stdout
    changed = {root / line[3:]: time.time() for line in status.splitlines()}
    when = 0
    for line in log.splitlines():
        if line.startswith("@"):
            when = int(line[1:])
        elif line:
            changed.setdefault(root / line, when)
    return changed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--within", type=float, default=float("inf"), metavar="SECONDS")
    parser.add_argument("together", type=pathlib.Path)
    parser.add_argument("apart", type=pathlib.Path)
    parser.add_argument("files", nargs="*", metavar="FILE")
    arguments = parser.parse_args()
    together, apart = arguments.together.resolve(), arguments.apart.resolve()
    wanted = {root / name for name in arguments.files}
    looks = {look.name + look.command[0]: look for look in [*tidy_looks(together), *front_end_looks(apart, wanted)]
             if not wanted or wanted & set(look.sources)}
    clean = folder_of_marks()
    headers, version, changed = Headers(), versions(), last_changes()
    files = {name: headers.all_of(look.sources) for name, look in looks.items()}
    marks = {name: clean / look.fingerprint(files[name], version) for name, look in looks.items()}
    waiting = [name for name, mark in marks.items() if not mark.exists()]
    for name in marks.keys() - set(waiting):
        marks[name].touch()
    waiting.sort(key=lambda name: max(changed.get(file, 0) for file in files[name]), reverse=True)
    print(f"{len(waiting)} of {len(looks)} looks to take, the rest is unchanged and clean", flush=True)
    started, lock, done, failed = time.monotonic(), threading.Lock(), [0], []

    def take(name):
        look = looks[name]
        if time.monotonic() - started >= arguments.within:
            return
        run = subprocess.run(look.command, capture_output=True, text=True, cwd=look.directory, check=False)
        with lock:
            done[0] += 1
            print(f"[{done[0]}/{len(waiting)} {time.monotonic() - started:.0f}s] {look.name}", flush=True)
            if run.returncode == 0:
                marks[name].touch()
            else:
                failed.append(look.name)
                print(run.stdout + ("" if run.stdout else run.stderr), flush=True)

    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        list(pool.map(take, waiting))
    if done[0] < len(waiting):
        print(f"{len(waiting) - done[0]} looks are left, those at what was changed longest ago: the time is over")
    if failed:
        print("findings in " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
