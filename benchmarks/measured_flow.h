// benchmarks/measured_flow.h: flows that a benchmark runs in its own process, and the best fixed
// choice for one by a full search.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/checker.h"
#include "flow/optimiser.h"
#include "flow_run/flow_calls.h"
#include "flow_run/flow_driver.h"
#include "orchid/client.h"

namespace orchid::bench {

inline flow::Plan plan_of(const std::string& text) {
  const flow::Parsed parsed = flow::parse_document(text, "");
  flow::Checked checked = flow::check(parsed.document, {});
  if (!parsed.faults.empty() || !checked.faults.empty())
    throw std::runtime_error("the benchmark's flow is wrong");
  return std::move(checked.plan);
}

/// Nobody looks.
class Unwatched final : public flow::FlowWatch {
 public:
  void changed(const flow::NodeChanged& /*change*/) override {}
  void failed(const flow::AttemptFailed& attempt) override {
    std::fprintf(stderr, "flow: %s\n", attempt.message.c_str());
  }
  [[nodiscard]] bool look() override { return true; }
  [[nodiscard]] bool interrupted() override { return true; }
};

/// The calls of several flows, one after the other. Used by one thread.
class FlowWorkers {
 public:
  /// `plan` has the functions of all.
  FlowWorkers(Client& client, flow::Plan plan, unsigned workers)
      : FlowWorkers(client, std::move(plan), flow::CallsOptions{.workers = workers}) {}
  FlowWorkers(Client& client, flow::Plan plan, const flow::CallsOptions& options)
      : plan_(std::move(plan)),
        calls_(options.by_gateway ? flow::calls_by_gateway(client, plan_, options, inbox_)
                                  : flow::calls_on_lease(client, plan_, options, inbox_)) {}

  [[nodiscard]] std::uint32_t count() const { return calls_->workers(); }

  struct Ran {
    flow::Value output;  // the first one
    std::chrono::duration<double, std::micro> took{};
  };
  [[nodiscard]] Result<Ran> run(const flow::Plan& plan, std::vector<flow::Value> inputs,
                                flow::Tuner* tuner = nullptr) {
    const auto start = std::chrono::steady_clock::now();
    auto engine =
        flow::Engine::start(plan, std::move(inputs), {.window = calls_->window(), .run = ++runs_});
    if (!engine) return fail(std::move(engine.error()));
    Unwatched watch;
    flow::drive({.plan = plan,
                 .engine = *engine,
                 .calls = *calls_,
                 .inbox = *inbox_,
                 .watch = watch,
                 .tuner = tuner});
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    if (engine->outcome() != flow::FlowOutcome::done)
      return fail(ErrorCode::internal, "the flow has failed");
    return Ran{.output = engine->output(0), .took = took};
  }

 private:
  flow::Plan plan_;
  std::shared_ptr<flow::FlowInbox> inbox_ = std::make_shared<flow::FlowInbox>();
  std::unique_ptr<flow::FlowCalls> calls_;
  std::uint32_t runs_ = 0;
};

/// Says the same of each node.
class Fixed final : public flow::Optimiser {
 public:
  /// Its node does not count.
  explicit Fixed(flow::Advice advice) : advice_(std::move(advice)) {}
  [[nodiscard]] std::string_view name() const override { return "fixed"; }
  [[nodiscard]] std::string description() const override { return "a fixed choice"; }
  [[nodiscard]] Result<flow::Decided> decide(const flow::Situation& situation) override {
    flow::Decided decided;
    for (const flow::ReadyNode& node : situation.nodes) {
      decided.nodes.push_back(advice_);
      decided.nodes.back().node = node.node;
    }
    return decided;
  }

 private:
  flow::Advice advice_;
};

/// The number of the choice, of so many, that takes least: by the median of three runs of each, in
/// turns. What takes three times as long as another one is not looked at again.
[[nodiscard]] inline std::size_t best_choice(
    std::size_t choices, const std::function<Result<std::vector<double>>(std::size_t)>& run) {
  constexpr int looks = 3;
  constexpr double hopeless = 3;
  std::vector<std::vector<double>> times(choices);
  double least = std::numeric_limits<double>::max();
  for (int look = 0; look < looks; ++look)
    for (std::size_t i = 0; i < choices; ++i) {
      if (look != 0 && times[i].front() > hopeless * least) continue;
      const auto took = run(i);
      if (!took) throw std::runtime_error(took.error().message);
      times[i].push_back(took->front());
      least = std::min(least, took->front());
    }
  const auto median = [](std::vector<double> all) {
    std::ranges::sort(all);
    return all[all.size() / 2];
  };
  return static_cast<std::size_t>(std::ranges::min_element(times, {}, median) - times.begin());
}

}  // namespace orchid::bench
