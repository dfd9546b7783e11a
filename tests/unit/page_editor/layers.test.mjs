import assert from "node:assert/strict";
import { test } from "node:test";
import { layered } from "./editor/layers.js";

const boxes = (count) => Array.from({ length: count }, (_, i) => [`n${i}`, 100, 40 + (i % 3) * 10]);
const link = (a, b) => [`n${a}`, `n${b}`];

function expectNoOverlap(all, { positions, width, height }) {
  const sizes = new Map(all.map(([id, ...size]) => [id, size]));
  const columns = new Map();
  for (const [id, [x, y]] of positions) {
    const [w, h] = sizes.get(id);
    assert.ok(x >= 0 && y >= 0 && x + w <= width && y + h <= height, `${id} is in the picture`);
    columns.set(x, [...(columns.get(x) ?? []), [y, y + h]]);
  }
  for (const column of columns.values()) {
    column.sort((a, b) => a[0] - b[0]);
    for (let i = 1; i < column.length; ++i) assert.ok(column[i][0] >= column[i - 1][1], "boxes stand one below the other");
  }
}

test("each box stands to the right of all that it needs", () => {
  const all = boxes(6);
  const links = [link(0, 1), link(1, 2), link(0, 3), link(3, 2), link(2, 4), link(0, 4)];
  const result = layered({ boxes: all, links });
  const x = new Map(result.positions.map(([id, [at]]) => [id, at]));
  for (const [from, to] of links) assert.ok(x.get(from) + 100 < x.get(to), `${from} before ${to}`);
  expectNoOverlap(all, result);
});

test("a chain of ten thousand, a fan of ten thousand, nothing, and a box alone", () => {
  const many = boxes(10000);
  const chain = layered({ boxes: many, links: many.slice(1).map((_, i) => link(i, i + 1)) });
  assert.ok(chain.width > 10000 * 100);
  const fan = layered({ boxes: many, links: many.slice(1).map((_, i) => link(0, i + 1)) });
  expectNoOverlap(many, fan);
  assert.deepEqual(layered({ boxes: [], links: [] }).positions, []);
  assert.equal(layered({ boxes: boxes(1), links: [link(0, 0)] }).positions.length, 1);
});

test("circles are drawn, too", () => {
  const all = boxes(5);
  const result = layered({ boxes: all, links: [link(0, 1), link(1, 2), link(2, 0), link(3, 4), link(4, 3), link(2, 2)] });
  assert.equal(new Set(result.positions.map(([, at]) => at.join())).size, 5);
  expectNoOverlap(all, result);
});
