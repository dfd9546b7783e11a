// crew/spread_fixture.h: two executors, and crews of which each has every other member.
#pragma once
#include <filesystem>
#include <memory>
#include <utility>

#include "crew_fixture.h"

namespace orchid::tests {

struct SpreadFixture {
  explicit SpreadFixture(LocalExecutor::Options options = {}) : options_(std::move(options)) {}

 private:
  LocalExecutor::Options options_;
  [[nodiscard]] LocalExecutor::Options remote() const {
    LocalExecutor::Options options = options_;
    options.programs = PROGRAMS;
    options.spare = 1;
    options.remote = true;
    return options;
  }

 public:
  FarExecutor second{remote()};
  LocalExecutor first{remote()};
  ExecutorCrews* source = nullptr;  // of the crew that was taken last, which owns it

  /// `lane_socket`: of the first executor, or of a relay in front of it; empty: its own.
  [[nodiscard]] Crew take(const CrewOptions& options, bool is_far = false,
                          const std::filesystem::path& lane_socket = {}) {
    auto owned = std::make_unique<ExecutorCrews>(first, second);
    source = owned.get();
    source->is_far = is_far;
    source->lane_socket = lane_socket;
    return take_crew(std::move(owned), options);
  }
};

}  // namespace orchid::tests
