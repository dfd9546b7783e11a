#!/usr/bin/python3
"""clang-tidy over each source of what users run, and the compiler's front end over each of tests and benchmarks:
check_sources.py BUILD_DIRECTORY [FILE...]

BUILD_DIRECTORY is configured with the preset "plain", which compiles each file by itself: a file that does not include what it
uses is found here, though a build of several files in one would not notice. Runs two at a time. A file that was clean is not
looked at again until it, a header of ours that it includes, its compile command, .clang-tidy or the program that looks at it
changes; the marks of clean files lie in build/lint. Exit status 1: findings.
"""
import concurrent.futures
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
OWN_FOLDERS = ("libs", "executor", "gateway", "scheduler-plugin", "sdk", "cli", "functions", "tests", "benchmarks")
# What users run. Tests and benchmarks have the compiler's warnings and tests/tidy: clang-tidy there would double the time.
TIDY_FOLDERS = ("libs", "executor", "gateway", "scheduler-plugin", "sdk", "cli", "functions")
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

    def all_of(self, path):
        seen, waiting = set(), [path]
        while waiting:
            current = waiting.pop()
            if current not in seen:
                seen.add(current)
                waiting.extend(self.direct(current))
        return sorted(seen)


def translation_units(build, wanted):
    units = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        if not path.is_file() or not path.is_relative_to(root):
            continue
        name = str(path.relative_to(root))
        if name.startswith(OWN_FOLDERS) and path.suffix == ".cpp" and (not wanted or name in wanted):
            units.setdefault(path, entry.get("command") or shlex.join(entry["arguments"]))
    return units


def fingerprint(path, command, headers, version):
    digest = hashlib.sha256()
    digest.update(version)
    digest.update((root / ".clang-tidy").read_bytes())
    digest.update(command.encode())
    for file in headers.all_of(path):
        digest.update(str(file.relative_to(root)).encode() + b"\0")
        digest.update(file.read_bytes())
    return digest.hexdigest()


def front_end(command):
    """The compiler's own command, which writes nothing."""
    words = [word for word in shlex.split(command) if not word.endswith("ccache")]
    output = words.index("-o")
    return [*words[:output], *words[output + 2:], "-fsyntax-only"]


def look_at_file(path, command, build):
    if path.relative_to(root).parts[0] in TIDY_FOLDERS:
        return subprocess.run([CLANG_TIDY, "--quiet", "-p", str(build), *EXTRA_ARGUMENTS, str(path)],
                              capture_output=True, text=True, cwd=root, check=False)
    return subprocess.run(front_end(command), capture_output=True, text=True, cwd=build, check=False)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    units = translation_units(build, set(sys.argv[2:]))
    clean = root / "build" / "lint"
    clean.mkdir(parents=True, exist_ok=True)
    version = b"".join(subprocess.run([program, "--version"], capture_output=True, check=True).stdout for program in (CLANG_TIDY, "g++"))
    headers = Headers()
    marks = {path: clean / fingerprint(path, command, headers, version) for path, command in units.items()}
    # The slowest last would leave one core idle: large include trees first.
    waiting = sorted((path for path, mark in marks.items() if not mark.exists()),
                     key=lambda path: "beast" not in path.read_text(errors="replace"))
    print(f"{len(waiting)} of {len(units)} files to look at, the rest is unchanged and clean", flush=True)
    started, lock, done, failed = time.monotonic(), threading.Lock(), [0], []

    def look_at(path):
        run = look_at_file(path, units[path], build)
        with lock:
            done[0] += 1
            name = path.relative_to(root)
            print(f"[{done[0]}/{len(waiting)} {time.monotonic() - started:.0f}s] {name}", flush=True)
            if run.returncode == 0:
                marks[path].touch()
            else:
                failed.append(name)
                print(run.stdout + run.stderr if run.stdout else run.stderr, flush=True)

    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        list(pool.map(look_at, waiting))
    if failed:
        print(f"findings in {len(failed)} files: " + " ".join(map(str, failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
