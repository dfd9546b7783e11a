// table.js: a table of any length: only the rows that are seen are in the document, and a row's element is used again for another one.
import { element } from "/page/dom.js";

const ROW_HEIGHT = 30;
const SPARE_ROWS = 8;

/** `columns`: [{title, width (of CSS grid), cell(item) → text or node, class}]. `key(item)`: what an item stays the same by. `open(item)`:
 * somebody has chosen it. Keys: up, down, page up and down, home, end, enter. */
export class Table {
  constructor({ label, columns, key, open, empty }) {
    this.columns = columns;
    this.key = key;
    this.open = open;
    this.items = [];
    this.rows = [];
    this.chosen = null;
    this.due = false;
    this.top = 0;  // where the body is, as it has told: to ask it would have the browser lay out all that has changed
    this.height = 0;
    const widths = columns.map((column) => column.width || "1fr").join(" ");
    const cells = columns.map((column) => element("span", { role: "columnheader", class: column.class }, column.title));
    this.head = element("div", { class: "row head", role: "row", style: { "grid-template-columns": widths } }, ...cells);
    this.widths = widths;
    this.space = element("div", { class: "space" });
    this.empty = element("p", { class: "empty" }, empty || "There is nothing here.");
    this.body = element("div", { class: "body", tabindex: 0, role: "grid", "aria-label": label, on: {
      scroll: () => {
        this.top = this.body.scrollTop;
        this.draw();
      },
      keydown: (event) => this.pressed(event),
    } }, this.space);
    this.node = element("div", { class: "table" }, this.head, this.body, this.empty);
    this.observer = new ResizeObserver(([{ contentRect }]) => {
      this.height = contentRect.height;
      this.draw();
    });
    this.observer.observe(this.body);
  }

  show(items) {
    this.items = items;
    this.body.setAttribute("aria-rowcount", items.length);
    this.space.style.height = `${items.length * ROW_HEIGHT}px`;
    this.body.style.height = this.space.style.height;  // up to the most that the style allows
    this.empty.hidden = items.length > 0;
    this.body.hidden = items.length === 0;
    this.draw();
  }

  draw() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      this.drawNow();
    });
  }

  drawNow() {
    const first = Math.max(0, Math.floor(this.top / ROW_HEIGHT) - SPARE_ROWS);
    const wanted = Math.ceil(this.height / ROW_HEIGHT) + 2 * SPARE_ROWS;
    const last = Math.min(this.items.length, first + wanted);
    while (this.rows.length < last - first) this.addRow();
    this.rows.forEach((row, place) => {
      const index = first + place;
      row.node.hidden = index >= last;
      if (index < last) this.fill(row, index);
    });
  }

  addRow() {
    const cells = this.columns.map((column) => element("span", { role: "gridcell", class: column.class }));
    const row = { cells, shown: this.columns.map(() => null), item: null };
    row.node = element("div", { class: "row", role: "row", style: { "grid-template-columns": this.widths }, on: {
      click: () => this.choose(row.item),
    } }, ...cells);
    this.rows.push(row);
    this.space.append(row.node);
  }

  fill(row, index) {
    const item = this.items[index];
    row.item = item;
    row.node.style.transform = `translateY(${index * ROW_HEIGHT}px)`;
    row.node.setAttribute("aria-rowindex", index + 1);
    row.node.classList.toggle("chosen", this.chosen !== null && this.key(item) === this.chosen);
    this.columns.forEach((column, place) => {
      const value = column.cell(item);
      if (value instanceof Node) {
        row.cells[place].replaceChildren(value);
        row.shown[place] = null;
      } else if (row.shown[place] !== value) {
        row.cells[place].textContent = value ?? "";
        row.cells[place].title = value ?? "";
        row.shown[place] = value;
      }
    });
  }

  choose(item) {
    if (!item) return;
    this.chosen = this.key(item);
    this.draw();
    if (this.open) this.open(item);
  }

  pressed(event) {
    const page = Math.max(1, Math.floor(this.body.clientHeight / ROW_HEIGHT) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.items.length, End: this.items.length };
    const at = this.items.findIndex((item) => this.key(item) === this.chosen);
    if (event.key === "Enter" && at >= 0) {
      this.choose(this.items[at]);
    } else if (event.key in steps && this.items.length > 0) {
      const next = Math.min(this.items.length - 1, Math.max(0, (at < 0 ? -1 : at) + steps[event.key]));
      this.chosen = this.key(this.items[next]);
      const top = next * ROW_HEIGHT;
      if (top < this.body.scrollTop) this.body.scrollTop = top;
      if (top + ROW_HEIGHT > this.body.scrollTop + this.body.clientHeight) this.body.scrollTop = top + ROW_HEIGHT - this.body.clientHeight;
      this.draw();
    } else {
      return;
    }
    event.preventDefault();
  }

  close() {
    this.observer.disconnect();
  }
}
