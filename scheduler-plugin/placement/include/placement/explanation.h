// placement/explanation.h: why a decision was taken as it was.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "placement/reason.h"
#include "placement/request.h"

namespace orchid::placement {

/// One grant (or, with `no_grant`, one host) and what is with it. The numbers are cores, GPUs,
/// bytes, milliseconds or watts, whatever the reason is about.
struct HostReason {
  HostId host;
  std::string host_name;
  GrantId grant;
  Reason reason = Reason::fits;
  std::uint64_t has = 0;
  std::uint64_t of = 0;
  std::uint64_t wanted = 0;
  std::string subject;  // what it has instead: "aarch64"
};
/// "n17: 3 of 8 cores free, wanted 4".
[[nodiscard]] std::string to_string(const HostReason& finding);

struct ReasonCount {
  Reason reason = Reason::fits;
  std::size_t grants = 0;
};

/// Why one alternative of the request found no place, for the first worker that was not placed with
/// it.
struct Tally {
  std::uint32_t alternative = 0;
  std::vector<ReasonCount> counts;   // the most frequent first
  std::vector<HostReason> examples;  // of up to 32 hosts all grants; of more one of a reason
};

/// As it was when it was decided. A value.
struct Explanation {
  DecisionId id;
  MonotonicTime decided;
  Request request;
  std::string policy;
  std::vector<Place> places;
  std::vector<HostReason> chosen;  // what is said of each place
  std::optional<Refusal> refusal;
  std::vector<Tally> tallies;  // of the alternatives that were tried in vain
};

/// For people, some lines.
[[nodiscard]] std::string to_string(const Explanation& explanation);
/// "no host has room: 7 too few cores free, 3 owner only".
[[nodiscard]] std::string summary_of(const Tally& tally);

}  // namespace orchid::placement
