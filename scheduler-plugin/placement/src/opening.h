// opening.h: one request on its way to its decision.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "book.h"
#include "placement/explanation.h"
#include "placement/policy.h"
#include "placement/tenants.h"
#include "search.h"

namespace orchid::placement {

/// Borrows all that it is given; used once.
class Opening {
 public:
  struct Options {
    Book& book;
    Tenants& tenants;
    const Policy& policy;
    const Request& request;
    DecisionId id;
    MonotonicTime now;
  };
  explicit Opening(const Options& options);

  /// What was decided is in the book, and in the tenants' use.
  [[nodiscard]] Decision decide();
  [[nodiscard]] Explanation take_explanation() { return std::move(explanation_); }

 private:
  [[nodiscard]] std::optional<Refusal> fault() const;
  [[nodiscard]] bool place_worker();
  [[nodiscard]] bool try_alternative(std::uint32_t number);
  void enter(WorkerEntry worker, const Needs& needs);
  [[nodiscard]] Refusal refusal() const;
  [[nodiscard]] Decision refuse(Refusal refusal);

  const Options options_;
  Explanation explanation_;
  std::vector<Needs> needs_;     // of the alternatives
  std::vector<bool> exhausted_;  // alternatives for which there is no more room
  std::string over_quota_;       // of the last alternative that was
  TenantUse use_{.cores = 0, .gpus = 0, .leases = 1};
  Search::WorkersByHost by_host_;
};

}  // namespace orchid::placement
