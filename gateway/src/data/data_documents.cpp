#include "data/data_documents.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "foundation/files.h"
#include "foundation/host_addresses.h"
#include "foundation/json_document.h"
#include "http/json_text.h"
#include "http/timestamp.h"
#include "protocol/limits.h"

namespace orchid::gateway {
namespace {

using Json = nlohmann::ordered_json;

std::string wall_time(MonotonicTime time, const DataMoment& moment) {
  return format_time(
      moment.unix_millis +
      std::chrono::duration_cast<std::chrono::milliseconds>(time - moment.now).count());
}

std::set<std::string> hosts_of(const std::vector<DataHolder>& holders) {
  std::set<std::string> hosts;
  for (const DataHolder& holder : holders) hosts.insert(holder.host);
  return hosts;
}

std::set<std::string> executors_of(const std::vector<DataHolder>& holders) {
  std::set<std::string> executors;
  for (const DataHolder& holder : holders) executors.insert(holder.executor.value());
  return executors;
}

Json describe(const DataObject& object, const DataMoment& moment) {
  Json json{
      {"id", to_string(object.id)},
      {"name", object.name.empty() ? Json() : Json(object.name)},
      {"version", object.name.empty() ? Json() : Json(object.version)},
      {"bytes", object.bytes.value},
      {"state", to_string(object.state)},
      {"digest", object.digest.empty() ? Json() : Json(object.digest)},
      {"created", wall_time(object.created, moment)},
      {"expires",
       object.expires == MonotonicTime::max() ? Json() : Json(wall_time(object.expires, moment))},
      {"hosts", hosts_of(object.holders)},
      {"executors", executors_of(object.holders)},
      {"arriving_at", hosts_of(object.arriving)},
      {"copies", object.holders.size()},
      {"copies_wanted", object.copies},
      {"durable", object.durable}};
  if (object.state == DataState::lost) {
    json["last_host"] = object.last_host;
    json["why_lost"] = object.why_lost;
  }
  return json;
}

constexpr std::size_t longest_host_name = 256;
constexpr std::uint64_t longest_file_life_s = 10ULL * 366 * 24 * 3600;  // as of Orchid-Expires-In

}  // namespace

Result<WantedCopies> parse_wanted_copies(std::span<const std::byte> body) {
  const JsonDocument document(
      as_text(body),
      {.subject = "the body", .unknown_key = "is not known here: see /openapi.yaml"});
  const JsonObject o = document.root().optional();
  WantedCopies wanted;
  if (o.has("copies"))
    wanted.count = o.number<std::uint32_t>(
        "copies", {.least = 1, .most = limits::data_copies, .otherwise = 1});
  wanted.host = o.text("host", longest_host_name);
  if (!wanted.count && wanted.host.empty()) o.fault("copies", "or 'host' must say what is wanted");
  return document.finish(std::move(wanted));
}

Result<std::optional<std::chrono::milliseconds>> parse_wanted_file(
    std::span<const std::byte> body) {
  using Life = std::optional<std::chrono::milliseconds>;
  if (body.empty()) return Life{};
  const JsonDocument document(
      as_text(body),
      {.subject = "the body", .unknown_key = "is not known here: see /openapi.yaml"});
  const JsonObject o = document.root().optional();
  Life life;
  if (o.has("expires_in"))
    life = std::chrono::seconds(
        o.number<std::uint64_t>("expires_in", {.least = 1, .most = longest_file_life_s}));
  return document.finish(life);
}

Result<ByteCount> parse_wanted_room(std::span<const std::byte> body) {
  const JsonDocument document(
      as_text(body),
      {.subject = "the body", .unknown_key = "is not known here: see /openapi.yaml"});
  const JsonObject o = document.root();
  const ByteCount bytes{o.number<std::uint64_t>("bytes")};
  const std::string boot_id = o.text("boot_id", longest_host_name);
  if (auto good = document.finish(); !good) return fail(std::move(good.error()));
  if (boot_id != own_boot_id())
    return fail(ErrorCode::unsupported,
                "a room is written by a program of the gateway's own host: send the bytes with "
                "PUT or POST /v1/data");
  return bytes;
}

std::string data_access_json(const DataObject& object, const std::filesystem::path& lane_socket) {
  const bool is_here = !lane_socket.empty();
  return json_text({{"id", to_string(object.id)},
                    {"label", label_of(object)},
                    {"bytes", object.bytes.value},
                    {"secret", is_here ? object.secret : ""},
                    {"lane_socket", lane_socket.string()},
                    {"boot_id", is_here ? own_boot_id() : ""}});
}

DataMoment moment_of(const Clock& clock) {
  return {.now = clock.now(),
          .unix_millis = std::chrono::duration_cast<std::chrono::milliseconds>(
                             clock.wall_now().time_since_epoch())
                             .count()};
}

std::string data_json(const DataObject& object, const DataMoment& moment) {
  return json_text(describe(object, moment));
}

std::string data_list_json(std::span<const DataObject> objects, const DataMoment& moment) {
  Json list = Json::array();
  for (const DataObject& object : objects) list.push_back(describe(object, moment));
  return json_text({{"data", std::move(list)}});
}

}  // namespace orchid::gateway
