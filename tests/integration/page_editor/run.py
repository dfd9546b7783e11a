#!/usr/bin/python3
"""run.py PROGRAMS SOURCES [CASE...]: the editor of flows in the gateway's page: drawn, written, checked and run as somebody does who sits before it."""
import os
import pathlib
import pwd
import sys
import tempfile
import xml.etree.ElementTree

from selenium.webdriver.common.keys import Keys

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "fixtures"), str(TESTS / "integration/page")]
from browser import browser  # noqa: E402 (found only after the line above)
from editor_page import EditorPage, downloads_of, fail  # noqa: E402
from gateway_process import gateway, wait_for  # noqa: E402

PROGRAMS, SOURCES = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
STEPS = SOURCES / "tests/integration/flows/steps.cpp"
TWO_NODES = """# Kept.
flow: two
inputs:
  n: u64   # how many
  x: f64
nodes:
  twice: {kind: call, function: steps.slowly}   # beside it
  total: {kind: call, function: steps.sum}
edges:
  - {from: n, to: twice}
outputs:
  r: twice
"""
HOSTILE = "<img src=x onerror=alert(1)>\"'&]]>{{1}}"


def same(what, found, wanted):
    if found != wanted:
        fail(f"{what}: {found!r} and not {wanted!r}")


def token_of(site):
    return pathlib.Path(site.ready["token_file"]).read_text().strip()


def by_a_token(page, site):
    """The first one: nobody has logged in."""
    page.driver.get(f"{page.address}/flows/edit")
    page.wait(lambda: page.script("return document.querySelector('#login #token') !== null"), "the page asks for a token")
    page.fill("token", token_of(site))
    page.press(Keys.ENTER)
    page.wait(lambda: page.script("return document.body.dataset.ready"), "the editor is ready")
    page.wait(lambda: page.script("return document.getElementById('who').textContent") == pwd.getpwuid(os.getuid()).pw_name, "it says as whom")
    # The session ends while a flow is edited.
    page.write(TWO_NODES)
    page.await_box("node:total")
    page.script("return fetch('/v1/page/session', {method: 'DELETE'}).then((answer) => answer.status)")
    page.write(TWO_NODES.replace("total", "sum"))
    page.await_box("node:sum")
    page.wait(lambda: page.script("return !document.getElementById('login').hidden"), "the page asks for a token again")
    page.expect("sum" in page.text(), "the text is as it was")
    page.fill("token", token_of(site))
    page.press(Keys.ENTER)
    page.wait(lambda: page.script("return document.getElementById('login').hidden"), "the editor is there again")
    page.await_verdict("3 faults")
    page.open()
    page.expect("sum" in page.text(), "the draft is as it was")


def without_a_mouse(page, _):
    """From a template to a result, by keys alone."""
    page.tab_to("template")
    page.press("call", Keys.TAB)
    same("behind the templates", page.focus(), "new")
    page.press(Keys.ENTER)
    page.await_text("flow: one-call")
    page.await_verdict("1 fault")
    same("the lines with faults", page.fault_lines(), [6])
    page.tab_to("node:work")
    page.press(Keys.ENTER)
    same("the form of the node", page.focus(), "panel-name")
    page.fill("panel-function", "steps.slowly")
    page.await_text("work: {kind: call, function: steps.slowly}")
    page.wait(lambda: any("'value' is f64, and port '1' of node 'work' takes u64" in one for one in page.faults()), "the wrong type is told")
    page.press(Keys.ESCAPE)
    same("back in the picture", page.focus(), "node:work")
    page.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    page.tab_to("input:value", back=True)
    page.press(Keys.ENTER)
    page.fill("panel-type", "u64")
    page.await_text("value: u64          # the type of what the function takes")
    page.await_verdict("good")
    same("no line has a fault", page.fault_lines(), [])
    # The edge goes, and comes again.
    page.press(Keys.ESCAPE)
    page.tab_to("p:work.1")
    page.press(Keys.DELETE)
    page.wait(lambda: "from: value" not in page.text(), "the edge is gone")
    page.tab_to("s:value", back=True)
    page.press(Keys.ENTER)
    page.tab_to("p:work.1")
    page.press(Keys.ENTER)
    page.await_text("{from: value, to: work}")
    page.await_verdict("good")
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.wait(lambda: page.focus() == "run-value", "the run asks for the input")
    page.press("21", Keys.ENTER)
    page.wait(lambda: page.script("return document.getElementById('run-state')?.dataset.state") == "done", "the flow is done")
    page.wait(lambda: page.script("return document.querySelector('#run-result pre')?.textContent") == "42", "its result is there")
    page.wait(lambda: page.element("node:work").get_attribute("data-state") == "done", "the node is coloured")


