#!/usr/bin/python3
"""unread_log.py PROGRAMS: an executor whose log nobody reads, with a real gateway. Exit status 0: all is as it should be."""
import fcntl
import os
import signal
import sys
import termios

from run import ask, BUDGET, expect, put, started, TIMEOUT_S, wait_for


def an_executor_whose_log_nobody_reads_goes_on(site):
    reader, writer = os.pipe()
    try:
        executor = site.add_executor("unread", "--cores", "1", "--data-memory", str(BUDGET), log=writer)
        os.close(writer)
        wait_for(lambda: site.metrics().get("orchid_data_memory_bytes", 0), lambda bytes: bytes == BUDGET, "it is there", site.said)
        for _ in range(500):  # it logs more of this than a pipe has room for
            put(site, "unread", b"x")
        expect(int.from_bytes(fcntl.ioctl(reader, termios.FIONREAD, bytes(4)), sys.byteorder) > 60_000, "the pipe is full")
        expect(ask(site, "DELETE", "/v1/data/unread").status == 204, "and on it goes")
        executor.send_signal(signal.SIGTERM)
        expect(executor.wait(TIMEOUT_S) == 0, "it ends, too")
    finally:
        os.close(reader)


with started(executors=0) as one:
    an_executor_whose_log_nobody_reads_goes_on(one)
