#!/usr/bin/python3
"""A capacity source for Orchid. It offers the machines of a text file, also when the file changes.
A line is NAME ADDRESS CORES MEMORY_MIB. The gateway reads its output: docs/PROTOCOL.md, section 9.
"""
import json
import os
import select
import sys


def say(**message):
    print(json.dumps(message), flush=True)


def read_machines(path):
    machines = {}
    for line in open(path):
        name, address, cores, memory_mib = line.split()
        machines[name] = dict(
            name=name, address=address, state="usable", sockets=1, cores_per_socket=int(cores),
            threads_per_core=1, cores_usable=int(cores), cores_free=int(cores),
            free_cores=f"0-{int(cores) - 1}", memory_bytes=int(memory_mib) << 20,
            memory_free_bytes=int(memory_mib) << 20)
    return machines


def main(path):
    say(type="hello", protocol=[1, 1], source="file", version="1.0", cluster=path)
    known, sequence, want_full = {}, 0, False
    while True:
        if select.select([0], [], [], 1.0)[0]:
            lines = os.read(0, 65536).splitlines()
            if not lines:
                return  # the gateway has ended
            want_full = any(json.loads(line)["type"] in ("start", "resync") for line in lines)
        if not sequence and not want_full:
            continue  # the gateway has not sent "start" yet
        machines = read_machines(path)
        before = {} if want_full else known
        changed = [machine for name, machine in machines.items() if before.get(name) != machine]
        gone = [name for name in before if name not in machines]
        if want_full or changed or gone:
            sequence += 1
            say(type="update", sequence=sequence, full=want_full, time=0, nodes=changed, nodes_gone=gone)
        say(type="report", state="current", age_ms=0)
        known, want_full = machines, False


if __name__ == "__main__":
    main(sys.argv[1])
