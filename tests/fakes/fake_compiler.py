#!/usr/bin/python3
"""A compiler process that does as the module says, which is text: words, separated by blanks.

  ok            "compiles": the code is its process id and how many modules it has compiled
  chatters      the same, after forty messages that nobody needs; then it ends
  dies          ends
  waits         does nothing until it is ended
  fails CODE    answers that it failed, with this code
"""
import fcntl
import json
import os
import signal
import socket
import sys

F_ADD_SEALS = 1033
ALL_SEALS = 15

connection = socket.socket(fileno=int(sys.argv[2]))


def say(fields, files=()):
    socket.send_fds(connection, [json.dumps(fields).encode()], files)


def sealed(content):
    code = os.memfd_create("code", os.MFD_ALLOW_SEALING)
    os.write(code, content.encode())
    fcntl.fcntl(code, F_ADD_SEALS, ALL_SEALS)
    return code


def main():
    say({"type": "ready", "triple": "t", "cpu": "c", "features": "", "llvm": "19", "pipeline": "p"})
    compiled = 0
    while True:
        text, files, _, _ = socket.recv_fds(connection, 1 << 16, 1)
        if not text:
            return
        request = json.loads(text)
        words = os.pread(files[0], 1 << 12, 0).decode().split()
        os.close(files[0])
        if words[0] == "dies":
            return
        while words[0] == "waits":
            signal.pause()
        if words[0] == "fails":
            say({"type": "failed", "id": request["id"], "code": words[1], "message": "it is too much"})
            continue
        if words[0] == "chatters":
            for _ in range(40):
                say({"type": "compiling", "id": request["id"], "functions": 1, "branches": 2, "most_branches": 2})
        compiled += 1
        code = sealed(f"{os.getpid()} {compiled}")
        say({"type": "compiled", "id": request["id"], "tier": request["tier"], "compile_us": 1}, [code])
        os.close(code)
        if words[0] == "chatters":
            return


main()