def with_a_mouse(page, _):
    page.write(TWO_NODES)
    page.await_box("node:total")
    page.await_verdict("fault")
    page.drag("s:twice", "p:total.1")
    page.wait(lambda: page.told() == "'twice' is u64, and port '1' of node 'total' takes span<u64>", "the reason of the refusal")
    same("the text", page.text(), TWO_NODES)
    page.drag("s:x", "p:twice.1")
    page.wait(lambda: "has an edge already" in page.told(), "a second edge is refused")
    page.drag("s:twice", "p:+")
    page.await_text("  r: twice\n  result: twice\n")
    page.await_box("output:result")
    page.wait(lambda: "twice -> >result" in page.links(), "the output's link is drawn")
    page.click_on("node:total")
    page.click("panel-delete")
    page.await_box("node:total", is_there=False)
    page.expect("# beside it" in page.text() and "# how many" in page.text() and "total" not in page.text(), "comments stay, and the node has gone")


def a_circle_is_refused(page, _):
    page.write("flow: c\nnodes:\n  a: {kind: call, function: steps.slowly}\n  b: {kind: call, function: steps.slowly}\nedges:\n  - {from: a, to: b}\n")
    page.await_box("node:b")
    page.drag("s:b", "p:a.1")
    page.wait(lambda: "these nodes would wait for each other: a -> b -> a" in page.told(), "the circle is told")


def text_and_picture(page, _):
    page.write(TWO_NODES)
    page.await_box("node:twice")
    page.write(TWO_NODES.replace("twice", "double"))
    page.await_box("node:double")
    page.await_box("node:twice", is_there=False)
    page.write(TWO_NODES.replace("twice", "double").replace("nodes:", "nodes: ["))
    page.wait(lambda: "cannot be read at" in page.verdict() and "the picture stays as it was" in page.verdict(), "where the text cannot be read")
    page.expect("node:double" in page.boxes(), "the picture is as it was")
    line, column = page.verdict().split(" at ")[1].split(";")[0].split(":")
    page.expect(int(line) >= 6 and int(column) >= 1, "a line and a column")
    page.expect(len(page.fault_lines()) > 0, "the line is marked")
    page.click("add-input")
    page.wait(lambda: "mend it first, or undo" in page.told(), "an edit of the picture is refused")
    page.chord(Keys.CONTROL, "z")
    page.wait(lambda: "nodes: [" not in page.text(), "undo takes the fault back")
    # Typed, key by key, at the end of the text.
    page.script("const editor = document.querySelector('.CodeMirror').CodeMirror; editor.focus(); editor.setCursor(editor.lineCount(), 0)")
    page.press("  typed: double")
    page.await_box("output:typed")
    page.press(Keys.TAB)
    page.expect(page.focus() != "TEXTAREA", "Tab leaves the text")
    page.chord(Keys.SHIFT, Keys.TAB)
    page.expect(page.focus() == "TEXTAREA", "and comes back")
    page.chord(Keys.CONTROL, "z")
    page.await_box("output:typed", is_there=False)
    page.chord(Keys.CONTROL, "y")
    page.await_box("output:typed")


def undo_and_redo(page, _):
    page.write(TWO_NODES)
    page.await_box("node:total")
    page.tab_to("node:total")
    page.press(Keys.DELETE)
    page.await_box("node:total", is_there=False)
    page.click("undo")
    page.await_box("node:total")
    same("the text after undo", page.text(), TWO_NODES)
    page.chord(Keys.CONTROL, "y")
    page.await_box("node:total", is_there=False)
    page.click("undo")
    page.await_box("node:total")


def faults_at_their_lines(page, _):
    page.write(TWO_NODES.replace("steps.sum", "steps.summ").replace("r: twice", "r: thrice"))
    page.wait(lambda: page.fault_lines() == [5, 7, 8, 12], "the lines with faults are marked")
    faults = page.faults()
    page.expect(any(one.startswith("8:33: ") and "no entry 'summ'" in one for one in faults), f"an unknown function with its place: {faults}")
    page.expect(any(one.startswith("12:6: ") and "thrice" in one for one in faults), f"an unknown node with its place: {faults}")
    page.script("[...document.querySelectorAll('#faults button')].find((one) => one.textContent.startsWith('8:')).click()")
    same("where the text is", page.script("const at = document.querySelector('.CodeMirror').CodeMirror.getCursor(); return [at.line, at.ch]"), [7, 32])


