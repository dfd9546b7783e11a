// site/placeholder.h: the process in a batch job that grants the job's cores to the service of its
// host, and stays until nobody is on them any more.
#pragma once
#include <chrono>
#include <filesystem>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "protocol/grant_messages.h"

namespace orchid::site {

struct PlaceholderOptions {
  std::filesystem::path socket = "/run/orchid/host.sock";
  GrantOffer offer;
  UniqueFd feed;  // what comes from it is passed on to the executor; may be empty
};

/// The host may have to ask Slurm first.
constexpr std::chrono::seconds answered_within{45};
/// The host kills an executor that is still there after 1.5 s.
constexpr std::chrono::milliseconds clear_within{2'500};

/// Until SIGTERM or SIGINT, which the caller has blocked, or the grant's end. Errors:
/// `unreachable`: no service, or it has gone; what it refused with; `system`: the executor failed.
[[nodiscard]] Result<void> hold_place(PlaceholderOptions options);

}  // namespace orchid::site
