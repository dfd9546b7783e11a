// submission_check.h: a submission against the functions that are deployed.
#pragma once
#include <cstddef>
#include <span>

#include "arrivals.h"
#include "foundation/result.h"
#include "orchid/client.h"

namespace orchid::flows {

/// Asks the gateway for each function once. Errors: `bad_request`, as make_ready; what the gateway
/// answers.
[[nodiscard]] Result<CheckedSubmission> check_submission(Client& client,
                                                         std::span<const std::byte> content);

}  // namespace orchid::flows
