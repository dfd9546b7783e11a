#include "memory/memory_lease.h"

#include <nlohmann/json.hpp>

#include "foundation/files.h"
#include "foundation/host_addresses.h"
#include "foundation/json_document.h"
#include "foundation/percent_encoding.h"
#include "lease/lease_grant.h"

namespace orchid::sdk {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds memory_lease_timeout{5'000};

std::string memory_lease_path(const std::string& id) { return "/v1/leases/" + percent_encode(id); }

}  // namespace

MemoryGrant parse_memory_grant(std::string_view text) {
  const JsonDocument document(text);
  const JsonObject o = document.root();
  const JsonObject any = o.optional();
  MemoryGrant grant{
      .id = o.text("id"),
      .bytes = any.number<std::uint64_t>("memory_bytes"),
      .node = any.text("node"),
      .boot_id = any.text("boot_id"),
      .address = any.text("address"),
      .expires_in = std::chrono::milliseconds(any.number<std::int64_t>("expires_in_ms")),
      .key = any.text("key")};
  const bool is_memory = any.text("kind") == "memory";
  if (const auto good = document.finish(); !good) throw unintelligible_lease(good.error());
  if (!is_memory)
    throw Error({.kind = ErrorKind::bad_request,
                 .message = grant.id + " is a lease of workers, and none of memory"});
  return grant;
}

std::string memory_request(const MemoryOptions& options, std::string_view boot_id) {
  json body{{"workers", 0},
            {"memory_bytes", options.bytes},
            {"wait", word_of(options.wait)},
            {"duration_ms", options.duration.count()},
            {"boot_id", boot_id}};
  if (!options.host.empty()) body["constraints"] = {{"host", options.host}};
  return body.dump();
}

MemoryGrant request_memory(Session& session, const MemoryOptions& options) {
  const std::string body = memory_request(options, own_boot_id());
  return parse_memory_grant(session
                                .request({.method = "POST",
                                          .target = "/v1/leases",
                                          .headers = {"Content-Type: application/json"},
                                          .body = as_bytes(body),
                                          .timeout = options.within + Session::answer_grace})
                                .text());
}

MemoryGrant find_memory(Session& session, const std::string& id) {
  return parse_memory_grant(session.get(memory_lease_path(id)).text());
}

MemoryInfo describe_memory(const MemoryGrant& grant) {
  const json shown{{"id", grant.id},
                   {"memory_bytes", grant.bytes},
                   {"host", grant.node},
                   {"expires_in_ms", grant.expires_in.count()}};
  return {.id = grant.id, .size = grant.bytes, .host = grant.node, .json = shown.dump()};
}

MemoryGrant renew_memory(Session& session, const std::string& id,
                         std::chrono::milliseconds duration) {
  const std::string body = json{{"duration_ms", duration.count()}}.dump();
  return parse_memory_grant(session
                                .request({.method = "PATCH",
                                          .target = memory_lease_path(id),
                                          .headers = {"Content-Type: application/json"},
                                          .body = as_bytes(body),
                                          .timeout = memory_lease_timeout})
                                .text());
}

void release_memory(Session& session, const std::string& id) {
  (void)session.request(
      {.method = "DELETE", .target = memory_lease_path(id), .timeout = memory_lease_timeout});
}

}  // namespace orchid::sdk
