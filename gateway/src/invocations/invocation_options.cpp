#include "invocations/invocation_options.h"

#include <algorithm>

#include "foundation/numbers.h"
#include "functions/function_options.h"
#include "http/request_options.h"
#include "protocol/data_id.h"
#include "protocol/limits.h"
#include "protocol/names.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t longest_deadline_ms =
    std::chrono::duration_cast<milliseconds>(limits::longest_deadline).count();

std::string_view unquoted(std::string_view word) {
  const bool quoted = word.size() >= 2 && word.front() == '"' && word.back() == '"';
  return quoted ? word.substr(1, word.size() - 2) : word;
}

}  // namespace

namespace {

/// "data=NAME". Empty: the field is not there.
Result<std::string> parse_output(const Request& request) {
  if (!request.headers.has(Header::orchid_output)) return std::string();
  std::string_view value = trim_blanks(request.header(Header::orchid_output));
  const std::string_view where = take_item(value, '=');
  if (where != "data" || !check_function_name(value) || parse_data_id(value))
    return fail(ErrorCode::bad_request,
                "Orchid-Output must be data=NAME, the name of the data object that the output "
                "becomes: a letter, then letters, digits, '-' and '_', at most 64 in all");
  return std::string(value);
}

}  // namespace

Preferences parse_prefer(std::string_view value) {
  Preferences preferences;
  while (!value.empty()) {
    std::string_view item = take_item(value, ',');
    std::string_view value_of = take_item(item, ';');
    const std::string_view name = take_item(value_of, '=');
    if (equals_ignoring_case(name, "respond-async")) preferences.respond_async = true;
    // Of a preference that is stated twice, the first counts.
    if (!equals_ignoring_case(name, "wait") || preferences.wait) continue;
    const auto wait = parse_number<std::uint64_t>(unquoted(trim_blanks(value_of)));
    if (wait && *wait <= longest_deadline_ms / 1000) preferences.wait = seconds(*wait);
  }
  return preferences;
}

Result<InvocationOptions> parse_invocation_options(const Request& request,
                                                   const InvocationDefaults& defaults) {
  InvocationOptions options;
  const Preferences preferences = parse_prefer(request.header(Header::prefer));
  options.respond_async = preferences.respond_async;
  options.wait = preferences.wait ? milliseconds(*preferences.wait) : defaults.wait;
  options.deadline =
      options.respond_async ? defaults.async_deadline : std::max(defaults.deadline, options.wait);
  if (request.headers.has(Header::orchid_deadline_ms)) {
    auto deadline = parse_number_field(
        "Orchid-Deadline-Ms", request.header(Header::orchid_deadline_ms), {1, longest_deadline_ms});
    if (!deadline) return fail(std::move(deadline.error()));
    options.deadline = milliseconds(*deadline);
  }
  const std::string_view once = request.header(Header::orchid_at_most_once);
  if (!once.empty() && once != "true" && once != "false")
    return fail(ErrorCode::bad_request, "Orchid-At-Most-Once must be true or false");
  options.at_most_once = once == "true";
  auto place = parse_call_place(request);
  if (!place) return fail(std::move(place.error()));
  options.kind = place->kind;
  options.device = place->device;
  options.cluster = std::move(place->cluster);
  options.data = std::string(request.header(Header::orchid_data));
  auto output = parse_output(request);
  if (!output) return fail(std::move(output.error()));
  options.output_data = std::move(*output);
  if (request.headers.has(Header::idempotency_key)) {
    const std::string_view key = request.header(Header::idempotency_key);
    if (key.empty() || key.size() > 255)
      return fail(ErrorCode::bad_request, "Idempotency-Key must have 1 to 255 characters");
    options.idempotency_key = std::string(key);
  }
  return options;
}

Result<void> check_signature(std::string_view expected, const std::optional<std::string>& actual) {
  if (expected.empty() || (actual && *actual == expected)) return {};
  if (!actual)
    return fail(ErrorCode::bad_request, "the caller expects the signature " +
                                            std::string(expected) +
                                            ", but the entry takes and gives plain bytes");
  return fail(ErrorCode::bad_request, "the caller expects the signature " + std::string(expected) +
                                          ", but the entry has " + *actual +
                                          ": call it with these types");
}

}  // namespace orchid::gateway
