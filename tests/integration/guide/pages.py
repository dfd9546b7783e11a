#!/usr/bin/python3
"""pages.py PROGRAMS SOURCES: every block of code on the guide's pages (but writing-functions.md, which run.py tests) is run or compiled here,
is built by tests/integration/consumer, is typed by slurm_pages.py, or says on the page that our tests do not run it. Addresses and folders
of the page are replaced by some of this machine."""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "dev.d"))
import cluster_accounting  # noqa: E402 (found only after the lines above)
import cluster_files  # noqa: E402
import up_pages as at  # noqa: E402
from blocks import GUIDE, MARK, PROGRAMS, SOURCES, Block, block_with, blocks_of, commands_of  # noqa: E402
from gateway_process import COMMAND_TIMEOUT_S, gateway, wait_for  # noqa: E402

INCLUDES = [f"-I{SOURCES / folder}" for folder in ("sdk/cpp/include", "sdk/c/include", "sdk/flow/include", "libs/function_abi/include")]
CPP = """#include <cstdio>
#include <cstring>
#include <iostream>
#include <span>
#include <vector>
#include "orchid/client.h"
#include "orchid/lease.h"
#include "orchid/run_flow.h"
#include "orchid/stream.h"
bool read_some(std::vector<std::byte>& block);
std::string token;
int main() {
"""


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


def typed(block):
    """slurm_pages.py finds the block by words that are in it."""
    text = (SOURCES / "tests/integration/guide/slurm_pages.py").read_text()
    found = re.findall(rf"""block_with\({block.page.stem.upper()}, (?:"([^"]+)"|'([^']+)')\)""", text)
    block.must(any((one or other) in block.text for one, other in found), "slurm_pages.py does not use it")


def slurm_with_qos(block):
    """What our clusters with accounting have."""
    options = argparse.Namespace(nodes=1, dpus=0, gpus=0, sockets=1, cores=1, threads=1, memory=64, node_option="", option=[], accounting=True,
                                 name="c", cgroups=False)
    ours = cluster_files.slurm_conf(pathlib.Path("/c"), options, [1, 2, 3]).splitlines()
    for line in block.text.splitlines():
        block.must(line in ours, f"the clusters of our tests have no line '{line}'")


def qos(block):
    """What ./dev cluster up --accounting calls."""
    for command, _ in commands_of(block.text):
        block.must(shlex.split(command)[1:] in cluster_accounting.entries("c"), f"the clusters of our tests are not made by '{command}'")


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


# Settings, parts of programs and of flows, and an Orchid of one's own: they have checks of their own.
CHECKED_ELSEWHERE = ("[", "const orchid_", "orchid::Client", "edges:", "retry:", "orchid data put climate", "orchid data keep climate", "orchid up ", "mkdir -m 700")


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
            elif one.text.startswith(CHECKED_ELSEWHERE):
                continue
            else:
                one.must(one.text.startswith("$ "), "is neither a source with its name nor commands")
                run_commands(one, site.folder, environment)


def lasting_flow(block):
    """The page's flow with data, whose edge is durable, and one of whose nodes has the page's line about retries."""
    source, document = block_with(block.page, "// grid.cpp"), block_with(block.page, "# grid.yaml")
    edge, retry = block.text.splitlines()[1], block_with(block.page, "retry: {").text.strip()
    text = document.replaced(("  - {from: made, to: sum}", edge), ("function: grid.fill}", f"function: grid.fill, {retry}}}"))
    with gateway(PROGRAMS, {**os.environ}) as site:
        kept = site.folder / "kept"
        kept.mkdir(mode=0o700)
        site.add_executor("durable", "--data-durable", kept)
        for name, content in (("grid.cpp", source.text), ("grid.yaml", text)):
            (site.folder / name).write_text(content)
        site.orchid("doctor", "--wait", f"{COMMAND_TIMEOUT_S}s", check=False)
        site.orchid("build", "grid.cpp", "-o", "grid.orc")
        site.orchid("deploy", "grid.orc")
        said = site.orchid("flow", "run", "grid.yaml", "--input", "cells=1000")
        block.must("499500.0" in said.stdout, f"has another result: {said.stdout}{said.stderr}")
        block.must(said.stderr.find("durable") < 0, f"is warned of: {said.stderr}")


def an_address(block):
    """The command, and the form of what it prints."""
    with at.up(Block(block.page, "orchid up", []), []) as (environment, _):
        said = at.run(environment, *block.text.split()[1:]).stdout
        block.must(re.fullmatch(r"http://127\.0\.0\.1:\d+\n", said), f"says: {said}")


def with_another(_):
    """It is run with another block of its page."""


def crew_is_shown(block):
    """A test of the whole system runs these commands, and looks for the same in what they print."""
    test = (SOURCES / "tests/integration/system/crews_test.cpp").read_text()
    for words in (r"\d of \d, a crew", r"at member \d", r"path: \d walk ", r" > \d walk ", r"\[member \d: complain, "):
        block.must(re.search(words, block.text) and re.search(words, test), f"the block, or the test, has no '{words}'")
    for command, _ in commands_of(block.text):
        block.must(f'orchid({{"{command.split()[1]}"' in test, f"the test does not run '{command}'")


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
    "offloading.md": [in_consumer("roots.h"), in_consumer("roots.cpp"), in_consumer("offload.cpp"), in_consumer("CMakeLists.txt")],
    "over-ucx.md": [at.over_the_door, settings([("192.0.2.7:4711", "127.0.0.1:0")]), with_another, cpp()],
    "several-hosts.md": [at.one_machine, at.caller_elsewhere, at.gateway_and_executor, with_another],
    "page-editor.md": [],
    "placement-policy.md": [settings(), policy, with_another],
    "slurm.md": [typed, settings(), settings([("/opt/site/capacity_source.py", str(SOURCES / "docs/examples/capacity_source.py"))]),
                 typed, typed, typed, slurm_with_qos, qos, typed],
    "pilots.md": [typed, settings()],
    "shares.md": [typed, typed, typed],
    "infiniband.md": [marked],
    "arm.md": [],
    "kernels.md": [sources_and_commands] + [with_another] * 7,
    "flows.md": [sources_and_commands] + [with_another] * 6 + [settings()] + [with_another] * 4 + [lasting_flow] + [with_another] * 13
                + [whole_program, cpp("const std::string flow;")],
    "gpus.md": [at.faulty_gpu],
    "data.md": [sources_and_commands] + [with_another] * 9 + [whole_program, c, at.copies, with_another, at.spill, at.durable, with_another],
    "moving-code.md": [with_another] + [whole_program] * 3 + [at.up_and_executor, with_another] + [whole_program] * 5 + [crew_is_shown],
    "page.md": [orchid_commands, an_address, orchid_commands, settings()],
    "remote-memory.md": [at.remote_memory, with_another, cpp(), cpp(), c, whole_program, whole_program, cpp()],
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
