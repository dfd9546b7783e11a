// canvas.js: the picture as SVG. It draws, and says what was pointed at; what that means is others' business. Each box and port
// can have the focus, and is known by its key: that of a box is its id, "p:" and "s:" with their places those of ports and sources.
import { svg } from "/page/dom.js";
import { shortened } from "./picture.js";

const letterWidth = 7.3;
const fitting = (text, width) => shortened(text, Math.max(Math.floor(width / letterWidth), 3));

const said = (one) => (one.type ? `${one.name || "its result"}, ${one.type}` : one.name || "its result");
const isData = (type) => type.startsWith("data");

export class Canvas {
  #svg;
  #places = new Map();  // of ports and sources, in the drawing
  #links = svg("g", { class: "links" });
  #drawn = new Map();  // of boxes and links: what was drawn, and as which element
  #wire = null;

  constructor(root) {
    this.#svg = root;
  }

  get root() { return this.#svg; }

  /** `marks`: {selected, pending: a place, states: Map by node, faulty: Set of nodes, focus: a key}. */
  draw({ boxes, links }, { positions, width, height }, marks) {
    const had = marks.focus ?? (this.#svg.contains(document.activeElement) ? document.activeElement.dataset.key : null);
    this.#places.clear();
    const sorted = [...boxes].sort((a, b) => {
      const [ax, ay] = positions.get(a.id);
      const [bx, by] = positions.get(b.id);
      return ax - bx || ay - by;
    });
    for (const box of boxes) {
      const [x, y] = positions.get(box.id);
      for (const port of box.ports) this.#places.set(`p:${port.place}`, [x, y + port.y]);
      for (const source of box.sources) this.#places.set(`s:${source.place}`, [x + box.width, y + source.y]);
    }
    this.#svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.#svg.setAttribute("width", width);
    this.#svg.setAttribute("height", height);
    this.wire(null);
    const old = this.#drawn;
    this.#drawn = new Map();
    // What is as it was stays the element that it is: most of a large flow.
    const kept = (key, what, make) => {
      const is = JSON.stringify(what);
      const before = old.get(key);
      const element = before?.is === is ? before.element : make();
      this.#drawn.set(key, { is, element });
      return element;
    };
    put(this.#links, links.map((link) => {
      const ends = [this.#places.get(`s:${link.from}`), this.#places.get(`p:${link.to}`)];
      return kept(`link ${link.from}>${link.to}`, ends, () => drawnLink(link, ends));
    }));
    put(this.#svg, [this.#links, ...sorted.map((box) => {
      const element = kept(box.id, box, () => drawnBox(box));
      element.setAttribute("transform", `translate(${positions.get(box.id).join(" ")})`);
      return element;
    })]);
    this.mark(marks);
    if (had && document.activeElement?.dataset.key !== had) this.focus(had);
  }

  /** What has changed without the flow: as marks of `draw`. */
  mark({ selected, pending, states, faulty }) {
    for (const box of this.#svg.querySelectorAll(".box")) {
      const { key } = box.dataset;
      const node = key.startsWith("node:") ? key.slice(5) : null;
      box.classList.toggle("selected", key === selected);
      box.classList.toggle("faulty", node !== null && faulty.has(node));
      if (node !== null && faulty.has(node)) box.setAttribute("aria-description", "has a fault");
      else box.removeAttribute("aria-description");
      const state = node === null ? undefined : states.get(node);
      if (state) box.dataset.state = state;
      else delete box.dataset.state;
    }
    for (const source of this.#svg.querySelectorAll(".source")) {
      const isPending = source.dataset.key === `s:${pending}`;
      source.classList.toggle("pending", isPending);
      source.setAttribute("aria-pressed", String(isPending));
    }
  }

  focus(key) {
    const one = [...this.#svg.querySelectorAll("[data-key]")].find((element) => element.dataset.key === key);
    one?.focus();
    return Boolean(one);
  }

  /** A wire from a source to where the pointer is; null: none. */
  wire(from, to) {
    this.#wire?.remove();
    this.#wire = null;
    const begin = from && this.#places.get(`s:${from}`);
    if (!begin || !to) return;
    this.#wire = svg("path", { class: "wire", d: curve(begin, to) });
    this.#svg.append(this.#wire);
  }
}

