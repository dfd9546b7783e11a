import assert from "node:assert/strict";
import { test } from "node:test";
import * as model from "./editor/flow_model.js";
import { History } from "./editor/history.js";
import { Session } from "./editor/session.js";

const text = "flow: f\ninputs:\n  a: f64\nnodes:\n  one: {kind: call, function: g}\n";
const report = { faults: [], faults_total: 0, nodes: [{ node: "one", known: true, ports: [{ name: "1", type: "u64" }], outputs: [{ name: "", type: "u64" }] }] };

function heard(session) {
  const words = [];
  for (const name of ["changed", "checked", "refused"]) session.addEventListener(name, (event) => words.push(event.detail ? `${name}: ${event.detail}` : name));
  return words;
}

test("what is typed without a pause is one step; an edit of the picture is one of its own", () => {
  const history = new History("a");
  history.put("ab", 1000);
  history.put("abc", 1500);
  history.put("abcd", 4000);
  history.put("x");
  history.put("xy", 4100);
  const back = [];
  while (history.canUndo) back.push(history.undo());
  assert.deepEqual(back, ["x", "abcd", "abc", "a"]);
  assert.equal(history.redo(), "abc");
  history.put("new");
  assert.ok(!history.canRedo);
  assert.equal(history.redo(), "new");
});

test("a text that cannot be read leaves the flow as it was, and edits are refused until it is mended", async () => {
  const session = new Session(text, async () => report);
  const words = heard(session);
  session.type("flow: f\nnodes: [\n");
  assert.equal(session.problem, null);
  assert.equal(session.edit((flow) => model.setInput(flow, "b", "f64")), false);
  assert.ok(session.problem.line >= 2);
  assert.equal(model.view(session.flow).nodes[0].name, "one");
  assert.equal(session.edit((flow) => model.setInput(flow, "b", "f64")), false);
  assert.match(words.at(-1), /^refused: the text cannot be read at \d+:\d+: .*; mend it first, or undo$/);
  session.undo();
  assert.equal(session.problem, null);
  assert.equal(session.text, text);
  await session.checked();
});

test("an edge is judged by the types of the newest text", async () => {
  const answers = [];
  const session = new Session(text, (asked) => new Promise((answer) => answers.push({ asked, answer })));
  const words = heard(session);
  const first = session.connect("a", "one.1");
  answers.at(-1).answer(report);
  assert.equal(await first, false);
  assert.equal(words.at(-1), "refused: 'a' is f64, and port '1' of node 'one' takes u64");
  session.edit((flow) => model.setInput(flow, "a", "u64"));
  const second = session.connect("a", "one.1");
  // The text changes while it is being checked: that answer does not count.
  session.edit((flow) => model.setInput(flow, "b", "u64"));
  answers.at(-1).answer(report);
  await new Promise((done) => setImmediate(done));
  assert.equal(answers.at(-1).asked, session.text);
  answers.at(-1).answer(report);
  assert.equal(await second, true);
  assert.deepEqual(session.flow.edges, [{ from: "a", to: "one" }]);
  const last = session.checked();
  answers.at(-1).answer(report);
  await last;
  assert.equal(await session.connect("one", "+"), true);
  assert.deepEqual(session.flow.outputs, { result: "one" });
  const gone = session.connect("one", "one.9");
  answers.at(-1).answer(report);
  assert.equal(await gone, false);
  assert.match(words.at(-1), /no port 'one.9' any more/);
});

test("without a gateway edits go on, and it is said that nothing was checked", async () => {
  const session = new Session(text, async () => { throw new Error("the gateway does not answer"); });
  assert.equal(await session.connect("a", "one.1"), true);
  assert.equal(session.checkFailed, "the gateway does not answer");
});

test("files that are sent along are checked with the text, and are no part of what can be undone", async () => {
  const asked = [];
  const session = new Session(text, (...both) => new Promise((answer) => asked.push({ both, answer })), undefined, { "old.yaml": "flow: old\n" });
  const first = session.checked();
  // A file comes while the text is being checked: that answer does not count.
  const second = session.setFile("other.yaml", "flow: other\n");
  asked[0].answer({ ...report, faults_total: 7 });
  asked[1].answer(report);
  await Promise.all([first, second]);
  assert.deepEqual(asked.map(({ both }) => Object.keys(both[1])), [["old.yaml"], ["old.yaml", "other.yaml"]]);
  assert.deepEqual(asked[1].both, [text, { "old.yaml": "flow: old\n", "other.yaml": "flow: other\n" }]);
  assert.equal(session.report.faults_total, 0);
  assert.equal(session.canUndo, false);
  const third = session.setFile("old.yaml");
  asked[2].answer(report);
  await third;
  assert.deepEqual(session.files, { "other.yaml": "flow: other\n" });
});
