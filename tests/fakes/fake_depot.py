#!/usr/bin/python3
"""A depot that somebody has taken over: for each worker that it is given it asks a hundred things at once, each of them twice, and reads no
answer before it has. When it has heard 98 refusals, it says that the worker has sent nonsense."""
import json
import socket
import sys

connection = socket.socket(fileno=int(sys.argv[2]))
refused = set()


def say(**fields):
    connection.send(json.dumps(fields).encode())


while True:
    text = socket.recv_fds(connection, 1 << 16, 1)[0]
    if not text:
        break
    said = json.loads(text)
    worker = said.get("worker")
    if said["type"] == "start":
        say(type="ready")
    elif said["type"] == "serve":
        for sequence in range(1, 101):
            for _ in range(2):
                say(type="asked", worker=worker, ask="open_data", sequence=sequence, data="d-" + "0" * 32, bytes=0, name="weather")
    elif said["type"] == "answer" and said["verdict"] == "refused" and said["code"] == "quota" and "one thing at a time" in said["message"]:
        is_new = said["sequence"] not in refused
        refused.add(said["sequence"])
        if is_new and len(refused) == 98:
            say(type="nonsense", worker=worker)
