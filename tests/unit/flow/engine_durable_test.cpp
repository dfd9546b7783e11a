// What is kept as files: a flow that loses all memory goes on from there, and from nowhere before.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "flow/engine.h"
#include "flow_under_test.h"

using namespace orchid;
using namespace orchid::flow;

namespace {

constexpr std::uint64_t steps_in_all = 60;
constexpr std::uint64_t steps_of_batch = 3;
constexpr std::uint64_t batches_to_file = 4;

Plan plan_with_files() {
  return plan_of(
      "flow: files\n"
      "functions:\n"
      "  make: data<u64>(u64)\n"
      "  grow: data<u64>(data<u64>,u64)\n"
      "  walk: step<data<u64>>(struct<16,8:u64@0,u64@8>,data<u64>,data<u64>)\n"
      "  look: u64(data<u64>)\n"
      "inputs: {n: u64}\n"
      "nodes:\n"
      "  made: {kind: call, function: make}\n"
      "  plain: {kind: call, function: grow, takes: [x, by]}\n"
      "  walked: {kind: iterate, function: walk, takes: [state, base], steps: 3, durable: 4}\n"
      "  seen: {kind: call, function: look}\n"
      "edges:\n"
      "  - {from: n, to: made}\n"
      "  - {from: made, to: plain.x, durable: true}\n"
      "  - {value: 0, to: plain.by}\n"
      "  - {from: made, to: walked.state}\n"
      "  - {from: plain, to: walked.base}\n"
      "  - {from: walked, to: seen}\n"
      "outputs: {seen: seen}\n");
}

Bytes item_of(std::uint64_t number) {
  const auto bytes = std::as_bytes(std::span(&number, 1));
  return {bytes.begin(), bytes.end()};
}

std::uint64_t number_at(const Bytes& bytes, std::size_t at) {
  std::uint64_t number = 0;
  REQUIRE(bytes.size() >= at + sizeof number);
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

struct Stored {
  std::uint64_t content = 0;
  bool has_file = false;
};

/// A driver in this thread. What is dropped goes when a snapshot has been kept.
class FileRun {
 public:
  explicit FileRun(std::uint64_t seed)
      : random_(seed),
        engine_(Engine::start(plan_, {std::make_shared<const Bytes>(item_of(4))},
                              {.window = 1 + static_cast<std::uint32_t>(seed % 3)})
                    .value()),
        snapshot_(engine_.snapshot()) {}

  void begin() { apply(Tick{}); }
  void answer() {
    REQUIRE_FALSE(open_.empty());
    const auto at = static_cast<std::ptrdiff_t>(random_() % open_.size());
    const StartCall call = std::move(open_[static_cast<std::size_t>(at)]);
    open_.erase(open_.begin() + at);
    apply(run_call(call));
  }
  /// All hosts are gone; files are not.
  void lose_memory() {
    std::erase_if(objects_, [](const auto& one) { return !one.second.has_file; });
  }
  /// One object, also if it has a file.
  void lose_one() {
    if (objects_.empty()) return;
    objects_.erase(
        std::next(objects_.begin(), static_cast<std::ptrdiff_t>(random_() % objects_.size())));
  }
  void keep() {
    snapshot_ = engine_.snapshot();
    for (const DataId& one : std::exchange(unused_, {})) {
      CHECK(dropped_.insert(one).second);
      objects_.erase(one);
    }
  }
  void crash() {
    open_.clear();
    unused_.clear();
    engine_ = Engine::resume(plan_, snapshot_, {.window = 2, .run = ++runs_}).value();
    CHECK(engine_.snapshot() == snapshot_);
    apply(Tick{});
  }
  void cancel_and_go_on() {
    const std::vector<StartCall> open = open_;
    apply(Cancel{});
    for (const StartCall& call : open)
      if (random_() % 2 == 0) apply(run_call(call));
    if (engine_.outcome() == FlowOutcome::cancelled) apply(GoOn{});
  }
  void apply(Event event) { take(engine_.apply(std::move(event), Time{})); }

  [[nodiscard]] const Engine& engine() const { return engine_; }
  [[nodiscard]] std::uint64_t result() const { return number_at(*engine_.output(0), 0); }
  [[nodiscard]] std::size_t objects() const { return objects_.size(); }
  [[nodiscard]] unsigned calls_of(const std::string& function) { return calls_[function]; }
  [[nodiscard]] const std::vector<StartCall>& open() const { return open_; }
  [[nodiscard]] StartCall take_first() {
    const StartCall first = std::move(open_.front());
    open_.erase(open_.begin());
    return first;
  }
  std::uint64_t random() { return random_(); }
  [[nodiscard]] Event run_call(const StartCall& call) {
    std::vector<DataId> lost;
    for (const DataId& one : call.data) {
      CHECK_FALSE(dropped_.contains(one));
      if (!objects_.contains(one)) lost.push_back(one);
    }
    for (const DataId& one : call.kept) CHECK(std::ranges::find(call.data, one) != call.data.end());
    if (!lost.empty())
      return CallFailed{.call = call.call,
                        .outcome = "data_lost",
                        .message = "it is gone",
                        .lost = random_() % 4 == 0 && !call.keeps ? std::vector<DataId>() : lost};
    if (call.keeps) {
      objects_.at(call.data.at(0)).has_file = true;
      return Answered{call.call, {}};
    }
    const std::string& name = call.function->function;
    ++calls_[name];
    const auto content = [&](std::size_t i) { return objects_.at(call.data.at(i)).content; };
    if (name == "make") return Answered{call.call, made(10 * number_at(call.input, 0))};
    if (name == "grow") return Answered{call.call, made(content(0) + number_at(call.input, 0))};
    if (name == "look") return Answered{call.call, item_of(content(0))};
    REQUIRE(name == "walk");
    CHECK(number_at(call.input, 0) == 0);
    const std::uint64_t steps = number_at(call.input, sizeof(std::uint64_t));
    CHECK(steps == steps_of_batch);
    const std::uint64_t next = content(0) + steps;
    Bytes output = item_of(next - content(1) >= steps_in_all ? 1 : 0);
    for (const Bytes& part : {item_of(steps), made(next)})
      output.insert(output.end(), part.begin(), part.end());
    return Answered{call.call, std::move(output)};
  }

 private:
  Bytes made(std::uint64_t content) {
    DataId id;
    ++made_;
    std::memcpy(id.bytes.data(), &made_, sizeof made_);
    objects_[id] = {.content = content};
    return {id.bytes.begin(), id.bytes.end()};
  }
  void take(std::vector<Action> actions) {
    for (Action& action : actions) {
      if (auto* started = std::get_if<StartCall>(&action)) open_.push_back(std::move(*started));
      if (auto* stop = std::get_if<StopCall>(&action))
        std::erase_if(open_, [&](const StartCall& call) { return call.call == stop->call; });
      if (auto* drop = std::get_if<DropData>(&action)) unused_.push_back(drop->data);
    }
  }

  Plan plan_ = plan_with_files();
  std::mt19937_64 random_;
  std::map<DataId, Stored> objects_;
  std::set<DataId> dropped_;
  std::uint64_t made_ = 0;
  std::map<std::string, unsigned> calls_;
  Engine engine_;
  std::string snapshot_;
  std::vector<StartCall> open_;
  std::vector<DataId> unused_;
  std::uint32_t runs_ = 0;
};

constexpr std::uint64_t wanted_result = 40 + steps_in_all;

}  // namespace

TEST_CASE("a step function runs in batches until it says that it is done, and nothing is left") {
  FileRun run(0);
  run.begin();
  std::uint64_t kept = 0;
  while (run.engine().outcome() == FlowOutcome::running) {
    kept += run.open().front().keeps ? 1 : 0;
    run.answer();
    run.keep();
  }
  REQUIRE(run.engine().outcome() == FlowOutcome::done);
  CHECK(run.result() == wanted_result);
  CHECK(run.calls_of("walk") == steps_in_all / steps_of_batch);
  // What `made` gave, each fourth state but the last, and the last as what the node gives.
  CHECK(kept == 1 + steps_in_all / steps_of_batch / batches_to_file - 1 + 1);
  CHECK(run.engine().progress(2).total == steps_in_all / steps_of_batch);
  CHECK(run.objects() == 0);
}

TEST_CASE("when all memory is lost, nodes in files do not run again, nor an iteration from zero") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    FileRun run(seed);
    run.begin();
    unsigned losses = 0;
    bool has_file = false;
    while (run.engine().outcome() == FlowOutcome::running) {
      const std::uint64_t what = run.random() % 12;
      has_file = has_file || run.calls_of("walk") > batches_to_file;
      if (what == 0 && has_file && losses < 5) {
        ++losses;
        run.lose_memory();
      } else if (what == 1) {
        run.keep();
      } else {
        run.answer();
      }
    }
    REQUIRE(run.engine().outcome() == FlowOutcome::done);
    CHECK(run.result() == wanted_result);
    CHECK(run.calls_of("make") == 1);
    // Each loss costs the batches since the last file, and the call that was under way.
    CHECK(run.calls_of("walk") <= steps_in_all / steps_of_batch + losses * (batches_to_file + 1));
  }
}

