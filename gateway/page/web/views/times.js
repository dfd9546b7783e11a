// times.js: a time line of invocations over workers, and where their time went. A canvas: thousands of bars in one.
import { bar, element } from "/page/dom.js";
import { count, milliseconds, time } from "/page/format.js";
import { InvocationBook, PARTS } from "/page/invocation_book.js";
import { timesOf } from "/page/invocation_details.js";

const LANE_HEIGHT = 18;
const NAME_WIDTH = 260;
const SPANS = [["10 s", 10000], ["1 min", 60000], ["10 min", 600000], ["1 h", 3600000], ["all", Infinity]];

/** A lane for each worker that a call has reached: its host, and the lease that it is in. */
function lanesOf(list) {
  const lanes = new Map();
  for (const one of list) {
    if (!one.node) continue;
    const name = `${one.node} ${one.lease || ""}`;
    if (!lanes.has(name)) lanes.set(name, []);
    lanes.get(name).push(one);
  }
  return [...lanes.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
}

function colours(node) {
  const style = getComputedStyle(node);
  const found = { text: style.color };
  for (const part of PARTS) found[part] = style.getPropertyValue(`--${part}`);
  return found;
}

class TimeLine {
  constructor() {
    this.picture = element("canvas", { class: "timeline", role: "img", "aria-label": "Invocations over workers" });
    this.span = SPANS[1][1];
    this.list = [];
    this.due = false;
  }

  show(list) {
    this.list = list;
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      this.draw();
    });
  }

  draw() {
    const ended = this.list.filter((one) => one.timings_ms && one.finishedAt !== undefined);
    const until = ended.length > 0 ? Math.max(...ended.slice(0, 1000).map((one) => one.finishedAt)) : Date.now();
    const from = this.span === Infinity && ended.length > 0 ? ended[ended.length - 1].acceptedAt : until - Math.min(this.span, 86400000);
    const lanes = lanesOf(ended.filter((one) => one.finishedAt >= from));
    const scale = window.devicePixelRatio || 1;
    const width = Math.max(NAME_WIDTH + 100, this.picture.parentElement.clientWidth - 4);
    const height = Math.max(1, lanes.length) * LANE_HEIGHT + 20;
    this.picture.style.width = `${width}px`;
    this.picture.style.height = `${height}px`;
    this.picture.width = width * scale;
    this.picture.height = height * scale;
    const pen = this.picture.getContext("2d");
    pen.scale(scale, scale);
    pen.font = "12px system-ui, sans-serif";
    const colour = colours(this.picture);
    const x = (at) => NAME_WIDTH + ((width - NAME_WIDTH) * (at - from)) / Math.max(1, until - from);
    lanes.forEach(([name, calls], lane) => this.drawLane(pen, { name, calls, colour, x, top: lane * LANE_HEIGHT }));
    pen.fillStyle = colour.text;
    pen.fillText(time(from), NAME_WIDTH, height - 5);
    pen.textAlign = "right";
    pen.fillText(time(until), width, height - 5);
  }

  drawLane(pen, { name, calls, colour, x, top }) {
    pen.fillStyle = colour.text;
    pen.fillText(name.length > 38 ? `${name.slice(0, 37)}…` : name, 0, top + 13);
    for (const one of calls) {
      let at = one.acceptedAt;
      for (const part of PARTS) {
        const long = one.timings_ms[part] || 0;
        pen.fillStyle = colour[part];
        if (long > 0 && x(at + long) >= NAME_WIDTH) {
          const begin = Math.max(NAME_WIDTH, x(at));
          pen.fillRect(begin, top + 3, Math.max(0.5, x(at + long) - begin), LANE_HEIGHT - 6);
        }
        at += long;
      }
    }
  }
}

export function show(content) {
  const line = new TimeLine();
  const spent = element("div", {});
  const chosen = element("select", { id: "span", on: { change: () => {
    line.span = SPANS[chosen.selectedIndex][1];
    line.show(line.list);
  } } }, ...SPANS.map(([name], place) => element("option", { selected: place === 1 }, name)));
  const legend = element("p", { class: "legend" }, ...PARTS.flatMap((part) => [element("i", { class: part }), ` ${part} `]));
  content.append(element("h2", {}, "Time line"), element("p", { class: "tools" }, element("label", { for: "span" }, "Time "), chosen), legend,
    element("div", { class: "scroll" }, line.picture),
    element("h2", {}, "Where time went"), spent,
    element("p", { class: "hint" }, "Of the invocations that the page knows, the newest 10 000 at most. transfer: until its data was where it ran."));
  const book = new InvocationBook((list) => {
    line.show(list);
    const totals = new Map(PARTS.map((part) => [part, 0]));
    let calls = 0;
    for (const one of list) {
      const { all, total } = timesOf(one);
      if (total > 0) calls += 1;
      for (const part of all) totals.set(part.title, totals.get(part.title) + part.value);
    }
    const whole = [...totals.values()].reduce((sum, value) => sum + value, 0);
    spent.replaceChildren(
      bar([...totals].map(([title, value]) => ({ class: title, value: Math.round(value), title: `${title} (ms)` })), whole),
      element("p", {}, `${count(calls, "call")}: ${[...totals].map(([part, value]) => `${part} ${milliseconds(value)}`).join(", ")}`));
  });
  return () => book.close();
}
