// submission_check.h: a submission, or a document alone, against the functions that are deployed.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "arrivals.h"
#include "foundation/result.h"
#include "orchid/client.h"

namespace orchid::flows {

/// Asks the gateway for each function once. Errors: `bad_request`, as make_ready; what the gateway
/// answers.
[[nodiscard]] Result<CheckedSubmission> check_submission(Client& client,
                                                         std::span<const std::byte> content);

/// All that is wrong with the document, and what its nodes' ports are, as JSON. Errors:
/// `bad_request` (it is no submission); what the gateway answers.
[[nodiscard]] Result<std::string> check_document(Client& client,
                                                 std::span<const std::byte> content);

}  // namespace orchid::flows
