"""The page's view of a flow: its nodes while it runs, why they are where they are, where their calls ran and what they gave, and what came out."""
import json
import os
import pathlib

from gateway_process import wait_for
from processes import expect
from comparisons import same
from page_site import HOSTILE, deploy, log_in, of_map, submit

SOURCES = pathlib.Path(__file__).resolve().parents[3]
PIECES = 80


def a_flow_changes_its_colours(site, chrome):
    log_in(site, chrome)
    flow = submit(site, "colours", of_map("colours"), n=PIECES)
    chrome.script("location.hash = arguments[0]", f"flows/{flow}")
    wait_for(lambda: chrome.count(".graph .node.running"), lambda count: count == 1, "a node runs", chrome.said)
    same("the nodes that wait", chrome.count(".graph .node.waiting"), 1)
    same("the edges", chrome.count(".graph .edge"), 1)
    wait_for(lambda: chrome.count(".graph .node.done"), lambda count: count == 2, "all nodes are done", chrome.said, 60)
    chrome.await_text(".state", "done, 2 of 2 nodes done")
    chrome.await_text("pre.preview", str(PIECES * (PIECES + 1)))
    chrome.script("document.querySelector('.graph .node').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    chrome.await_text(".details", f"{PIECES} of {PIECES}")
    chrome.await_text("[aria-label='Calls of the node']", "steps.slowly")
    chrome.await_text("[aria-label='Calls of the node']", os.uname().nodename)
    chrome.script("document.querySelector(\"[aria-label='Calls of the node'] .row\").click()")
    chrome.await_text(".details", "Output")
    wait_for(lambda: chrome.texts(".details pre.preview"), lambda texts: texts and texts[0].isdigit(), "what the call gave is a number", chrome.said)
    chrome.await_text("pre.log", "total: done")
    chrome.await_text("[aria-label='Where the time of each node went']", "total")
    wait_for(lambda: chrome.texts("[aria-label='Where the time of each node went'] th"), lambda names: names == ["work", "total"],
             "where the time of each node went", chrome.said)
    calls = chrome.script("return [...document.querySelectorAll('.worker-times .call title')].map((one) => one.textContent.split(':')[0])")
    expect({"work", "total"} == set(calls), f"calls of both nodes are on workers: {calls}")


def a_large_flow_is_drawn(site, chrome):
    """The graph that the view of a flow uses, of a thousand nodes: laid out elsewhere, drawn whole, and changed node by node."""
    log_in(site, chrome)
    chrome.script("""import('/page/flow_graph.js').then(({FlowGraph}) => {
          window.graph = new FlowGraph(() => {});
          document.querySelector('main').prepend(window.graph.node);
          const after = (n) => (n === 0 ? [] : [`n${Math.floor((n - 1) / 3)}`]);
          window.graph.show([...Array(1000).keys()].map((n) => ({node: `n${n}`, kind: 'call', state: 'waiting', done: 0, total: 1, after: after(n)})));
        });""")
    wait_for(lambda: (chrome.count(".graph .node.waiting"), chrome.count(".graph .edge")), lambda counts: counts == (1000, 999), "the graph is drawn",
             chrome.said)
    places = chrome.script("return [...document.querySelectorAll('.graph .node')].map((node) => node.getAttribute('transform'))")
    same("places of their own", len(set(places)), 1000)
    chrome.script("window.graph.change({node: 'n999', kind: 'call', state: 'done', done: 1, total: 1})")
    same("nodes that are done", chrome.count(".graph .node.done"), 1)
    chrome.script("window.graph.close()")


def data_of_a_flow_is_shown(site, chrome):
    """The picture that an image pipeline made, and what is no picture as text, of which no more is asked for than is shown."""
    edges = SOURCES / "functions/edges"
    deploy(site, edges / "edges.cpp", "edges")
    (site.folder / "image.pgm").write_bytes(b"P5\n96 64\n255\n" + bytes(255 if x < 48 else 0 for _ in range(64) for x in range(96)))
    site.orchid("data", "put", "image", site.folder / "image.pgm")
    flow = site.orchid("flow", "submit", edges / "edges.yaml", "--input", "image=image", "--input", "side=32").stdout.strip()
    site.orchid("flow", "watch", flow)
    log_in(site, chrome, f"flows/{flow}")
    data = "[aria-label='Data among the outputs']"
    chrome.await_some(f"{data} img")
    wait_for(lambda: chrome.script(f"return document.querySelector(\"{data} img\").naturalWidth"), lambda width: width == 96, "the picture is whole",
             chrome.said)
    chrome.await_text(data, "png (d-")
    (site.folder / "words").write_text(HOSTILE + "." * 3_000_000)
    words = json.loads(site.orchid("data", "put", "words", site.folder / "words", "--json").stdout)["id"]
    shown = chrome.later("""const done = arguments[1];
        import('/page/data_preview.js').then(({dataPreview}) => dataPreview(arguments[0])).then((shown) => {
          document.querySelector('main').append(shown.node);
          const asked = performance.getEntriesByType('resource').filter((one) => one.name.endsWith(arguments[0]));
          done([shown.node.tagName, shown.node.textContent, asked.map((one) => one.encodedBodySize)]);
        }, (error) => done(['', String(error), []]));""", words)
    same("what is no picture", shown[0], "PRE")
    expect(shown[1].startswith(HOSTILE) and "in all" in shown[1], f"it is text: {shown[1][:200]}")
    same("so much was asked for", shown[2], [64 * 1024])
    same("what users wrote did something", chrome.script("return window.harmed === undefined"), True)
