#!/usr/bin/python3
"""run.py PROGRAMS SOURCES [CASE...]: the gateway's page as a browser has it: who gets in, what is seen while things happen, and that neither
other sites nor what users wrote can do anything with it."""
import contextlib
import http.client
import http.server
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from gateway_process import COMMAND_TIMEOUT_S, gateway, launch, text_of, wait_for  # noqa: E402 (found only after the line above)
from processes import expect  # noqa: E402
import flow_views  # noqa: E402
import many_hosts  # noqa: E402
import views  # noqa: E402
from browser import browser  # noqa: E402
from comparisons import expect_in, same  # noqa: E402
from page_site import HOSTILE, address, ask, cookie_of, log_in, of_map, port_of, submit, token_of  # noqa: E402

PROGRAMS, SOURCES = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
STEPS = SOURCES / "tests/integration/flows/steps.cpp"
HERE = pathlib.Path(__file__).resolve().parent


def restart(site):
    """At the port that it had."""
    port = port_of(site)
    site.process.kill()
    site.process.wait(COMMAND_TIMEOUT_S)
    return lambda: start_at(site, port)


def start_at(site, port):
    command = [PROGRAMS / "orchid-gateway", "--state", site.folder / "g", "--socket", site.folder / "gateway.sock",
               "--listen", f"127.0.0.1:{port}", "--config", site.folder / "gateway.toml"]
    site.process, site.ready = launch(command, site.environment, site.log)


def files_have_their_fields(site, _):
    for path, content_type in (("/", "text/html"), ("/page/page.js", "text/javascript"), ("/page/page.css", "text/css"),
                               ("/page/lib/dagre.js", "text/javascript")):
        status, fields, text = ask(site, "GET", path)
        same(f"status of {path}", status, 200)
        same(f"type of {path}", fields["content-type"], f"{content_type}; charset=utf-8")
        same(f"{path} is what it says", fields["x-content-type-options"], "nosniff")
        same(f"{path} tells nobody where one came from", fields["referrer-policy"], "no-referrer")
        policy = fields["content-security-policy"]
        for part in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'",
                     "form-action 'self'", "base-uri 'none'"):
            expect_in(f"policy of {path}", part, policy)
        expect("unsafe" not in policy, f"the policy of {path} allows nothing unsafe")
        same(f"{path} has not changed", ask(site, "GET", path, If_None_Match=fields["etag"])[::2], (304, ""))
        same(f"HEAD of {path}", ask(site, "HEAD", path)[0], 200)
        expect(text, f"{path} has content")
    same("no such file", ask(site, "GET", "/page/../../etc/passwd")[0], 401)
    same("another method", ask(site, "POST", "/page/page.js", Authorization=f"Bearer {token_of(site)}")[0], 405)


def requests_that_are_refused(site, _):
    status, _, text = ask(site, "GET", "/", Host="evil.example")
    same("the page by another name", status, 421)
    expect_in("what to do", "--page-host", text)
    cookie = cookie_of(site)
    same("with the cookie", ask(site, "GET", "/v1/hosts", Cookie=cookie)[0], 200)
    same("by another name", ask(site, "GET", "/v1/hosts", Cookie=f"orchid_page_={cookie.partition('=')[2]}", Host="evil.example")[0], 421)
    same("no origin", ask(site, "DELETE", "/v1/functions/steps", Cookie=cookie)[0], 403)
    for origin in ("http://evil.example", "null", address(site, "localhost")):
        same(f"a change from {origin}", ask(site, "DELETE", "/v1/functions/steps", Cookie=cookie, Origin=origin)[0], 403)
        same(f"a stream of events from {origin}", ask(site, "GET", "/v1/flows/fl-0000000000000000/events", Cookie=cookie, Origin=origin)[0], 403)
        same(f"a login from {origin}", ask(site, "POST", "/v1/page/session", {"token": token_of(site)}, Origin=origin)[0], 403)
    same("a wrong token", ask(site, "POST", "/v1/page/session", {"token": "orc_no"}, Origin=address(site))[0], 401)
    for wrong in ({}, {"token": "a", "link": "b"}, {"token": 1}, []):
        same(f"the login {wrong}", ask(site, "POST", "/v1/page/session", wrong, Origin=address(site))[0], 400)
    same("a link by a cookie", ask(site, "POST", "/v1/page/links", Cookie=cookie, Origin=address(site))[0], 401)
    expect("steps" in ask(site, "GET", "/v1/functions", Cookie=cookie)[2], "the function is still there")
    # Machines go on as before: a token counts by any name, from anywhere, whatever cookie is beside it.
    machine = {"Authorization": f"Bearer {token_of(site)}", "Host": "orchid.cluster:1", "Origin": "http://evil.example", "Cookie": cookie}
    same("metrics for machines", ask(site, "GET", "/metrics", **machine)[0], 200)
    same("metrics for nobody", ask(site, "GET", "/metrics")[0], 401)
    secret = cookie.partition("=")[2]
    kept = wait_for(lambda: text_of(site.folder / "g/page-sessions.json"), lambda text: "secret" in text, "sessions are written down", site.said)
    expect(secret not in kept, "the cookie is nowhere on disk")
    same("a logout", ask(site, "DELETE", "/v1/page/session", Cookie=cookie, Origin=address(site))[0], 204)
    same("after it", ask(site, "GET", "/v1/hosts", Cookie=cookie)[0], 401)


