// typed_output.js: what a typed function gave, in the words of its signature (docs/PROTOCOL.md, "Typed entries"). What does not fit the type is left
// to those who show bytes.

const MOST_NUMBERS = 256;

const SCALARS = {
  bool: [1, (view, at) => view.getUint8(at) !== 0],
  i8: [1, (view, at) => view.getInt8(at)],
  u8: [1, (view, at) => view.getUint8(at)],
  i16: [2, (view, at) => view.getInt16(at, true)],
  u16: [2, (view, at) => view.getUint16(at, true)],
  i32: [4, (view, at) => view.getInt32(at, true)],
  u32: [4, (view, at) => view.getUint32(at, true)],
  i64: [8, (view, at) => view.getBigInt64(at, true)],
  u64: [8, (view, at) => view.getBigUint64(at, true)],
  f32: [4, (view, at) => view.getFloat32(at, true)],
  f64: [8, (view, at) => view.getFloat64(at, true)],
};

const padded = (size) => Math.ceil(size / 8) * 8;

/** Elements behind their count; nothing where the bytes are not those of such a span. */
function elementsOf(content, width) {
  if (content.length < 8) return null;
  const count = Number(new DataView(content.buffer, content.byteOffset, 8).getBigUint64(0, true));
  if (!Number.isSafeInteger(count) || padded(count * width) !== content.length - 8) return null;
  return content.subarray(8, 8 + count * width);
}

/** `text`: numbers as people read them; `content`: bytes that mean text or a picture. Nothing: no type that is known here, or other bytes. */
export function typedOutput(content, signature) {
  const type = (signature || "").split("(")[0];
  if (type === "string" || type === "span<u8>" || type === "span<i8>") {
    const inner = elementsOf(content, 1);
    return inner && { content: inner };
  }
  const [, element] = /^span<(\w+)>$/.exec(type) || [null, type];
  if (!Object.hasOwn(SCALARS, element)) return null;
  const [width, read] = SCALARS[element];
  const bytes = element === type ? content.subarray(0, content.length === 8 ? width : 0) : elementsOf(content, width);
  if (!bytes || (element === type && bytes.length === 0)) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const all = bytes.length / width;
  const numbers = [];
  for (let place = 0; place < Math.min(all, MOST_NUMBERS); place += 1) numbers.push(String(read(view, place * width)));
  return { text: numbers.join(" ") + (all > MOST_NUMBERS ? ` … ${all.toLocaleString("en")} in all` : "") };
}
