#!/usr/bin/python3
"""A device process without a GPU. While the file `fault` is in the folder that LD_LIBRARY_PATH names, it ends with that. GPU 2 never says
that a lane has ended; the others make the file `ended` there when they have said so. Else it does as the kernels say that it is given, which are text:

  ok              they are loaded
  refuse WORDS    the driver refuses them, with these words
  over WHO WORDS  their lane ends by itself: the doing of WHO (worker, system), with these words
  slow            they are loaded when the file `go` is there
  crash WORDS     a kernel ends the context
  lose WORDS      the GPU is lost
  dawdle WORDS    the same, and then the process does not end by itself
  cling           they are loaded; who kills the process does not hear of its end until the file `release` is there
"""
import ctypes
import json
import os
import pathlib
import socket
import sys
import time

connection = socket.socket(fileno=int(sys.argv[2]))
folder = pathlib.Path(os.environ["LD_LIBRARY_PATH"])


def say(**fields):
    connection.send(json.dumps(fields).encode())


def hear():
    text, files, _, _ = socket.recv_fds(connection, 1 << 16, 4)
    return json.loads(text) if text else None, files


def end(fault, message):
    say(type="ended", fault=fault, message=message)
    sys.exit(1)


def dawdle(message):
    say(type="ended", fault="lost", message=message)
    time.sleep(30)
    sys.exit(1)


def cling():
    """As a driver may keep a process that was killed: the kernel tells a tracer first, and the parent when the tracer lets go."""
    seize, allow_tracer = 0x4206, 0x59616d61
    begun, begin = os.pipe()
    tracer = os.fork()
    libc = ctypes.CDLL(None, use_errno=True)
    if tracer == 0:
        connection.close()
        os.read(begun, 1)
        give_up = time.monotonic() + 30
        if libc.ptrace(seize, os.getppid(), None, None) == 0:
            (folder / "clings").touch()
            while not (folder / "release").exists() and time.monotonic() < give_up:
                time.sleep(0.005)
        os._exit(0)
    libc.prctl(allow_tracer, tracer, 0, 0, 0)
    os.write(begin, b"x")
    give_up = time.monotonic() + 10
    while not (folder / "clings").exists() and time.monotonic() < give_up:
        time.sleep(0.005)


def load(order, words):
    does, _, message = words.partition(" ")
    answer = {key: order[key] for key in ("lane", "module", "generation")}
    if does == "crash":
        end("crashed", message)
    if does == "lose":
        end("lost", message)
    if does == "dawdle":
        dawdle(message)
    if does == "cling":
        cling()
    if does == "slow":
        end_of_patience = time.monotonic() + 30
        while not (folder / "go").exists() and time.monotonic() < end_of_patience:
            time.sleep(0.005)
    if does == "over":
        who, _, words = message.partition(" ")
        return say(type="lane_ended", lane=order["lane"], end=who, message=words)
    if does == "refuse":
        return say(type="kernels_refused", message=message, **answer)
    return say(type="kernels_loaded", load_us=1, **answer)


def main():
    gpu = hear()[0]["gpu"]
    if (folder / "fault").exists():
        end((folder / "fault").read_text(), "there is no libcuda.so.1")
    say(type="ready", driver="CUDA 12.4", model="Fake", uuid="GPU-0", architecture="sm_80", memory=1 << 30, multiprocessors=2, start_us=1)
    while True:
        order, files = hear()
        if order is None:
            return
        if order["type"] == "load_kernels":
            load(order, os.pread(files[0], 1 << 12, 0).decode())
        elif order["type"] == "end_lane" and gpu != "2":
            say(type="lane_ended", lane=order["lane"], end="asked", message="")
            (folder / "ended").touch()
        for file in files:
            os.close(file)


main()
