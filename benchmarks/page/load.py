#!/usr/bin/python3
"""load.py SOCKET CALLS: calls 'hello' so often in a second, over one connection to the gateway, until it is killed."""
import http.client
import socket
import sys
import time


class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(sys.argv[1])


connection, pause, next_at = Connection("orchid"), 1 / float(sys.argv[2]), time.monotonic()
while True:
    connection.request("POST", "/v1/functions/hello/invocations", b"page")
    answer = connection.getresponse()
    answer.read()
    if answer.status != 200:
        sys.exit(f"a call was answered with {answer.status}")
    next_at = max(next_at + pause, time.monotonic() - 1)
    time.sleep(max(0, next_at - time.monotonic()))
