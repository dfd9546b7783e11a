// flow_process.h: a process that runs submitted flows, without a gateway: its book over a folder
// that outlives it, a clock that stands still, and calls that the test answers.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/plan_bytes.h"
#include "flow_book.h"
#include "held_calls.h"
#include "scratch_folder.h"
#include "submitted_flows.h"

namespace orchid::flows {

struct Answer {
  FlowAnswer head;
  nlohmann::json document;  // if it has one
  std::string text;
};

/// A process that runs flows: its book over a folder that outlives it.
class Process {
 public:
  explicit Process(const tests::Scratch& folder, FlowBook::Options options = {},
                   ByteCount most = 64_MiB)
      : journal_(FlowJournal::open({.file = folder / "flows.db", .most = most}).value()),
        book_({.journal = *journal_,
               .calls = calls,
               .clock = clock,
               .answer =
                   [this](const FlowAnswer& head, std::string_view text) {
                     answers[head.number] = {head, nlohmann::json::parse(text, nullptr, false),
                                             std::string(text)};
                   },
               .check = [this](Asked asked) { check(std::move(asked)); },
               .look_at_hosts =
                   [this] {
                     ++looks;
                     later_.emplace_back(HostsSeen{.hosts = hosts});
                   },
               .look_at_objects =
                   [this](const std::string& flow, const std::vector<DataId>& wanted) {
                     ObjectsSeen seen{.flow = flow, .objects = {}};
                     for (const DataId& id : wanted)
                       seen.objects.push_back({.id = id, .bytes = 1'000, .hosts = {"a"}});
                     object_looks.push_back(wanted.size());
                     later_.emplace_back(std::move(seen));
                   },
               .find_calls = [this] { ++looks_for_calls; },  // the test brings them
               .cancel_calls =
                   [this](const std::vector<CallLeft>& unwanted) {
                     for (const CallLeft& call : unwanted) cancelled.push_back(call.invocation);
                   }},
              options) {
    REQUIRE(book_.restore().has_value());
  }

  /// What came of it; nothing: it waits.
  std::optional<Answer> ask(FlowRequest request, std::vector<std::byte> content = {}) {
    request.number = ++number_;
    std::vector<Arrival> arrivals;
    arrivals.emplace_back(Asked{.request = std::move(request), .content = std::move(content)});
    bring(std::move(arrivals));
    return answer(number_);
  }
  std::optional<Answer> answer(std::uint64_t number) const {
    const auto found = answers.find(number);
    return found == answers.end() ? std::nullopt : std::optional(found->second);
  }
  std::string submit(const std::string& key = "", std::uint64_t n = 12) {
    const auto answer = ask({.ask = FlowAsk::submit, .flow = {}, .key = key},
                            body_of(flow::four_kinds(), {{"n", n}, {"wanted", 9}}));
    REQUIRE(answer.has_value());
    REQUIRE_FALSE(answer->head.failure.has_value());
    return answer->document.at("id").get<std::string>();
  }
  nlohmann::json show(const std::string& flow) {
    const auto answer = ask({.ask = FlowAsk::show, .flow = flow, .key = {}});
    REQUIRE(answer.has_value());
    return answer->document;
  }
  std::string state(const std::string& flow) { return show(flow).value("state", ""); }
  ErrorCode refused(FlowAsk ask, const std::string& flow) {
    const auto answer = this->ask({.ask = ask, .flow = flow, .key = {}});
    REQUIRE((answer && answer->head.failure));
    return answer->head.failure->code;
  }

  /// The oldest open call ends well, or not.
  void end_one(const std::string& outcome = "ok") {
    REQUIRE_FALSE(calls.open.empty());
    const FlowCall call = std::move(calls.open.front());
    calls.open.pop_front();
    end(call, outcome);
  }
  void end(const FlowCall& call, const std::string& outcome = "ok") {
    std::vector<Arrival> arrivals;
    if (outcome == "ok")
      arrivals.emplace_back(CallEnded{.flow = call.flow, .event = answer_of(call)});
    else
      arrivals.emplace_back(CallEnded{
          .flow = call.flow,
          .event = flow::CallFailed{
              .call = {.run = 0, .number = call.number}, .outcome = outcome, .message = "so"}});
    bring(std::move(arrivals));
  }
  /// Well, and its function took so long.
  void end(const FlowCall& call, std::chrono::nanoseconds run_time) {
    flow::Answered answer = answer_of(call);
    answer.run_time = run_time;
    std::vector<Arrival> arrivals;
    arrivals.emplace_back(CallEnded{.flow = call.flow, .event = std::move(answer)});
    bring(std::move(arrivals));
  }
  void end_all() {
    while (!calls.open.empty()) end_one();
  }
  /// The gateway had them under way.
  void find(std::vector<CallLeft> found) {
    std::vector<Arrival> arrivals;
    arrivals.emplace_back(CallsFound{.calls = std::move(found)});
    bring(std::move(arrivals));
  }
  void pass(std::chrono::milliseconds time) {
    clock.time += time;
    bring({});
  }

  std::string version = "0123456789ab";             // of all functions
  std::string needs{};                              // the same
  std::map<std::string, std::string> signatures{};  // of functions of the test's own
  std::vector<flow::HostSituation> hosts{};
  unsigned looks = 0;  // at them
  unsigned looks_for_calls = 0;
  std::vector<std::size_t> object_looks{};  // at so many each time
  std::vector<std::string> cancelled{};     // invocations
  StillClock clock;
  HeldCalls calls;
  std::map<std::uint64_t, Answer> answers;

 private:
  void bring(std::vector<Arrival> arrivals) {
    REQUIRE(book_.take(std::move(arrivals)));
    book_.look_around();
    for (std::vector<Arrival> more = std::exchange(later_, {}); !more.empty();
         more = std::exchange(later_, {})) {
      REQUIRE(book_.take(std::move(more)));
      book_.look_around();
    }
  }
  void check(Asked asked) {
    auto checked = [&]() -> Result<CheckedSubmission> {
      auto submission = parse_submission(asked.content);
      if (!submission) return fail(submission.error());
      KnownVersions functions;
      auto ready = make_ready(*submission, [&](const std::string& name) {
        const auto own = signatures.find(name);
        const std::string signature = own != signatures.end() ? own->second : signature_of(name);
        functions[name] = {.signature = signature, .exact = name + "@" + version, .needs = needs};
        return flow::KnownFunction{.state = flow::KnownFunction::State::known,
                                   .signature = signature,
                                   .exact = name + "@" + version,
                                   .needs = needs,
                                   .message = {}};
      });
      if (!ready) return fail(ready.error());
      const std::string name = ready->plan.name;
      auto plan = flow::to_bytes(ready->plan, ready->inputs);
      return CheckedSubmission{.name = name,
                               .functions = functions,
                               .ready = std::move(*ready),
                               .plan = std::move(plan)};
    }();
    later_.emplace_back(Checked{.request = std::move(asked.request),
                                .content = std::move(asked.content),
                                .result = std::move(checked)});
  }
  static DataId object(std::uint64_t number) {
    DataId id;
    std::memcpy(id.bytes.data(), &number, sizeof number);
    return id;
  }
  static std::string signature_of(const std::string& name) {
    static const std::string all = flow::functions_section();
    const std::size_t begin = all.find("  " + name + ": ") + name.size() + 4;
    return all.substr(begin, all.find('\n', begin) - begin);
  }
  static flow::Answered answer_of(const FlowCall& call) {
    if (call.signature.starts_with("data<"))
      return {.call = {.run = 0, .number = call.number},
              .output = *flow::value("data<f64>", "\"" + to_string(object(call.number)) + "\"")};
    if (call.signature.find("data<") != std::string::npos)
      return {.call = {.run = 0, .number = call.number}, .output = *flow::value("f64", "1")};
    const std::string name = call.function.substr(0, call.function.find('@'));
    const auto type = flow::parse_function_type(call.signature).value();
    const flow::PlannedCall planned{
        .function = name, .signature = call.signature, .ports = {}, .result = type.result};
    flow::Answered answered = flow::answer_to({.call = {.run = 0, .number = call.number},
                                               .node = 0,
                                               .function = &planned,
                                               .input = call.input});
    answered.run_time = std::chrono::microseconds(10);
    return answered;
  }

  std::unique_ptr<FlowJournal> journal_;
  FlowBook book_;
  std::vector<Arrival> later_;
  std::uint64_t number_ = 0;
};

}  // namespace orchid::flows
