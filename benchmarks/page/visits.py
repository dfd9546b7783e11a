#!/usr/bin/python3
"""visits.py PROGRAMS SOURCES VISITS SECONDS: how a browser gets on with the page, of a gateway with an executor. A line of JSON for each visit:
{"first_paint_ms", "view_ms" (until the list of invocations stands, empty as yet),
 "long_tasks", "busy_tasks", "calls_per_second", "rows": while somebody scrolls in the list of invocations, which knows ten thousand, and a
 thousand more end in each second,
 "flow_long_tasks", "flow_busy_tasks", "flow_events_per_second": while somebody looks at a flow of a thousand nodes that runs, from its graph to
 its log.}
A long task is one of the page's thread that takes more than 50 ms in Chromium's trace, after all was loaded; a busy one had a core for so long,
where others wait for the cores that all of Orchid has, too. Events are those that the page was told of nodes. What long tasks did is said on
stderr."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

PROGRAMS, SOURCES = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
VISITS, SECONDS = int(sys.argv[3]), float(sys.argv[4])
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(SOURCES / "tests/fixtures"), str(SOURCES / "tests/integration/page")]
from gateway_process import gateway, wait_for  # noqa: E402 (found only after the lines above)
from browser import browser  # noqa: E402
from page_trace import PageThread, traced  # noqa: E402

HEARD = """window.heard = 0;
window.EventSource = class extends window.EventSource {
  constructor(...words) {
    super(...words);
    this.addEventListener('node', () => { window.heard += 1; });
  }
};"""
GLANCE_AT_A_FLOW = """document.querySelector('.graph-box').scrollBy(40, 400);
window.scrollBy(0, 300);
if (window.scrollY + window.innerHeight >= document.body.scrollHeight) window.scrollTo(0, 0);"""
FIRST_PAINT = "return performance.getEntriesByName('first-contentful-paint').map((one) => one.startTime)[0]"
CALLS_PER_SECOND = 1000
ROWS, ROWS_WITHIN_S = 10_000, 90  # the most that the page keeps; it hears of up to a thousand in a second
GLANCE_S = 0.2

# A tree: a hundred nodes run at once soon, and then nine hundred. On two workers more than a thousand pieces end in a second, and each is an event.
NODES, FAN, PIECES, WORKERS = 1000, 10, 60, 2
NODES_DONE = 50  # when it is looked at
MAP = "{kind: map, partition: pieces.up_to, each: pieces.waits, merge: pieces.count}"


def flow_of_many_nodes():
    nodes = "".join(f"  n{number}: {MAP}\n" for number in range(NODES))
    edges = "".join(f"  - {{from: n{(number - 1) // FAN}, to: n{number}}}\n" for number in range(1, NODES))
    outputs = "".join(f"  r{number}: n{number}\n" for number in range(NODES) if FAN * number + 1 >= NODES)
    return f"flow: large\ninputs: {{n: u64}}\nnodes:\n{nodes}edges:\n  - {{from: n, to: n0}}\n{edges}outputs:\n{outputs}"


def look(chrome, glance):
    """What the page's thread does while somebody glances here and there."""
    def glances():
        chrome.script("performance.mark('a look begins')")
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            chrome.script(glance)
            time.sleep(GLANCE_S)
        chrome.script("performance.mark('a look ends')")

    thread = PageThread(traced(chrome.driver, glances), "a look begins", "a look ends")
    for task in thread.long_tasks():
        print(thread.text_of(task), file=sys.stderr, flush=True)
    return thread


def counts(of, thread):
    return {f"{of}long_tasks": len(thread.long_tasks()), f"{of}busy_tasks": len(thread.long_tasks("tdur"))}


def rows(chrome):
    return int(chrome.one("[aria-label='Invocations']").get_attribute("aria-rowcount"))


def calls(site):
    return site.document("describe", "hello")["calls"]["total"]


@contextlib.contextmanager
def load(site):
    process = subprocess.Popen([sys.executable, "-B", str(HERE / "load.py"), str(site.folder / "gateway.sock"), str(CALLS_PER_SECOND)],
                               stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def invocations(site, chrome):
    with load(site):
        chrome.open(f"{site.ready['urls'][0]}/#invocations")
        chrome.await_some("[aria-label='Invocations'] .row")
        paint = wait_for(lambda: chrome.script(FIRST_PAINT), lambda at: at is not None, "something is painted", chrome.said)
        wait_for(lambda: rows(chrome), lambda known: known >= ROWS, "the page knows so many invocations", chrome.said, ROWS_WITHIN_S)
        before, begin = calls(site), time.monotonic()
        thread = look(chrome, "const one = document.querySelector('.body'); one.scrollTop = (one.scrollTop + 900) % Math.max(1, one.scrollHeight)")
        rate = (calls(site) - before) / (time.monotonic() - begin)
        return {"first_paint_ms": paint, "view_ms": chrome.script("return performance.getEntriesByName('view')[0].startTime"),
                **counts("", thread), "calls_per_second": rate, "rows": rows(chrome)}


@contextlib.contextmanager
def running_flow(site):
    document = site.folder / "large.yaml"
    document.write_text(flow_of_many_nodes())
    flow = site.orchid("flow", "submit", document, "--input", f"n={PIECES}").stdout.strip()
    try:
        yield flow
        state = site.document("flow", "show", flow)["state"]
        if state != "running":
            sys.exit(f"the flow was looked at when it was {state} already")
    finally:
        site.orchid("flow", "delete", flow)


def large_flow(site, chrome):
    """Once it is drawn: to put a thousand boxes there is a part of the loading."""
    with running_flow(site) as flow:
        chrome.open(f"{site.ready['urls'][0]}/#flows/{flow}")
        wait_for(lambda: chrome.count(".graph .node"), lambda count: count == NODES, "the graph is drawn", chrome.said)
        chrome.script("document.querySelector('.graph .node.running').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        chrome.await_some("[aria-label='Calls of the node'] .row")
        wait_for(lambda: chrome.count(".graph .node.done"), lambda count: count >= NODES_DONE, "nodes are done", chrome.said)
        before = chrome.script("return window.heard")
        thread = look(chrome, GLANCE_AT_A_FLOW)
        heard = chrome.script("return window.heard") - before
        return {**counts("flow_", thread), "flow_events_per_second": heard / thread.seconds}


def deploy(site, source, name):
    site.orchid("build", source, "-o", f"{name}.orc")
    site.orchid("deploy", f"{name}.orc", "--name", name)


def main():
    with gateway(PROGRAMS, {**os.environ}) as site, browser() as chrome:
        site.add_executor("page", "--cores", str(WORKERS))
        wait_for(lambda: site.document("hosts")["hosts"], bool, "an executor is there", site.said)
        deploy(site, SOURCES / "functions/hello/hello.c", "hello")
        deploy(site, HERE / "pieces.cpp", "pieces")
        told = json.loads(site.orchid("dashboard", "--no-open", "--json", "--url", site.ready["urls"][0]).stdout)
        chrome.driver.get(told["link"])
        chrome.await_some("header nav")
        chrome.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": HEARD})
        for _ in range(VISITS):
            print(json.dumps({**invocations(site, chrome), **large_flow(site, chrome)}), flush=True)


main()
