#!/usr/bin/python3
"""in_calls.py PROGRAMS [CASE...]: data objects that calls open and make, with a real gateway, executors and workers. Exit status 0: all is as
it should be."""
import array
import hashlib
import json
import os
import signal
import sys
import threading

from data_objects import (ask, ask_as_stranger, BUDGET, call, deploy, expect, HERE, LARGE, output_of, put, refused, restart_gateway, SETTINGS,
                          some_bytes, started, TIMEOUT_S, wait_for, wait_until_used)
from processes import family, words_of


def deploy_makers(site):
    module = site.folder / "makes_data.bc"
    site.orchid("build", str(HERE / "makes_data.cpp"), "-o", str(module))
    site.orchid("deploy", str(module), "--name", "makes_data")


def invoke_maker(site, entry, *args, check=True):
    return site.orchid("invoke", f"makes_data.{entry}", "--args", json.dumps(args), check=check)


def calls_make_data_that_others_find(site):
    deploy_makers(site)
    made = json.loads(invoke_maker(site, "squares", "squares", 1000).stdout)
    described = site.document("data", "describe", "squares")
    expect(described["id"] == made and described["version"] == 1 and described["bytes"] == 8000, f"it is there: {described}")
    wait_until_used(site, 8000)  # no more is charged than what was sealed
    content = ask(site, "GET", "/v1/data/squares").body
    expect(array.array("d", content).tolist() == [i * i for i in range(1000)], "it has what the call has written")
    total = float(sum(i * i for i in range(1000)))
    for name in ("squares", "squares@1", made):
        expect(json.loads(invoke_maker(site, "sum_of", name).stdout) == total, f"another call opens it as {name}")
    invoke_maker(site, "squares", "squares", 10)
    expect(json.loads(invoke_maker(site, "sum_of", "squares").stdout) == 285.0, "the newest version is meant")
    expect(json.loads(invoke_maker(site, "sum_of", "squares@1").stdout) == total, "the older one is there")
    failed = invoke_maker(site, "squares_in_vain", "squares", 10, check=False)
    expect(failed.returncode == 1 and "all in vain" in failed.stderr, f"the function's own error: {failed.stderr}")
    refused(ask(site, "GET", "/v1/data/squares@3"), 404, "not_found")
    put(site, "squares", b"12345678" * 2)
    expect(site.document("data", "describe", "squares")["version"] == 3, "a call that has failed has used no version")
    ask(site, "DELETE", "/v1/data/squares")
    wait_until_used(site, 0)


def calls_learn_why_data_cannot_be_had(site):
    deploy_makers(site)

    def fails(*words, says):
        failed = invoke_maker(site, *words, check=False)
        expect(failed.returncode == 1 and says in failed.stderr, f"{words} fails with '{says}': {failed.stderr}")

    fails("sum_of", "nothing", says="not_found: there is no data object 'nothing'")
    fails("sum_of", "nothing@3", says="not_found")
    fails("sum_of", "d-" + "0" * 32, says="not_found")
    fails("squares", "large", BUDGET, says="no_data_memory: an object of 8 GiB does not fit")
    fails("squares", "d-" + "0" * 32, 1, says="bad_request")
    fails("squares_without_number", says="more than any memory has")
    put(site, "odd", b"12345")
    fails("sum_of", "odd", says="no whole elements of 8")
    theirs = ask_as_stranger(site, "POST", "/v1/data", b"12345678")
    expect(theirs.status == 201, f"somebody else has data: {theirs.said()}")
    id = theirs.document()["id"]
    fails("sum_of", id, says=f"not_found: there is no data object '{id}'")
    expect(ask_as_stranger(site, "DELETE", f"/v1/data/{id}").status == 204, "it was there all the same")
    ask(site, "DELETE", "/v1/data/odd")
    wait_until_used(site, 0)


def data_of_a_call_outlives_its_depot_and_a_gateway(site):
    deploy_makers(site)
    made = json.loads(invoke_maker(site, "squares", "lasting", 100).stdout)
    depots = [pid for pid in family(site.executors[0].pid) if words_of(pid)[0].endswith("/orchid-depot")]
    expect(len(depots) == 1, f"one depot serves the only user: {depots}")
    os.kill(depots[0], signal.SIGKILL)
    expect(json.loads(invoke_maker(site, "sum_of", "lasting").stdout) == 328350.0, "another depot goes on")
    restart_gateway(site)
    wait_for(lambda: ask(site, "GET", "/v1/data/lasting").status, lambda status: status == 200, "the executor brings it back", site.said)
    described = site.document("data", "describe", "lasting")
    expect(described["id"] == made and described["version"] == 1, f"the same: {described}")
    ask(site, "DELETE", "/v1/data/lasting")


