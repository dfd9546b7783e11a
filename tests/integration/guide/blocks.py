"""The blocks of code on the guide's pages, and a shell in which their commands run."""
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import time

from gateway_process import COMMAND_TIMEOUT_S, wait_for

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
SOURCES = pathlib.Path(__file__).resolve().parents[3]
GUIDE = SOURCES / "docs/guide"
MARK = "Our tests do not run"


class Paragraph:
    def __init__(self, text):
        self.text, self.spent = text, False

    def marks(self):
        """Whether it says of one block more that it is not run."""
        if MARK not in self.text or self.spent:
            return False
        self.spent = True
        return True


class Block:
    def __init__(self, page, text, around):
        self.page, self.text, self.around = page, text, around

    def must(self, holds, what):
        if not holds:
            sys.exit(f"{self.page.name}: {what}:\n{self.text}")

    def replaced(self, *replacements):
        """Its text, with something of this machine for what stands on the page."""
        text = self.text
        for old, new in replacements:
            self.must(old in text, f"says '{old}' no more: change this test with the page")
            text = text.replace(old, str(new))
        return text


def blocks_of(page):
    """Fenced ones, and those that are indented by four blanks. `around`: the paragraphs before and after."""
    lines = page.read_text().splitlines()
    found, at, after, last = [], 0, Paragraph(""), 0
    while at < len(lines):
        fenced, indented = lines[at].startswith("```"), lines[at].startswith("    ") and (at == 0 or not lines[at - 1].strip())
        if not fenced and not indented:
            at += 1
            continue
        start, at = at, at + 1
        while at < len(lines) and (not lines[at].startswith("```") if fenced else lines[at].startswith("    ")):
            at += 1
        body = lines[start + 1:at] if fenced else [line[4:] for line in lines[start:at]]
        at += 1 if fenced else 0
        between = "\n".join(lines[last:start]).strip().split("\n\n")
        before = after if between == [after.text] else Paragraph(between[-1])
        after, last = Paragraph("\n".join(lines[at:]).strip().partition("\n\n")[0]), at
        found.append(Block(page, "\n".join(body) + "\n", [before, after]))
    return found


def block_with(page, words):
    """The one that has these words."""
    found = [one for one in blocks_of(page) if words in one.text]
    if len(found) != 1:
        sys.exit(f"{page.name} has {len(found)} blocks with '{words}'")
    return found[0]


def commands_of(text, prompt="$ "):
    """Each command with the lines that the page shows of its output."""
    parts = re.split("^" + re.escape(prompt), text.replace("\\\n", " "), flags=re.MULTILINE)[1:]
    return [(lines[0].partition("  #")[0].strip(), lines[1:]) for lines in (part.splitlines() for part in parts)]


def shape(line):
    """A pattern for lines that have other numbers, and other widths of columns."""
    return re.compile(r"\s+".join(re.sub(r"\d[\d-]*", r"[\\d-]+", re.escape(word).replace(r"\-", "-")) for word in line.split()))


class Terminal:
    """Commands run one after the other in one shell, as somebody types them. What they have started ends with it."""

    def __init__(self, environment, folder):
        self.shell = subprocess.Popen(["bash"], env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, start_new_session=True)
        self.count = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for way in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.shell.pid, way)
                self.shell.wait(5)
                wait_for(lambda: self.others(), lambda left: not left, "what the terminal has started ends", lambda: "", 20)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass
        self.shell.stdin.close()
        self.shell.stdout.close()

    def others(self):
        """Processes of its group."""
        return subprocess.run(["pgrep", "-g", str(self.shell.pid)], capture_output=True, text=True, check=False).stdout.split()

    def try_to(self, command):
        """Its exit status and its output."""
        self.count += 1
        mark = f"--- {self.count} ended with "
        self.shell.stdin.write(f"{command}\nended=$?; echo; echo '{mark}'$ended\n".encode())
        self.shell.stdin.flush()
        said, give_up = b"", time.monotonic() + COMMAND_TIMEOUT_S
        while not (found := re.search(re.escape(mark) + r"(\d+)\n", said.decode(errors="replace"))):
            ready = select.select([self.shell.stdout], [], [], max(0, give_up - time.monotonic()))[0]
            more = os.read(self.shell.stdout.fileno(), 65536) if ready else b""
            if not more:
                sys.exit(f"'{command}' did not end; it said:\n{said.decode(errors='replace')}")
            said += more
        return int(found.group(1)), said.decode(errors="replace")[:found.start()]

    def run(self, command):
        status, said = self.try_to(command)
        if status != 0:
            sys.exit(f"'{command}' ended with {status}: {said}")
        return said

    def start(self, command):
        """An `orchid up` in the background; returns when it serves."""
        self.run(command)
        self.run("orchid doctor --wait 60s >doctor.txt || { cat doctor.txt; false; }")

    def shows(self, command, patterns):
        """It goes well, and prints such lines in this order: at once, or soon, where it shows a state."""
        said = wait_for(lambda: self.run(command), lambda text: not lacking(text, patterns) or not re.search(r"\b(hosts|list|status)\b", command),
                        f"'{command}' shows {patterns}", lambda: self.try_to(command)[1])
        if lacking(said, patterns):
            sys.exit(f"'{command}' does not say '{lacking(said, patterns)}', but: {said}")
        return said


def lacking(text, patterns):
    """The first line that is not there after the one before it."""
    lines = iter(text.splitlines())
    return next((pattern for pattern in patterns if not any(shape(pattern).search(line) for line in lines)), None)
