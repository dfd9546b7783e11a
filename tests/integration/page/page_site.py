"""What a test of the page asks of its gateway beside the browser, and how the browser gets in."""
import http.client
import json

from flow_files import flow
from gateway_process import COMMAND_TIMEOUT_S
from comparisons import same

HOSTILE = "</title><script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'>"


def port_of(site):
    return int(next(url for url in site.ready["urls"] if "127.0.0.1" in url).rpartition(":")[2])


def address(site, name="127.0.0.1"):
    return f"http://{name}:{port_of(site)}"


def token_of(site):
    return (site.folder / "g/token").read_text().strip()


def ask(site, method, path, body=None, **headers):
    """Status, fields in lower case, and body."""
    connection = http.client.HTTPConnection("127.0.0.1", port_of(site), timeout=COMMAND_TIMEOUT_S)
    try:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, json.dumps(body) if body is not None else None, fields)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode(errors="replace")
    finally:
        connection.close()


def cookie_of(site):
    """Of somebody who logs in without a browser."""
    status, fields, _ = ask(site, "POST", "/v1/page/session", {"token": token_of(site)}, Origin=address(site))
    same("status of a login", status, 204)
    return fields["set-cookie"].partition(";")[0]


def log_in(site, chrome, where="", name="127.0.0.1"):
    chrome.open(f"{address(site, name)}/")
    field = chrome.one("#token")
    field.send_keys(token_of(site))
    chrome.one(".login button").click()
    chrome.await_some("header nav")
    if where:
        chrome.script("location.hash = arguments[0]", where)


def submit(site, name, text, **inputs):
    words = [word for key, value in inputs.items() for word in ("--input", f"{key}={value}")]
    return site.orchid("flow", "submit", flow(site, name, text), *words).stdout.strip()


def of_map(name="m", each="slowly"):
    return (f"flow: {name}\ninputs: {{n: u64}}\nnodes:\n  work: {{kind: map, takes: [n], partition: {{function: steps.up_to, takes: [n]}}, "
            f"each: steps.{each}}}\n  total: {{kind: reduce, function: steps.sum, fan: 8}}\n"
            f"edges: [{{from: n, to: work.n}}, {{from: work, to: total}}]\noutputs: {{r: total}}\n")
