// yaml_text.js: a flow's text: what it says, and what it becomes when the flow is edited elsewhere. Only the words that an edit
// changes are changed in the text: comments, order and layout of all others stay. What goes with a node, an edge or a field that
// is taken away is the comment on its own lines; comments above it stay.
import { LineCounter, isAlias, isMap, isScalar, isSeq, parseDocument } from "../lib/yaml/index.js";

/** {flow} or {problem: {line, column, message}}. */
export function parse(text) {
  const read = readText(text);
  return read.problem ? { problem: read.problem } : { flow: read.flow };
}

function readText(text) {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const problem = (offset, message) => {
    const { line, col } = lines.linePos(offset);
    return { problem: { line: Math.max(line, 1), column: Math.max(col, 1), message } };
  };
  if (document.errors.length > 0) return problem(document.errors[0].pos[0], document.errors[0].message);
  let flow;
  try {
    flow = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    return problem(0, error.message);
  }
  if (flow === null || typeof flow !== "object" || Array.isArray(flow))
    return problem(0, "a flow is a map with 'flow', its name, and 'nodes'");
  return { flow, root: document.contents };
}

export function sameValue(a, b) {
  if (Object.is(a, b)) return true;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object" || Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameValue(a[key], b[key]));
}

const mostSteps = 2000;

/** `text`, which can be parsed, changed so that it says `flow`. */
export function patched(text, flow) {
  for (let i = 0; i < mostSteps; ++i) {
    const read = readText(text);
    if (read.problem) break;
    if (sameValue(read.flow, flow)) return text;
    const changes = differences(sourceOf(text), read.root, read.flow, flow, 0);
    // From the end, so that the places of those before it stay right.
    changes.sort((a, b) => b.from - a.from);
    const next = changes.reduce((old, change) => old.slice(0, change.from) + change.text + old.slice(change.to), text);
    if (next === text) break;
    text = next;
  }
  return sourceOf(text).whole(flow);  // a text with anchors or tags, where an edit reaches further than its place
}