def outputs_become_data(site):
    deploy(site)
    answer = call(site, Orchid_Output="data=sums")
    expect(answer.status == 201 and answer.headers["Orchid-Data"] == "sums@1" and answer.headers["Location"] == "/v1/data/sums@1",
           f"the output is data: {answer.said()}")
    made = answer.document()
    expect(answer.headers["ETag"] == f"\"{made['id']}\"" and made["bytes"] == len("0 of 0 in 0"), f"described: {made}")
    expect(ask(site, "GET", "/v1/data/sums").body == b"0 of 0 in 0", "it has the bytes of the output")
    printed = site.orchid("invoke", "sums_data", "--output-data", "sums", "--data", "sums").stdout
    expect(printed == "sums@2\n", f"its label is printed: {printed}")
    accepted = call(site, "sums@1", Orchid_Output="data=sums", Prefer="respond-async")
    expect(accepted.status == 202, f"accepted: {accepted.said()}")
    id = accepted.document()["id"]
    output = output_of(site, id)
    expect(output.status == 200 and output.document()["version"] == 3, f"the output of an asynchronous call: {output.said()}")
    described = ask(site, "GET", f"/v1/invocations/{id}").document()
    expect(described["output_data"] == "sums@3" and described["output_data_id"] == output.document()["id"], f"its document: {described}")
    refused(call(site, Orchid_Output="file=sums"), 400, "bad_request", "data=NAME")
    ask(site, "DELETE", "/v1/data/sums")
    wait_until_used(site, 0)


def an_output_over_the_quota_is_not_kept(site):
    deploy(site)
    put(site, "most", b"x" * 995)
    refused(call(site, Orchid_Output="data=sums"), 429, "quota", "the call has succeeded", "could not be kept")
    expect(ask(site, "GET", "/v1/data/sums").status == 404, "nothing is left of it")
    ask(site, "DELETE", "/v1/data/most")
    wait_until_used(site, 0)


def a_digest_is_made_when_somebody_asks(site):
    content = some_bytes(LARGE)
    wanted = f"sha256:{hashlib.sha256(content).hexdigest()}"
    put(site, "summed", content)
    expect(ask(site, "GET", "/v1/data/summed/document").document()["digest"] is None, "nobody has asked yet")
    answers = []
    asking = [threading.Thread(target=lambda: answers.append(ask(site, "GET", "/v1/data/summed/digest"))) for _ in range(3)]
    for thread in asking:
        thread.start()
    other = put(site, "meanwhile", b"abc")  # is sealed, whatever is read
    for thread in asking:
        thread.join(TIMEOUT_S)
    expect([answer.document()["digest"] for answer in answers] == [wanted] * 3, f"all are told: {[answer.said() for answer in answers]}")
    expect(wanted in site.orchid("data", "describe", "summed", "--digest").stdout, "the command shows it")
    expect(site.document("data", "describe", "meanwhile", "--digest")["digest"] == f"sha256:{hashlib.sha256(b'abc').hexdigest()}",
           "another one, as JSON")
    refused(ask(site, "GET", "/v1/data/nothing/digest"), 404, "not_found")
    refused(ask_as_stranger(site, "GET", f"/v1/data/{other['id']}/digest"), 404, "not_found")
    restart_gateway(site)
    back = wait_for(lambda: ask(site, "GET", "/v1/data/summed/document"), lambda answer: answer.status == 200, "it is there again", site.said)
    expect(back.document()["digest"] == wanted, f"its digest is known: {back.said()}")
    wait_for(lambda: ask(site, "PUT", "/v1/data/summed", b"x").status, lambda status: status == 201, "names are written to again", site.said)
    for name in ("summed", "meanwhile"):
        expect(ask(site, "DELETE", f"/v1/data/{name}").status == 204, "deleted")
    wait_until_used(site, 0)


CASES = (calls_make_data_that_others_find, calls_learn_why_data_cannot_be_had,
         data_of_a_call_outlives_its_depot_and_a_gateway, outputs_become_data, a_digest_is_made_when_somebody_asks)


def main():
    wanted = sys.argv[2:]
    with started(SETTINGS) as site:
        for case in CASES:
            if not wanted or case.__name__ in wanted:
                print(f"{case.__name__}", flush=True)
                case(site)
    if not wanted or an_output_over_the_quota_is_not_kept.__name__ in wanted:
        with started("[data]\nper_user = \"1000 B\"\n") as site:
            an_output_over_the_quota_is_not_kept(site)


if __name__ == "__main__":
    main()
