"""The files that the rules look at, read once, and what a rule reports."""
import dataclasses
import functools
import pathlib
import re

CODE = (".cpp", ".h", ".hpp", ".c")
SCRIPTS = (".py", ".sh")
FOLDERS = ("libs", "gateway", "executor", "flows", "scheduler-plugin", "functions", "sdk", "cli", "tests", "benchmarks", "cmake", "dev.d",
           ".ci", "docs", "packaging", "containers")
SKIPPED_PARTS = ("build", "__pycache__", "node_modules")


@dataclasses.dataclass(frozen=True)
class Finding:
    path: str
    line: int
    message: str
    warning: bool = False  # printed, but does not fail

    def __str__(self):
        return f"{self.path}:{self.line}: {'warning: ' if self.warning else ''}{self.message}"


@dataclasses.dataclass(frozen=True)
class File:
    path: str  # from the root, with '/'
    text: str

    @property
    def parts(self):
        return tuple(self.path.split("/"))

    @property
    def name(self):
        return self.parts[-1]

    @property
    def suffix(self):
        return pathlib.PurePosixPath(self.path).suffix

    @property
    def is_code(self):
        return self.suffix in CODE

    @property
    def is_header(self):
        return self.suffix in (".h", ".hpp")

    @property
    def is_script(self):
        return self.suffix in SCRIPTS or (self.suffix == "" and self.text.startswith("#!"))

    @functools.cached_property
    def lines(self):
        return self.text.splitlines()

    @functools.cached_property
    def includes(self):
        """(line number, what is between the quotes or angle brackets)"""
        found = []
        for number, line in enumerate(self.lines, 1):
            match = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
            if match:
                found.append((number, match.group(1)))
        return found


class Tree:
    """All text files of the project; `files` maps a path to its content, for the rules' own tests."""

    def __init__(self, files):
        self.files = [File(path, text) for path, text in sorted(files.items())]
        self.paths = {file.path for file in self.files}

    @classmethod
    def read(cls, root):
        files = {}
        for top in sorted(root.iterdir()):
            if top.is_file():
                cls._add(files, root, top)
            elif top.name in FOLDERS:
                for path in top.rglob("*"):
                    if path.is_file() and not any(part in SKIPPED_PARTS for part in path.relative_to(root).parts):
                        cls._add(files, root, path)
        return cls(files)

    @staticmethod
    def _add(files, root, path):
        content = path.read_bytes()
        if b"\0" not in content:
            files[path.relative_to(root).as_posix()] = content.decode("utf-8", errors="replace")

    @property
    def code(self):
        return [file for file in self.files if file.is_code]


def without_comments_and_strings(text):
    """C++ text of the same length and lines, with comments and the insides of literals blanked, so that braces can be counted."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))

    pattern = re.compile(
        r'R"(?P<tag>[^()\\ ]{0,16})\(.*?\)(?P=tag)"'
        r"|//[^\n]*|/\*.*?\*/"
        r'|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'", re.DOTALL)
    return pattern.sub(blank, text)
