"""Blocks of the guide's pages that start an Orchid: `orchid up` and what is typed beside it, with addresses and folders of this machine."""
import contextlib
import ctypes
import json
import os
import pathlib
import re
import shlex
import socket
import subprocess
import tempfile

from blocks import PROGRAMS, SOURCES, Block, Terminal, blocks_of, commands_of
from gateway_process import COMMAND_TIMEOUT_S, gateway, launch, text_of, wait_for
from network_hosts import another_machine, network_hosts


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


def up_and_executor(block):
    """With the command of the block after it, which counts as another machine."""
    blocks = blocks_of(block.page)
    executor = blocks[[one.text for one in blocks].index(block.text) + 1]
    with up(block, [("192.0.2.7:8080", "127.0.0.1:0"), ("192.0.2.7:0", "127.0.0.1:0")]) as (environment, said), \
            tempfile.TemporaryDirectory() as folder, open(f"{folder}/log", "w", encoding="utf-8") as log:
        token = pathlib.Path(folder, "token")
        token.touch(0o600)
        token.write_text(run(environment, "token").stdout)
        words = executor.replaced(("\\\n", " "), ("192.0.2.7:8080", run(environment, "token", "--url").stdout.strip().removeprefix("http://")),
                                  ("~/orchid-token", token), ("/tmp/orchid-me", f"{folder}/r"), ("/var/tmp/me", folder),
                                  ("192.0.2.8:0", "127.0.0.1:0")).split()
        with subprocess.Popen([PROGRAMS / words[0], *words[1:], "--host-id", "another"], stdin=subprocess.DEVNULL, stdout=log, stderr=log) as offering:
            try:
                wait_for(lambda: len(json.loads(run(environment, "hosts", "--json").stdout)["hosts"]), lambda count: count == 2,
                         "both machines are there", said)
            finally:
                offering.terminate()
                offering.wait(COMMAND_TIMEOUT_S)


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


@contextlib.contextmanager
def typing(environment, folder, **more):
    """A terminal of whoever uses that Orchid."""
    with Terminal({**environment, "HOME": str(folder), "PATH": f"{folder}:{PROGRAMS}:{os.environ['PATH']}", **more}, folder) as terminal:
        yield terminal


def caller_elsewhere(block):
    """Beside the page's first `orchid up`. Its ssh is no further away than this machine, and its program asks for the hosts."""
    with up(blocks_of(block.page)[0], [("192.0.2.7:8080", "127.0.0.1:0"), ("192.0.2.7:0", "127.0.0.1:0")]) as (environment, _):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("ssh", '[ "$1" = 192.0.2.7 ] && shift && exec "$@"'), ("program", "unset XDG_RUNTIME_DIR XDG_STATE_HOME; exec orchid hosts")):
                pathlib.Path(folder, name).write_text(f"#!/bin/sh\n{text}\n")
                pathlib.Path(folder, name).chmod(0o755)
            with typing(environment, folder) as terminal:
                terminal.run("orchid doctor --wait 60s")
                url = terminal.run("orchid token --url").strip()
                terminal.shows(block.replaced(("http://192.0.2.7:8080", url)).strip(), ["HOST CLUSTER STATE", "connected"])


def spill(block):
    with tempfile.TemporaryDirectory() as folder, up(block, [("8GiB", "64MiB"), ("/local/scratch", folder)]) as (environment, _):
        with typing(environment, folder) as terminal:
            terminal.run("orchid doctor --wait 60s")


def durable(block):
    """The next block keeps what this one has put, by its name, and another object by its id."""
    make, start, put = block.text.splitlines()
    by_name, by_id = blocks_of(block.page)[-1].text.splitlines()
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "climate.bin").write_bytes(bytes(100_000))
        with typing(dict(os.environ), folder) as terminal:
            terminal.run(make)
        with up(Block(block.page, start, []), [("~/orchid-data", f"{folder}/orchid-data")]) as (environment, _):
            with typing(environment, folder) as terminal:
                terminal.run("orchid doctor --wait 60s")
                terminal.shows(put, ["climate@1"])
                block.must(len(list(pathlib.Path(folder, "orchid-data").rglob("d-*"))) == 1, "keeps no file")
                terminal.run(by_name)
                unnamed = terminal.run("orchid data put --unnamed climate.bin").strip()
                block.must("d-6f2a…" in by_id, "the next block names no id")
                terminal.run(by_id.replace("d-6f2a…", unnamed))
                block.must(len(list(pathlib.Path(folder, "orchid-data").rglob("d-*"))) == 2, "does not keep the other object")