/** The children of `parent`, in this order; those that are there already, and in it, are not touched. */
function put(parent, children) {
  const wanted = new Set(children);
  for (const child of [...parent.childNodes]) if (!wanted.has(child)) child.remove();
  let at = parent.firstChild;
  for (const child of children) {
    if (child === at) at = at.nextSibling;
    else parent.insertBefore(child, at);
  }
}

function drawnLink({ from, to }, [begin, end]) {
  return svg("path", { class: "link", d: curve(begin, end) }, svg("title", {}, `${from} -> ${to}`));
}

function drawnBox(box) {
  const isNode = box.sort === "node";
  const group = svg("g", {
    class: `box ${box.sort}`, tabindex: 0, role: "group", "data-key": box.id,
    "aria-label": isNode ? `node ${box.title}, ${box.kind}` : box.sort === "new" ? "new output" : `${box.sort} ${box.title}`,
  },
    svg("title", {}, [box.title, box.kind, box.detail].filter(Boolean).join("\n")),
    svg("rect", { class: "body", width: box.width, height: box.height, rx: 6 }),
    svg("text", { class: "name", x: 10, y: 17 }, fitting(box.title, box.width - 16)),
    svg("text", { class: "kind", x: 10, y: 33 }, fitting(box.kind, box.width - 16)),
    box.detail ? svg("text", { class: "detail", x: 10, y: 48 }, fitting(box.detail, box.width - 16)) : null);
  const half = box.sources.length > 0 && box.ports.length > 0 ? box.width / 2 - 12 : box.width - 20;
  for (const port of box.ports) group.append(drawnPort(port, box, half));
  for (const source of box.sources) group.append(drawnSource(source, box, half));
  return group;
}

function drawnPort(port, box, width) {
  const edge = port.edge;
  const value = edge?.hasValue ? ` = ${JSON.stringify(edge.value)}` : "";
  const from = edge && !edge.hasValue ? `, from ${edge.from}` : value;
  const label = box.sort === "node" ? `${port.name}${value || (port.type && `: ${port.type}`)}` : "";
  return svg("g", {
    class: edge ? "port taken" : "port", tabindex: 0, role: "button", "data-key": `p:${port.place}`,
    "aria-label": box.sort === "node" ? `port ${said(port)} of ${port.node}${from || ", nothing comes to it"}` : `${box.kind} ${port.name}${from}`,
  },
    svg("title", {}, [said(port), value].join("")),
    svg("rect", { class: "hit", x: -9, y: port.y - 10, width: width + 10, height: 20 }),
    svg("circle", { class: isData(port.type) ? "data" : null, cx: 0, cy: port.y, r: 5 }),
    svg("text", { x: 10, y: port.y + 4 }, fitting(label, width)));
}

function drawnSource(source, box, width) {
  const label = box.sort === "node" ? [source.name, source.type].filter(Boolean).join(": ") : "";
  return svg("g", {
    class: "source", tabindex: 0, role: "button", "data-key": `s:${source.place}`, "aria-pressed": "false",
    "aria-label": box.sort === "node" ? `output ${said(source)} of ${source.node}` : `input ${said(source)}`,
  },
    svg("title", {}, said(source)),
    svg("rect", { class: "hit", x: box.width - width, y: source.y - 10, width: width + 9, height: 20 }),
    svg("circle", { class: isData(source.type) ? "data" : null, cx: box.width, cy: source.y, r: 5 }),
    svg("text", { class: "end", x: box.width - 10, y: source.y + 4 }, fitting(label, width)));
}

function curve([x1, y1], [x2, y2]) {
  const bend = Math.max(Math.abs(x2 - x1) / 2, 30);
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}
