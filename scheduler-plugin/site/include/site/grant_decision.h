// site/grant_decision.h: whether an offer becomes a grant, and what of: from what was offered, what
// was proven, what Slurm said, what the site allows, and what stands already. No I/O.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "protocol/grant_messages.h"
#include "site/slurm_job.h"
#include "site/step_proof.h"

namespace orchid::site {

/// Whose functions a share may run: `owner`: its owner's, whatever that wants; `everybody`: if the
/// owner says so; `none`: there are no shares.
enum class SharePolicy : std::uint8_t { owner, everybody, none };
[[nodiscard]] std::optional<SharePolicy> parse_share_policy(std::string_view name);

struct SitePolicy {
  std::set<uid_t> pilots_from;  // users whose jobs may be pilots, for everybody
  SharePolicy shares = SharePolicy::owner;
};

/// Of a grant that stands.
struct StandingGrant {
  std::uint64_t job = 0;
  CoreList cores;
};

struct AllowedGrant {
  CoreList cores;  // the operating system's numbers
  GrantUsers users = GrantUsers::owner;
};

/// May this user's job grant in such a way at all? Errors: `denied`.
[[nodiscard]] Result<GrantUsers> allowed_users(const GrantOffer& offer, uid_t uid,
                                               const SitePolicy& policy);

/// What the offer's cores are judged by.
struct Evidence {
  uid_t uid = 0;
  ProvenStep step;
  std::optional<JobOnNode> slurm;  // needed where the kernel does not hold the step to its cores
  std::span<const std::uint32_t> thread_order;  // of the machine, for Slurm's numbers
};
/// Errors: `denied`: the job is another one, or another user's, or does not have the cores;
/// `conflict`: another job's grant has one of them.
[[nodiscard]] Result<CoreList> allowed_cores(const GrantOffer& offer, const Evidence& evidence,
                                             std::span<const StandingGrant> standing);

}  // namespace orchid::site
