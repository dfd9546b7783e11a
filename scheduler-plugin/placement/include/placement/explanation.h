// placement/explanation.h: why a decision was taken as it was.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "placement/request.h"

namespace orchid::placement {

/// What was found for a grant, in the order in which it is looked at; the first that applies
/// counts.
enum class Reason : std::uint8_t {
  fits,
  no_grant,  // of the host: nobody hands over anything of it
  host_lost,
  drained,
  job_not_running,  // the grant's own, a suspended pilot for example
  grant_draining,
  grant_silent,
  other_host,
  unreachable,  // for a client of another host
  owner_only,
  wrong_architecture,
  wrong_kind,
  lacks_feature,
  wrong_gpu_model,
  too_few_cores,
  too_few_gpus,
  ends_too_soon,
  too_little_memory,
  too_much_power,
  power_unknown,
  declined_by_policy,
  not_examined,  // it was counted and not looked at one by one
};
constexpr std::size_t reason_count = static_cast<std::size_t>(Reason::not_examined) + 1;
[[nodiscard]] std::string_view to_string(Reason reason);

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

/// "4 cores, 1 GPU a100, 2 GiB".
[[nodiscard]] std::string to_string(const WorkerShape& shape);
/// For people, some lines.
[[nodiscard]] std::string to_string(const Explanation& explanation);
/// "no host has room: 7 too few cores free, 3 owner only".
[[nodiscard]] std::string summary_of(const Tally& tally);

}  // namespace orchid::placement