def no_answer_is_guessed_at(site, _):
    """What a function wrote is an answer of its own, to which the cookie goes as well: no browser may take it for HTML."""
    invocation = site.orchid("invoke", "--async", "shows.markup").stdout.strip()
    site.orchid("wait", invocation)
    flow = submit(site, "guessed", of_map("guessed", "slowly"), n=1)
    site.orchid("flow", "watch", flow)
    (site.folder / "markup").write_text(HOSTILE)
    site.orchid("data", "put", "guessed", site.folder / "markup")
    cookie = cookie_of(site)
    for path in (f"/v1/invocations/{invocation}/output", f"/v1/invocations/{invocation}/logs", f"/v1/flows/{flow}/outputs", f"/v1/flows/{flow}/logs",
                 "/v1/data/guessed", "/v1/data/none", "/v1/hosts"):
        status, fields, _text = ask(site, "GET", path, Cookie=cookie)
        same(f"status of {path}", status, 404 if path.endswith("none") else 200)
        same(f"{path} is what it says", fields["x-content-type-options"], "nosniff")
        expect("html" not in fields["content-type"] and "svg" not in fields["content-type"], f"{path} is no HTML: {fields['content-type']}")


def login_by_token(site, chrome):
    chrome.open(f"{address(site)}/")
    chrome.one("#token").send_keys("orc_wrong")
    chrome.one(".login button").click()
    chrome.await_text(".fault", "does not know the token")
    log_in(site, chrome)
    chrome.await_text(".tile", "1 host")
    same("the cookie is hidden from scripts", chrome.script("return document.cookie"), "")
    chrome.one("header button").click()
    chrome.await_text(".fault", "You have logged out")
    chrome.open(f"{address(site)}/")
    chrome.await_some("#token")


def login_by_link(site, chrome):
    told = json.loads(site.orchid("dashboard", "--no-open", "--json", "--url", address(site)).stdout)
    same("nothing was opened", told["opened"], False)
    chrome.open(told["link"])
    chrome.await_some("header nav")
    expect("link=" not in chrome.driver.current_url, f"the secret is gone from {chrome.driver.current_url}")
    secret = told["link"].partition("link=")[2]
    status, _, text = ask(site, "POST", "/v1/page/session", {"link": secret}, Origin=address(site))
    same("the second use", status, 401)
    expect_in("why", "works once", text)
    # Who is logged in is asked first: a stranger's link would have one work for him.
    chrome.open(json.loads(site.orchid("dashboard", "--no-open", "--json", "--url", address(site)).stdout)["link"])
    chrome.await_text("form.login", "wants to log you in anew")
    chrome.one("#by-link").click()
    chrome.await_some("header nav")
    chrome.driver.delete_all_cookies()
    chrome.open(told["link"])
    chrome.await_text(".fault", "works once")


FAKE_OPENER = """#!/bin/sh
printf '%s\\n' "$#" "$@" >>"$OPENED"
stat -c %a "$1" >>"$OPENED"
exit "$OPENER_STATUS"
"""


