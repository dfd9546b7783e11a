// share/share_offer.h: which cores of a job are offered: those that it does not use, and has not
// used for a moment. No I/O and no clock.
#pragma once
#include <map>

#include "foundation/clock.h"
#include "protocol/core_list.h"
#include "share/core_usage.h"

namespace orchid::share {

/// Owned by one thread.
class ShareOffer {
 public:
  /// A core that a step has left is offered so much later: mostly the next step is about to come.
  static constexpr std::chrono::milliseconds settle{1000};

  /// `most`: cores at a time; 0: no limit.
  ShareOffer(CoreList job_cores, std::uint32_t most);
  /// Cores that are used are never among them. What was offered before is offered again if it can
  /// be: each change of cores ends calls.
  [[nodiscard]] const CoreList& decide(MonotonicTime now, const CoresUsed& used);

 private:
  CoreList job_cores_;
  std::size_t most_;
  std::map<std::uint32_t, MonotonicTime> left_;  // cores that were used, when they last were
  CoreList offered_;
};

}  // namespace orchid::share
