"""What the page's thread does while somebody looks, by Chromium's own trace."""
import json
import urllib.request

import trio
import trio_websocket

CATEGORIES = ["toplevel", "devtools.timeline", "blink.user_timing"]
LONG_US = 50_000
LARGEST_MESSAGE = 1 << 30
DEADLINE_S = 120


class Devtools:
    """Of a whole browser; chromedriver says where it is."""

    def __init__(self, socket):
        self.socket, self.asked = socket, 0

    async def message(self, is_wanted):
        while True:
            one = json.loads(await self.socket.get_message())
            if is_wanted(one):
                return one

    async def ask(self, method, **parameters):
        self.asked += 1
        number = self.asked
        await self.socket.send_message(json.dumps({"id": number, "method": method, "params": parameters}))
        answer = await self.message(lambda one: one.get("id") == number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")


def traced(driver, look):
    """The events of the trace while `look` runs."""
    address = driver.capabilities["goog:chromeOptions"]["debuggerAddress"]
    with urllib.request.urlopen(f"http://{address}/json/version", timeout=DEADLINE_S) as answer:
        url = json.load(answer)["webSocketDebuggerUrl"]
    return trio.run(_traced, url, look)


async def _traced(url, look):
    events = []

    def is_end(one):
        if one.get("method") == "Tracing.dataCollected":
            events.extend(one["params"]["value"])
        return one.get("method") == "Tracing.tracingComplete"

    async with trio_websocket.open_websocket_url(url, max_message_size=LARGEST_MESSAGE) as socket:  # pylint: disable=not-async-context-manager
        devtools = Devtools(socket)
        await devtools.ask("Tracing.start", transferMode="ReportEvents", traceConfig={"includedCategories": CATEGORIES})
        await trio.to_thread.run_sync(look)
        with trio.fail_after(DEADLINE_S):
            await devtools.ask("Tracing.end")
            await devtools.message(is_end)
    return events


class PageThread:
    """That of the page which has set the marks `begin` and `end` (performance.mark), between them."""

    def __init__(self, events, begin, end):
        first, last = (next(one for one in events if one["name"] == mark and "blink.user_timing" in one["cat"]) for mark in (begin, end))
        self.seconds = (last["ts"] - first["ts"]) / 1e6
        self.events = [one for one in events if (one["pid"], one["tid"]) == (first["pid"], first["tid"]) and first["ts"] <= one["ts"] <= last["ts"]]

    def long_tasks(self, field="dur"):
        """`field`: how long a task took (`dur`), or for how long it had a core (`tdur`)."""
        return [one for one in self.events if one["name"].endswith("RunTask") and one.get(field, 0) > LONG_US]

    def text_of(self, task):
        """How long it took, how long of that it had a core, and what it did: for people who look for the reason."""
        within = [one for one in self.events if task["ts"] < one["ts"] < task["ts"] + task["dur"] and one.get("dur", 0) > LONG_US / 10]
        parts = [f"{milliseconds(one, 'dur')} {one['name']} {name_of(one)}".strip() for one in within]
        return f"{milliseconds(task, 'dur')}, on a core {milliseconds(task, 'tdur')}: {'; '.join(parts)}"


def milliseconds(event, field):
    return f"{event.get(field, 0) / 1000:.0f} ms"


def name_of(event):
    data = event.get("args", {}).get("data", {})
    return " ".join(str(data[field]) for field in ("functionName", "url", "lineNumber") if field in data)
