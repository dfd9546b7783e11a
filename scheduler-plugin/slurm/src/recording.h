// recording.h: what slurmctld answered, as lines of JSON, one for each poll: to find out later why
// Orchid took something for free, and for tests.
#pragma once
#include <string>
#include <string_view>

#include "cluster_poll.h"
#include "foundation/result.h"

namespace orchid::slurm {

/// Without the end of the line. Tables that have not changed are left out.
[[nodiscard]] std::string encode(const PollAnswer& answer);
/// Errors: `bad_request`.
[[nodiscard]] Result<PollAnswer> parse_poll_answer(std::string_view line);

}  // namespace orchid::slurm
