#include "utilisation/pilot_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace orchid::utilisation {
namespace {

class NoPilots final : public PilotPolicy {
 public:
  PilotOrders decide(const Sight& /*sight*/) override { return {}; }
};

class OrchidPilots final : public PilotPolicy {
 public:
  OrchidPilots(const pilot::PilotOptions& options, ClusterShape shape)
      : shape_(shape), controller_(options) {
    for (std::uint32_t node = 0; node < shape.nodes; ++node)
      names_.push_back(fmt::format("n{}", node));
  }

  PilotOrders decide(const Sight& sight) override {
    const auto at = [](SimTime time) { return MonotonicTime(std::chrono::hours(1) + time); };
    pilot::Situation situation{
        .demand = {{.workers = shape_.cores()}}, .pilots = {}, .holes = {}, .nodes = {}};
    for (const PilotSight& seen : sight.pilots) {
      pilot::Pilot one{.job = seen.id,
                       .cores = seen.cores,
                       .runs = seen.runs,
                       .joined = seen.joined,
                       .cores_used = seen.cores_used,
                       .ends = {},
                       .node = seen.node ? names_[*seen.node] : ""};
      if (seen.ends) one.ends = at(*seen.ends);
      situation.pilots.push_back(std::move(one));
    }
    auto& holes = situation.holes.emplace();
    for (const BatchSystem::Hole& hole : *sight.holes) {
      pilot::Hole one{.node = names_[hole.node], .cores = hole.cores, .lasts = {}};
      if (hole.until)
        one.lasts =
            std::chrono::floor<std::chrono::seconds>(std::max(SimTime(0), *hole.until - sight.now));
      holes.push_back(std::move(one));
    }
    PilotOrders orders;
    for (const pilot::PilotAction& action : controller_.decide(at(sight.now), situation)) {
      if (const auto* cancel = std::get_if<pilot::CancelPilot>(&action))
        orders.cancel.push_back(cancel->job);
      if (const auto* submit = std::get_if<pilot::SubmitPilot>(&action))
        orders.submit.push_back(job_of(*submit));
    }
    return orders;
  }

 private:
  /// sbatch takes whole minutes, and rounds up.
  static PilotJob job_of(const pilot::SubmitPilot& submit) {
    PilotJob job{.cores = submit.cores,
                 .length = std::chrono::ceil<std::chrono::minutes>(submit.time),
                 .node = {},
                 .leaves_early = end_margin};
    std::uint32_t node = 0;
    if (!submit.node.empty() &&
        std::from_chars(submit.node.data() + 1, submit.node.data() + submit.node.size(), node).ec ==
            std::errc{})
      job.node = node;
    return job;
  }

  ClusterShape shape_;
  std::vector<std::string> names_;
  pilot::PilotController controller_;
};

class WholeNodePilots final : public PilotPolicy {
 public:
  PilotOrders decide(const Sight& sight) override {
    std::array<int, minutes.size()> waiting{};
    for (const PilotSight& seen : sight.pilots)
      for (std::size_t i = 0; i < minutes.size(); ++i)
        if (!seen.runs && seen.length == std::chrono::minutes(minutes[i])) ++waiting[i];
    PilotOrders orders;
    for (std::size_t i = minutes.size(); i-- > 0;)
      for (int n = waiting[i]; n < of_each; ++n)
        orders.submit.push_back({.length = std::chrono::minutes(minutes[i]),
                                 .node = {},
                                 .whole_node = true,
                                 .priority = minutes[i]});
    return orders;
  }

 private:
  static constexpr std::array<int, 9> minutes{2, 4, 6, 8, 14, 22, 34, 56, 90};
  static constexpr int of_each = 10;
};

}  // namespace

std::unique_ptr<PilotPolicy> make_no_pilots() { return std::make_unique<NoPilots>(); }

std::unique_ptr<PilotPolicy> make_orchid_pilots(const pilot::PilotOptions& options,
                                                ClusterShape shape) {
  return std::make_unique<OrchidPilots>(options, shape);
}

std::unique_ptr<PilotPolicy> make_whole_node_pilots() {
  return std::make_unique<WholeNodePilots>();
}

}  // namespace orchid::utilisation
