#!/usr/bin/python3
"""data_objects.py PROGRAMS [CASE...]: data objects with a real gateway, executors and workers. Exit status 0: all is as it should be."""
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import pwd
import signal
import socket
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from gateway_http import Answer, Connection, TIMEOUT_S, ask  # noqa: E402 (found only after the line above)
from gateway_process import gateway, wait_for  # noqa: E402 (found only after the line above)
from processes import expect  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20
LARGE = 200 * MIB
BUDGET = 512 * MIB
STRANGER = "nobody"


def put(site, name, content, **headers):
    answer = ask(site, "PUT", f"/v1/data/{name}", content, **headers)
    expect(answer.status == 201, f"{name} is made: {answer.said()}\n{site.said()}")
    return answer.document()


def problem(answer):
    return answer.document()["type"].removeprefix("urn:orchid:problem:")


def refused(answer, status, code, *words):
    expect(answer.status == status and problem(answer) == code, f"refused with {status} {code}: {answer.said()}")
    for word in words:
        expect(word in answer.document()["detail"], f"it says '{word}': {answer.said()}")
    return answer


def used(site):
    return site.metrics()["orchid_data_memory_used_bytes"]


def wait_until_used(site, wanted):
    wait_for(lambda: used(site), lambda now: now == wanted, f"{wanted} bytes are in use", site.said)


