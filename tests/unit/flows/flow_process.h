// flow_process.h: a process that runs flows, without a gateway: tests answer its calls.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
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

#include "flow_book.h"
#include "scratch_folder.h"
#include "submitted_flows.h"

namespace orchid::flows {

using Json = nlohmann::json;

class StillClock final : public Clock {
 public:
  [[nodiscard]] MonotonicTime now() const override { return MonotonicTime(time); }
  [[nodiscard]] WallTime wall_now() const override {
    return WallTime(std::chrono::hours(500'000) + time);
  }
  std::chrono::milliseconds time{1'000};
};

/// Calls that are open, by flow and number; the test answers them.
class HeldCalls final : public FlowCaller {
 public:
  void start(FlowCall call) override {
    started.insert(call.number);
    open.push_back(std::move(call));
  }
  void stop(const std::string& flow, std::uint64_t number) override {
    stopped += static_cast<unsigned>(std::erase_if(
        open, [&](const FlowCall& call) { return call.flow == flow && call.number == number; }));
  }
  void forget(const std::string& flow) override {
    std::erase_if(open, [&](const FlowCall& call) { return call.flow == flow; });
  }
  void drop(const DataId& data) override { dropped.push_back(data); }
  std::vector<DataId> dropped;
  std::deque<FlowCall> open;
  std::multiset<std::uint64_t> started;  // numbers
  unsigned stopped = 0;
};

struct Answer {
  FlowAnswer head;
  Json document;  // if it has one
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
                     answers[head.number] = {head, Json::parse(text, nullptr, false),
                                             std::string(text)};
                   },
               .check = [this](Asked asked) { check(std::move(asked)); },
               .look_at_hosts =
                   [this] {
                     ++looks;
                     later_.emplace_back(HostsSeen{.hosts = hosts});
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
                            body_of(all_kinds(), {{"n", n}, {"wanted", 9}}));
    REQUIRE(answer.has_value());
    REQUIRE_FALSE(answer->head.failure.has_value());
    return answer->document.at("id").get<std::string>();
  }
  Json show(const std::string& flow) {
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
  void pass(std::chrono::milliseconds time) {
    clock.time += time;
    bring({});
  }

  std::string version = "0123456789ab";  // of all functions
  std::string needs{};                   // the same
  std::vector<flow::HostSituation> hosts{};
  unsigned looks = 0;  // at them
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
        const std::string signature = signature_of(name);
        functions[name] = {.signature = signature, .exact = name + "@" + version, .needs = needs};
        return flow::KnownFunction{.state = flow::KnownFunction::State::known,
                                   .signature = signature,
                                   .exact = name + "@" + version,
                                   .needs = needs,
                                   .message = {}};
      });
      if (!ready) return fail(ready.error());
      const std::string name = ready->plan.name;
      return CheckedSubmission{.name = name, .functions = functions, .ready = std::move(*ready)};
    }();
    later_.emplace_back(Checked{.request = std::move(asked.request),
                                .content = std::move(asked.content),
                                .result = std::move(checked)});
  }
  static std::string signature_of(const std::string& name) {
    static const std::string all = flow::functions_section();
    const std::size_t begin = all.find("  " + name + ": ") + name.size() + 4;
    return all.substr(begin, all.find('\n', begin) - begin);
  }
  static flow::Answered answer_of(const FlowCall& call) {
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
