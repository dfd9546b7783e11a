// preview.js: an output as far as it can be shown without harm: text and numbers as text, and raster images, which the first bytes tell.
// Nothing is shown as HTML or SVG, whatever it says that it is.
import { element } from "/page/dom.js";
import { bytes } from "/page/format.js";

const MOST_TEXT = 16 * 1024;
export const MOST_BYTES = 16 * 1024 * 1024;

const IMAGES = [
  { type: "image/png", magic: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] },
  { type: "image/jpeg", magic: [0xff, 0xd8, 0xff] },
  { type: "image/gif", magic: [0x47, 0x49, 0x46, 0x38] },
];

function imageType(content) {
  const found = IMAGES.find((image) => image.magic.every((byte, place) => content[place] === byte));
  if (found) return found.type;
  const text = new TextDecoder("latin1").decode(content.slice(0, 12));
  return text.startsWith("RIFF") && text.endsWith("WEBP") ? "image/webp" : null;
}

export const isImage = (content) => imageType(content) !== null;

function asText(content, size) {
  const part = content.subarray(0, MOST_TEXT);
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(part, { stream: size > part.length });
    // eslint-disable-next-line no-control-regex
    return /[\u0000-\u0008\u000e-\u001a]/.test(text) ? null : text;
  } catch {
    return null;
  }
}

/** What 8 bytes may be, for functions that give one number. */
function asNumbers(content) {
  if (content.length !== 8) return null;
  const view = new DataView(content.buffer, content.byteOffset, 8);
  return `as a whole number ${view.getBigUint64(0, true)}, as a decimal one ${view.getFloat64(0, true)}`;
}

function asHex(content) {
  return [...content.subarray(0, 256)].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
}

/** An element for `content`, the beginning of `size` bytes, and what frees it. */
export function preview(content, size = content.length) {
  if (content.length === 0) return { node: element("p", {}, "It is empty."), free() {} };
  const type = content.length === size && size <= MOST_BYTES ? imageType(content) : null;
  if (type) {
    const address = URL.createObjectURL(new Blob([content], { type }));
    const picture = element("img", { class: "preview", src: address, alt: `An image of ${bytes(content.length)}` });
    return { node: picture, free: () => URL.revokeObjectURL(address) };
  }
  const text = asText(content, size);
  const left = size > MOST_TEXT ? `\n… ${bytes(size)} in all` : "";
  if (text !== null) return { node: element("pre", { class: "preview" }, text + left), free() {} };
  const numbers = asNumbers(content);
  return { node: element("div", {}, element("p", {}, `${bytes(size)}${numbers ? `: ${numbers}` : ""}`),
    element("pre", { class: "preview" }, asHex(content))), free() {} };
}
