#include "calls_left.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "foundation/log.h"
#include "foundation/numbers.h"

namespace orchid::flows {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view first_part = "fl-";  // of a flow's id
constexpr std::size_t id_digits = 16;

/// Keys that users have chosen look otherwise, or it is theirs to have others.
std::optional<CallLeft> call_of(const Json& invocation) {
  if (!invocation.is_object()) return std::nullopt;
  const std::string key = invocation.value("idempotency_key", "");
  const std::size_t end = first_part.size() + id_digits;
  if (!key.starts_with(first_part) || key.size() <= end || key[end] != '-') return std::nullopt;
  const auto id = std::string_view(key).substr(first_part.size(), id_digits);
  if (id.find_first_not_of("0123456789abcdef") != std::string_view::npos) return std::nullopt;
  const auto number = parse_number<std::uint64_t>(std::string_view(key).substr(end + 1));
  if (!number) return std::nullopt;
  return CallLeft{
      .invocation = invocation.value("id", ""), .flow = key.substr(0, end), .number = *number};
}

}  // namespace

std::string key_of_call(const std::string& flow, std::uint64_t number) {
  return flow + "-" + std::to_string(number);
}

Result<std::vector<CallLeft>> parse_calls_left(std::string_view list) {
  const Json json = Json::parse(list, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("invocations") || !json["invocations"].is_array())
    return fail(ErrorCode::bad_request, "the gateway's list of invocations cannot be read");
  std::vector<CallLeft> calls;
  for (const Json& one : json["invocations"])
    if (auto call = call_of(one)) calls.push_back(std::move(*call));
  return calls;
}

/// Those that wait come first: one that begins meanwhile is among those that run, then.
std::vector<CallLeft> find_calls_left(Client& client) {
  std::vector<CallLeft> all;
  try {
    for (const char* state : {"queued", "running"}) {
      auto some = parse_calls_left(client.get(
          "/v1/invocations?limit=1000&key=" + std::string(first_part) + "&state=" + state));
      if (!some) {
        log::warn("event=calls_not_found reason=\"{}\"", some.error().message);
        continue;
      }
      std::ranges::move(*some, std::back_inserter(all));
    }
  } catch (const std::exception& error) {
    log::warn("event=calls_not_found reason=\"{}\"", error.what());
  }
  return all;
}

void cancel_calls(Client& client, const std::vector<CallLeft>& calls) {
  for (const CallLeft& call : calls) try {
      client.invocation(call.invocation).cancel();
      log::info("event=call_cancelled flow={} call={} invocation={}", call.flow, call.number,
                call.invocation);
    } catch (const std::exception& error) {
      log::warn("event=call_not_cancelled flow={} call={} invocation={} reason=\"{}\"", call.flow,
                call.number, call.invocation, error.what());
    }
}

}  // namespace orchid::flows