TEST_CASE("whatever is lost, files too, over crashes and cancels, the result is the same") {
  unsigned walks = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    FileRun run(seed);
    run.begin();
    unsigned losses = 0;
    unsigned crashes = 0;
    for (int step = 0; run.engine().outcome() == FlowOutcome::running; ++step) {
      REQUIRE(step < 20'000);
      const std::uint64_t what = run.random() % 16;
      if (what == 0 && losses < 6) {
        ++losses;
        run.lose_one();
      } else if (what == 1 && losses < 6) {
        ++losses;
        run.lose_memory();
      } else if (what == 2) {
        run.keep();
      } else if (what == 3 && crashes < 4) {
        ++crashes;
        run.crash();
      } else if (what == 4 && crashes < 4) {
        ++crashes;
        run.cancel_and_go_on();
      } else {
        run.answer();
      }
    }
    REQUIRE_MESSAGE(run.engine().outcome() == FlowOutcome::done, run.engine().failure()->message);
    CHECK(run.result() == wanted_result);
    walks += run.calls_of("walk");
  }
  CHECK(walks > 2000 * steps_in_all / steps_of_batch);
}

TEST_CASE("a call whose data was away is made once more, and that is no attempt") {
  FileRun run(1);
  run.begin();
  while (run.open().front().kept.empty()) run.answer();
  for (int i = 0; i < 20; ++i) {
    const StartCall call = run.take_first();
    CHECK(call.attempt == 1);
    run.apply(CallFailed{
        .call = call.call, .outcome = "data_returned", .message = "it was away", .lost = {}});
    REQUIRE_FALSE(run.open().empty());
    CHECK(run.open().back().work != call.work);  // a key of its own
  }
  while (run.engine().outcome() == FlowOutcome::running) run.answer();
  CHECK(run.engine().outcome() == FlowOutcome::done);
}

