#!/usr/bin/python3
"""pages.py PROGRAMS SOURCES: every block of code on the guide's pages (but writing-functions.md, which run.py tests) is run or compiled here,
is built by tests/integration/consumer, or says on the page that our tests do not run it. Addresses and folders of the page are replaced
by some of this machine."""
import contextlib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from gateway_process import COMMAND_TIMEOUT_S, gateway, launch, wait_for  # noqa: E402 (found only after the line above)

PROGRAMS, SOURCES = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
GUIDE = SOURCES / "docs/guide"
MARK = "Our tests do not run"
# What a paragraph says that stands for all blocks around it; others stand for one.
FOR_ALL = re.compile(r"of this (section|page)|the next two\s+blocks")
INCLUDES = [f"-I{SOURCES / folder}" for folder in ("sdk/cpp/include", "sdk/c/include", "libs/function_abi/include")]
CPP = """#include <cstdio>
#include <cstring>
#include <span>
#include <vector>
#include "orchid/client.h"
#include "orchid/lease.h"
#include "orchid/stream.h"
bool read_some(std::vector<std::byte>& block);
std::string token;
int main() {
"""


class Paragraph:
    def __init__(self, text):
        self.text, self.spent = text, False

    def marks(self):
        """Whether it says of one block more that it is not run."""
        if MARK not in self.text or (self.spent and not FOR_ALL.search(self.text)):
            return False
        self.spent = True
        return True


class Block:
    def __init__(self, page, text, around):
        self.page, self.text, self.around = page, text, around

    def must(self, holds, what):
        if not holds:
            sys.exit(f"{self.page.name}: {what}:\n{self.text}")


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


def marked(block):
    block.must(any(paragraph.marks() for paragraph in block.around), f"no paragraph around it says '{MARK}' of it")


def a_mark_counts_once():
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.md"
        page.write_text(f"Text.\n\n```\none\n```\n\n{MARK} this line.\n\n```\ntwo\n```\n\nText.\n")
        one, two = blocks_of(page)
        marked(one)
        try:
            marked(two)
        except SystemExit as refused:
            assert "no paragraph" in str(refused), refused
        else:
            sys.exit("one paragraph has marked two blocks")


def in_consumer(name):
    """What that test builds and runs has these lines, in this order."""
    def check(block):
        text = (SOURCES / "tests/integration/consumer" / name).read_text()
        at = 0
        for line in block.text.splitlines():
            found_at = text.find(line, at)
            block.must(found_at >= 0, f"tests/integration/consumer/{name} has no line '{line}' after the one before it")
            at = found_at + len(line)
    return check


def compile_text(block, compiler, name, text):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / name
        source.write_text(text)
        done = subprocess.run([*compiler, "-fsyntax-only", *INCLUDES, source], capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S,
                              check=False)
        block.must(done.returncode == 0, f"does not compile: {done.stderr}")


def cpp(*before):
    def check(block):
        compile_text(block, ["g++", "-std=c++20"], "block.cpp", CPP + "\n".join(before) + "\n" + block.text + "return 0;\n}\n")
    return check


def whole_program(block):
    compile_text(block, ["g++", "-std=c++20"], "program.cpp", block.text)


def c(block):
    text = ('#include <stdio.h>\n#include "orchid/orchid.h"\nint f(orchid_client* client);\nint f(orchid_client* client) {\n' + block.text
            + "return 0;\n}\n")
    compile_text(block, ["gcc", "-std=c11"], "block.c", text)


def settings(replacements=()):
    """A gateway starts with them."""
    def check(block):
        text = block.text
        for old, new in replacements:
            block.must(old in text, f"says '{old}' no more: change this test with the page")
            text = text.replace(old, new)
        with gateway(PROGRAMS, {**os.environ}, text) as site:
            site.document("hosts")
    return check


def policy(_):
    """Source and command, one after the other; a gateway then places by it."""
    source, command = blocks_of(GUIDE / "placement-policy.md")[1:]
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "quiet_hosts.c").write_text(source.text)
        words = [f"{folder}/quiet_hosts.so" if word == "/etc/orchid/quiet_hosts.so" else word for word in shlex.split(command.text)]
        words = [f"{folder}/{word}" if word == "quiet_hosts.c" else word for word in words]
        subprocess.run(words, cwd=SOURCES, check=True, timeout=COMMAND_TIMEOUT_S)
        with gateway(PROGRAMS, {**os.environ}, f'[placement]\npolicy = "{folder}/quiet_hosts.so"\n') as site:
            site.document("hosts")


