#include "flow_book.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "database/database.h"
#include "flow_process.h"
#include "scratch_folder.h"
#include "submitted_flows.h"

namespace orchid::flows {
namespace {

using Json = nlohmann::json;

}  // namespace

TEST_CASE("a submitted flow runs to its end, and its outputs are kept") {
  const tests::Scratch folder;
  std::string id;
  {
    Process process(folder);
    id = process.submit();
    CHECK(process.state(id) == "running");
    CHECK(process.calls.open.front().function.ends_with("@0123456789ab"));
    CHECK(process.refused(FlowAsk::outputs, id) == ErrorCode::conflict);
    process.end_all();
    CHECK(process.state(id) == "done");
  }
  Process process(folder);
  CHECK(process.calls.started.empty());
  const Json document = process.show(id);
  CHECK(document["state"] == "done");
  CHECK(document["nodes_done"] == 4);
  CHECK(document["nodes"].size() == 4);
  const auto outputs = process.ask({.ask = FlowAsk::outputs, .flow = id, .key = {}});
  CHECK(outputs->document == Json{{"total", 156}, {"search", "found 9"}, {"grow", 159}});
  CHECK(process.ask({.ask = FlowAsk::log, .flow = id, .key = {}})->text.find("total: done") !=
        std::string::npos);
  CHECK(process.ask({.ask = FlowAsk::list, .flow = {}, .key = {}})->document["flows"].size() == 1);
}

TEST_CASE("who asks often is told how a flow stands without its nodes") {
  const tests::Scratch folder;
  std::string id;
  const auto same_without_nodes = [&](Process& process) {
    Json whole = process.show(id);
    CHECK(whole.at("nodes").size() == 4);
    whole.erase("nodes");
    CHECK(process.ask({.ask = FlowAsk::show, .flow = id, .key = {}, .brief = true})->document ==
          whole);
    CHECK(process.ask({.ask = FlowAsk::list, .flow = {}, .key = {}})->document["flows"][0] ==
          whole);
  };
  {
    Process process(folder);
    id = process.submit();
    same_without_nodes(process);
    process.end_all();
    same_without_nodes(process);
  }
  Process process(folder);
  same_without_nodes(process);
}

TEST_CASE("after a restart the calls that were open are asked for again, and no others") {
  const tests::Scratch folder;
  std::string id;
  std::set<std::uint64_t> ended;
  while (true) {
    Process process(folder);  // everything before it was killed
    if (id.empty()) id = process.submit();
    if (process.state(id) == "done") break;
    for (const std::uint64_t number : process.calls.started) CHECK_FALSE(ended.contains(number));
    REQUIRE(ended.insert(process.calls.open.front().number).second);
    process.end_one();
    REQUIRE(ended.size() < 1'000);
  }
  Process process(folder);
  CHECK(process.ask({.ask = FlowAsk::outputs, .flow = id, .key = {}})->document["total"] == 156);
}

TEST_CASE("a flow goes on by its plan, or else by what was submitted") {
  for (const bool plan_is_lost : {false, true}) {
    const tests::Scratch folder;
    std::string id;
    std::multiset<std::uint64_t> open;
    {
      Process process(folder);
      id = process.submit();
      for (int i = 0; i < 5; ++i) process.end_one();
      for (const FlowCall& call : process.calls.open) open.insert(call.number);
    }
    const char* loss = plan_is_lost ? "UPDATE plans SET bytes = substr(bytes, 2)"
                                    : "UPDATE flows SET body = x'00'";
    REQUIRE(Database::open(folder / "flows.db").value()->execute(loss).has_value());
    Process process(folder);
    CHECK(process.state(id) == "running");
    CHECK(process.calls.started == open);
    process.end_all();
    CHECK(process.ask({.ask = FlowAsk::outputs, .flow = id, .key = {}})->document["total"] == 156);
  }
}

TEST_CASE("what optimisers have decided holds after a restart: the same calls with the same runs") {
  const std::string document =
      "flow: tuned\noptimise: [speed, granularity]\n" + flow::functions_section() +
      "inputs: {n: u64}\n"
      "nodes:\n"
      "  work: {kind: map, takes: [n], partition: {function: count, takes: [n]}, each: doubles}\n"
      "  total: {kind: reduce, function: sum, fan: 1000}\n"
      "edges: [{from: n, to: work}, {from: work, to: total}]\n"
      "outputs: {total: total}\n";
  const tests::Scratch folder;
  std::string id;
  std::string why;
  std::set<std::uint64_t> ended;
  std::map<std::uint64_t, flow::Bytes> inputs;  // by the number of the call
  while (true) {
    Process process(folder);  // everything before it was killed
    if (id.empty())
      id = process
               .ask({.ask = FlowAsk::submit, .flow = {}, .key = {}},
                    body_of(document, {{"n", 1'000}}))
               ->document.at("id");
    if (process.state(id) == "done") break;
    for (const FlowCall& call : process.calls.open)
      CHECK(inputs.try_emplace(call.number, call.input).first->second == call.input);
    REQUIRE(ended.insert(process.calls.open.front().number).second);
    process.clock.time += std::chrono::milliseconds(20);
    process.end_one();
    const Json shown = process.show(id);
    for (const Json& node : shown.at("nodes"))
      if (node.at("node") == "work" && node.contains("why")) why = node.at("why");
    REQUIRE(ended.size() < 1'000);
  }
  CHECK(ended.size() < 500);  // many calls had many pieces
  CHECK_MESSAGE(why.find("granularity: ") != std::string::npos, why);
  Process process(folder);
  CHECK(process.ask({.ask = FlowAsk::outputs, .flow = id, .key = {}})->document["total"] ==
        1'000 * 1'001);
}

TEST_CASE("hosts are looked at before a flow's first decision, and again while it runs") {
  const std::string document =
      "flow: bound\noptimise: [{power: {watts: 60, watts_per_core: 5}}]\n" +
      flow::functions_section() +
      "inputs: {n: u64}\n"
      "nodes: {work: {kind: map, takes: [n], partition: {function: count, takes: [n]}, each: "
      "twice}}\n"
      "edges: [{from: n, to: work}]\n"
      "outputs: {all: work}\n";
  const tests::Scratch folder;
  Process process(folder);
  process.hosts = {{.name = "a", .kind = "cpu", .cores = 16, .cores_free = 16, .watts = 20}};
  const std::string id =
      process.ask({.ask = FlowAsk::submit, .flow = {}, .key = {}}, body_of(document, {{"n", 200}}))
          ->document.at("id");
  CHECK(process.looks == 1);
  process.end_one();  // the partition
  for (int i = 0; i < 32; ++i) process.end_one();
  CHECK(process.calls.open.size() == 8);  // (60 - 20) / 5
  // Its own eight calls draw 40 W of the 80 that are reported by then: 20 are another one's.
  process.hosts[0].cores_free = 8;
  process.hosts[0].watts = 80;
  process.pass(std::chrono::seconds(6));
  CHECK(process.looks == 2);
  process.pass(std::chrono::milliseconds(20));
  for (int i = 0; i < 8; ++i) process.end_one();
  CHECK(process.calls.open.size() == 4);  // (60 - 40) / 5
  CHECK(process.show(id).at("nodes")[0].at("why").get<std::string>().find("by what hosts report") !=
        std::string::npos);
}

TEST_CASE("calls go to GPUs and cores as was decided, and do so after a restart") {
  const std::string document = "flow: both\noptimise: [device]\n" + flow::functions_section() +
                               "inputs: {n: u64}\n"
                               "nodes: {work: {kind: map, takes: [n], partition: {function: count, "
                               "takes: [n]}, each: twice}}\n"
                               "edges: [{from: n, to: work}]\n"
                               "outputs: {all: work}\n";
  const tests::Scratch folder;
  std::string id;
  std::map<std::uint64_t, flow::Device> devices;
  {
    Process process(folder);
    process.needs = "1 core, 1 GPU | 2 cores";
    process.hosts = {{.name = "a", .kind = "gpu", .cores = 7, .cores_free = 7, .gpus_free = 1}};
    id = process
             .ask({.ask = FlowAsk::submit, .flow = {}, .key = {}}, body_of(document, {{"n", 50}}))
             ->document.at("id");
    process.end_one();  // the partition
    for (const FlowCall& call : process.calls.open) devices[call.number] = call.device;
  }
  REQUIRE(devices.size() == 4);
  const auto on = [&](flow::Device device) {
    return std::ranges::count_if(devices, [&](const auto& one) { return one.second == device; });
  };
  CHECK(on(flow::Device::gpu) == 1);
  CHECK(on(flow::Device::cores) == 3);
  Process process(folder);
  REQUIRE(process.calls.open.size() == 4);
  for (const FlowCall& call : process.calls.open) CHECK(call.device == devices.at(call.number));
  process.hosts = {{.name = "a", .kind = "gpu", .cores = 7, .cores_free = 7, .gpus_free = 1}};
  process.end_all();
  CHECK(process.state(id) == "done");
}

TEST_CASE("a library of a user is refused when a flow is submitted") {
  const tests::Scratch folder;
  Process process(folder);
  const std::string document = "flow: f\noptimise: [./mine.so]\n" + flow::functions_section() +
                               "inputs: {n: u64}\nnodes: {a: {kind: call, function: twice}}\n"
                               "edges: [{from: n, to: a}]\noutputs: {r: a}\n";
  const auto answer =
      process.ask({.ask = FlowAsk::submit, .flow = {}, .key = {}}, body_of(document, {{"n", 1}}));
  REQUIRE((answer && answer->head.failure));
  CHECK(answer->head.failure->message.find("only 'orchid flow run' loads") != std::string::npos);
  CHECK(process.ask({.ask = FlowAsk::list, .flow = {}, .key = {}})->document.at("flows").empty());
}

TEST_CASE("an answer that comes twice, or of a call that is not open, counts once") {
  const tests::Scratch folder;
  Process process(folder);
  const std::string id = process.submit();
  const FlowCall first = process.calls.open.front();
  process.end_one();
  process.end(first);
  FlowCall unknown = first;
  unknown.number = 999'999;
  process.end(unknown, "worker_lost");
  unknown.flow = "fl-0000000000000000";
  process.end(unknown, "worker_lost");
  process.end_all();
  CHECK(process.state(id) == "done");
}

TEST_CASE("a failed attempt is made again after its back-off, also after a restart") {
  const tests::Scratch folder;
  std::string id;
  {
    Process process(folder);
    id = process.submit();
    process.end_one("worker_lost");
  }
  Process process(folder);
  const std::size_t before = process.calls.started.size();
  process.pass(std::chrono::milliseconds(50));
  CHECK(process.calls.started.size() == before);
  process.pass(std::chrono::milliseconds(100));
  CHECK(process.calls.started.size() == before + 1);
  process.end_all();
  CHECK(process.state(id) == "done");
}

TEST_CASE("a node that failed stops the flow, which says why, and goes on from there") {
  const tests::Scratch folder;
  std::string id;
  std::size_t first_calls = 0;
  {
    Process process(folder);
    id = process.submit();
    while (process.calls.open.front().function.find("twice") == std::string::npos)
      process.end_one();
    process.end_one("function_crashed");
    const Json document = process.show(id);
    CHECK(document["state"] == "failed");
    CHECK(document["message"].get<std::string>().find("node 'doubled', piece 1 of 12, attempt 1: "
                                                      "function_crashed: so") == 0);
    CHECK(process.calls.open.empty());
    CHECK(process.calls.stopped > 0);
    first_calls = process.calls.started.size();
    CHECK(process.refused(FlowAsk::resume, id) == ErrorCode::conflict);
    CHECK(process.refused(FlowAsk::cancel, id) == ErrorCode::conflict);
  }
  std::multiset<std::uint64_t> open;
  {
    Process process(folder);
    CHECK(process.state(id) == "failed");
    CHECK(process.calls.open.empty());
    process.version = "ba9876543210";  // deployed anew, which goes for what is called from now on
    (void)process.ask({.ask = FlowAsk::retry, .flow = id, .key = {}});
    CHECK(process.state(id) == "running");
    CHECK(process.calls.open.front().function == "twice@ba9876543210");
    CHECK(process.refused(FlowAsk::retry, id) == ErrorCode::conflict);
    // Under numbers of their own: the old answers are not theirs.
    CHECK(*process.calls.started.begin() >= first_calls);
    for (const FlowCall& call : process.calls.open) open.insert(call.number);
  }
  // The plan with the new versions is kept, and the document is not read any more.
  REQUIRE(Database::open(folder / "flows.db")
              .value()
              ->execute("UPDATE flows SET body = x'00'")
              .has_value());
  Process process(folder);
  CHECK(process.state(id) == "running");
  CHECK(process.calls.started == open);
  CHECK(process.calls.open.front().function == "twice@ba9876543210");
  process.end_all();
  CHECK(process.state(id) == "done");
}

TEST_CASE("a cancelled flow stops its calls, and can be tried again") {
  const tests::Scratch folder;
  Process process(folder);
  const std::string id = process.submit();
  process.end_one();
  (void)process.ask({.ask = FlowAsk::cancel, .flow = id, .key = {}});
  CHECK(process.state(id) == "cancelled");
  CHECK(process.calls.open.empty());
  (void)process.ask({.ask = FlowAsk::retry, .flow = id, .key = {}});
  process.end_all();
  CHECK(process.state(id) == "done");
}

TEST_CASE("a flow that is deleted while it runs is gone, and its calls are stopped") {
  const tests::Scratch folder;
  {
    Process process(folder);
    const std::string id = process.submit();
    const FlowCall late = process.calls.open.front();
    const auto answer = process.ask({.ask = FlowAsk::remove, .flow = id, .key = {}});
    CHECK_FALSE(answer->head.failure.has_value());
    CHECK(process.calls.open.empty());
    CHECK(process.refused(FlowAsk::show, id) == ErrorCode::not_found);
    process.end(late);
  }
  Process process(folder);
  CHECK(process.ask({.ask = FlowAsk::list, .flow = {}, .key = {}})->document["flows"].empty());
}

TEST_CASE("one key is one flow, and another flow under it is refused") {
  const tests::Scratch folder;
  std::string id;
  {
    Process process(folder);
    id = process.submit("mine");
  }
  Process process(folder);
  CHECK(process.submit("mine") == id);
  const auto other = process.ask({.ask = FlowAsk::submit, .flow = {}, .key = "mine"},
                                 body_of(flow::four_kinds(), {{"n", 13}, {"wanted", 9}}));
  REQUIRE(other->head.failure.has_value());
  CHECK(other->head.failure->code == ErrorCode::conflict);
  CHECK(process.submit("yours") != id);
}

TEST_CASE("more flows than a user may have are refused, until one has ended") {
  const tests::Scratch folder;
  Process process(folder, {.most_flows = 2});
  const std::string first = process.submit();
  (void)process.submit();
  const auto third = process.ask({.ask = FlowAsk::submit, .flow = {}, .key = {}},
                                 body_of(flow::four_kinds(), {{"n", 3}, {"wanted", 1}}));
  REQUIRE(third->head.failure.has_value());
  CHECK(third->head.failure->code == ErrorCode::quota);
  (void)process.ask({.ask = FlowAsk::cancel, .flow = first, .key = {}});
  (void)process.submit();
}

TEST_CASE("a wrong document is refused, and leaves nothing") {
  const tests::Scratch folder;
  Process process(folder);
  const auto answer = process.ask({.ask = FlowAsk::submit, .flow = {}, .key = {}},
                                  body_of("flow: f\nnodes: {}\n", Json::object()));
  REQUIRE(answer->head.failure.has_value());
  CHECK(answer->head.failure->code == ErrorCode::bad_request);
  CHECK(answer->head.failure->message.find("f.yaml:") == 0);
  CHECK(process.ask({.ask = FlowAsk::list, .flow = {}, .key = {}})->document["flows"].empty());
}

TEST_CASE("a flow whose events find no room is suspended, and resumed when there is some") {
  const tests::Scratch folder;
  Process process(folder, {}, 128_KiB);
  std::vector<std::string> ids;
  std::optional<Failure> full;
  while (!full) {
    const auto answer = process.ask({.ask = FlowAsk::submit, .flow = {}, .key = {}},
                                    body_of(flow::four_kinds(), {{"n", 200}, {"wanted", 9}}));
    full = answer->head.failure;
    if (!full) ids.push_back(answer->document.at("id"));
    REQUIRE(ids.size() < 1'000);
  }
  CHECK(full->code == ErrorCode::disk_full);
  REQUIRE(ids.size() > 1);
  while (process.state(ids[0]) == "running") process.end_one();
  REQUIRE(process.state(ids[0]) == "suspended");
  CHECK(process.show(ids[0])["message"].get<std::string>().find("no more room") !=
        std::string::npos);
  for (std::size_t i = 1; i < ids.size(); ++i)
    (void)process.ask({.ask = FlowAsk::remove, .flow = ids[i], .key = {}});
  CHECK(process.calls.open.empty());
  (void)process.ask({.ask = FlowAsk::resume, .flow = ids[0], .key = {}});
  CHECK(process.state(ids[0]) == "running");
  process.end_all();
  CHECK(process.state(ids[0]) == "done");
}

TEST_CASE("who waits hears of news at once, and of the end") {
  const tests::Scratch folder;
  Process process(folder);
  const std::string id = process.submit();
  const auto first = process.ask({.ask = FlowAsk::news, .flow = id, .key = {}});
  REQUIRE(first.has_value());
  CHECK(first->text.find("event: node") != std::string::npos);
  CHECK_FALSE(first->head.last);
  const FlowRequest waiting{.ask = FlowAsk::news,
                            .flow = id,
                            .key = {},
                            .since = first->head.next,
                            .wait = std::chrono::seconds(10)};
  CHECK_FALSE(process.ask(waiting).has_value());
  const std::uint64_t asked = process.answers.rbegin()->first + 1;
  process.end_one();
  REQUIRE(process.answer(asked).has_value());
  CHECK(process.answer(asked)->head.next > first->head.next);

  CHECK_FALSE(
      process.ask({.ask = FlowAsk::show, .flow = id, .key = {}, .wait = std::chrono::seconds(60)})
          .has_value());
  const std::uint64_t last = process.answers.rbegin()->first + 1;
  process.end_all();
  REQUIRE(process.answer(last).has_value());
  CHECK(process.answer(last)->document["state"] == "done");
  const auto end = process.ask({.ask = FlowAsk::news, .flow = id, .key = {}});
  CHECK(end->head.last);
  CHECK(end->text.find("event: end") != std::string::npos);
  const auto nothing =
      process.ask({.ask = FlowAsk::news, .flow = id, .key = {}, .since = end->head.next});
  CHECK(nothing->text.empty());
  CHECK(nothing->head.last);
}

TEST_CASE("who has waited for long enough is answered, and flows that ended long ago go") {
  const tests::Scratch folder;
  Process process(folder, {.keep = std::chrono::hours(1)});
  const std::string id = process.submit();
  CHECK_FALSE(
      process.ask({.ask = FlowAsk::show, .flow = id, .key = {}, .wait = std::chrono::seconds(5)})
          .has_value());
  const std::uint64_t asked = process.answers.rbegin()->first + 1;
  process.pass(std::chrono::seconds(6));
  REQUIRE(process.answer(asked).has_value());
  CHECK(process.answer(asked)->document["state"] == "running");
  process.end_all();
  process.pass(std::chrono::minutes(59));
  CHECK(process.state(id) == "done");
  process.pass(std::chrono::minutes(3));
  CHECK(process.refused(FlowAsk::show, id) == ErrorCode::not_found);
}

}  // namespace orchid::flows