def forms(page, _):
    """What the schema says that a node has."""
    page.write(TWO_NODES)
    page.await_box("node:twice")
    page.tab_to("node:twice")
    page.press(Keys.ENTER)
    page.fill("panel-window", "0")
    page.wait(lambda: "'window' is a whole number from 1 to 65536" in page.told(), "a wrong number is refused")
    page.fill("panel-window", "4", back=True)
    page.await_text("window: 4}   # beside it")
    page.fill("panel-deadline", "30s")
    page.fill("panel-retry-attempts", "5")
    page.await_text("window: 4, deadline: \"30s\", retry: {attempts: 5}}   # beside it")
    page.settle()
    page.fill("panel-window", "5", back=True)
    page.tab_to("panel-deadline")  # and the gateway looks at the flow meanwhile
    page.chord(Keys.CONTROL, "a")
    page.press("40s")
    page.await_text("window: 5, deadline: \"30s\"")
    page.settle()
    same("what is typed and not left yet", (page.focus(), page.script("return document.activeElement.value")), ("panel-deadline", "40s"))
    page.press(Keys.TAB)
    page.await_text("window: 5, deadline: \"40s\", retry: {attempts: 5}}   # beside it")
    page.tab_to("panel-retry-outcomes-worker_lost")
    page.press(Keys.SPACE)
    page.await_text("retry: {attempts: 5, outcomes: [worker_lost]}")
    page.fill("panel-name", "no name", back=True)
    page.wait(lambda: "'no name' is no name" in page.told(), "a wrong name is refused")
    page.fill("panel-name", "thrice", back=True)
    page.await_text("{from: n, to: thrice}")
    page.await_box("node:thrice")
    page.press(Keys.ESCAPE)
    page.tab_to("node:total")
    page.press(Keys.ENTER)
    page.fill("panel-port-1", "[1, 2, 3]")
    page.await_text("{value: [1, 2, 3], to: total}")
    where_and_how(page)


def where_and_how(page):
    """A node's constraint, and the optimisers of the flow: chosen in the forms, they are in the text, and the gateway takes it."""
    page.write(TWO_NODES.replace("  total: {kind: call, function: steps.sum}\n", "").replace("  x: f64\n", ""))
    page.await_box("node:total", is_there=False)
    page.settle()
    page.tab_to("node:twice")
    page.press(Keys.ENTER)
    page.tab_to("panel-constraints-kind")
    page.press("cpu", Keys.TAB)
    page.await_text("twice: {kind: call, function: steps.slowly, constraints: {kind: cpu}}   # beside it")
    page.fill("panel-constraints-cluster", "north")
    page.await_text("constraints: {kind: cpu, cluster: north}}   # beside it")
    page.settle()
    page.press(Keys.ESCAPE, Keys.ESCAPE)  # the picture, and the form of the flow
    page.fill("panel-flow-optimise", "speed, granularity")
    page.await_text("optimise:\n  - speed\n  - granularity\n")
    page.await_verdict("good")
    same("no line has a fault", page.fault_lines(), [])
    page.fill("panel-flow-optimise", "sped", back=True)
    page.await_text("optimise:\n  - sped\n")
    page.await_verdict("1 fault")
    page.fill("panel-flow-optimise", '["speed", {"power": {"watts": 300}}]', back=True)
    page.await_text("watts: 300")
    page.await_verdict("good")


def back_to_the_flow(page, _):
    """The form of the flow as a whole is there again after that of a node: by keys, and by a press beside the boxes."""
    page.write(TWO_NODES)
    page.await_box("node:total")
    page.settle()
    page.await_form("Flow")
    page.tab_to("node:twice")
    page.await_form("Node of kind call")
    page.press(Keys.ENTER, Keys.ESCAPE)
    same("from the node's form", page.focus(), "node:twice")
    page.press(Keys.ESCAPE)
    page.await_form("Flow")
    same("with the focus in it", page.focus(), "panel-name")
    page.fill("panel-name", "renamed")
    page.await_text("flow: renamed\n")
    page.press(Keys.ESCAPE)
    same("back where one was", page.focus(), "node:twice")
    page.await_form("Node of kind call")
    # An edge that was begun is given up first.
    page.tab_to("s:twice")
    page.press(Keys.ENTER)
    page.wait(lambda: "An edge from 'twice'" in page.told(), "an edge is begun")
    page.press(Keys.ESCAPE)
    same("what is told of it", page.told(), "")
    same("the focus", page.focus(), "s:twice")
    same("the form", page.form(), "Node of kind call")
    for place in ("canvas", "picture"):
        page.click_on("node:total")
        page.await_form("Node of kind call")
        page.click_beside(place)
        page.await_form("Flow")
    same("what was chosen", page.script("return document.querySelectorAll('#canvas .selected').length"), 0)