@contextlib.contextmanager
def up(block, replacements):
    """The `orchid up` of a block, in folders of its own; yields its environment and what it has printed so far."""
    with tempfile.TemporaryDirectory() as folder:
        words = shlex.split(block.text.partition("(")[0])
        block.must(words[:2] == ["orchid", "up"], "does not begin with 'orchid up'")
        for old, new in replacements:
            block.must(old in words, f"says '{old}' no more: change this test with the page")
            words[words.index(old)] = new
        environment = {key: value for key, value in os.environ.items() if not key.startswith("ORCHID_")}
        environment |= {"XDG_RUNTIME_DIR": folder, "XDG_STATE_HOME": folder}
        with open(f"{folder}/log", "w", encoding="utf-8") as log:
            process = subprocess.Popen([PROGRAMS / "orchid", *words[1:]], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        said = lambda: pathlib.Path(folder, "log").read_text(errors="replace")  # noqa: E731
        try:
            wait_for(lambda: run(environment, "list").returncode, lambda status: status == 0, "orchid up is ready", said)
            yield environment, said
        finally:
            process.terminate()
            process.wait(COMMAND_TIMEOUT_S)


def run(environment, *words):
    return subprocess.run([PROGRAMS / "orchid", *words], env=environment, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=False)


def one_machine(block):
    with up(block, [("192.0.2.7:8080", "127.0.0.1:0"), ("192.0.2.7:0", "127.0.0.1:0")]):
        pass


def over_the_door(block):
    """With the commands of the page's third block, which use it."""
    commands = blocks_of(block.page)[2].text.splitlines()
    with up(block, [("192.0.2.7:4711", "127.0.0.1:0")]) as (environment, said), tempfile.TemporaryDirectory() as folder:
        url = wait_for(lambda: re.search(r"ucx://127\.0\.0\.1:\d+", said()), bool, "orchid up says where the door is", said).group()
        block.must(commands[0] == "export ORCHID_GATEWAY=ucx://192.0.2.7:4711 ORCHID_TOKEN=$(cat token)", "its commands are others now")
        environment = {**environment, "ORCHID_TOKEN": run(environment, "token").stdout.strip(), "ORCHID_GATEWAY": url,
                       "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
        subprocess.run([PROGRAMS / "orchid", "build", SOURCES / "tests/integration/consumer/scale.cpp", "-o", f"{folder}/scale.orc"],
                       check=True, timeout=COMMAND_TIMEOUT_S)
        for command in commands[1:]:
            done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S,
                                  check=False)
            block.must(done.returncode == 0, f"'{command}' failed: {done.stderr}")


def gateway_and_executor(block):
    """With the command of the block after it."""
    executor = blocks_of(block.page)[3]
    with tempfile.TemporaryDirectory() as folder, open(f"{folder}/log", "w", encoding="utf-8") as log:
        said = lambda: pathlib.Path(folder, "log").read_text(errors="replace")  # noqa: E731
        words = block.text.replace("/var/tmp/me", folder).replace("192.0.2.7:8080", "127.0.0.1:0").split()
        process, ready = launch([PROGRAMS / words[0], *words[1:], "--socket", f"{folder}/gateway.sock"], {**os.environ}, log)
        address = ready["urls"][0].removeprefix("http://")
        token = next(pathlib.Path(folder).rglob("token"))
        words = executor.text.replace("\\\n", " ").replace("/var/tmp/me", folder).replace("/tmp/orchid-me", f"{folder}/r")
        words = words.replace("192.0.2.7:8080", address).replace("192.0.2.8:0", "127.0.0.1:0").replace("~/orchid-token", str(token)).split()
        offering = subprocess.Popen([PROGRAMS / words[0], *words[1:]], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            environment = {**os.environ, "ORCHID_GATEWAY": f"http://{address}", "ORCHID_TOKEN": token.read_text().strip()}
            wait_for(lambda: run(environment, "hosts", "--json").stdout, lambda text: '"lane_address"' in text or '"executors":[{' in text,
                     "the executor is there", said)
        finally:
            for child in (offering, process):
                child.terminate()
                child.wait(COMMAND_TIMEOUT_S)


def matches(line, pattern):
    """'...' in the pattern stands for anything; what is around it, only for a part of the line."""
    return re.search(".*".join(re.escape(part) for part in pattern.split("...")), line) is not None


def run_commands(block, folder, environment):
    """Each '$ command', and after it lines that its output has, in this order."""
    for part in re.split(r"^\$ ", block.text.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        command, *patterns = part.splitlines()
        done = subprocess.run(command, shell=True, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=COMMAND_TIMEOUT_S, check=False)
        block.must(done.returncode == 0, f"'{command}' failed: {done.stdout}")
        lines = iter(done.stdout.splitlines())
        for pattern in patterns:
            block.must(any(matches(line, pattern) for line in lines), f"'{command}' does not say '{pattern}', but: {done.stdout}")


def sources_and_commands(block):
    """The whole page: blocks that begin with a file's name are written, and the others run, from the first to the last."""
    with gateway(PROGRAMS, {**os.environ}) as site:
        site.add_executor("guide")
        wait_for(lambda: [one["state"] for host in site.document("hosts")["hosts"] for one in host["executors"]], bool, "an executor is there",
                 site.said)
        environment = {**os.environ, "ORCHID_GATEWAY": f"unix:{site.folder}/gateway.sock", "ORCHID": str(SOURCES),
                       "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
        for one in blocks_of(block.page):
            name = re.match(r"(?://|#) (\w+\.(?:cpp|yaml))\n", one.text)
            if name:
                (site.folder / name.group(1)).write_text(one.text)
            elif not one.text.startswith("$ ") and (one.text.startswith("[") or any(paragraph.marks() for paragraph in one.around)):
                continue  # settings have a check of their own
            elif one.text.startswith("const orchid_"):
                continue  # and so has a part of a program in C
            else:
                one.must(one.text.startswith("$ "), "is neither a source with its name nor commands")
                run_commands(one, site.folder, environment)


def with_another(_):
    """It is run with another block of its page."""


def orchid_commands(block):
    """Each line is a command that goes well."""
    with gateway(PROGRAMS, {**os.environ}) as site:
        environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
        for line in block.text.splitlines():
            done = subprocess.run(shlex.split(line), env={**environment, "ORCHID_GATEWAY": f"unix:{site.folder}/gateway.sock",
                                                          "PATH": f"{PROGRAMS}:{os.environ['PATH']}"},
                                  capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=False)
            block.must(done.returncode == 0, f"'{line}' says: {done.stderr}")


LEASE = ["orchid::Client client;"]
PAGES = {
    "calling-directly.md": [in_consumer("direct.cpp"), in_consumer("CMakeLists.txt"), cpp("std::vector<double> a, b;"), cpp(*LEASE),
                            cpp(*LEASE), cpp(*LEASE),
                            cpp(*LEASE, "orchid::Lease lease = client.lease();", "std::vector<std::byte> block;",
                                "const auto use = [](const auto&) {};"), c],
    "offloading.md": [in_consumer("roots.h"), in_consumer("roots.cpp"), in_consumer("offload.cpp"), marked],
    "over-ucx.md": [over_the_door, settings([("192.0.2.7:4711", "127.0.0.1:0")]), with_another, cpp()],
    "several-hosts.md": [one_machine, marked, gateway_and_executor, with_another],
    "page-editor.md": [],
    "placement-policy.md": [settings(), policy, with_another],
    "slurm.md": [marked, settings(), settings([("/opt/site/capacity_source.py", str(SOURCES / "docs/examples/capacity_source.py"))]),
                 settings(), marked, marked, marked, marked, marked, marked],
    "pilots.md": [marked, settings()],
    "shares.md": [marked, marked, marked],
    "infiniband.md": [marked],
    "arm.md": [marked, marked, marked],
    "kernels.md": [sources_and_commands] + [with_another] * 7,
    "flows.md": [sources_and_commands] + [with_another] * 6 + [settings()] + [with_another] * 15 + [whole_program, with_another],
    "gpus.md": [marked],
    "data.md": [sources_and_commands] + [with_another] * 9 + [whole_program, c] + [with_another] * 2 + [marked] * 3,
    "moving-code.md": [with_another] + [whole_program] * 8,
    "page.md": [orchid_commands, marked, marked, orchid_commands, settings()],
    "remote-memory.md": [marked, marked, cpp(), cpp(), c, whole_program, whole_program, cpp()],
}

a_mark_counts_once()
found = {page.name for page in GUIDE.glob("*.md")}
if found != {*PAGES, "writing-functions.md"}:
    sys.exit(f"pages that no test knows, or that have gone: {found ^ {*PAGES, 'writing-functions.md'}}")
for name, checks in PAGES.items():
    blocks = blocks_of(GUIDE / name)
    if len(blocks) != len(checks):
        sys.exit(f"{name} has {len(blocks)} blocks; this test says what is done with {len(checks)}")
    for one, check in zip(blocks, checks):
        check(one)
    print(f"{name}: {len(blocks)} blocks", flush=True)
