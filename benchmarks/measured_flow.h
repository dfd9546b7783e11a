// benchmarks/measured_flow.h: flows that a benchmark runs in its own process, on workers of a
// lease.
#pragma once
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "flow/checker.h"
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
      : plan_(std::move(plan)),
        calls_(flow::calls_on_lease(client, plan_, {.workers = workers}, inbox_)) {}

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

}  // namespace orchid::bench