/** A text and how words are written in it: a JSON document stays one. */
function sourceOf(text) {
  if (!/^\s*\{/.test(text)) return { text, word, inline, whole: written };
  return { text, word: JSON.stringify, inline: JSON.stringify, whole: (flow) => `${JSON.stringify(flow, null, 2)}\n` };
}

/** A new text. */
export const written = (flow) => Object.entries(flow).map(([key, value]) => `${word(key)}:${section(value, "")}\n`).join("");

/** A step from what `node` says, `before`, to `after`, which is not the same: [{from, to, text}] at places of their own. More steps may be
 * needed: each brings them closer. */
function differences(source, node, before, after, depth) {
  const isWhole = isAlias(node) || node.tag?.startsWith("!") || node.anchor;
  if (isMap(node) && isPlain(before) && isPlain(after) && !isWhole)
    return Object.keys(after).length === 0 ? [replace(node, "{}")] : differencesOfMaps(source, node, before, after, depth);
  if (isSeq(node) && Array.isArray(before) && Array.isArray(after) && !isWhole)
    return after.length === 0 ? [replace(node, "[]")] : differencesOfLists(source, node, before, after, depth);
  return [replace(node, source.inline(after))];
}

const isPlain = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function differencesOfMaps(source, node, before, after, depth) {
  const { text } = source;
  const hasSections = depth === 0 && !node.flow;
  const keys = Object.keys(before);
  const wanted = Object.keys(after);
  const pairOf = (key) => node.items.find((pair) => String(isScalar(pair.key) ? pair.key.value : pair.key) === key);
  if (keys.some((key) => !pairOf(key))) return [replace(node, source.inline(after))];  // of a merge (<<)
  const moved = keys.length === wanted.length ? keys.findIndex((key, i) => key !== wanted[i]) : -1;
  if (moved >= 0 && !Object.hasOwn(after, keys[moved]) && !Object.hasOwn(before, wanted[moved]))
    return [replace(pairOf(keys[moved]).key, source.word(wanted[moved]))];
  const gone = keys.find((key) => !Object.hasOwn(after, key));
  if (gone !== undefined) return [removeItem(text, node, node.items.indexOf(pairOf(gone)))];
  const written = (value) => (hasSections ? section(value, "") : ` ${source.inline(value)}`);
  const changes = keys.filter((key) => !sameValue(before[key], after[key])).flatMap((key) => {
    const { key: name, value } = pairOf(key);
    const isEmpty = !value || value.range[0] === value.range[1];
    const at = colonAfter(text, name);
    if (isEmpty) return [{ from: at, to: at, text: written(after[key]) }];
    const isNewSection = hasSections && isWide(after[key]) && value.flow && value.items.length === 0;
    if (isNewSection) return [{ from: at, to: value.range[1], text: written(after[key]) }];
    return differences(source, value, before[key], after[key], depth + 1);
  });
  if (changes.length > 0) return changes;
  const key = wanted.find((one) => !Object.hasOwn(before, one));
  return [addItem(text, node, node.items.length, `${source.word(key)}:${written(after[key])}`)];
}

function differencesOfLists(source, node, before, after, depth) {
  let first = 0;
  while (first < before.length && first < after.length && sameValue(before[first], after[first])) ++first;
  if (before.length > after.length) {
    const gone = left(before, after);
    // In brackets the comma goes with one or the other neighbour.
    return (node.flow ? gone.slice(0, 1) : gone).map((index) => removeItem(source.text, node, index));
  }
  if (before.length < after.length) return [addItem(source.text, node, first, source.inline(after[first]))];
  return differences(source, node.items[first], before[first], after[first], depth + 1);
}

/** Which elements of `before` are to go: all that `after` does not go on with, or else one. */
function left(before, after) {
  const gone = [];
  let at = 0;
  before.forEach((one, index) => {
    if (at < after.length && sameValue(one, after[at])) ++at;
    else gone.push(index);
  });
  return at === after.length ? gone : gone.slice(0, 1);
}

const replace = (node, text) => ({ from: node.range[0], to: endOf(node), text });

/** Behind the last character of what the node says: no comment, no line's end. */
function endOf(node) {
  if ((isMap(node) || isSeq(node)) && !node.flow && node.items.length > 0) return endOfItem(node.items.at(-1));
  return node.range[1];
}
function endOfItem(item) {
  if (item.key === undefined) return endOf(item);
  return item.value && item.value.range ? Math.max(endOf(item.value), item.key.range[1]) : item.key.range[1];
}
const startOfItem = (item) => (item.key === undefined ? item.range[0] : item.key.range[0]);

const colonAfter = (text, key) => text.indexOf(":", key.range[1]) + 1;
const lineStart = (text, at) => text.lastIndexOf("\n", at - 1) + 1;
function lineEnd(text, at) {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end;
}

function removeItem(text, node, index) {
  const item = node.items[index];
  const last = index === node.items.length - 1;
  if (node.flow) {
    if (!last) return { from: startOfItem(item), to: startOfItem(node.items[index + 1]), text: "" };
    return { from: index > 0 ? endOfItem(node.items[index - 1]) : startOfItem(item), to: endOfItem(item), text: "" };
  }
  const from = lineStart(text, startOfItem(item));
  const end = endOfItem(item);
  const to = Math.min(text[end - 1] === "\n" ? end : lineEnd(text, end) + 1, text.length);
  // What stands before it on its line, as in "- a: 1", is not its own.
  const isAlone = /^[\s-]*$/.test(text.slice(from, startOfItem(item))) && (isSeq(node) || /^\s*$/.test(text.slice(from, startOfItem(item))));
  if (isAlone) return { from, to, text: "" };
  return { from: startOfItem(item), to: last ? end : startOfItem(node.items[index + 1]), text: last ? "{}" : "" };
}

function addItem(text, node, index, item) {
  if (node.flow) {
    if (node.items.length === 0) return { from: node.range[0] + 1, to: node.range[0] + 1, text: item };
    if (index < node.items.length) return { from: startOfItem(node.items[index]), to: startOfItem(node.items[index]), text: `${item}, ` };
    const end = endOfItem(node.items.at(-1));
    return { from: end, to: end, text: `, ${item}` };
  }
  const first = startOfItem(node.items[0]);
  const start = lineStart(text, first);
  const before = text.slice(start, first);
  const indent = isSeq(node) ? before.slice(0, before.lastIndexOf("-")).replace(/[^ ]/g, " ") : before.replace(/[^ ]/g, " ");
  const line = `${indent}${isSeq(node) ? "- " : ""}${item}`;
  if (index < node.items.length) {
    const at = lineStart(text, startOfItem(node.items[index]));
    return { from: at, to: at, text: `${line}\n` };
  }
  const end = endOfItem(node.items.at(-1));
  const at = text[end - 1] === "\n" ? end : lineEnd(text, end);
  return { from: at, to: at, text: text[at - 1] === "\n" ? `${line}\n` : `\n${line}` };
}

const isWide = (value) => typeof value === "object" && value !== null && Object.keys(value).length > 0;

/** What follows "key:" of the document itself: a line for each element. */
function section(value, indent) {
  if (!isWide(value)) return ` ${inline(value)}`;
  if (Array.isArray(value)) return value.map((one) => `\n${indent}  - ${inline(one)}`).join("");
  return Object.entries(value).map(([key, one]) => `\n${indent}  ${word(key)}: ${inline(one)}`).join("");
}

export function inline(value) {
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (isPlain(value)) return `{${Object.entries(value).map(([key, one]) => `${word(key)}: ${inline(one)}`).join(", ")}}`;
  return typeof value === "string" ? word(value) : JSON.stringify(value ?? null);
}

/** Without quotation marks where all readers of YAML take it for a text. */
function word(text) {
  const isPlainWord = /^[A-Za-z][A-Za-z0-9_.<>()@/-]*$/.test(text) && !/^(true|false|null|yes|no|on|off|nan|inf)$/i.test(text);
  if (isPlainWord) return text;
  return text === "?" ? "'?'" : JSON.stringify(text);
}
