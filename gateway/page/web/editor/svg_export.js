// svg_export.js: the picture as a file that stands by itself: text, lines and their colours; no script, no link.

const namespace = "http://www.w3.org/2000/svg";
const style = `
text{font:13px system-ui,sans-serif;fill:#1c1b1f}.kind,.detail,.port text,.source text{font-size:11px;fill:#55525c}.end{text-anchor:end}
.body{fill:#fff;stroke:#6b6870}.input .body{fill:#e8f0fe}.output .body{fill:#e6f4ea}.faulty .body{stroke:#b3261e}
.link{fill:none;stroke:#6b6870;stroke-width:1.5}circle{fill:#fff;stroke:#6b6870}.taken circle{fill:#6b6870}.hit{fill:none}
@media(prefers-color-scheme:dark){text{fill:#e6e1e5}.kind,.detail,.port text,.source text{fill:#c5c0c9}.body{fill:#2a2930;stroke:#938f99}
.input .body{fill:#1f2a3d}.output .body{fill:#1e3226}.link{stroke:#938f99}circle{fill:#2a2930;stroke:#938f99}.taken circle{fill:#938f99}}`;

const kept = ["d", "transform", "x", "y", "cx", "cy", "r", "rx", "width", "height", "viewBox"];
const leftOut = ["new", "wire", "hit"];
const keptClasses = ["links", "link", "box", "input", "node", "output", "faulty", "body", "name", "kind", "detail", "end", "port", "source", "taken"];

/** What XML cannot have, as control characters and halves of pairs. */
const noXml = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

function copied(element, file) {
  const copy = file.createElementNS(namespace, element.localName);
  for (const name of kept) if (element.hasAttribute(name)) copy.setAttribute(name, element.getAttribute(name));
  const classes = keptClasses.filter((name) => element.classList.contains(name));
  if (classes.length > 0) copy.setAttribute("class", classes.join(" "));
  for (const child of element.childNodes) {
    if (child.nodeType === 3) copy.append(file.createTextNode(child.data.replace(noXml, "\ufffd")));
    else if (!leftOut.some((name) => child.classList.contains(name))) copy.append(copied(child, file));
  }
  return copy;
}

/** Of an <svg> of the page. */
export function exported(svg) {
  const file = document.implementation.createDocument(namespace, "svg");
  const copy = copied(svg, file);
  const rules = file.createElementNS(namespace, "style");
  rules.append(file.createTextNode(style));
  copy.prepend(rules);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}
