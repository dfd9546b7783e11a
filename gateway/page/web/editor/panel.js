// panel.js: the form beside the picture: what was chosen there, field by field. Edits go to the session when a field is left.
import { button, element } from "/page/dom.js";
import * as model from "./flow_model.js";
import { sentFiles, fileOfNode } from "./sent_files.js";
import { fieldsOfFlow, fieldsOfKind, jsonOf, shown, understood } from "./schema_fields.js";

export class Panel {
  #root;
  #session;
  #catalogue;
  #tell;
  #shown;  // the box's id; undefined: the flow itself
  #isDrawing = false;

  /** `catalogue`: {schema, functions}: functions by what a flow calls them, with their signatures. `tell` says what has been done. */
  constructor(root, session, catalogue, tell) {
    this.#tell = tell;
    this.#root = root;
    this.#session = session;
    this.#catalogue = catalogue;
  }

  /** `box` of the picture, or null for the flow itself. */
  show(box, ends) {
    const focused = this.#root.contains(document.activeElement) ? document.activeElement : null;
    const isSame = this.#shown === box?.id;
    this.#shown = box?.id;
    const content = box?.sort === "node" ? this.#node(box, ends) : box?.sort === "input" ? this.#input(box)
      : box?.sort === "output" ? this.#output(box) : this.#flow();
    this.#isDrawing = true;
    this.#root.replaceChildren(...content.filter(Boolean));
    this.#isDrawing = false;
    const again = focused?.id ? document.getElementById(focused.id) : null;
    again?.focus();
    // What is being typed stays: the form may be drawn anew at any time, as when the gateway has answered.
    if (isSame && again?.dataset.shown !== undefined && focused.value !== focused.dataset.shown) {
      again.value = focused.value;
      again.setSelectionRange(focused.selectionStart, focused.selectionEnd);
    }
  }

  focus() { this.#root.querySelector("input, select, button")?.focus(); }

  #edit(change) { this.#session.edit(change); }

  #row(id, label, control, more) {
    return element("div", { class: "row" }, element("label", { for: id, title: more ?? null }, label), control);
  }

  #text(id, label, value, changed, attributes = {}) {
    const apply = () => {
      if (this.#isDrawing || input.value === input.dataset.shown) return;
      input.dataset.shown = input.value;
      const fault = changed(input.value);
      if (!fault) return;
      input.value = input.dataset.shown = value;
      this.#session.refuse(fault);
    };
    // A browser tells of no change when what was typed was put there by show().
    const input = element("input", { id, type: "text", autocomplete: "off", spellcheck: "false", ...attributes, on: { change: apply, blur: apply } });
    input.value = input.dataset.shown = value;
    return this.#row(id, label, input, attributes.title);
  }

