// tally.h: why nothing has room: counted by the indexes, and some hosts looked at.
#pragma once
#include "book.h"
#include "placement/explanation.h"

namespace orchid::placement {

/// What is said of a grant.
[[nodiscard]] HostReason finding_of(const Book& book, const Slot& slot, const Needs& needs,
                                    Reason reason);
/// Of each grant, and of each host without one.
[[nodiscard]] std::vector<HostReason> all_findings(const Book& book, const Needs& needs);

/// Where there are no more grants and hosts without one than this, a tally for which examples are
/// wanted has a finding of each.
constexpr std::size_t few_grants = 32;
/// Costs the same for any number of grants above `few_grants`; exact but for `not_examined`, which
/// says how many were only counted. `most_examples`: each takes half a microsecond, since its host
/// is in no cache.
struct TallyOptions {
  std::uint32_t alternative = 0;
  std::size_t most_examples = 0;
};
[[nodiscard]] Tally tally_of(const Book& book, const Needs& needs, const TallyOptions& options);

}  // namespace orchid::placement
