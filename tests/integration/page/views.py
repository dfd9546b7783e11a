"""The page's views of this machine, beside what the gateway says of it."""
import contextlib
import json
import os
import re
import subprocess

from gateway_process import END_DEADLINE_S, wait_for
from processes import expect
from comparisons import same
from many_hosts import rows_of
from page_site import ask, log_in, of_map, submit, token_of

HOST = os.uname().nodename


def document(site, path):
    status, _, text = ask(site, "GET", path, Authorization=f"Bearer {token_of(site)}")
    same(f"status of {path}", status, 200)
    return json.loads(text)


def hosts_and_executors(site, chrome):
    log_in(site, chrome, "hosts")
    known = site.document("hosts")["hosts"][0]
    cores = known["cores"]
    same("the cores of this machine's executor", cores, len(known["executors"][0]["cores"]))

    def host_now():
        host = site.document("hosts")["hosts"][0]
        power = "" if "watts" not in host else f"{round(host['watts'])} W"
        return [host["cores_leased"], host["cores_usable"], power]

    row = wait_for(lambda: (rows_of(chrome, "Hosts").get(HOST), host_now()), lambda both: both[0] and f"{both[1][0]} of {both[1][1]}" == both[0][3],
                   "the host is shown", chrome.said)[0]
    same("the host", [*row[:3], row[5], *row[7:]], ["", "cpu", "", "", "1", ""])
    expect(re.fullmatch(r"[\d.]+ \w+ of [\d.]+ GiB", row[4]), f"memory of its workers: {row[4]}")

    def executor_now():
        one = site.document("hosts")["hosts"][0]["executors"][0]
        return [HOST, "connected", one["owner"], "local", f"{one['cores_leased']} of {cores}", str(one["workers_ready"])]

    name = known["executors"][0]["id"]
    wait_for(lambda: (rows_of(chrome, "Executors").get(name, [])[:6], executor_now()), lambda both: both[0] == both[1], "the executor is shown",
             chrome.said)


def functions_and_invocations(site, chrome):
    call = site.orchid("invoke", "--async", "shows.markup").stdout.strip()
    site.orchid("wait", call)
    log_in(site, chrome, "functions")
    entries = {one["name"]: one for one in document(site, "/v1/functions")["functions"]}

    def function_now(name):
        calls = {one["name"]: one for one in document(site, "/v1/functions")["functions"]}[name]["calls"]
        return [str(calls["total"]), str(calls["ended"].get("ok", 0))]

    for name, signature in (("steps", "slowly u64(u64)"), ("shows", "markup")):
        one = entries[name]
        row = wait_for(lambda name=name: (rows_of(chrome, "Functions").get(name), function_now(name)),
                       lambda both: both[0] and both[0][7:9] == both[1], f"{name} and its calls are shown", chrome.said)[0]
        expect(signature in row[0].split(", "), f"entries of {name}: {row[0]}")
        same(f"version and needs of {name}", [row[1], row[2], row[6]], [one["version"].removeprefix("sha256:")[:10], str(one["versions"]), "1 core"])
    chrome.script("location.hash = 'invocations'")
    known = document(site, f"/v1/invocations/{call}")
    row = wait_for(lambda: rows_of(chrome, "Invocations").get(call), bool, "the call is shown", chrome.said)
    same("the call", [*row[:2], row[5], row[6], row[7]], ["shows.markup", "ok", HOST, str(known["attempt"]), f"{known['output_size']} B"])
    expect(re.fullmatch(r"[\d.]+ (µs|ms|s)", row[3]), f"how long it took: {row[3]}")


@contextlib.contextmanager
def foreground_flow(site):
    """It holds a lease for as long as it runs."""
    path = site.folder / "foreground.yaml"
    path.write_text(of_map("foreground", "never_ends"))
    flow = subprocess.Popen([site.programs / "orchid", "flow", "run", path, "--input", "n=1", "--workers", "1"], cwd=site.folder,
                            env={**site.environment, "ORCHID_GATEWAY": f"unix:{site.folder}/gateway.sock"}, stdin=subprocess.DEVNULL,
                            stdout=site.log, stderr=site.log, start_new_session=True)
    try:
        yield
    finally:
        flow.kill()
        flow.wait(END_DEADLINE_S)


