"""The page's view of a flow: its nodes while it runs, why they are where they are, where their calls ran and what they gave, and what came out."""
import json
import os
import pathlib
import re
import struct

from gateway_process import wait_for
from processes import expect
from comparisons import expect_in, same
from many_hosts import rows_of
from page_site import HOSTILE, log_in, of_map, submit

SOURCES = pathlib.Path(__file__).resolve().parents[3]
PIECES = 80
CALLS_SHOWN = "return [...document.querySelectorAll('.worker-times .call')].map((one) => one.ariaLabel.split(',')[0])"


def choose(chrome, node):
    chrome.script("""[...document.querySelectorAll('.graph .node')].find((one) => one.querySelector('title').textContent === arguments[0])
        .dispatchEvent(new MouseEvent('click', {bubbles: true}))""", node)
    chrome.await_text("[aria-label='The chosen node'] h3", f"Node {node}")


def facts(chrome):
    """What the page knows of the chosen node."""
    return dict(chrome.script("""return [...document.querySelectorAll("[aria-label='The chosen node'] > div:first-child dt")]
        .map((one) => [one.textContent, one.nextSibling.textContent])"""))


def a_flow_changes_its_colours(site, chrome):
    log_in(site, chrome)
    flow = submit(site, "colours", of_map("colours"), n=PIECES)
    chrome.script("location.hash = arguments[0]", f"flows/{flow}")
    wait_for(lambda: chrome.count(".graph .node.running"), lambda count: count == 1, "a node runs", chrome.said)
    same("the nodes that wait", chrome.count(".graph .node.waiting"), 1)
    same("the edges", chrome.count(".graph .edge"), 1)
    choose(chrome, "total")
    waits = facts(chrome)
    same("a node that waits", [waits[name] for name in ("Kind", "State", "After", "Waits for")], ["reduce", "waiting", "work", "work (running)"])
    wait_for(lambda: chrome.count(".graph .node.done"), lambda count: count == 2, "all nodes are done", chrome.said, 60)
    chrome.await_text(".state", "done, 2 of 2 nodes done")
    wait_for(lambda: chrome.texts("[aria-label='Outputs']"), lambda texts: texts and json.loads(texts[0]) == {"r": PIECES * (PIECES + 1)},
             "the outputs are shown", chrome.said)
    calls_of_a_node(site, chrome, flow)
    bars = chrome.script("return [...document.querySelectorAll('.node-times .span')].map((one) => [one.classList[1], one.title.split(',')[0]])")
    same("nodes over time", bars, [["done", "work: done"], ["done", "total: done"]])
    wait_for(lambda: chrome.text("pre.log"), lambda text: "total: done" in text, "the log has the end", chrome.said)


def calls_of_a_node(site, chrome, flow):
    """Where they ran, what one gave, and where their time went."""
    known = next(node for node in site.document("flow", "show", flow)["nodes"] if node["node"] == "work")["calls"]
    choose(chrome, "work")
    same("so many of its calls are known", len(known), 32)
    table = "return document.querySelector(\"[aria-label='Calls of the node']\").ariaRowCount"
    wait_for(lambda: chrome.script(table), lambda count: count == "32", "the node's calls are there", chrome.said)
    rows = rows_of(chrome, "Calls of the node")
    expect(rows, "those that are in sight are shown")
    for call, (function, state, host, lease, ran) in rows.items():
        same(f"what {call} was and where", [function, state, host], ["steps.slowly", "ok", os.uname().nodename])
        expect(lease.startswith("l-") and re.fullmatch(r"\d+ ms", ran) and int(ran.split()[0]) >= 100, f"its worker and its time: {lease}, {ran}")
    chosen = next(iter(rows))
    chrome.script("document.querySelector(\"[aria-label='Calls of the node'] .row\").click()")
    chrome.await_text(".details h2", f"Invocation {chosen}")
    site.orchid("result", chosen, "--out", site.folder / "given")
    given = struct.unpack("<Q", (site.folder / "given").read_bytes())[0]
    expect(given % 2 == 0 and 2 <= given <= 2 * PIECES, f"what the call gave is twice a number: {given}")
    wait_for(lambda: chrome.texts(".details pre.preview"), lambda texts: texts == [str(given)], f"the output is {given}", chrome.said)
    went = wait_for(lambda: rows_of(chrome, "Where the time of each node went"), lambda rows: list(rows) == ["work", "total"],
                    "where the time of each node went", chrome.said)
    run = re.search(r"run ([\d.]+) s", went["work"][1])
    expect(run and float(run.group(1)) >= 0.1 * len(known), f"its calls ran a tenth of a second each: {went}")
    titles = wait_for(lambda: chrome.script(CALLS_SHOWN), lambda them: them.count("work: steps.slowly") == len(known), "calls of 'work' on workers",
                      chrome.said)
    expect("total: steps.sum" in titles, f"those of 'total' are there, too: {set(titles)}")


def why_a_node_is_where_it_is(site, chrome):
    """What optimisers have decided of it, and why its newest call was placed there: what 'orchid explain' says, too."""
    flow = submit(site, "why", of_map("why").replace("nodes:", "optimise: [speed]\nnodes:", 1), n=PIECES)
    site.orchid("flow", "watch", flow)
    log_in(site, chrome, f"flows/{flow}")
    chrome.await_text(".state", "done, 2 of 2 nodes done")
    nodes = {node["node"]: node for node in site.document("flow", "show", flow)["nodes"]}
    wait_for(lambda: chrome.count(".graph .node"), lambda count: count == 2, "the graph is drawn", chrome.said)
    placed = "[aria-label='Why its newest call is where it is']"
    expect_in("what was decided of the node that had to wait", "speed: ", nodes["work"]["why"])
    for name, node in nodes.items():
        choose(chrome, name)
        same(f"what was decided of {name}", facts(chrome)["Optimisers"], node.get("why", "have decided nothing of it"))
        newest = site.document("explain", flow, name)["invocation"]
        chrome.await_text(placed, f"Newest call, {newest} on {os.uname().nodename}: placed (policy ")
        decided = site.document("explain", newest)["decisions"][-1]["chosen"]
        expect(decided, f"{newest} has a place")
        for place in decided:
            chrome.await_text(placed, f"on {place}")
    plain = submit(site, "plain", of_map("plain"), n=1)
    site.orchid("flow", "watch", plain)
    chrome.script("location.hash = arguments[0]", f"flows/{plain}")
    wait_for(lambda: chrome.text("h2"), lambda text: plain in text and chrome.count(".graph .node") == 2, "the other flow is drawn", chrome.said)
    choose(chrome, "work")
    same("without optimisers", facts(chrome)["Optimisers"], "have decided nothing of it")


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
    site.deploy(edges / "edges.cpp", "edges")
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
