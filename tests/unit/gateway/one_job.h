// one_job.h: what a batch system tells, for tests.
#pragma once
#include <vector>

#include "hosts/capacity.h"

namespace orchid::gateway {

/// It gives these cores of each host to one job.
struct OneJob final : HostKnowledge {
  static constexpr std::uint64_t number = 7;
  placement::CoreSet cores;

  [[nodiscard]] std::optional<HostFacts> facts_of(
      const std::vector<const Executor*>& executors) const override {
    HostFacts facts;
    facts.allocation.host = placement::HostId(executors.front()->host.boot_id);
    if (!cores.empty()) facts.allocation.jobs = {{.job = placement::JobId(number), .cores = cores}};
    return facts;
  }
};

}  // namespace orchid::gateway
