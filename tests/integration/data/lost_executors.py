#!/usr/bin/python3
"""lost_executors.py PROGRAMS [CASE...]: executors that end, are killed or hang while data goes through them, with a real gateway. Exit status
0: all is as it should be."""
import contextlib
import os
import pathlib
import signal
import socket
import sys

from data_objects import (ask, begin_put, call, Connection, deploy, expect, LARGE, MIB, put, receive, refused, rooms, SETTINGS, some_bytes, started, TIMEOUT_S,
                          wait_for, wait_until_used)


def data_of_a_lost_executor_is_named_with_its_host(site):
    deploy(site)
    put(site, "lost", b"x" * 1000)
    for name in ("nothing-there", "nothing-here"):
        put(site, name, b"")
    expect(call(site, "lost").status == 200, "it is given")
    site.executors[0].kill()
    answer = wait_for(lambda: ask(site, "GET", "/v1/data/lost"), lambda answer: answer.status == 410, "it is lost", site.said,
                      seconds=60)  # for 30 s it may come back
    host = socket.gethostname()
    refused(answer, 410, "data_lost", "lost@1", host)
    refused(call(site, "lost"), 410, "data_lost", "lost@1", host)
    refused(call(site, "lost", Prefer="respond-async"), 410, "data_lost")
    expect("lost" in site.orchid("data", "list").stdout, "the list says so")
    for name in ("nothing-there", "nothing-here"):
        refused(ask(site, "GET", f"/v1/data/{name}"), 410, "data_lost", name)
        expect(ask(site, "DELETE", f"/v1/data/{name}").status == 204, "it can be forgotten, too")
    expect(ask(site, "DELETE", "/v1/data/lost").status == 204, "it can be forgotten")
    refused(ask(site, "PUT", "/v1/data/lost", b"x"), 507, "no_data_memory", "orchid-executor")


def data_files(site):
    """That the gateway has open."""
    files = []
    for descriptor in pathlib.Path(f"/proc/{site.process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):  # it may be closed meanwhile
            files.append(os.readlink(descriptor))
    return sum("memfd:orchid-data" in file for file in files)


def who_reads_from_an_executor_that_ends_is_cut_off(site):
    put(site, "read", some_bytes(LARGE))
    with contextlib.closing(Connection(site)) as connection:
        connection.request("GET", "/v1/data/read")
        response = connection.getresponse()
        got = len(response.read(1000))
        expect(data_files(site) == 1, "the gateway reads it")
        site.executors[0].kill()
        wait_for(lambda: data_files(site), lambda count: count == 0, "its pages are let go", site.said)
        while piece := response.read(MIB):
            got += len(piece)
    expect(1000 <= got < LARGE, f"a part of it has come: {got}")


def a_grant_that_is_taken_back_ends_what_goes_through_it(site):
    put(site, "read", some_bytes(LARGE))
    writing = begin_put(site, "written", 2 * MIB)
    writing.sendall(bytes(MIB))
    wait_for(lambda: rooms(site), lambda count: count == 1, "the room is made", site.said)
    with contextlib.closing(Connection(site)) as connection:
        connection.request("GET", "/v1/data/read")
        response = connection.getresponse()
        got = len(response.read(1000))
        site.executors[0].send_signal(signal.SIGTERM)  # as a batch system does
        expect(site.executors[0].wait(TIMEOUT_S) == 0, f"the executor ends by itself\n{site.said()}")
        wait_for(lambda: data_files(site), lambda count: count <= 1, "but for the room, its pages are let go", site.said)
        while piece := response.read(MIB):
            got += len(piece)
    expect(1000 <= got < LARGE, f"a part of it has come: {got}")
    with contextlib.suppress(OSError):  # it is told already
        writing.sendall(bytes(MIB))
    refused(receive(writing), 503, "unreachable")
    wait_until_used(site, 0)
    wait_for(lambda: data_files(site), lambda count: count == 0, "the gateway has nothing of it open", site.said)


def an_executor_that_hangs_is_not_waited_for(site):
    put(site, "there", b"abc")
    writing = begin_put(site, "sealed-late", 3)
    wait_for(lambda: rooms(site), lambda count: count == 1, "the room is made", site.said)
    site.executors[0].send_signal(signal.SIGSTOP)
    writing.sendall(b"xyz")
    refused(receive(writing), 503, "unreachable", "look whether it is there")
    refused(ask(site, "GET", "/v1/data/there"), 503, "unreachable")
    site.executors[0].send_signal(signal.SIGCONT)
    back = wait_for(lambda: ask(site, "GET", "/v1/data/there"), lambda answer: answer.status == 200, "it is there again", site.said)
    expect(back.body == b"abc", "the same bytes")
    refused(ask(site, "GET", "/v1/data/sealed-late"), 404, "not_found")
    wait_until_used(site, 3)
    wait_for(lambda: ask(site, "PUT", "/v1/data/other", b"abc").status, lambda status: status == 201, "and data can be made", site.said)


CASES = ((data_of_a_lost_executor_is_named_with_its_host, SETTINGS, 1), (who_reads_from_an_executor_that_ends_is_cut_off, SETTINGS, 1),
         (a_grant_that_is_taken_back_ends_what_goes_through_it, "", 1), (an_executor_that_hangs_is_not_waited_for, "", 1))


def main():
    wanted = sys.argv[2:]
    for case, settings, executors in CASES:
        if wanted and case.__name__ not in wanted:
            continue
        print(case.__name__, flush=True)
        with started(settings, executors=executors) as site:
            case(site)


if __name__ == "__main__":
    main()
