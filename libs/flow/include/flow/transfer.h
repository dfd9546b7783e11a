// flow/transfer.h: what it costs to bring a call its data: objects, the hosts that have them, and
// the host on which the call would end first.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "flow/optimiser.h"

namespace orchid::flow {

/// What a call is about to be given, and what is known of its run.
struct CallWithData {
  const std::vector<ObjectSituation>& data;
  double run_seconds = 0;
  Constraints constraints{};  // of the hosts that it may use
};

/// Where it would end first, if it began now.
struct FirstEnd {
  std::string host;         // empty: nothing is known of its data
  std::uint64_t there = 0;  // bytes of its data
  std::uint64_t missing = 0;
  double transfer_seconds = 0;  // until what is missing is there
};
/// A host without a free core is one on which it waits for as long as a call of its kind runs. Of
/// those where it ends at the same time the one with more of its data, and then the first. Hosts
/// that hold its data count when `hosts` does not know them.
[[nodiscard]] FirstEnd first_end_of(const CallWithData& call,
                                    const std::vector<HostSituation>& hosts);

/// "0.1 s until 95 MiB are on host2, which has 64 MiB"; empty: nothing is known of its data.
[[nodiscard]] std::string to_text(const FirstEnd& end);

}  // namespace orchid::flow
