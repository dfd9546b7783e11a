// data_preview.js: a data object as far as it can be shown: its beginning, and the whole of an image that is not too large. More than that never
// leaves the gateway.
import { request } from "/page/api.js";
import { isImage, MOST_BYTES, preview } from "/page/preview.js";

const BEGINNING = 64 * 1024;
const ID = /^d-[0-9a-f]{32}$/;

/** Of a flow's output. */
export const isDataId = (value) => typeof value === "string" && ID.test(value);

/** Its bytes from `begin` on, fewer than `end` says where it ends before, and how many it has in all. */
async function part(id, begin, end) {
  const response = await request("GET", `/v1/data/${id}`, { range: `bytes=${begin}-${end - 1}` });
  if (response.status === 416) return { content: new Uint8Array(), size: 0 };  // it is empty
  const size = Number((response.headers.get("Content-Range") || "").split("/")[1]);
  if (response.status !== 206 || !Number.isSafeInteger(size)) {
    await response.body?.cancel();
    throw new Error("the gateway gives no part of it");
  }
  return { content: new Uint8Array(await response.arrayBuffer()), size };
}

/** As `preview` has it. */
export async function dataPreview(id) {
  const first = await part(id, 0, BEGINNING);
  const isWhole = first.content.length === first.size;
  if (isWhole || !isImage(first.content) || first.size > MOST_BYTES) return preview(first.content, first.size);
  const rest = await part(id, first.content.length, first.size);
  const content = new Uint8Array(first.size);
  content.set(first.content);
  content.set(rest.content, first.content.length);
  return preview(content);
}
