#include "data/data_requests.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/base64.h"
#include "foundation/random.h"
#include "http/problem.h"
#include "http/request_options.h"
#include "protocol/limits.h"

namespace orchid::gateway {
namespace {

constexpr std::uint64_t longest_life_s = 10ULL * 366 * 24 * 3600;

Result<std::optional<std::chrono::milliseconds>> parse_life(const Request& request) {
  if (!request.headers.has(Header::orchid_expires_in))
    return std::optional<std::chrono::milliseconds>{};
  auto seconds = parse_number_field("Orchid-Expires-In", request.header(Header::orchid_expires_in),
                                    {1, longest_life_s});
  if (!seconds) return fail(std::move(seconds.error()));
  return std::optional<std::chrono::milliseconds>(std::chrono::seconds(*seconds));
}

/// 0: it does not say.
Result<std::uint32_t> parse_copies(const Request& request) {
  if (!request.headers.has(Header::orchid_copies)) return 0U;
  auto copies = parse_number_field("Orchid-Copies", request.header(Header::orchid_copies),
                                   {1, limits::data_copies});
  if (!copies) return fail(std::move(copies.error()));
  return static_cast<std::uint32_t>(*copies);
}

Result<bool> parse_durable(const Request& request) {
  if (!request.headers.has(Header::orchid_durable)) return false;
  const std::string_view text = request.header(Header::orchid_durable);
  if (text == "true" || text == "false") return text == "true";
  return fail(ErrorCode::bad_request, "Orchid-Durable must be true or false");
}

/// As RFC 9530 has it; empty: it is not known.
std::string repr_digest(std::string_view digest) {
  constexpr std::string_view algorithm = "sha256:";
  const auto bytes = digest.starts_with(algorithm) ? from_hex(digest.substr(algorithm.size()))
                                                   : std::optional<std::vector<std::byte>>{};
  return bytes ? "sha-256=:" + to_base64(*bytes) + ":" : std::string();
}

}  // namespace

Response refuse_data(const Failure& failure) {
  Problem problem = problem_of(failure);
  // The conflicts of this resource are preconditions that do not hold.
  if (failure.code == ErrorCode::conflict) problem.status = 412;
  return to_response(problem);
}

std::string etag(const DataObject& object) { return "\"" + to_string(object.id) + "\""; }

Response named(Response response, const DataObject& object) {
  response.with("ETag", etag(object)).with("Orchid-Data", label_of(object));
  if (const std::string digest = repr_digest(object.digest); !digest.empty())
    response.with("Repr-Digest", digest);
  return response;
}

Result<DataService::NewData> parse_new_data(const Request& request, ByteCount bytes) {
  DataService::NewData wanted{
      .tenant = {.uid = static_cast<std::uint32_t>(request.identity.tenant.uid),
                 .name = request.identity.tenant.name},
      .bytes = bytes};
  auto precondition = parse_precondition(request);
  if (!precondition) return fail(std::move(precondition.error()));
  if (!request.parameters[0].empty()) {
    wanted.name = std::string(request.parameters[0]);
    if (auto checked = check_data_name(wanted.name); !checked)
      return fail(std::move(checked.error()));
    wanted.precondition = std::move(*precondition);
  } else if (precondition->if_none_match || !precondition->if_match.empty()) {
    return fail(ErrorCode::bad_request,
                "If-Match and If-None-Match are about the versions of a name: an object without a "
                "name takes neither");
  }
  auto life = parse_life(request);
  if (!life) return fail(std::move(life.error()));
  wanted.expires_in = *life;
  auto copies = parse_copies(request);
  if (!copies) return fail(std::move(copies.error()));
  if (*copies != 0) wanted.copies = *copies;
  auto durable = parse_durable(request);
  if (!durable) return fail(std::move(durable.error()));
  wanted.durable = *durable;
  return wanted;
}

}  // namespace orchid::gateway
