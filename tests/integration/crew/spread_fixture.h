// crew/spread_fixture.h: two executors, and crews of which every other member is at the second one.
#pragma once
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "crew_fixture.h"
#include "named_data.h"

namespace orchid::tests {

/// At the program's start, when it has one thread.
inline const bool far_executors_are_prepared = FarExecutor::prepare();

/// The client is at the first one, whose members have the lowest numbers.
struct SpreadFixture {
  explicit SpreadFixture(LocalExecutor::Options options = {}) : options_(std::move(options)) {
    first.be_gateway([this](const ControlMessage& message) { return data.hear(message); });
  }

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
  std::unique_ptr<FarExecutor> third;  // another one of the second one's host; null: there is none
  void start_third() { third = std::make_unique<FarExecutor>(remote()); }
  NamedData data{/*has_others=*/true};  // of the first one; the second one has its own
  LocalExecutor first{remote()};
  ExecutorCrews* source = nullptr;      // of the crew that was taken last, which owns it
  std::optional<std::uint32_t> tenant;  // of crews that are taken; nothing: who runs the test

  /// `lane_socket`: of the first executor, or of a relay in front of it; empty: its own.
  [[nodiscard]] Crew take(const CrewOptions& options, bool is_far = false,
                          const std::filesystem::path& lane_socket = {}) {
    std::vector<FarExecutor*> far{&second};
    if (third) far.push_back(third.get());
    auto owned = std::make_unique<ExecutorCrews>(first, std::move(far));
    source = owned.get();
    source->is_far = is_far;
    source->lane_socket = lane_socket;
    source->tenant = tenant;
    return take_crew(std::move(owned), options);
  }
  [[nodiscard]] Crew take_for(std::uint32_t user, const CrewOptions& options) {
    tenant = user;
    return take(options);
  }
};

}  // namespace orchid::tests
