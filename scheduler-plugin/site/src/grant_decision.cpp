#include "site/grant_decision.h"

#include <fmt/format.h>

#include <utility>

namespace orchid::site {
namespace {

/// The job's on this host, by the operating system's numbers.
Result<CoreList> cores_of_job(const Evidence& evidence) {
  if (evidence.step.held_to_cores) return evidence.step.allowed;
  if (!evidence.slurm) return fail(ErrorCode::internal, "nobody has said which cores the job has");
  if (evidence.slurm->uid != evidence.uid)
    return fail(ErrorCode::denied, fmt::format("according to Slurm, job {} belongs to user {}",
                                               evidence.step.job, evidence.slurm->uid));
  const CoreList& cores = evidence.slurm->cores;
  // Slurm may be told that a machine has other cores than it has: then there is no order.
  return threads_behind(cores, evidence.slurm->count, evidence.thread_order).value_or(cores);
}

}  // namespace

std::optional<SharePolicy> parse_share_policy(std::string_view name) {
  if (name == "owner") return SharePolicy::owner;
  if (name == "everybody") return SharePolicy::everybody;
  if (name == "none") return SharePolicy::none;
  return std::nullopt;
}

Result<GrantUsers> allowed_users(const GrantOffer& offer, uid_t uid, const SitePolicy& policy) {
  if (offer.source == GrantSource::pilot) {
    if (policy.pilots_from.contains(uid)) return GrantUsers::everybody;
    return fail(ErrorCode::denied,
                fmt::format("this site takes no pilots from user {} (--pilots-from of orchid-host "
                            "names those from whom it does); leave out --site for pilots of your "
                            "own, which serve you alone",
                            uid));
  }
  if (policy.shares == SharePolicy::none)
    return fail(ErrorCode::denied,
                "this site allows no shares (--shares of orchid-host); leave out --site for one of "
                "your own");
  if (offer.users == GrantUsers::everybody && policy.shares != SharePolicy::everybody)
    return fail(ErrorCode::denied,
                "at this site a share is for its owner alone (--shares of orchid-host); leave out "
                "--for everybody");
  return offer.users;
}

Result<CoreList> allowed_cores(const GrantOffer& offer, const Evidence& evidence,
                               std::span<const StandingGrant> standing) {
  if (offer.job != evidence.step.job)
    return fail(ErrorCode::denied, fmt::format("this is a process of job {}, and cannot grant what "
                                               "job {} has",
                                               evidence.step.job, offer.job));
  auto cores = cores_of_job(evidence);
  if (!cores) return cores;
  if (const CoreList foreign = without(offer.cores, *cores); !foreign.empty())
    return fail(ErrorCode::denied,
                fmt::format("job {} does not have cores {} here: it has {}", offer.job,
                            to_core_text(foreign), to_core_text(*cores)));
  if (!offer.cores.empty()) cores = offer.cores;
  if (cores->empty())
    return fail(ErrorCode::denied, fmt::format("job {} has no cores on this host", offer.job));
  for (const StandingGrant& other : standing) {
    const CoreList both = common(*cores, other.cores);
    if (both.empty()) continue;
    if (other.job == offer.job)
      return fail(ErrorCode::conflict,
                  fmt::format("core {} of this job is already granted", to_core_text(both)));
    return fail(ErrorCode::conflict,
                fmt::format("core {} is already granted by job {}; Slurm gives one core to several "
                            "jobs here, which site mode does not support",
                            to_core_text(both), other.job));
  }
  return cores;
}

}  // namespace orchid::site
