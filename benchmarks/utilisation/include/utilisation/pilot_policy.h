// utilisation/pilot_policy.h: who submits pilots, and when: Orchid's controller, and what it is
// compared with.
#pragma once
#include <memory>

#include "pilot/pilot_controller.h"
#include "utilisation/batch_system.h"

namespace orchid::utilisation {

struct PilotSight {
  PilotId id = 0;
  std::uint32_t cores = 0;
  SimTime length{0};
  bool runs = false;
  bool joined = false;
  std::uint32_t cores_used = 0;
  std::optional<SimTime> ends;
  std::optional<std::uint32_t> node;  // that it runs on or asked for
};

/// What is known at a decision.
struct Sight {
  SimTime now{0};
  std::vector<PilotSight> pilots;  // as of the last poll, with what was ordered since
  const std::vector<BatchSystem::Hole>* holes = nullptr;  // as of the last poll
};

struct PilotOrders {
  std::vector<PilotJob> submit;
  std::vector<PilotId> cancel;
};

/// Keeps state between decisions.
class PilotPolicy {
 public:
  virtual ~PilotPolicy() = default;
  [[nodiscard]] virtual PilotOrders decide(const Sight& sight) = 0;
};

/// Nobody submits any: how the batch jobs fare alone.
[[nodiscard]] std::unique_ptr<PilotPolicy> make_no_pilots();

/// The product's controller, whose clients always want more than there is.
[[nodiscard]] std::unique_ptr<PilotPolicy> make_orchid_pilots(const pilot::PilotOptions& options,
                                                              ClusterShape shape);

/// HPC-Whisk (B. Przybylski et al., "Using Unused: Non-Invasive Dynamic FaaS Infrastructure with
/// HPC-Whisk", SC22): pilots of fixed lengths on whole idle nodes, some of each always waiting, the
/// long ones before the short ones. The lengths are the paper's set A1, and ten of each wait, as we
/// have it at second hand. What it needs to start and to stop is taken to be what Orchid needs,
/// which is less than its containers do.
[[nodiscard]] std::unique_ptr<PilotPolicy> make_whole_node_pilots();

}  // namespace orchid::utilisation