def dashboard(site, folder, status=0, display=":99"):
    """As somebody before a display, with an opener that writes down what it is asked for, and that ends with `status`."""
    without = {name: value for name, value in site.environment.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    environment = {**without, "DISPLAY": display, "ORCHID_GATEWAY": f"unix:{site.folder}/gateway.sock",
                   "PATH": f"{folder}:{os.environ['PATH']}", "XDG_RUNTIME_DIR": str(folder), "OPENED": str(folder / "opened"), "OPENER_STATUS": str(status)}
    return subprocess.run([PROGRAMS / "orchid", "dashboard", "--url", address(site)], env=environment, cwd=folder, capture_output=True, text=True,
                          timeout=COMMAND_TIMEOUT_S, stdin=subprocess.DEVNULL, check=True)


def a_browser_is_asked_to_open_it(site, chrome):
    """By a file that is for its user's eyes: everybody sees what programs are called with."""
    folder = site.folder / "display"
    folder.mkdir(mode=0o700)
    (folder / "xdg-open").write_text(FAKE_OPENER)
    (folder / "xdg-open").chmod(0o700)
    told = dashboard(site, folder)
    expect_in("what is told", "a browser was asked to open it", told.stderr)
    link = told.stdout.strip()
    asked = (folder / "opened").read_text().splitlines()
    same("what the opener was called with, once", [asked[0], *asked[2:]], ["1", "600"])
    expect(link.startswith(address(site)) and "link=" not in asked[1], f"the link is printed, and is no argument: {link}, {asked}")
    given = re.search(r'url=([^"]+)"', pathlib.Path(asked[1]).read_text()).group(1)
    same("where the file leads", given, link)
    # As the opener would: to the browser this is a page of another site that leads to ours.
    chrome.driver.delete_all_cookies()
    chrome.open(pathlib.Path(asked[1]).as_uri())
    chrome.await_some("header nav")
    same("the link's second use", ask(site, "POST", "/v1/page/session", {"link": link.partition("link=")[2]}, Origin=address(site))[0], 401)
    # An opener that fails, and nobody before a display.
    expect_in("of an opener that fails", "open it in a browser", dashboard(site, folder, status=3).stderr)
    opened = (folder / "opened").read_text()
    expect_in("without a display", "open it in a browser", dashboard(site, folder, display="").stderr)
    same("what was opened by then", (folder / "opened").read_text(), opened)


def a_site_of_many_hosts_is_shown(site, chrome):
    """More than this machine has: GPUs, a DPU, two clusters, batch jobs, a pilot, leases, and hours of samples."""
    log_in(site, chrome, "pilots")
    chrome.await_text("main", "Nothing waits for workers")
    many_hosts.answered(chrome)
    many_hosts.hosts_are_shown(chrome)
    many_hosts.leases_are_shown(chrome)
    many_hosts.pilots_are_shown(chrome)
    many_hosts.hours_are_shown(chrome)
    chrome.script("window.restored()")


def what_users_wrote_is_text(site, chrome):
    invocation = site.orchid("invoke", "--async", "shows.markup").stdout.strip()
    site.orchid("wait", invocation)
    picture = site.orchid("invoke", "--async", "shows.picture").stdout.strip()
    site.orchid("wait", picture)
    refused = site.orchid("flow", "submit", hostile_flow(site), "--input", "n=2", check=False)
    same("status of a flow with such a name", refused.returncode, 2)
    log_in(site, chrome)
    hostile_documents(chrome)
    chrome.script("location.hash = 'invocations'")
    show_invocation(chrome, invocation)
    chrome.await_text("pre.preview", "<svg onload=")
    chrome.await_text("pre.log", "<script>window.harmed")
    same("images of an output that is markup", chrome.texts(".details img"), [])
    show_invocation(chrome, picture)
    chrome.await_some(".details img")
    expect(chrome.script("return document.querySelector('.details img').src").startswith("blob:"), "a picture is shown from its bytes")
    wait_for(lambda: chrome.script("return document.querySelector('.details img').naturalWidth"), lambda width: width == 1,
             "the picture is whole", chrome.said)
    same("what users wrote did something", chrome.script("return window.harmed === undefined"), True)
    same("scripts and images of users", chrome.script("return document.querySelectorAll('main script, main img[src=x]').length"), 0)


def hostile_flow(site):
    path = site.folder / "hostile.yaml"
    path.write_text(of_map(json.dumps(HOSTILE)))
    return path


def hostile_documents(chrome):
    """The gateway lets no such name in. If one came all the same, it would be text: here documents are changed on their way."""
    chrome.script("""const name = arguments[0], honest = window.fetch;
        const flow = {id: 'fl-1', name, state: name, submitted: name, message: name, nodes_total: 1, nodes_done: 0,
                      nodes: [{node: name, kind: name, state: name, done: 0, total: 1, after: [name], why: name}]};
        const functions = [{name, entries: [{name, signature: name}], version: name, versions: 1, created: name, size: 1, targets: [{arch: name}], needs: name,
                            calls: {total: 1, ended: {[name]: 1}}}];
        window.restored = () => { window.fetch = honest; };
        window.fetch = (path, options) => {
          const answers = {'/v1/flows': {flows: [flow]}, '/v1/flows/fl-1': flow, '/v1/functions': {functions}};
          return path in answers ? Promise.resolve(Response.json(answers[path])) : honest(path, options);
        };""", HOSTILE)
    chrome.script("location.hash = 'functions'")
    chrome.await_text("[aria-label='Functions']", HOSTILE)
    chrome.script("location.hash = 'flows'")
    chrome.await_text("[aria-label='Flows']", HOSTILE)
    chrome.script("location.hash = 'flows/fl-1'")
    chrome.await_text("h2", HOSTILE)
    wait_for(lambda: chrome.count(".graph .node"), lambda count: count == 1, "the node is drawn", chrome.said)
    chrome.script("document.querySelector('.graph .node').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    chrome.await_text(".details", HOSTILE)
    chrome.script("window.restored()")


def show_invocation(chrome, invocation):
    chrome.await_some("#filter")
    field = chrome.one("#filter")
    field.clear()
    field.send_keys(invocation)
    chrome.await_text("[aria-label='Invocations']", invocation)
    chrome.script("[...document.querySelectorAll('.body .row')].find((row) => row.textContent.includes(arguments[0])).click()", invocation)
    chrome.await_text(".details h2", invocation)


def the_gateway_is_lost_and_comes_back(site, chrome):
    log_in(site, chrome, "hosts")
    chrome.await_text("[aria-label='Hosts']", "of")
    start = restart(site)
    chrome.await_text("#connection", "does not answer")
    expect("of" in chrome.text("[aria-label='Hosts']"), "what was said last is still shown")
    start()
    wait_for(lambda: chrome.texts("#connection"), lambda texts: not texts, "the page has found the gateway again", chrome.said, 60)
    chrome.await_text("[aria-label='Executors']", "connected", 60)
    expect(chrome.texts("#token") == [], "nobody had to log in again")


def sessions_end(_, chrome):
    with gateway(PROGRAMS, {**os.environ}, "[page]\nsession_time = \"3s\"\n") as site:
        log_in(site, chrome, "hosts")
        chrome.await_text("main", "No executor is connected")
        chrome.await_text(".fault", "Your session is over")
        log_in(site, chrome)


def a_token_is_taken_away(_, chrome):
    """Who logged in by it has lost the page with it."""
    with gateway(PROGRAMS, {**os.environ}) as site:
        log_in(site, chrome, "hosts")
        chrome.await_text("main", "No executor is connected")
        cookie = cookie_of(site)
        start = restart(site)
        with contextlib.closing(sqlite3.connect(site.folder / "g/orchid.db")) as store, store:
            same("tokens that are taken away", store.execute("DELETE FROM tokens").rowcount, 1)
        start()
        same("what the cookie is worth", ask(site, "GET", "/v1/hosts", Cookie=cookie)[0], 401)
        chrome.await_text(".fault", "Your session is over", 60)
        log_in(site, chrome)


def a_logout_ends_events(site, _):
    """Also those of somebody else's window, which nobody sees any more."""
    flow = submit(site, "heard", of_map("heard", "never_ends"), n=1)
    cookie = cookie_of(site)
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port_of(site), timeout=COMMAND_TIMEOUT_S)) as connection:
        connection.request("GET", f"/v1/flows/{flow}/events", headers={"Cookie": cookie})
        stream = connection.getresponse()
        same("status of the events", stream.status, 200)
        expect(stream.readline(), "something is told")
        same("status of the logout", ask(site, "DELETE", "/v1/page/session", Cookie=cookie, Origin=address(site))[0], 204)
        expect_in("the end of the events", "your session at the page is over", stream.read().decode())
    same("the flow", site.document("flow", "show", flow)["state"], "running")
    site.orchid("flow", "delete", flow)


