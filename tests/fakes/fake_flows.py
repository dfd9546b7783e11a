#!/usr/bin/python3
"""fake_flows.py WAY: what a gateway starts in place of orchid-flows, with its socket as descriptor 3. WAY: `answers` each request with nothing
but the request's own number; `ends` at the first request, without an answer; `lies`: answers what is no message; `dials` at the first request,
says `hello` over the connection that it gets, and answers then; `silent`: never answers."""
import json
import os
import socket
import sys

MAX_PACKET = 1 << 17
WAY = sys.argv[1]
gateway = socket.socket(fileno=3)


def answer(number):
    gateway.send(json.dumps({"type": "answer", "number": number, "content": "nothing", "is_new": False, "next": number, "last": False}).encode())


while True:
    text, descriptors, _, _ = socket.recv_fds(gateway, MAX_PACKET, 4)
    for descriptor in descriptors:
        os.close(descriptor)
    if not text or WAY == "ends":
        sys.exit(0)
    request = json.loads(text)
    if WAY == "lies":
        gateway.send(b"{}")
    elif WAY == "dials":
        gateway.send(json.dumps({"type": "dial"}).encode())
        _, connections, _, _ = socket.recv_fds(gateway, MAX_PACKET, 4)
        connection = socket.socket(fileno=connections[0])
        connection.sendall(b"hello")
        answer(request["number"])
    elif WAY == "answers":
        answer(request["number"])
