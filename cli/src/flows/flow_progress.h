// flows/flow_progress.h: what people see of a flow that runs: on a terminal a bar for each node
// that runs, and a line for each that has ended.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/engine.h"
#include "flow_run/flow_driver.h"
#include "terminal/shell.h"

namespace orchid::cli {

/// "node 'search', piece 17 of 26, attempt 2: function_crashed: …"
[[nodiscard]] std::string describe(const flow::Plan& plan, const flow::AttemptFailed& attempt);

class FlowProgress final : public flow::FlowWatch {
 public:
  /// `keep` keeps what was reached, and is called soon and every few seconds; it may be empty.
  FlowProgress(Shell& shell, const flow::Plan& plan, const flow::Engine& engine,
               std::function<void()> keep = {})
      : shell_(shell),
        plan_(plan),
        engine_(engine),
        keep_(std::move(keep)),
        begun_(plan.nodes.size()) {}
  ~FlowProgress() override { shell_.show_passing_line(""); }

  void changed(const flow::NodeChanged& change) override;
  void failed(const flow::AttemptFailed& attempt) override;
  [[nodiscard]] bool look() override;
  [[nodiscard]] bool interrupted() override;
  void optimiser_failed(std::string_view trouble) override;

 private:
  void show_bars();
  /// `width`: of the longest name.
  [[nodiscard]] std::string bar_of(std::uint32_t node, std::size_t width) const;

  using Clock = std::chrono::steady_clock;

  Shell& shell_;
  const flow::Plan& plan_;
  const flow::Engine& engine_;
  std::function<void()> keep_;
  Clock::time_point keep_again_ = Clock::now();
  std::vector<Clock::time_point> begun_;  // of each node
  std::vector<std::uint32_t> running_;
  Clock::time_point asked_;
  bool has_asked_ = false;
};

}  // namespace orchid::cli
