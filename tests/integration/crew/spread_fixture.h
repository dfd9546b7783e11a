// crew/spread_fixture.h: two executors, and crews of which every other member is at the second one.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "crew_fixture.h"
#include "named_data.h"

namespace orchid::tests {

/// The client is at the first one, whose members have the lowest numbers.
struct SpreadFixture {
  FarExecutor second{{.programs = PROGRAMS, .spare = 1, .remote = true}};
  NamedData data{/*has_others=*/true};  // of the first one; the second one has its own
  LocalExecutor first{{.programs = PROGRAMS, .spare = 1, .remote = true}};
  ExecutorCrews* source = nullptr;  // of the crew that was taken last, which owns it

  SpreadFixture() {
    first.be_gateway([this](const ControlMessage& message) { return data.hear(message); });
  }
  [[nodiscard]] Crew take(const CrewOptions& options, bool is_far = false) {
    return take_for(std::nullopt, options, is_far);
  }
  [[nodiscard]] Crew take_for(std::optional<std::uint32_t> tenant, const CrewOptions& options,
                              bool is_far = false) {
    auto owned = std::make_unique<ExecutorCrews>(first, second);
    source = owned.get();
    source->is_far = is_far;
    source->tenant = tenant;
    return take_crew(std::move(owned), options);
  }
};

}  // namespace orchid::tests