def remote_memory(block):
    """`take` in one terminal, and the next block in another; all sizes are smaller."""
    others = blocks_of(block.page)[1]
    with tempfile.TemporaryDirectory() as folder, up(Block(block.page, "orchid up --data-memory 128MiB", []), []) as (environment, _):
        pathlib.Path(folder, "matrix.bin").write_bytes(bytes(16 << 20))
        with typing(environment, folder) as first, typing(environment, folder) as second:
            first.run("orchid doctor --wait 60s")
            ((take, (_,)),) = commands_of(block.replaced(("8GiB", "64MiB")))
            first.run(f"{take} >lease.txt &")
            lease = wait_for(lambda: text_of(f"{folder}/lease.txt").strip(), bool, "take prints its lease")
            text = others.replaced(("l-3-17", lease), ("2 GiB", "16 MiB"), ("1GiB", "8MiB"), ("8 GiB", "64 MiB"), ("n17", socket.gethostname()))
            for command, shown in commands_of(text):
                second.shows(command, shown)
            block.must(pathlib.Path(folder, "part.bin").stat().st_size == 1 << 20, "get has written its part")


def copies(block):
    """On three hosts with names and addresses of their own. The first is the gateway's, which puts the object there."""
    if subprocess.run(["unshare", "--net", "--mount", "--uts", "true"], capture_output=True, check=False).returncode != 0:
        print("not tested: copies on other hosts, where no namespaces are permitted")
        return
    with network_hosts(3) as hosts, gateway(PROGRAMS, {**os.environ}) as site:
        for number, host in enumerate(hosts):
            site.executors.append(subprocess.Popen(
                [*host.entry(), *(another_machine(site.folder, number) if number else []), PROGRAMS / "orchid-executor", "--gateway", f"unix:{site.folder}/gateway.sock",
                 "--runtime", site.folder / f"r-{number}", "--state", site.folder / f"s-{number}", "--cores", "1", "--data-memory", str(64 << 20),
                 "--lane-listen", f"{host.address}:0"],
                env=site.environment, stdin=subprocess.DEVNULL, stdout=site.log, stderr=site.log, start_new_session=True))
        wait_for(lambda: [one for host in site.document("hosts")["hosts"] for one in host["executors"] if one["state"] == "connected"],
                 lambda there: len(there) == 3, "three executors are there", site.said)
        (site.folder / "climate.bin").write_bytes(bytes(1_000_000))
        wanted = iter((2, 2, 3))
        with typing({**os.environ, "ORCHID_GATEWAY": f"unix:{site.folder}/gateway.sock"}, site.folder) as terminal:
            for command in block.text.splitlines():
                command = command.replace("--to n17", f"--to {hosts[2].name}")
                terminal.run(command)
                at_least = next(wanted)
                wait_for(lambda: site.document("data", "describe", "climate").get("hosts", []),
                         lambda now, least=at_least, to="--to" in command: len(now) >= least and (not to or hosts[2].name in now),
                         f"'{command}' has made its copies", site.said)


def faulty_gpu(block):
    """Where there is no driver. Which GPUs work beside it, and on what host, is the page's own."""
    with contextlib.suppress(OSError):
        ctypes.CDLL("libcuda.so.1")
        print("not tested: a GPU without its driver, which this machine has")
        return
    ((command, (head, _, *message)),) = commands_of(block.text)
    wanted = " ".join(message).replace("GPU 1 of n1", f"GPU 0 of {socket.gethostname()}")
    with gateway(PROGRAMS, {**os.environ}) as site:
        site.add_executor("gpu", "--gpus", "0")
        with typing({**os.environ, "ORCHID_GATEWAY": f"unix:{site.folder}/gateway.sock"}, site.folder) as terminal:
            said = wait_for(lambda: " ".join(terminal.run(command).split()), lambda text: wanted in text, f"it says '{wanted}'", site.said)
            block.must(" ".join(head.split()) in said, f"has other columns: {said}")
