#!/usr/bin/python3
"""run.py PROGRAMS SOURCES: what docs/guide/writing-functions.md shows is built, deployed and called as the page says. What Numba would
print for the page's Python is checked in: tests/data/numba_cfunc.ll. And how far a call is, is told as the page says."""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from gateway_process import COMMAND_TIMEOUT_S, gateway, wait_for  # noqa: E402 (found only after the line above)

PROGRAMS, SOURCES = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
PAGE = (SOURCES / "docs/guide/writing-functions.md").read_text()
# What each of the page's functions is called with: the input, the output, and further words for `orchid invoke`.
CALLS = {
    "reverse": (b"orchid", b"dihcro", []),
    "squeeze": (b"a b\nc\t d", b"abcd", []),
    "mean": (b"", b"2.5\n", ["--args", "[[1, 2, 3, 4]]"]),
    "total": (b"", b"20.0\n", ["--data", "numbers", "--args", "[2]"]),
}
NUMBERS = struct.pack("<4d", 1, 2, 3, 4)


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def entry_of(block):
    return re.search(r"ORCHID_(?:ENTRY|FUNCTION)\((\w+)\)", block).group(1)


def invoke(site, name, given, *words):
    done = subprocess.run([PROGRAMS / "orchid", "invoke", name, *words], input=given, capture_output=True, timeout=COMMAND_TIMEOUT_S,
                          env={**os.environ, "ORCHID_GATEWAY": f"unix:{site.folder}/gateway.sock"}, check=False)
    if done.returncode != 0:
        sys.exit(f"orchid invoke {name}: {done.stderr.decode()}\n{site.said()}")
    return done.stdout


def expect_equal(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found!r} and not {wanted!r}")


def page_names(command):
    if command not in PAGE:
        sys.exit(f"the page does not say '{command}' any more: change this test with it")


def c_and_cpp(site):
    seen = set()
    (site.folder / "numbers").write_bytes(NUMBERS)
    site.orchid("data", "put", "numbers", "numbers")
    for language in ("c", "cpp"):
        for block in blocks(language):
            name = entry_of(block)
            seen.add(name)
            (site.folder / f"{name}.{language}").write_text(block)
            site.orchid("build", f"{name}.{language}", "-o", f"{name}.orc")
            site.orchid("deploy", f"{name}.orc")
            given, wanted, words = CALLS[name]
            expect_equal(name, invoke(site, name, given, *words), wanted)
    expect_equal("functions on the page", seen, set(CALLS))
    page_names("orchid build reverse.c -o reverse.orc")
    page_names("orchid deploy reverse.orc")


def numba(site):
    shutil.copy(SOURCES / "tests/data/numba_cfunc.ll", site.folder / "mean.ll")
    for command in ("orchid build mean.ll -o mean.orc", "orchid deploy mean.orc"):
        page_names(command)
        site.orchid(*command.split()[1:])
    expect_equal("Numba's mean", struct.unpack("<d", invoke(site, "mean", NUMBERS))[0], 2.5)
    (python,) = blocks("python")
    compile(python, "writing-functions.md", "exec")


def julia(site):
    """What moving-code.md says of it."""
    program = shutil.which("julia")
    if program is None:
        print("not tested: a function from Julia, which is not installed")
        return
    made = subprocess.run([program, "--startup-file=no", SOURCES / "tests/data/mean.jl"], capture_output=True, text=True,
                          timeout=COMMAND_TIMEOUT_S, check=True)
    (site.folder / "julia.ll").write_text(made.stdout)
    site.orchid("build", "julia.ll", "-o", "julia.orc")
    site.orchid("deploy", "julia.orc")
    expect_equal("Julia's mean", struct.unpack("<d", invoke(site, "julia", NUMBERS))[0], 2.5)


def followed(site, name):
    """The page's curl, up to the call's end, which is asked for once it has told how far the call is."""
    (command,) = (block for block in blocks("sh") if block.startswith("curl -N"))
    token = pathlib.Path(site.ready["token_file"]).read_text().strip()
    for shown, here in (("$(orchid token --url)", site.ready["urls"][0]), ("$(orchid token)", token), ("/ID/", f"/{name}/")):
        expect_equal(f"the page says {shown}", shown in command, True)
        command = command.replace(shown, here)
    command = command.replace("curl", f"exec curl --silent --show-error --max-time {COMMAND_TIMEOUT_S}", 1)
    with subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE, text=True) as curl:
        try:
            events = []
            for line in curl.stdout:
                if line.startswith("event: "):
                    events.append(line.split()[1])
                if line == 'data: {"progress":0.5}\n':
                    site.orchid("cancel", name)
            expect_equal("curl ended with", curl.wait(), 0)
        finally:
            curl.kill()
    expect_equal("events", events, ["state", "progress", "done"])
    (shown,) = blocks("text")
    expect_equal("events on the page", re.findall(r"^event: (\w+)$", shown, re.MULTILINE), events)


def progress(site):
    """A call that waits for its answer and one that does not; `status` has a column for it."""
    site.orchid("build", SOURCES / "tests/data/functions/says_progress.c", "-o", "says_progress.orc")
    site.orchid("deploy", "says_progress.orc")
    name = site.orchid("invoke", "says_progress", "--async", "--deadline", "60s").stdout.strip()
    wait_for(lambda: site.document("status", name).get("progress"), lambda told: told == 0.5, "the call says how far it is", site.said)
    expect_equal("the column", "50 %" in site.orchid("status", name).stdout, True)
    followed(site, name)
    # A function that gets no core within 100 ms after it was cancelled, as on a machine that is busy, is ended, and says nothing more.
    expect_equal("its state", site.document("status", name)["state"], "done")
    waiting = subprocess.Popen([PROGRAMS / "orchid", "invoke", "says_progress"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env={**os.environ, "ORCHID_GATEWAY": f"unix:{site.folder}/gateway.sock"})
    try:
        running = wait_for(lambda: [one for one in site.document("status")["invocations"] if one.get("progress") == 0.5], bool,
                           "a synchronous call says how far it is", site.said)
        expect_equal("its mode", running[0]["mode"], "sync")
    finally:
        waiting.kill()
        waiting.wait()


with gateway(PROGRAMS, {**os.environ}) as orchid:
    orchid.add_executor("guide")
    wait_for(lambda: [one["state"] for host in orchid.document("hosts")["hosts"] for one in host["executors"]], bool, "an executor is there",
             orchid.said)
    c_and_cpp(orchid)
    numba(orchid)
    julia(orchid)
    progress(orchid)
print("all of the guide's functions were built, deployed and called")