  #name(what, name) {
    return this.#text("panel-name", "name", name, (wanted) => {
      const isTaken = what === "outputs" ? model.view(this.#session.flow).outputs.some((one) => one.name === wanted)
        : model.freeName(this.#session.flow, wanted) !== wanted;
      if (wanted === name) return "";
      if (!model.isName(wanted)) return `'${wanted}' is no name: 1 to 64 letters, digits, '-' and '_', a letter first`;
      if (isTaken) return `'${wanted}' is taken; take another name`;
      this.#edit((flow) => model.rename(flow, what, name, wanted));
      return "";
    });
  }

  #node(box, ends) {
    const fields = model.own(model.own(this.#session.flow, "nodes"), box.name);
    const set = (name) => (value) => this.#edit((flow) => model.setField(flow, box.name, name, value));
    const ports = ends.ports.filter((port) => port.node === box.name);
    return [
      element("h2", {}, `Node of kind ${box.kind}`),
      this.#name("nodes", box.name),
      ...fieldsOfKind(this.#catalogue.schema, box.kind).map((field) => this.#field(field, model.own(fields, field.name), set(field.name), "")),
      box.kind === "flow" ? fileOfNode(this.#session, model.own(fields, "file"), (name) => set("file")(name), this.#tell) : null,
      element("h3", {}, "Ports"),
      ...ports.map((port) => this.#port(port)),
      button("Delete the node", () => this.#edit((flow) => model.removeNode(flow, box.name)), { id: "panel-delete" }),
    ];
  }

  #port(port) {
    const id = `panel-port-${port.name}`;
    const label = port.type ? `${port.name}: ${port.type}` : port.name;
    if (port.edge && !port.edge.hasValue)
      return this.#row(id, label, button(`from ${port.edge.from} – take away`, () =>
        this.#edit((flow) => model.disconnect(flow, port.place, port.isOnly)), { id }));
    const place = port.isOnly && port.name === "1" ? port.node : port.place;
    return this.#text(id, label, port.edge ? JSON.stringify(port.edge.value) : "", (text) => {
      if (text.trim() === "") {
        this.#edit((flow) => model.disconnect(flow, port.place, port.isOnly));
        return "";
      }
      const { value, fault } = jsonOf(port.name, text);
      if (fault) return fault;
      this.#edit((flow) => model.setValue(flow, place, port.isOnly, value));
      return "";
    }, { placeholder: "an edge, or a value as JSON" });
  }

  #field(field, value, set, before) {
    const id = `panel-${before}${field.name}`;
    const title = field.description || null;
    if (field.sort === "group") {
      const group = value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
      const setIn = (name) => (one) => {
        const { [name]: _, ...others } = group;
        const next = one === undefined ? others : { ...others, [name]: one };
        set(Object.keys(next).length > 0 ? next : undefined);
      };
      return element("fieldset", { title }, element("legend", {}, field.name),
        ...field.fields.map((one) => this.#field(one, model.own(group, one.name), setIn(one.name), `${before}${field.name}-`)));
    }
    if (field.sort === "choices") return this.#choices(id, field, value, set);
    if (field.sort === "choice") {
      const select = element("select", { id, on: { change: () => set(understood(field, select.value).value) } },
        ...["", ...field.choices].map((one) => element("option", { value: one, selected: one === value }, String(one))));
      return this.#row(id, field.name, select, title);
    }
    const attributes = { title, ...(["function", "step", "until"].includes(field.sort) ? { list: "functions" } : {}) };
    const apply = (text) => {
      const { value: next, fault } = understood(field, text, value);
      if (!fault) set(next);
      return fault ?? "";
    };
    const row = this.#text(id, field.name, shown(field, value), apply, attributes);
    if (field.sort !== "step" || !field.hasTakes) return row;
    const takes = value && typeof value === "object" ? value.takes : undefined;
    return element("div", {}, row, this.#text(`${id}-takes`, `${field.name} takes`, Array.isArray(takes) ? takes.join(", ") : "", (text) => {
      const words = text.split(/[\s,]+/).filter(Boolean);
      const name = shown(field, value) || "?";
      set(words.length > 0 ? { function: name, takes: words } : name);
      return "";
    }, { placeholder: "ports, if not as they come" }));
  }

  #choices(id, field, value, set) {
    const chosen = Array.isArray(value) ? value : [];
    return element("fieldset", {}, element("legend", {}, field.name), ...field.choices.map((choice) => {
      const input = element("input", { id: `${id}-${choice}`, type: "checkbox", on: { change: () => {
        const next = field.choices.filter((one) => (one === choice ? input.checked : chosen.includes(one)));
        set(next.length > 0 ? next : undefined);
      } } });
      input.checked = chosen.includes(choice);
      return element("label", { class: "check" }, input, String(choice));
    }));
  }

  #input(box) {
    return [element("h2", {}, "Input"), this.#name("inputs", box.name),
      this.#text("panel-type", "type", box.kind, (type) => {
        if (type.trim() === "") return "an input has a type, such as f64 or span<f64>";
        this.#edit((flow) => model.setInput(flow, box.name, type.trim()));
        return "";
      }),
      button("Delete the input", () => this.#edit((flow) => model.removeInput(flow, box.name)), { id: "panel-delete" })];
  }

  #output(box) {
    return [element("h2", {}, "Output"), this.#name("outputs", box.name),
      element("p", {}, `from ${box.ports[0].edge.from}`),
      button("Delete the output", () => this.#edit((flow) => model.removeOutput(flow, box.name)), { id: "panel-delete" })];
  }

  #flow() {
    const { flow } = this.#session;
    const set = (name) => (value) => this.#edit((one) => model.setField(one, null, name, value));
    return [element("h2", {}, "Flow"),
      this.#text("panel-name", "name", String(model.own(flow, "flow") ?? ""), (name) => {
        if (!model.isName(name)) return `'${name}' is no name: 1 to 64 letters, digits, '-' and '_', a letter first`;
        set("flow")(name);
        return "";
      }),
      ...fieldsOfFlow(this.#catalogue.schema).map((field) => this.#field(field, model.own(flow, field.name), set(field.name), "flow-")),
      ...sentFiles(this.#session, this.#tell),
      element("p", { class: "hint" }, "Choose a node, an input or an output in the picture to edit it here. Escape there, or a press beside them, leads back to this form.")];
  }
}