def other_names(_, chrome):
    """Of the browser's own name service: see its arguments."""
    with gateway(PROGRAMS, {**os.environ}, "[page]\nhost = [\"orchid.test\"]\n") as site:
        chrome.open(f"{address(site, 'evil.test')}/")
        expect_in("the page by another name", "this gateway's page is not called 'evil.test'", chrome.text("body"))
        log_in(site, chrome, name="orchid.test")


class Stranger(http.server.BaseHTTPRequestHandler):
    """Another site's page, on another port of the same name: browsers send it the same cookies."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>stranger</title>")

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin (its base has it so)
        pass


@contextlib.contextmanager
def stranger():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def another_site_does_nothing(site, chrome):
    flow = submit(site, "kept", of_map("kept", "never_ends"), n=1)
    log_in(site, chrome)

    def refused():
        return site.metrics().get('orchid_http_requests_total{code="403"}', 0)

    before = refused()
    with stranger() as url:
        chrome.open(url)
        # Without waiting for leave (no-cors), as an evil form would; its cookie goes along.
        chrome.later("const done = arguments[1]; fetch(arguments[0], {method: 'POST', mode: 'no-cors', credentials: 'include'}).finally(() => done(1))",
                     f"{address(site)}/v1/flows/{flow}/cancel")
        read = chrome.later("const done = arguments[1]; fetch(arguments[0], {credentials: 'include'}).then(() => done('read'), () => done('refused'))",
                            f"{address(site)}/v1/hosts")
        same("another site reads", read, "refused")
        heard = chrome.later("const done = arguments[1]; const s = new EventSource(arguments[0], {withCredentials: true});"
                             "s.onopen = () => { s.close(); done('open'); }; s.onerror = () => { s.close(); done('refused'); }",
                             f"{address(site)}/v1/flows/{flow}/events")
        same("another site hears events", heard, "refused")
    same("the flow", site.document("flow", "show", flow)["state"], "running")
    expect(refused() - before >= 3, f"the gateway has refused what that site asked ({before}, then {refused()})")
    site.orchid("flow", "delete", flow)


def only_what_is_seen_is_in_the_document(site, chrome):
    """Ten thousand rows, without waiting for so many calls: the table that all views use."""
    log_in(site, chrome)
    rows = chrome.later("""const done = arguments[0];
        import('/page/table.js').then(({Table}) => {
          const table = new Table({label: 'Many', columns: [{title: 'N', cell: (n) => `row ${n}`}], key: (n) => n});
          document.querySelector('main').prepend(table.node);
          table.show([...Array(10000).keys()]);
          requestAnimationFrame(() => requestAnimationFrame(() => done(table.node.querySelectorAll('.body .row').length)));
        });""")
    expect(0 < rows < 200, f"so many rows are in the document: {rows}")
    chrome.script("document.querySelector(\"[aria-label='Many']\").scrollTop = 1e9")
    chrome.await_text("[aria-label='Many']", "row 9999")


def with_functions(site):
    site.add_executor("page")
    wait_for(lambda: [executor["state"] for host in site.document("hosts")["hosts"] for executor in host["executors"]], bool, "an executor is there", site.said)
    site.deploy(STEPS, "steps")
    site.deploy(HERE / "shows.cpp", "shows")


CASES = [files_have_their_fields, requests_that_are_refused, no_answer_is_guessed_at, login_by_token, login_by_link,
         a_browser_is_asked_to_open_it, flow_views.a_flow_changes_its_colours, flow_views.why_a_node_is_where_it_is, *views.CASES, a_site_of_many_hosts_is_shown,
         flow_views.data_of_a_flow_is_shown, what_users_wrote_is_text, only_what_is_seen_is_in_the_document, flow_views.a_large_flow_is_drawn,
         another_site_does_nothing, a_logout_ends_events, sessions_end, a_token_is_taken_away, other_names,
         the_gateway_is_lost_and_comes_back]

with gateway(PROGRAMS, {**os.environ}) as one, browser("--host-resolver-rules=MAP evil.test 127.0.0.1, MAP orchid.test 127.0.0.1") as window:
    with_functions(one)
    for case in CASES:
        if len(sys.argv) == 3 or case.__name__ in sys.argv[3:]:
            case(one, window)
            window.driver.delete_all_cookies()
            broken = [line for line in window.complaints() if re.search("Content Security Policy|Uncaught", line)]
            expect(not broken, f"the page has no fault in {case.__name__}: {broken}")
            print(f"{case.__name__}: ok", flush=True)