def some_bytes(size):
    block = hashlib.sha256(b"orchid").digest() * 32768
    return (block * (size // len(block) + 1))[:size]


def sum_of(*contents):
    return f"{sum(sum(content) for content in contents)} of {sum(map(len, contents))} in {len(contents)}"


def call(site, *data, body=b"", **headers):
    return ask(site, "POST", "/v1/functions/sums_data/invocations", body, Orchid_Data=", ".join(data), **headers)


def output_of(site, id):
    wait_for(lambda: ask(site, "GET", f"/v1/invocations/{id}?wait=5").document()["state"], lambda state: state == "done", "it ends", site.said,
             seconds=TIMEOUT_S)
    return ask(site, "GET", f"/v1/invocations/{id}/output")


@contextlib.contextmanager
def started(settings="", *options, executors=1):
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/tmp"), "LANG": "C.UTF-8"}
    with gateway(PROGRAMS, environment, settings) as site:
        for number in range(executors):
            site.add_executor(f"e{number}", "--cores", "1", "--data-memory", str(BUDGET), *options)
        wait_for(lambda: site.metrics().get("orchid_data_memory_bytes", 0), lambda bytes: bytes == executors * BUDGET,
                 "the executors are there", site.said)
        wait_for(lambda: ask(site, "GET", "/v1/data/nothing").status, lambda status: status == 404, "no other is waited for", site.said)
        yield site


def deploy(site):
    module = site.folder / "sums_data.bc"
    site.orchid("build", str(HERE / "sums_data.c"), "-o", str(module))
    site.orchid("deploy", str(module), "--name", "sums_data")


def restart_gateway(site):
    site.process.send_signal(signal.SIGKILL)
    site.process.wait(TIMEOUT_S)
    site.start()


def large_data_comes_back_equal_and_is_summed_where_it_is(site):
    content = some_bytes(LARGE)
    source, copy = site.folder / "large.bin", site.folder / "copy.bin"
    source.write_bytes(content)
    expect(site.orchid("data", "put", "large", str(source)).stdout == "large@1\n", "the version is told")
    site.orchid("data", "get", "large", "--out", str(copy))
    expect(copy.read_bytes() == content, "all bytes come back")
    expect(not list(site.folder.glob("copy.bin.*")), "nothing is left beside the file")
    deploy(site)
    summed = site.orchid("invoke", "sums_data", "--data", "large").stdout
    expect(summed == sum_of(content), f"the function sums what it is given: {summed}")
    again = call(site, "large@1")
    expect(again.status == 200 and again.body.decode() == sum_of(content), f"again, over HTTP: {again.said()}")
    expect("200 MiB" in site.orchid("data", "list").stdout, "the list shows it")
    expect("200 MiB of 512 MiB" in site.orchid("hosts").stdout, "hosts show what is used")
    described = site.document("data", "describe", "large")
    expect(described["bytes"] == LARGE and described["version"] == 1 and len(described["hosts"]) == 1, f"described: {described}")
    expect("secret" not in described, "its secret is nobody's business")
    site.orchid("data", "delete", "large")
    wait_until_used(site, 0)


def parts_of_data_are_read_and_conditions_are_kept(site):
    content = some_bytes(5 * MIB + 17)
    made = put(site, "parts", content)
    tag = f"\"{made['id']}\""
    whole = ask(site, "GET", "/v1/data/parts")
    expect(whole.body == content and whole.headers["ETag"] == tag and whole.headers["Accept-Ranges"] == "bytes", "the whole")
    for text, first, last in (("0-0", 0, 1), ("100-199", 100, 200), (f"{len(content) - 5}-", -5, None), ("-7", -7, None),
                              (f"{MIB}-{3 * MIB - 1}", MIB, 3 * MIB)):
        part = ask(site, "GET", "/v1/data/parts", Range=f"bytes={text}")
        expect(part.status == 206 and part.body == content[first:last], f"the part {text}: {part.status}")
        expect(part.headers["Content-Range"].endswith(f"/{len(content)}"), "it says which")
    beyond = ask(site, "GET", "/v1/data/parts", Range=f"bytes={len(content)}-")
    expect(beyond.status == 416 and beyond.headers["Content-Range"] == f"bytes */{len(content)}", f"beyond the end: {beyond.said()}")
    several = ask(site, "GET", "/v1/data/parts", Range="bytes=0-1,3-4")
    expect(several.status == 200 and several.body == content, "several parts are not served: the whole")
    other = ask(site, "GET", "/v1/data/parts", Range="bytes=0-9", If_Range="\"d-other\"")
    expect(other.status == 200 and other.body == content, "a part of another version is no part of this one")
    head = ask(site, "HEAD", "/v1/data/parts")
    expect(head.status == 200 and head.headers["Content-Length"] == str(len(content)) and head.body == b"", "HEAD tells the size")
    same = ask(site, "GET", "/v1/data/parts", If_None_Match=tag)
    expect(same.status == 304 and same.body == b"", f"it has not changed: {same.said()}")
    changed = ask(site, "GET", "/v1/data/parts", If_None_Match="\"d-other\"")
    expect(changed.status == 200 and changed.body == content, "it has changed")
    by_id = ask(site, "GET", f"/v1/data/{made['id']}/document").document()
    expect(by_id["name"] == "parts", f"by its id: {by_id}")
    empty = put(site, "empty", b"")
    expect(ask(site, "GET", f"/v1/data/{empty['id']}").body == b"", "an empty one")
    with contextlib.closing(Connection(site)) as connection:  # one connection for several requests
        for _ in range(3):
            connection.request("GET", "/v1/data/parts")
            expect(connection.getresponse().read() == content, "again and again")
    for name in ("parts", "empty"):
        expect(ask(site, "DELETE", f"/v1/data/{name}").status == 204, "deleted")


def versions_are_kept_and_conflicts_told(site):
    ids = [put(site, "versions", f"version {number}".encode())["id"] for number in range(1, 5)]
    expect(ask(site, "GET", "/v1/data/versions").body == b"version 4", "the newest")
    expect(ask(site, "GET", "/v1/data/versions@2").body == b"version 2", "an older one")
    refused(ask(site, "GET", "/v1/data/versions@1"), 404, "not_found", "versions@1")  # three are kept
    refused(ask(site, "GET", "/v1/data/versions@9"), 404, "not_found")
    refused(ask(site, "GET", "/v1/data/nothing"), 404, "not_found", "orchid data list")
    refused(ask(site, "PUT", "/v1/data/versions", b"x", If_Match=f"\"{ids[0]}\""), 412, "conflict", ids[3], "If-Match")
    refused(ask(site, "PUT", "/v1/data/versions", b"x", If_None_Match="*"), 412, "conflict", "taken")
    fifth = put(site, "versions", b"version 5", If_Match=f"\"{ids[3]}\"")
    expect(fifth["version"] == 5, f"it was the newest: {fifth}")
    late = begin_put(site, "versions", 100, f"If-Match: \"{fifth['id']}\"\r\n")
    put(site, "versions", b"version 7")
    late.sendall(b"x" * 100)
    answer = receive(late)
    refused(answer, 412, "conflict")
    refused(ask(site, "DELETE", "/v1/data/versions", If_Match=f"\"{ids[0]}\""), 412, "conflict")
    failed = site.orchid("data", "put", "versions", str(site.folder / "gateway.toml"), "--new", check=False)
    expect(failed.returncode != 0 and "taken" in failed.stderr, f"the command says so: {failed.stderr}")
    expect(ask(site, "DELETE", "/v1/data/versions").status == 204, "all of them go")
    refused(ask(site, "GET", f"/v1/data/{fifth['id']}"), 404, "not_found")
    for name in ("3d", "a b", "d-" + "0" * 32, "x" * 65):
        refused(ask(site, "PUT", f"/v1/data/{name.replace(' ', '%20')}", b"x"), 400, "bad_request")
    refused(ask(site, "PUT", "/v1/data/life", b"x", Orchid_Expires_In="0"), 400, "bad_request", "Orchid-Expires-In")


def begin_put(site, name, size, headers=""):
    """The header alone."""
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(TIMEOUT_S)
    one.connect(str(site.folder / "gateway.sock"))
    one.sendall(f"PUT /v1/data/{name} HTTP/1.1\r\nHost: orchid\r\nContent-Length: {size}\r\n{headers}\r\n".encode())
    return one


def receive(one):
    response = http.client.HTTPResponse(one)
    response.begin()
    return Answer(response)


def rooms(site):
    return site.metrics()["orchid_data_rooms"]


def a_body_that_does_not_come_whole_leaves_nothing(site):
    wait_until_used(site, 0)
    for way in ("closes", "ends its sending side", "is reset"):
        one = begin_put(site, "early", 50 * MIB)
        one.sendall(b"x" * (3 * MIB))
        wait_for(lambda: rooms(site), lambda count: count == 1, "the room is made", site.said)
        if way == "ends its sending side":
            one.shutdown(socket.SHUT_WR)
            expect(one.recv(1) == b"", "there is no answer to half a request")
        if way == "is reset":
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        one.close()
        wait_for(lambda: rooms(site), lambda count: count == 0, f"nothing is left of who {way}", site.said)
        wait_until_used(site, 0)
        refused(ask(site, "GET", "/v1/data/early"), 404, "not_found")
    made = put(site, "early", b"whole")
    expect(made["version"] == 1, f"none of them has taken a number: {made}")
    slow = begin_put(site, "slow", 1000)
    slow.sendall(b"x" * 10)  # and no more: the site's limit for bodies is half a second
    refused(receive(slow), 408, "timed_out")
    wait_until_used(site, 5)
    ask(site, "DELETE", "/v1/data/early")


def the_size_is_asked_for_and_a_room_made_first(site):
    with contextlib.closing(Connection(site)) as connection:
        connection.request("PUT", "/v1/data/sizeless", iter([b"abc"]), {}, encode_chunked=True)
        refused(Answer(connection.getresponse()), 411, "bad_request", "Content-Length")
    one = begin_put(site, "asked", 10, "Expect: 100-continue\r\n")
    expect(one.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n", "a room is made: go on")
    one.sendall(b"0123456789")
    expect(receive(one).status == 201, "it is whole")
    one.close()
    too_much = begin_put(site, "much", 2 * BUDGET, "Expect: 100-continue\r\n")
    refused(receive(too_much), 507, "no_data_memory", "1 GiB", "512 MiB", "--data-memory")
    expect(too_much.recv(1) == b"", "the body that nobody wants is not waited for")
    too_much.close()
    unasked = begin_put(site, "much", 2 * BUDGET)
    sending = threading.Thread(target=send_much, args=(unasked,))
    sending.start()
    refused(receive(unasked), 507, "no_data_memory")
    unasked.close()
    sending.join(TIMEOUT_S)
    pipe = site.orchid("data", "put", "pipe", check=False)
    expect(pipe.returncode != 0 and "--size" in pipe.stderr, f"a pipe does not tell its size: {pipe.stderr}")
    ask(site, "DELETE", "/v1/data/asked")


def send_much(one):
    with contextlib.suppress(OSError):
        for _ in range(8):
            one.sendall(b"x" * MIB)


def ask_as_stranger(site, method, path, body=None):
    token = (site.folder / "g" / "tokens" / str(pwd.getpwnam(STRANGER).pw_uid)).read_text().strip()
    address = site.ready["urls"][0].removeprefix("http://")
    with contextlib.closing(http.client.HTTPConnection(address, timeout=TIMEOUT_S)) as connection:
        connection.request(method, path, body, {"Authorization": f"Bearer {token}"})
        return Answer(connection.getresponse())


def others_find_nothing(site):
    made = put(site, "mine", b"secret")
    for method in ("GET", "DELETE"):
        theirs = refused(ask_as_stranger(site, method, f"/v1/data/{made['id']}"), 404, "not_found").document()
        nobodys_id = "d-" + "7" * 32
        nobodys = refused(ask_as_stranger(site, method, f"/v1/data/{nobodys_id}"), 404, "not_found").document()
        expect(theirs["detail"].replace(made["id"], nobodys_id) == nobodys["detail"], f"the same words: {theirs} {nobodys}")
    refused(ask_as_stranger(site, "GET", "/v1/data/mine"), 404, "not_found")
    expect(ask_as_stranger(site, "GET", "/v1/data").document() == {"data": []}, "nothing is listed")
    expect(ask(site, "GET", "/v1/data/mine").body == b"secret", "it is there all the same")
    ask(site, "DELETE", "/v1/data/mine")


def named_data_is_there_again_after_a_restart(site):
    deploy(site)
    content = some_bytes(MIB)
    made = put(site, "kept", content)
    put(site, "kept", content[:1000])
    accepted = call(site, "kept@1", body=b"slowly", Prefer="respond-async")
    expect(accepted.status == 202, f"accepted: {accepted.said()}")
    id = accepted.document()["id"]
    wait_for(lambda: ask(site, "GET", f"/v1/invocations/{id}").document().get("progress"), lambda said: said == 0.5, "it runs", site.said)
    half = begin_put(site, "half", 10 * MIB)
    half.sendall(b"x" * MIB)
    wait_for(lambda: rooms(site), lambda count: count == 1, "the room is made", site.said)
    restart_gateway(site)
    back = wait_for(lambda: ask(site, "GET", "/v1/data/kept@1"), lambda answer: answer.status == 200, "it is there again", site.said)
    expect(back.body == content and back.headers["ETag"] == f"\"{made['id']}\"", "the same bytes under the same id")
    third = wait_for(lambda: ask(site, "PUT", "/v1/data/kept", b"third"), lambda answer: answer.status == 201,
                     "names are written to when all executors are back", site.said)
    expect(third.document()["version"] == 3, "versions go on")
    wait_for(lambda: ask(site, "GET", "/v1/data/half").status, lambda status: status == 404, "half a body is nothing", site.said)
    half.close()
    wait_until_used(site, len(content) + 1000 + 5)
    ended = output_of(site, id)
    expect(ended.status == 200 and ended.body.decode() == sum_of(content), f"the call runs again with the same version: {ended.said()}")
    ask(site, "DELETE", "/v1/data/kept")
    wait_until_used(site, 0)


def deleted_data_stays_for_the_call_that_runs(site):
    deploy(site)
    content = some_bytes(3 * MIB)
    put(site, "used", content)
    id = call(site, "used", body=b"slowly", Prefer="respond-async").document()["id"]
    wait_for(lambda: ask(site, "GET", f"/v1/invocations/{id}").document().get("progress"), lambda said: said == 0.5, "it runs", site.said)
    expect(ask(site, "DELETE", "/v1/data/used").status == 204, "deleted")
    ended = output_of(site, id)
    expect(ended.status == 200 and ended.body.decode() == sum_of(content), f"it keeps what it was given: {ended.said()}")
    refused(call(site, "used"), 404, "not_found", "used")
    wait_until_used(site, 0)


def of_several_that_replace_one_version_one_does(site):
    first = put(site, "contended", b"first")
    answers = []

    def replace(content):
        answers.append((content, ask(site, "PUT", "/v1/data/contended", content, If_Match=f"\"{first['id']}\"")))

    threads = [threading.Thread(target=replace, args=(some_bytes(MIB + number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made = [(content, answer) for content, answer in answers if answer.status == 201]
    expect(len(made) == 1, f"one of them: {[answer.said() for _, answer in answers]}")
    for _, answer in answers:
        if answer.status != 201:
            refused(answer, 412, "conflict")
    restart_gateway(site)
    back = wait_for(lambda: ask(site, "GET", "/v1/data/contended"), lambda answer: answer.status == 200, "it is there again", site.said)
    expect(back.body == made[0][0], "it is the one that was made")
    listed = ask(site, "GET", "/v1/data").document()["data"]
    expect(len(listed) == 2, f"nothing of the others: {listed}")
    wait_for(lambda: ask(site, "PUT", "/v1/data/contended", b"last").status, lambda status: status == 201, "names are written to again",
             site.said)
    ask(site, "DELETE", "/v1/data/contended")
    wait_until_used(site, 0)


def objects_may_be_empty(site):
    deploy(site)
    put(site, "empty", b"")
    read = ask(site, "GET", "/v1/data/empty")
    expect(read.status == 200 and read.body == b"", f"nothing is read: {read.said()}")
    given = call(site, "empty", "empty")
    expect(given.body.decode() == "0 of 0 in 2", f"a call is given nothing twice: {given.said()}")
    ask(site, "DELETE", "/v1/data/empty")


def a_waiting_call_keeps_the_version_that_it_was_accepted_with(site):
    deploy(site)
    old = some_bytes(1000)
    put(site, "moving", old)
    running = call(site, "moving", body=b"slowly", Prefer="respond-async").document()["id"]
    wait_for(lambda: ask(site, "GET", f"/v1/invocations/{running}").document().get("progress"), lambda said: said == 0.5, "it runs", site.said)
    waiting = call(site, "moving", Prefer="respond-async").document()["id"]  # the only core is taken
    for number in range(5):
        put(site, "moving", some_bytes(2000 + number))
    ended = output_of(site, waiting)
    expect(ended.status == 200 and ended.body.decode() == sum_of(old), f"it is given what it was accepted with: {ended.said()}")
    wait_for(lambda: ask(site, "GET", "/v1/data/moving@1").status, lambda status: status == 404, "nobody needs it any more", site.said)
    newest = call(site, "moving")
    expect(newest.body.decode() == sum_of(some_bytes(2004)), f"the next one is given the newest: {newest.said()}")
    ask(site, "DELETE", "/v1/data/moving")
    wait_until_used(site, 0)


def calls_are_refused_that_cannot_have_their_data(site):
    deploy(site)
    refused(call(site, "nothing"), 404, "not_found", "nothing")
    refused(call(site, "not a name"), 400, "bad_request", "Orchid-Data")
    refused(call(site, *["x"] * 65), 400, "bad_request", "64")
    two = some_bytes(100), some_bytes(200)
    put(site, "one", two[0])
    put(site, "two", two[1])
    both = call(site, "two", "one", "two@1")
    expect(both.body.decode() == sum_of(two[1], two[0], two[1]), f"several, one of them twice: {both.said()}")
    first = call(site, "one", Idempotency_Key="k", Prefer="respond-async").document()["id"]
    expect(call(site, "one", Idempotency_Key="k", Prefer="respond-async").document()["id"] == first, "the same call")
    refused(call(site, "two", Idempotency_Key="k", Prefer="respond-async"), 422, "conflict")
    described = ask(site, "GET", f"/v1/invocations/{first}?wait=60").document()
    expect(described["outcome"] == "ok" and len(described["data"]) == 1, f"it says what it was given: {described}")
    explained = site.orchid("explain", first).stdout
    expect("data of its calls" in explained, f"explain says why it is there: {explained}")
    ask(site, "DELETE", "/v1/data/one")
    ask(site, "DELETE", "/v1/data/two")


def ten_thousand_small_objects_come_and_go(site):
    names = 80  # with three versions each: one tenant has at most 256 objects on an executor
    with contextlib.closing(Connection(site)) as connection:
        for number in range(10_000):
            connection.request("PUT", f"/v1/data/small-{number % names}", str(number).encode())
            answer = connection.getresponse()
            expect(answer.status == 201, f"number {number}: {answer.status} {answer.read()[:400]!r}")
            answer.read()
        for number in (9_999, 9_999 - names, 9_999 - 2 * names):
            connection.request("GET", f"/v1/data/small-{number % names}@{number // names + 1}")
            expect(connection.getresponse().read() == str(number).encode(), f"number {number} is the one")
    listed = ask(site, "GET", "/v1/data").document()["data"]
    expect(len(listed) == 3 * names, f"three of each: {len(listed)}")
    for number in range(256 - 3 * names):
        put(site, f"more-{number}", b"")
    refused(ask(site, "PUT", "/v1/data/one-more", b""), 429, "quota", "256")
    for one in ask(site, "GET", "/v1/data").document()["data"]:
        expect(ask(site, "DELETE", f"/v1/data/{one['id']}").status == 204, "deleted")
    wait_until_used(site, 0)


def data_on_two_executors_is_elsewhere(site):
    deploy(site)
    first = put(site, "first", some_bytes(300 * MIB))
    second = put(site, "second", some_bytes(400 * MIB))
    expect(first["id"] != second["id"], "two objects")
    refused(call(site, "first", "second"), 409, "data_elsewhere", "first@1", "300 MiB", "second@1", "400 MiB", socket.gethostname())
    alone = call(site, "first")
    expect(alone.status == 200, f"one alone runs where it is: {alone.said()}")


def a_tenant_has_a_quota(site):
    put(site, "a", b"x" * 600)
    refused(ask(site, "PUT", "/v1/data/b", b"x" * 600), 429, "quota", "orchid data list")
    ask(site, "DELETE", "/v1/data/a")
    put(site, "b", b"x" * 600)
    ask(site, "DELETE", "/v1/data/b")


def ask_for_room(site, bytes, name=None):
    wanted = {"bytes": bytes, "boot_id": pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()}
    return ask(site, "POST", f"/v1/data/{name}/rooms" if name else "/v1/rooms", json.dumps(wanted), Content_Type="application/json")


def a_room_of_a_program_is_sealed_once_and_by_its_owner(site):
    room = ask_for_room(site, 100, "roomy").document()["id"]
    refused(ask_as_stranger(site, "POST", f"/v1/rooms/{room}/seal"), 404, "not_found")
    refused(ask_as_stranger(site, "DELETE", f"/v1/rooms/{room}"), 404, "not_found")
    sealed = ask(site, "POST", f"/v1/rooms/{room}/seal")
    expect(sealed.status == 201 and sealed.headers["Orchid-Data"] == "roomy@1", f"sealed: {sealed.said()}")
    for method, path in (("POST", f"/v1/rooms/{room}/seal"), ("DELETE", f"/v1/rooms/{room}")):
        refused(ask(site, method, path), 404, "not_found", "is sealed")
    expect(ask(site, "GET", "/v1/data/roomy").body == bytes(100), "it is there, all zero, as nobody has written to it")
    given_up = ask_for_room(site, 100, "roomy").document()["id"]
    expect(ask(site, "DELETE", f"/v1/rooms/{given_up}").status == 204, "given up")
    refused(ask(site, "POST", f"/v1/rooms/{given_up}/seal"), 404, "not_found", "given up")
    refused(ask_for_room(site, 2 * BUDGET), 507, "no_data_memory", "1 GiB", "512 MiB")
    refused(ask(site, "POST", "/v1/rooms", json.dumps({"bytes": 1, "boot_id": "elsewhere"})), 501, "unsupported", "PUT")
    ask(site, "DELETE", "/v1/data/roomy")
    wait_until_used(site, 0)


def unnamed_data_expires(site):
    answer = ask(site, "POST", "/v1/data", b"abc", Orchid_Expires_In="1")
    made = answer.document()
    expect(answer.status == 201 and made["name"] is None and made["expires"] is not None, f"made: {answer.said()}")
    wait_for(lambda: ask(site, "GET", f"/v1/data/{made['id']}").status, lambda status: status == 404, "its time is over", site.said)
    wait_until_used(site, 0)
    named = put(site, "lasting", b"abc")
    expect(named["expires"] is None, f"a name lasts: {named}")
    ask(site, "DELETE", "/v1/data/lasting")


SHARED = (large_data_comes_back_equal_and_is_summed_where_it_is, parts_of_data_are_read_and_conditions_are_kept,
          versions_are_kept_and_conflicts_told, a_body_that_does_not_come_whole_leaves_nothing,
          the_size_is_asked_for_and_a_room_made_first, others_find_nothing, named_data_is_there_again_after_a_restart,
          deleted_data_stays_for_the_call_that_runs,
          of_several_that_replace_one_version_one_does, objects_may_be_empty,
          a_waiting_call_keeps_the_version_that_it_was_accepted_with, calls_are_refused_that_cannot_have_their_data,
          ten_thousand_small_objects_come_and_go, a_room_of_a_program_is_sealed_once_and_by_its_owner, unnamed_data_expires)
SETTINGS = f"token_users = [\"{STRANGER}\"]\nbody_time = \"500ms\"\n"
# With a gateway and executors of their own: settings, executors.
ALONE = ((data_on_two_executors_is_elsewhere, SETTINGS, 2),
         (a_tenant_has_a_quota, "[data]\nper_user = \"1000 B\"\n", 1))


def main():
    wanted = sys.argv[2:]

    def is_wanted(case):
        return not wanted or case.__name__ in wanted

    def run(case, site):
        print(f"{case.__name__}", flush=True)
        case(site)

    if any(map(is_wanted, SHARED)):
        with started(SETTINGS) as site:
            for case in filter(is_wanted, SHARED):
                run(case, site)
    for case, settings, executors in ALONE:
        if is_wanted(case):
            with started(settings, executors=executors) as site:
                run(case, site)


if __name__ == "__main__":
    main()
