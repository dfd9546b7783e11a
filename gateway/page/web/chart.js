// chart.js: one quantity over time: what there is, what may be used, and what is used.
import { element, svg } from "/page/dom.js";
import { time } from "/page/format.js";

const WIDTH = 600;
const HEIGHT = 120;

/** What is drawn of many samples: a column of the picture has the largest of its own. */
function thinned(samples, used) {
  const each = Math.max(1, Math.ceil(samples.length / WIDTH));
  const kept = [];
  for (let at = 0; at < samples.length; at += each) {
    let top = samples[at];
    for (const one of samples.slice(at, at + each)) if ((one[used] || 0) > (top[used] || 0)) top = one;
    kept.push(top);
  }
  return kept;
}

export class Chart {
  /** `all`, `usable`, `used`: fields of a sample; `text`: of a value. */
  constructor({ title, all, usable, used, text }) {
    Object.assign(this, { all, usable, used, text });
    this.picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": title });
    this.now = element("p", { class: "now" });
    this.times = element("p", { class: "hint times" });
    this.node = element("section", { class: "chart" }, element("h3", {}, title), this.now, this.picture, this.times);
  }

  show(samples) {
    const known = samples.filter((one) => one[this.used] !== undefined);
    this.node.hidden = known.length === 0 || (this.all !== undefined && known.every((one) => !one[this.all]));
    if (this.node.hidden) return;
    const last = known[known.length - 1];
    const top = Math.max(1, ...known.map((one) => Math.max(one[this.all] || 0, one[this.used] || 0)));
    const drawn = thinned(known, this.used);
    const from = drawn[0].at;
    const long = Math.max(1, last.at - from);
    const x = (one) => (WIDTH * (one.at - from)) / long;
    const y = (value) => HEIGHT - ((HEIGHT - 2) * (value || 0)) / top;
    const line = (field) => drawn.map((one) => `${x(one).toFixed(1)},${y(one[field]).toFixed(1)}`).join(" ");
    const parts = [];
    if (this.all) parts.push(svg("polyline", { class: "all", points: line(this.all) }));
    if (this.usable) parts.push(svg("polyline", { class: "usable", points: line(this.usable) }));
    parts.push(svg("polygon", { class: "used", points: `0,${HEIGHT} ${line(this.used)} ${x(drawn[drawn.length - 1]).toFixed(1)},${HEIGHT}` }));
    this.picture.replaceChildren(...parts);
    this.now.textContent = `${this.text(last[this.used])} now${this.all ? `, of ${this.text(last[this.usable || this.all])}` : ""}`;
    this.times.textContent = `${time(from)} to ${time(last.at)}, up to ${this.text(top)}`;
  }
}
