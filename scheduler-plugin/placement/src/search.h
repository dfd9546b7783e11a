// search.h: finds the place that the policy likes best, without looking at all hosts.
#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "book.h"
#include "placement/policy.h"

namespace orchid::placement {

/// For one worker. Borrows all that it is given.
class Search {
 public:
  using WorkersByHost = std::unordered_map<HostNumber, std::uint32_t>;
  struct Options {
    const Book& book;
    const Policy& policy;
    const Request& request;
    const WorkerShape& shape;
    const Needs& needs;
    const WorkersByHost& placed;  // of the same request, or what that belongs to
  };
  explicit Search(const Options& options);

  /// Nothing only if no grant has room that the policy would take.
  [[nodiscard]] std::optional<SlotNumber> run();

 private:
  bool offer(SlotNumber number, std::optional<std::uint32_t> near_rank);
  FreeIndex::Visit offer_listed(SlotNumber number, std::uint32_t most_misfits);
  bool offer_host(HostNumber number, std::optional<std::uint32_t> near_rank);
  bool offer_near_hosts();
  void visit_all(std::uint32_t misfits_in_group);
  void visit_by_watts();
  [[nodiscard]] Candidate candidate_of(const Slot& slot,
                                       std::optional<std::uint32_t> near_rank) const;

  const Options options_;
  Order order_;
  FreeIndex::Wanted wanted_;
  std::vector<ClassNumber> classes_;  // that will do
  std::uint32_t wanted_candidates_;
  std::uint32_t candidates_ = 0;
  std::uint32_t misfits_ = 0;  // in a row
  bool skipped_ = false;
  std::optional<SlotNumber> best_;
  double best_score_ = 0;
};

}  // namespace orchid::placement