def hostile_words(page, site):
    """What somebody wrote is text, wherever it is shown."""
    quoted = HOSTILE.replace("\\", "\\\\").replace('"', '\\"')
    page.write(f'flow: "{quoted}"\ninputs:\n  "{quoted}": "{quoted}"\nnodes:\n  "{quoted}": {{kind: "{quoted}", function: "{quoted}"}}\n'
               f'  n: {{kind: call, function: "{quoted}", takes: ["{quoted}"]}}\nedges:\n  - {{from: "{quoted}", to: n}}\n'
               f'outputs:\n  "{quoted}": n\n  __proto__: n\n  constructor: n\n')
    page.await_box(f"node:{HOSTILE}")
    page.await_verdict("fault")
    page.click_on(f"node:{HOSTILE}")
    page.wait(lambda: page.script("return document.getElementById('panel-name').value") == HOSTILE, "its form is there")
    page.tab_to("node:n")
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.wait(lambda: page.script("return !document.getElementById('runs').hidden"), "the run's form is there")
    same("elements that the words made", page.script("return document.querySelectorAll('img, script:not([src]), iframe, object, embed').length"), 0)
    same("titles and labels are text", page.script("return document.querySelector('#runs label').textContent"), f"{HOSTILE}: {HOSTILE}")
    page.click("run-close")
    page.click("save-svg")
    tree = xml.etree.ElementTree.fromstring(page.downloaded("imgsrcxonerroralert11.svg"))
    same("elements of the file", sorted({one.tag.split("}")[1] for one in tree.iter()}), ["circle", "g", "path", "rect", "style", "svg", "text", "title"])
    page.expect(any(one.text == HOSTILE for one in tree.iter("{http://www.w3.org/2000/svg}title") if one.text) or
                any(HOSTILE in (one.text or "") for one in tree.iter()), "the words are in the file as text")
    # The gateway refuses it with words of its own, which hold ours.
    page.expect(site.process.poll() is None, "the gateway lives")