TEST_CASE(
    "a file that cannot be written ends the flow with the reason, and it goes on from there") {
  FileRun run(1);
  run.begin();
  while (!run.open().front().keeps) run.answer();
  const StartCall call = run.take_first();
  run.apply(CallFailed{
      .call = call.call, .outcome = "unsupported", .message = "nobody keeps files", .lost = {}});
  CHECK(run.engine().outcome() == FlowOutcome::failed);
  CHECK(run.engine().failure()->part == "its file");
  run.keep();
  run.crash();
  run.apply(GoOn{});
  while (run.engine().outcome() == FlowOutcome::running) run.answer();
  CHECK(run.engine().outcome() == FlowOutcome::done);
  CHECK(run.calls_of("make") == 1);
}

TEST_CASE("what cannot be durable, and what is no step function, is told") {
  const auto fault_of = [](const std::string& nodes, const std::string& edges) {
    const auto faults = faults_of(
        "flow: f\nfunctions:\n  make: data<u64>(u64)\n  look: u64(data<u64>)\n"
        "  twice: u64(u64)\n  walk: step<u64>(struct<16,8:u64@0,u64@8>,u64)\n"
        "  bad: step<u64>(u64)\n"
        "  open: step<data<u64>>(struct<16,8:u64@0,u64@8>,data<u64>)\n"
        "inputs: {n: u64, d: data<u64>}\nnodes:\n  first: {kind: call, function: look}\n" +
        nodes + "edges:\n" + edges + "outputs: {r: last, f: first}\n");
    return faults.empty() ? std::string() : faults.front();
  };
  const std::string given = "  - {from: d, to: first}\n";
  const auto has = [](const std::string& text, const char* part) {
    CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  };
  has(fault_of("  last: {kind: call, function: twice}\n",
               given + "  - {from: n, to: last, durable: true}\n"),
      "is u64, a value, which is kept with the flow");
  has(fault_of("  last: {kind: call, function: twice}\n",
               "  - {from: d, to: first, durable: true}\n  - {from: n, to: last}\n"),
      "orchid data keep");
  has(fault_of("  last: {kind: call, function: twice}\n",
               given + "  - {from: n, to: last, durable: 1}\n"),
      "must be true or false");
  const std::string to_last = given + "  - {from: n, to: last}\n";
  has(fault_of("  last: {kind: call, function: walk}\n", to_last), "of kind iterate");
  has(fault_of("  last: {kind: iterate, function: twice, budget: 1s}\n", to_last),
      "is no step function");
  has(fault_of("  last: {kind: iterate, function: twice}\n", to_last), "has no 'times'");
  has(fault_of("  last: {kind: iterate, function: bad, budget: 1s}\n", to_last),
      "one that takes a budget and the state");
  has(fault_of("  last: {kind: iterate, function: walk, budget: 1s, durable: 3}\n", to_last),
      "is u64, a value");
  has(fault_of("  last: {kind: iterate, function: walk, budget: 1s, until: found}\n", to_last),
      "take 'until' away");
  CHECK(fault_of("  last: {kind: iterate, function: walk, budget: 1s}\n", to_last).empty());
  CHECK(fault_of("  last: {kind: iterate, function: walk, times: 3}\n", to_last).empty());
  has(fault_of("  last: {kind: iterate, function: open, steps: 9, durable: 2}\n",
               given + "  - {from: d, to: last}\n"),
      "nobody takes input 'n'");  // and nothing else is wrong
}

TEST_CASE("a flow that wants something durable is refused where nobody keeps files") {
  const Parsed parsed = parse_document(
      "flow: f\nfunctions: {make: 'data<u64>(u64)', look: 'u64(data<u64>)'}\ninputs: {n: u64}\n"
      "nodes:\n  a: {kind: call, function: make}\n  b: {kind: call, function: look}\n"
      "edges:\n  - {from: n, to: a}\n  - {from: a, to: b, durable: true}\noutputs: {r: b}\n",
      "f.yaml");
  REQUIRE(parsed.faults.empty());
  CHECK(check(parsed.document, {}).faults.empty());
  CHECK(check(parsed.document, {.keeps_files = [] { return true; }}).faults.empty());
  const auto faults = check(parsed.document, {.keeps_files = [] { return false; }}).faults;
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].place.line == 9);
  CHECK(faults[0].message.find("--data-durable") != std::string::npos);
}
