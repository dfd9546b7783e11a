import assert from "node:assert/strict";
import { test } from "node:test";
import { typedOutput } from "./typed_output.js";

function bytesOf(...parts) {
  const content = new Uint8Array(8 * parts.length);
  const view = new DataView(content.buffer);
  parts.forEach((part, place) => (typeof part === "bigint" ? view.setBigUint64(8 * place, part, true) : view.setFloat64(8 * place, part, true)));
  return content;
}

test("numbers are read as the signature says", () => {
  assert.deepEqual(typedOutput(bytesOf(42n), "u64(u64)"), { text: "42" });
  assert.deepEqual(typedOutput(bytesOf(0.5), "f64(data<f64>)"), { text: "0.5" });
  assert.deepEqual(typedOutput(bytesOf(0xffffffffffffffffn), "i32(i32)"), { text: "-1" });
  assert.deepEqual(typedOutput(bytesOf(1n), "bool()"), { text: "true" });
  assert.deepEqual(typedOutput(bytesOf(3n, 1, 2, 4.5), "span<f64>(u64)"), { text: "1 2 4.5" });
  const many = bytesOf(1000n, ...Array(1000).fill(7n));
  assert.match(typedOutput(many, "span<u64>()").text, /^(7 ){256}… 1,000 in all$/);
});

test("texts and bytes are what is behind their length", () => {
  const content = new Uint8Array(16);
  content.set([5, 0, 0, 0, 0, 0, 0, 0, 104, 101, 108, 108, 111]);
  assert.equal(new TextDecoder().decode(typedOutput(content, "string(u64)").content), "hello");
  assert.equal(typedOutput(content, "span<u8>(u64)").content.length, 5);
});

test("what does not fit the type, or has none that is known here, is left to others", () => {
  for (const signature of [undefined, null, "", "bytes", "void(u64)", "struct<8,8:f64@0>()", "data<f64>(u64)", "span<struct<8,8:f64@0>>()", "constructor()"])
    assert.equal(typedOutput(bytesOf(1n), signature), null);
  assert.equal(typedOutput(bytesOf(1n, 2n), "u64()"), null);
  assert.equal(typedOutput(bytesOf(7n, 1n), "span<u64>()"), null);
  assert.equal(typedOutput(bytesOf(0xffffffffffffffffn), "span<u8>()"), null);
  assert.equal(typedOutput(new Uint8Array(3), "string()"), null);
});
