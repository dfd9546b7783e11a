// placement/reason.h: why a worker is, or is not, in a place.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

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
  data_elsewhere,  // the calls are given data that another grant's executor has
  unreachable,     // for a client of another host
  owner_only,
  other_cluster,
  wrong_architecture,
  no_image,  // that its architecture could run
  wrong_kind,
  lacks_feature,
  wrong_gpu_model,
  too_few_cores,
  too_few_gpus,
  avoided_host,
  reserved_host,
  ends_too_soon,
  too_little_memory,
  too_much_power,
  power_unknown,
  declined_by_policy,
  not_examined,  // it was counted and not looked at one by one
};
constexpr std::size_t reason_count = static_cast<std::size_t>(Reason::not_examined) + 1;

/// For people. It stands here so that a new reason concerns one file.
[[nodiscard]] constexpr std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::fits:
      return "fits";
    case Reason::no_grant:
      return "nothing granted";
    case Reason::host_lost:
      return "host does not answer";
    case Reason::drained:
      return "drained";
    case Reason::job_not_running:
      return "its job is not running";
    case Reason::grant_draining:
      return "ends soon";
    case Reason::grant_silent:
      return "its executor does not answer";
    case Reason::unreachable:
      return "reached from its own host only";
    case Reason::other_host:
      return "another host";
    case Reason::data_elsewhere:
      return "its data is elsewhere";
    case Reason::owner_only:
      return "owner only";
    case Reason::other_cluster:
      return "another cluster";
    case Reason::wrong_architecture:
      return "wrong architecture";
    case Reason::no_image:
      return "no image for its architecture";
    case Reason::wrong_kind:
      return "wrong kind of host";
    case Reason::lacks_feature:
      return "lacks a feature";
    case Reason::wrong_gpu_model:
      return "wrong GPU model";
    case Reason::too_few_cores:
      return "too few cores free";
    case Reason::too_few_gpus:
      return "too few GPUs free";
    case Reason::avoided_host:
      return "avoided by the request";
    case Reason::reserved_host:
      return "reserved for another worker";
    case Reason::ends_too_soon:
      return "grant ends too soon";
    case Reason::too_little_memory:
      return "too little memory free";
    case Reason::too_much_power:
      return "draws too much power";
    case Reason::power_unknown:
      return "power unknown";
    case Reason::declined_by_policy:
      return "declined by the policy";
    case Reason::not_examined:
      return "not looked at one by one";
  }
  return "unknown";
}

}  // namespace orchid::placement
