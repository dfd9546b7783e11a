// What people see on a terminal while a flow runs.
#include "flows/flow_progress.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "fake_terminal.h"
#include "flow/checker.h"
#include "flow/values.h"

namespace orchid::cli {
namespace {

using tests::FakeTerminal;

constexpr auto three_at_once =
    "flow: wide\n"
    "functions: {twice: 'u64(u64)', thrice: 'u64(u64)', length: 'u64(span<u64>)'}\n"
    "inputs: {list: span<u64>}\n"
    "nodes:\n"
    "  twice: {kind: map, each: twice}\n"
    "  thrice: {kind: map, each: thrice}\n"
    "  count: {kind: call, function: length}\n"
    "edges: [{from: list, to: twice}, {from: list, to: thrice}, {from: list, to: count}]\n"
    "outputs: {a: twice, b: thrice, c: count}\n";

/// A flow whose calls end when the test says so.
struct FlowOnTerminal {
  FlowOnTerminal() {
    shell.err_is_terminal = true;
    shell.err_size = [this] { return size; };
    take(engine.apply(flow::Tick{}, {}));
  }

  void take(const std::vector<flow::Action>& actions) {
    for (const flow::Action& action : actions) {
      if (const auto* start = std::get_if<flow::StartCall>(&action)) open.push_back(*start);
      if (const auto* change = std::get_if<flow::NodeChanged>(&action)) progress.changed(*change);
    }
  }

  void answer_one_of(const std::string& name) {
    for (const flow::StartCall& call : open) {
      if (plan.nodes[call.node].name != name) continue;
      flow::Answered answer{.call = call.call, .output = value("u64", "7")};
      std::erase_if(open, [&](const auto& one) { return one.call == answer.call; });
      return take(engine.apply(std::move(answer), {}));
    }
    FAIL("no call of " << name << " is open");
  }

  [[nodiscard]] std::vector<std::string> screen() {
    (void)progress.look();
    return FakeTerminal(err.str()).lines();
  }

  static flow::Bytes value(const char* type, const char* json) {
    return flow::value_of_json(flow::parse_port_type(type).value(), json).value();
  }
  static flow::Plan make_plan() {
    const flow::Parsed parsed = flow::parse_document(three_at_once, "");
    REQUIRE(parsed.faults.empty());
    flow::Checked checked = flow::check(parsed.document, {});
    REQUIRE(checked.faults.empty());
    return std::move(checked.plan);
  }

  flow::Plan plan = make_plan();
  flow::Engine engine =
      flow::Engine::start(
          plan, {std::make_shared<const flow::Bytes>(value("span<u64>", "[1,2,3,4]"))}, {})
          .value();
  TerminalSize size;
  std::ostringstream out;
  std::ostringstream err;
  Shell shell{out, err};
  FlowProgress progress{shell, plan, engine};
  std::vector<flow::StartCall> open;
};

const std::string nothing_done = "[------------------------------]   0 %  ";

}  // namespace

TEST_CASE("each node that runs has a bar, which is redrawn in place") {
  FlowOnTerminal stage;
  CHECK(stage.screen() == std::vector<std::string>{nothing_done + "twice  0/4",
                                                   nothing_done + "thrice 0/4",
                                                   nothing_done + "count", "0 of 3 nodes done"});
  stage.answer_one_of("thrice");
  stage.answer_one_of("thrice");
  CHECK(stage.screen() ==
        std::vector<std::string>{nothing_done + "twice  0/4",
                                 "[###############---------------]  50 %  thrice 2/4",
                                 nothing_done + "count", "0 of 3 nodes done"});
}

TEST_CASE("a node that has ended leaves its line above the bars of the others") {
  FlowOnTerminal stage;
  CHECK(stage.screen().size() == 4);
  stage.answer_one_of("count");
  const std::vector<std::string> lines = stage.screen();
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].starts_with("count: done in "));
  CHECK(lines[1] == nothing_done + "twice  0/4");
  CHECK(lines[2] == nothing_done + "thrice 0/4");
  CHECK(lines[3] == "1 of 3 nodes done");
}

TEST_CASE("no more bars are shown than fit on the screen, and none is wider") {
  FlowOnTerminal stage;
  stage.size = {.columns = 80, .rows = 3};
  CHECK(stage.screen() == std::vector<std::string>{nothing_done + "twice  0/4",
                                                   nothing_done + "thrice 0/4",
                                                   "0 of 3 nodes done, and 1 more run"});
  stage.size = {.columns = 20, .rows = 1};
  for (const std::string& line : stage.screen()) CHECK(line.size() < 20);
  CHECK(stage.screen().size() == 1);
}

TEST_CASE("at the end of a flow no bar is left") {
  FlowOnTerminal stage;
  CHECK(stage.screen().size() == 4);
  for (const char* name :
       {"count", "twice", "twice", "twice", "twice", "thrice", "thrice", "thrice", "thrice"}) {
    stage.answer_one_of(name);
    (void)stage.progress.look();
  }
  const std::vector<std::string> lines = stage.screen();
  REQUIRE(lines.size() == 3);
  CHECK(lines[2].starts_with("thrice: done in "));
  CHECK(lines[2].ends_with(", 4 pieces"));
}

TEST_CASE("in a pipe and with --json there are no bars") {
  for (const bool json : {false, true}) {
    FlowOnTerminal stage;
    stage.shell.json = json;
    stage.shell.err_is_terminal = json;
    CHECK(stage.screen().empty());
  }
}

}  // namespace orchid::cli
