// dom.js: how all elements are made. What users wrote gets into the page as text nodes and as values of attributes that are no code:
// nothing here, and nothing else in the page, parses HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (name === "style") {
      // By the object: a style attribute is inline style, which the page's policy forbids.
      for (const [property, text] of Object.entries(value)) node.style.setProperty(property, text);
    } else {
      node.setAttribute(name, value === true ? "" : String(value));
    }
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined).map(asNode));
  return node;
}

function asNode(child) {
  return child instanceof Node ? child : document.createTextNode(String(child));
}

/** An element with attributes (`on`: listeners by event; `style`: properties) and children, of which those that are no nodes become text. */
export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export function button(text, action, attributes = {}) {
  return element("button", { type: "button", ...attributes, on: { click: action } }, text);
}

/** A bar of parts: [{class, value, title}]; what is left of `total` stays empty. */
export function bar(parts, total) {
  const box = element("span", { class: "bar", role: "img", "aria-label": parts.map((part) => `${part.title}: ${part.value}`).join(", ") });
  if (!(total > 0)) return box;
  for (const part of parts) {
    if (part.value > 0) {
      box.append(element("span", { class: part.class, title: `${part.title}: ${part.value}`, style: { width: `${(100 * part.value) / total}%` } }));
    }
  }
  return box;
}
