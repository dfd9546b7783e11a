#!/usr/bin/python3
"""visits.py PROGRAMS SOURCES VISITS SECONDS: how a browser gets on with the page while a thousand calls a second end: a line of JSON for each
visit to the list of invocations: {"first_paint_ms", "view_ms" (until the view stands, empty as yet), "long_tasks" (of the page's thread, above
50 ms, after it was loaded), "calls_per_second", "rows" (that the page knows at the end), "flow_long_tasks" (the same while a flow of a thousand
nodes is on the page, and a thousand of its nodes change in a second)}."""
import json
import os
import pathlib
import subprocess
import sys
import time

PROGRAMS, SOURCES = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
VISITS, SECONDS = int(sys.argv[3]), float(sys.argv[4])
sys.path[:0] = [str(SOURCES / "tests/fixtures"), str(SOURCES / "tests/integration/page")]
from gateway_process import gateway, wait_for  # noqa: E402 (found only after the lines above)
from browser import browser  # noqa: E402

FIRST_PAINT = "return performance.getEntriesByName('first-contentful-paint').map((one) => one.startTime)[0]"
OBSERVE = """window.longTasks = 0;
new PerformanceObserver((list) => { window.longTasks += list.getEntries().length; }).observe({type: 'longtask'});"""


# As the view of a flow has it; events come in tens, as from a stream.
LARGE_FLOW = """const [nodes, each, done] = arguments;
import('/page/flow_graph.js').then(({FlowGraph}) => {
  const graph = new FlowGraph(() => {});
  document.querySelector('main').prepend(graph.node);
  const node = (n, state) => ({node: `n${n}`, kind: 'call', state, done: 0, total: 1, after: n === 0 ? [] : [`n${Math.floor((n - 1) / 3)}`]});
  graph.show([...Array(nodes).keys()].map((n) => node(n, 'waiting')));
  const states = ['waiting', 'running', 'done'];
  let changes = 0;
  window.flowTimer = setInterval(() => {
    for (let i = 0; i < 10; i += 1, changes += 1) graph.change(node(changes % nodes, states[Math.floor(changes / nodes) % 3]));
  }, each);
  window.closeFlow = () => { clearInterval(window.flowTimer); graph.close(); graph.node.remove(); };
  done(true);
});"""
NODES, TEN_EVENTS_MS = 1000, 10


ROWS, ROWS_WITHIN_S = 10_000, 90  # the most that the page keeps; it hears of up to a thousand in a second


def rows(chrome):
    return int(chrome.one("[aria-label='Invocations']").get_attribute("aria-rowcount"))


def calls(site):
    return site.document("describe", "hello")["calls"]["total"]


def visit(site, chrome):
    chrome.driver.get("about:blank")
    chrome.driver.get(f"{site.ready['urls'][0]}/#invocations")
    chrome.await_some("[aria-label='Invocations'] .row")
    paint = wait_for(lambda: chrome.script(FIRST_PAINT), lambda at: at is not None, "something is painted", chrome.said)
    wait_for(lambda: rows(chrome), lambda known: known >= ROWS, "the page knows so many invocations", chrome.said, ROWS_WITHIN_S)
    chrome.script(OBSERVE)
    before, begin = calls(site), time.monotonic()
    # Somebody looks at it meanwhile.
    while time.monotonic() - begin < SECONDS:
        chrome.script("const body = document.querySelector('.body'); body.scrollTop = (body.scrollTop + 900) % Math.max(1, body.scrollHeight);")
        time.sleep(0.2)
    took = time.monotonic() - begin
    told = {"first_paint_ms": paint, "view_ms": chrome.script("return performance.getEntriesByName('view')[0].startTime"),
            "long_tasks": chrome.script("return window.longTasks"), "calls_per_second": (calls(site) - before) / took,
            "rows": rows(chrome)}
    return {**told, "flow_long_tasks": with_a_flow(chrome)}


def with_a_flow(chrome):
    """Once it is drawn: to put a thousand boxes there is a part of the loading."""
    chrome.script("location.hash = 'pilots'")
    chrome.await_text("main", "Pilots")
    chrome.later(LARGE_FLOW, NODES, TEN_EVENTS_MS)
    wait_for(lambda: chrome.count(".graph .node"), lambda count: count == NODES, "the graph is drawn", chrome.said)
    time.sleep(1)
    chrome.script("window.longTasks = 0")
    time.sleep(SECONDS)
    found = chrome.script("window.closeFlow(); return window.longTasks")
    chrome.script("location.hash = 'invocations'")
    return found


def main():
    with gateway(PROGRAMS, {**os.environ}) as site, browser() as chrome:
        site.add_executor("page")
        wait_for(lambda: site.document("hosts")["hosts"], bool, "an executor is there", site.said)
        site.orchid("build", SOURCES / "functions/hello/hello.c", "-o", "hello.orc")
        site.orchid("deploy", "hello.orc", "--name", "hello")
        told = json.loads(site.orchid("dashboard", "--no-open", "--json", "--url", site.ready["urls"][0]).stdout)
        chrome.driver.get(told["link"])
        chrome.await_some("header nav")
        load = subprocess.Popen([sys.executable, "-B", str(pathlib.Path(__file__).with_name("load.py")), str(site.folder / "gateway.sock"), "1000"],
                                stdin=subprocess.DEVNULL)
        try:
            for _ in range(VISITS):
                print(json.dumps(visit(site, chrome)), flush=True)
        finally:
            load.kill()
            load.wait()


main()
