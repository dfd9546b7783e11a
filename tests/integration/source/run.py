#!/usr/bin/python3
"""run.py CHECK_SOURCE: starts docs/examples/capacity_source.py as the gateway does, changes its machines, and lets the protocol's
own parser judge all that it has said."""
import pathlib
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "docs" / "examples" / "capacity_source.py"
DEADLINE_S = 20
LONGEST_EXAMPLE = 50


def expect(fact, what):
    if not fact:
        sys.exit(f"not so: {what}")


def wait_for(source, said, text):
    """Reads until a line has `text`; the watchdog ends the source, and so the wait."""
    for line in source.stdout:
        said.append(line)
        if text in line:
            return
    sys.exit(f"no line with {text}; it said:\n{''.join(said)}")


def main():
    expect(len(EXAMPLE.read_text().splitlines()) <= LONGEST_EXAMPLE, f"the example has at most {LONGEST_EXAMPLE} lines")
    with tempfile.TemporaryDirectory(prefix="orchid-") as folder:
        machines = pathlib.Path(folder) / "machines"
        machines.write_text("a 10.0.0.1 4 1024\nb 10.0.0.2 8 2048\n")
        source = subprocess.Popen(["/usr/bin/python3", "-B", EXAMPLE, machines], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        watchdog = threading.Timer(DEADLINE_S, source.kill)
        watchdog.start()
        said = []
        wait_for(source, said, "hello")
        print('{"type":"start","protocol":1}', file=source.stdin, flush=True)
        wait_for(source, said, "report")
        fresh = machines.with_suffix(".new")
        fresh.write_text("b 10.0.0.2 6 2048\nc 10.0.0.3 16 4096\n")
        fresh.replace(machines)
        wait_for(source, said, "nodes_gone\": [\"a\"]")
        print('{"type":"resync"}', file=source.stdin, flush=True)
        wait_for(source, said, "\"full\": true")
        source.stdin.close()
        said.extend(source.stdout)
        status = source.wait()
        watchdog.cancel()
    expect(status == 0, f"it ends when the gateway has gone, with 0, not {status}")
    judged = subprocess.run([sys.argv[1]], input="".join(said), capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    print(judged.stdout, judged.stderr)
    expect(judged.returncode == 0, "the protocol's parser takes all of it")
    expect("updates=3" in judged.stdout and "complete=true" in judged.stdout, "three updates")
    expect("node=b state=usable cores_free=6 free_cores=0-5\nnode=c" in judged.stdout, "the machines of the file are known")


if __name__ == "__main__":
    main()
