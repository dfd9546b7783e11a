// layers.js: where boxes of large flows stand: in layers, each behind all that it needs. It takes time in proportion to the flow and no
// deep stack, where dagre takes minutes for a thousand nodes, and overflows its stack in a long chain. What it does not have is
// dagre's care for long edges.

const usualGaps = { inLayer: 24, ofLayers: 56, margin: 24 };
const sweeps = 4;

/** {boxes: [[id, width, height]], links: [[from, to]]} becomes {positions: [[id, [x, y]]], width, height}: left upper corners. */
export function layered({ boxes, links, gaps = usualGaps }) {
  const numbers = new Map(boxes.map(([id], number) => [id, number]));
  const before = boxes.map(() => []);
  const after = boxes.map(() => []);
  for (const [from, to] of links) {
    const [a, b] = [numbers.get(from), numbers.get(to)];
    if (a === b) continue;
    before[b].push(a);
    after[a].push(b);
  }
  const layers = layersOf(before, after);
  sortLayers(layers, before, after);
  return placed(boxes, layers, gaps);
}

/** Numbers of boxes, by layer. A circle, which a wrong flow may have, is cut where nothing else can go on. */
function layersOf(before, after) {
  const waits = before.map((list) => list.length);
  const layer = before.map(() => 0);
  const isDone = before.map(() => false);
  const ready = waits.flatMap((count, number) => (count === 0 ? [number] : []));
  const layers = [];
  let cut = 0;
  for (let at = 0; ; ++at) {
    for (; at === ready.length && cut < waits.length; ++cut) if (!isDone[cut]) ready.push(cut);
    if (at === ready.length) return layers;
    const number = ready[at];
    if (isDone[number]) continue;
    isDone[number] = true;
    (layers[layer[number]] ??= []).push(number);
    for (const next of after[number]) {
      if (isDone[next]) continue;
      layer[next] = Math.max(layer[next], layer[number] + 1);
      if (--waits[next] === 0) ready.push(next);
    }
  }
}

/** Sorts each layer by where the neighbours of its boxes stand, so that few links cross. */
function sortLayers(layers, before, after) {
  const place = [];
  const count = (layer) => layer.forEach((number, at) => { place[number] = at / layer.length; });
  layers.forEach(count);
  for (let sweep = 0; sweep < sweeps; ++sweep) {
    const forward = sweep % 2 === 0;
    const neighbours = forward ? before : after;
    for (const layer of forward ? layers : [...layers].reverse()) {
      const wanted = new Map(layer.map((number) => {
        const list = neighbours[number];
        return [number, list.length === 0 ? place[number] : list.reduce((sum, one) => sum + place[one], 0) / list.length];
      }));
      layer.sort((a, b) => wanted.get(a) - wanted.get(b));
      count(layer);
    }
  }
}

function placed(boxes, layers, { inLayer, ofLayers, margin }) {
  const height = (layer) => layer.reduce((sum, number) => sum + boxes[number][2] + inLayer, -inLayer);
  const heights = layers.map(height);
  const highest = Math.max(0, ...heights);
  const positions = boxes.map(([id]) => [id, [0, 0]]);
  let x = margin;
  layers.forEach((layer, index) => {
    let y = margin + (highest - heights[index]) / 2;
    let widest = 0;
    for (const number of layer) {
      positions[number][1] = [x, y];
      y += boxes[number][2] + inLayer;
      widest = Math.max(widest, boxes[number][1]);
    }
    x += widest + ofLayers;
  });
  return { positions, width: Math.max(x - ofLayers, margin) + margin, height: highest + 2 * margin };
}