def saved_and_kept(page, _):
    page.write(TWO_NODES)
    page.await_box("node:total")
    page.click("save")
    same("the file", page.downloaded("two.yaml"), TWO_NODES)
    page.click("save-svg")
    drawing = page.downloaded("two.svg")
    texts = [one.text for one in xml.etree.ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text")]
    page.expect({"twice", "total", "r", "steps.slowly"} <= set(texts), f"what is in the picture: {texts}")
    page.expect("<script" not in drawing and "new output" not in drawing, "nothing else is")
    page.open()
    same("the draft", page.text(), TWO_NODES)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", dir="/tmp") as file:
        file.write("flow: opened\nnodes:\n  a: {kind: call, function: '?'}\n")
        file.flush()
        page.driver.find_element("id", "open").send_keys(file.name)
        page.await_box("node:a")
    page.click("undo")
    page.await_box("node:total")


def flows_as_nodes(page, _):
    """The file of a node of kind flow is sent along: its inputs are the node's ports, and the flow runs."""
    page.write("flow: outer\ninputs: {n: u64}\nnodes:\n  inner: {kind: flow, file: '?'}\nedges: []\n")
    page.await_box("node:inner")
    page.await_verdict("fault")
    page.click_on("node:inner")
    with tempfile.TemporaryDirectory(prefix="orchid-", dir="/tmp") as folder:
        inner = pathlib.Path(folder) / "twice.yaml"
        inner.write_text("flow: twice\ninputs: {x: u64}\nnodes:\n  a: {kind: call, function: steps.slowly}\nedges: [{from: x, to: a}]\noutputs: {r: a}\n")
        page.wait(lambda: page.script("return document.getElementById('panel-file-choose') !== null"), "its file can be chosen")
        page.driver.find_element("id", "panel-file-choose").send_keys(str(inner))
        page.await_text("file: twice.yaml")
    page.wait(lambda: page.element("p:inner.x"), "its input is a port")
    page.drag("s:n", "p:inner.x")
    page.await_text("{from: n, to: inner.x}")
    page.drag("s:inner.r", "p:+")
    page.await_text("result: inner.r")
    page.await_verdict("good")
    page.open()
    page.await_verdict("good")  # the draft has it, too
    page.click("run")
    page.fill("run-n", "4")
    page.click("run-start")
    page.wait(lambda: page.script("return document.getElementById('run-state').dataset.state") == "done", "the flow has run")
    page.wait(lambda: page.script("return document.getElementById('run-result').textContent").endswith("8"), "its result is there")
    page.click("run-close")
    page.script("localStorage.removeItem('orchid.flow.files')")


def own_templates(page, _):
    """Those of the site's folder; a hostile name among them is text."""
    names = page.script("return [...document.querySelectorAll('#template option')].map((one) => one.value)")
    page.expect({"call", "map", "master", "site", HOSTILE} <= set(names), f"templates: {names}")
    page.script("document.getElementById('template').value = 'site'")
    page.write(TWO_NODES)
    page.await_box("node:total")
    page.click("add")
    page.await_text("  twice-2: {kind: call, function: steps.slowly}")
    page.await_text("  - {from: twice-2, to: last}")
    page.await_box("node:twice-2")
    page.wait(lambda: page.focus() == "node:twice-2", "the new node has the focus")


def light_and_dark(page, _):
    grounds = []
    for scheme in ("light", "dark"):
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        grounds.append(page.script("return getComputedStyle(document.body).backgroundColor"))
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    page.expect(grounds[0] != grounds[1], f"grounds: {grounds}")


def many_nodes(page, _):
    count = 300
    nodes = "".join(f"  n{i}: {{kind: call, function: steps.slowly}}\n" for i in range(count))
    edges = "".join(f"  - {{from: n{i}, to: n{i + 1}}}\n" for i in range(count - 1))
    page.write(f"flow: many\ninputs: {{n: u64}}\nnodes:\n{nodes}edges:\n  - {{from: n, to: n0}}\n{edges}outputs: {{r: n{count - 1}}}\n")
    page.wait(lambda: len(page.links()) == count + 1, "all edges are drawn")
    page.await_verdict("good")


def without_a_gateway(page, site):
    """The last one: the gateway ends."""
    page.write(TWO_NODES)
    page.await_box("node:total")
    site.process.kill()
    site.process.wait()
    page.write(TWO_NODES.replace("total", "sum"))
    page.await_box("node:sum")
    page.await_verdict("could not be checked")
    page.wait(lambda: "does not answer" in page.told(), "that the gateway is away is told")


CASES = [by_a_token, without_a_mouse, with_a_mouse, a_circle_is_refused, text_and_picture, undo_and_redo, faults_at_their_lines, forms, back_to_the_flow, hostile_words,
         saved_and_kept, flows_as_nodes, own_templates, light_and_dark, many_nodes, without_a_gateway]


def with_functions(site):
    site.add_executor("editor")
    wait_for(lambda: [executor["state"] for host in site.document("hosts")["hosts"] for executor in host["executors"]], bool,
             "an executor is there", site.said)
    module = site.folder / "steps.orc"
    site.orchid("build", STEPS, "-o", module)
    site.orchid("deploy", module, "--name", "steps")


def run_all():
    with tempfile.TemporaryDirectory(prefix="orchid-templates-", dir="/tmp") as folder:
        (pathlib.Path(folder) / "site.yaml").write_text("# Ours.\nflow: site\nnodes:\n  twice: {kind: call, function: steps.slowly}\n"
                                                        "  last: {kind: call, function: steps.slowly}\nedges:\n  - {from: twice, to: last}\n")
        (pathlib.Path(folder) / f"{HOSTILE}.yaml").write_text("# Not ours.\nflow: x\nnodes: {}\n")
        settings = f"[flows]\ntemplates = [\"{folder}\"]\n"
        with gateway(PROGRAMS, {**os.environ}, settings) as site, browser() as chrome, downloads_of(chrome.driver) as downloads:
            with_functions(site)
            page = EditorPage(chrome.driver, downloads, site.ready["urls"][0])
            chosen = [case for case in CASES if len(sys.argv) == 3 or case.__name__ in sys.argv[3:]]
            if by_a_token not in chosen:
                page.log_in(site)
            for case in chosen:
                if case is not by_a_token:
                    page.open()
                case(page, site)
                print(f"{case.__name__}: ok", flush=True)


run_all()