def leases_and_pilots(site, chrome):
    """A flow in the foreground is seen by its lease, and is among no flows."""
    log_in(site, chrome, "leases")
    with foreground_flow(site):
        lease = wait_for(lambda: [one for one in site.document("leases")["leases"] if one["state"] == "open" and one["workers"]], bool,
                         "the flow holds a lease", site.said)[0]
        row = wait_for(lambda: rows_of(chrome, "Leases").get(lease["id"]), bool, "the lease is shown", chrome.said)
        same("the lease", [row[0], row[1], row[3]], ["open", "1 of 1 workers", HOST])
        worker = lease["workers"][0]
        workers = rows_of(chrome, "Workers")
        same("its worker", workers[worker["lease"]][:3], [lease["id"], HOST, "1"])
        before = len(document(site, "/v1/flows")["flows"])
        chrome.script("location.hash = 'flows'")
        wait_for(lambda: len(rows_of(chrome, "Flows")), lambda count: count == before, "the flows are shown", chrome.said)
        expect("foreground" not in chrome.text("[aria-label='Flows']"), "the one in the foreground is none of them")
    chrome.script("location.hash = 'pilots'")
    chrome.await_text("main", "Nothing waits for workers")


COLOURED = """const picture = document.querySelector('canvas.timeline');
    const pixels = picture.getContext('2d').getImageData(0, 0, picture.width, picture.height).data;
    const probe = document.createElement('i');
    probe.className = 'run';
    document.querySelector('main').append(probe);
    const wanted = getComputedStyle(probe).backgroundColor.match(/\\d+/g).map(Number);
    probe.remove();
    let found = 0;
    for (let at = 0; at < pixels.length; at += 4) if (wanted.every((part, place) => pixels[at + place] === part)) found += 1;
    return found"""


def times_and_overview(site, chrome):
    site.orchid("flow", "watch", submit(site, "drawn", of_map("drawn"), n=4))
    log_in(site, chrome, "times")
    ended = [one for one in document(site, "/v1/invocations?limit=1000")["invocations"] if sum(one.get("timings_ms", {}).values()) > 0]
    words = f"{len(ended)} call{'' if len(ended) == 1 else 's'}: transfer "
    told = wait_for(lambda: chrome.text("main"), lambda text: words in text, f"it tells where the time of {len(ended)} calls went", chrome.said)
    expect(re.search(r"run [\d.]+ (ms|s|µs)", told), f"also how long they ran: {told}")
    chrome.script("const field = document.getElementById('span'); field.selectedIndex = 0; field.dispatchEvent(new Event('change'))")
    wait_for(lambda: chrome.script(COLOURED), lambda found: found > 0, "calls that ran are drawn", chrome.said)
    chrome.script("location.hash = 'overview'")

    def in_use():
        host = site.document("hosts")["hosts"][0]
        return f"{host['cores_leased']} of {host['cores_usable']} in use"

    wait_for(lambda: (chrome.texts(".tile .number"), in_use()), lambda both: both[0][:3] == ["1 host", both[1], "none"], "hosts and cores are told",
             chrome.said)
    charts = """return Object.fromEntries([...document.querySelectorAll('.chart')].filter((one) => one.checkVisibility())
        .map((one) => [one.querySelector('h3').textContent, one.querySelector('.now').textContent]))"""
    shown = wait_for(lambda: chrome.script(charts), lambda found: "Cores" in found, "a sample was taken", chrome.said, 60)
    cores = site.document("hosts")["hosts"][0]["cores_usable"]
    expect(re.fullmatch(rf"\d+ cores? now, of {cores} cores?", shown["Cores"]), f"the newest sample: {shown}")
    expect("GPUs" not in shown, f"there is none: {shown}")


CASES = [hosts_and_executors, functions_and_invocations, leases_and_pilots, times_and_overview]
