#include "submission_check.h"

#include <string>
#include <utility>

#include "check_report.h"
#include "flow/plan_bytes.h"
#include "flow_run/deployed_functions.h"

namespace orchid::flows {
namespace {

Failure from_gateway(const Error& error) {
  return {parse_error_code(to_string(error.kind())).value_or(ErrorCode::unreachable),
          "asking for the functions: " + error.message()};
}

}  // namespace

Result<CheckedSubmission> check_submission(Client& client, std::span<const std::byte> content) {
  auto submission = parse_submission(content);
  if (!submission) return fail(std::move(submission.error()));
  CheckedSubmission checked;
  flow::DeployedFunctions deployed(&client);
  const auto find = [&](const std::string& name) {
    flow::KnownFunction known = deployed.find(name);
    if (known.state == flow::KnownFunction::State::known)
      checked.functions[name] = {
          .signature = known.signature, .exact = known.exact, .needs = known.needs};
    return known;
  };
  try {
    auto ready = make_ready(*submission, find);
    if (!ready) return fail(std::move(ready.error()));
    checked.name = ready->plan.name;
    checked.plan = flow::to_bytes(ready->plan, ready->inputs);
    checked.ready = std::move(*ready);
    return checked;
  } catch (const Error& error) {
    return fail(from_gateway(error));
  }
}

Result<std::string> check_document(Client& client, std::span<const std::byte> content) {
  auto submission = parse_submission(content);
  if (!submission) return fail(std::move(submission.error()));
  flow::DeployedFunctions deployed(&client);
  try {
    return check_report(*submission, [&](const std::string& name) { return deployed.find(name); });
  } catch (const Error& error) {
    return fail(from_gateway(error));
  }
}

}  // namespace orchid::flows
