#include "http/json_views.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <ranges>

#include <iterator>
#include <nlohmann/json.hpp>

namespace orchid::gateway {
namespace {

using Json = nlohmann::ordered_json;

std::string to_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Null: no call has given an output yet.
Json describe_tier(CallCounts::Tier tier) {
  if (tier == CallCounts::Tier::unknown) return {};
  return tier == CallCounts::Tier::quick ? "quick" : "o3";
}

/// Since the gateway's start.
Json describe_calls(const CallCounts& counts) {
  Json ended = Json::object();
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < outcome_count; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    if (const std::uint64_t count = counts.ended(outcome); count > 0) {
      ended[std::string(to_string(outcome))] = count;
      total += count;
    }
  }
  return {{"total", total},
          {"ended", ended},
          {"tier", describe_tier(counts.tier())},
          {"replacement_delay_ms", counts.replacement_delay().count()}};
}

/// Null: none.
Json describe_limit(const std::shared_ptr<ConcurrencyGate>& gate) {
  return gate == nullptr || gate->limit() == 0 ? Json() : Json(gate->limit());
}

Json describe_version(const DeployedVersion& deployed) {
  const module::Manifest& manifest = deployed.version->manifest;
  Json entries = Json::array();
  for (const module::Entry& entry : manifest.entries)
    entries.push_back(
        {{"name", entry.name}, {"signature", entry.signature ? Json(*entry.signature) : Json()}});
  Json targets = Json::array();
  for (const module::Target& target : manifest.targets)
    targets.push_back({{"triple", target.triple},
                       {"arch", target.arch},
                       {"kind", target.kind},
                       {"size", target.size.value}});
  return {{"name", deployed.version->function},
          {"version", deployed.version->digest},
          {"created", format_time(deployed.created)},
          {"size", manifest.size.value},
          {"abi", manifest.abi},
          {"entries", entries},
          {"targets", targets},
          {"undefined", manifest.undefined},
          {"effects", manifest.effects},
          {"concurrency", describe_limit(deployed.version->gate)},
          {"calls", describe_calls(deployed.version->calls)}};
}

Json describe_function(const Function& function, const DeployedVersion& version) {
  Json json = describe_version(version);
  json["first_created"] = format_time(function.created);
  json["versions"] = function.versions.size();
  return json;
}

double milliseconds(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1e6;
}

std::string_view tier_of(const CallTimings& timings) { return timings.quick_code ? "quick" : "o3"; }

Json describe_invocation(const InvocationView& view) {
  const InvocationRecord& record = view.record;
  Json json{{"id", record.id},
            {"function", record.function},
            {"version", record.digest},
            {"entry", record.entry},
            {"mode", view.synchronous ? "sync" : "async"},
            {"state", state_name(record.state)},
            {"accepted", format_time(record.accepted)},
            {"deadline", format_time(record.deadline)},
            {"attempt", record.attempts}};
  if (record.at_most_once) json["at_most_once"] = true;
  if (record.state != StoredState::done) return json;
  json["finished"] = record.finished ? Json(format_time(*record.finished)) : Json();
  json["outcome"] = record.outcome ? Json(to_string(*record.outcome)) : Json();
  if (!record.message.empty()) json["message"] = record.message;
  if (!record.node.empty()) json["node"] = record.node;
  if (record.lease != LeaseId{}) json["lease"] = to_string(record.lease);
  json["output_size"] = record.output_size;
  json["log_dropped"] = record.log_dropped;
  json["timings_ms"] = {{"queue", milliseconds(record.timings.queue)},
                        {"place", milliseconds(record.timings.place)},
                        {"compile", milliseconds(record.timings.compile)},
                        {"link", milliseconds(record.timings.link)},
                        {"run", milliseconds(record.timings.run)}};
  json["tier"] = tier_of(record.timings);
  return json;
}

}  // namespace

std::string format_time(UnixMillis time) {
  const auto seconds = static_cast<std::time_t>(time / 1000);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds), time % 1000);
}

std::string_view state_name(StoredState state) {
  switch (state) {
    case StoredState::queued:
      return "queued";
    case StoredState::started:
      return "running";
    case StoredState::done:
      return "done";
  }
  return "unknown";
}

std::string version_json(const DeployedVersion& version) {
  return to_text(describe_version(version));
}

std::string function_json(const Function& function, const DeployedVersion& version) {
  return to_text(describe_function(function, version));
}

std::string function_list_json(const std::vector<const Function*>& functions) {
  Json list = Json::array();
  for (const Function* function : functions)
    list.push_back(describe_function(*function, function->newest()));
  return to_text({{"functions", list}});
}

std::string version_list_json(const Function& function) {
  Json list = Json::array();
  for (const auto& version : std::views::reverse(function.versions))
    list.push_back(describe_version(version));
  return to_text({{"versions", list}});
}

std::string invocation_json(const InvocationView& view) {
  return to_text(describe_invocation(view));
}

std::string invocation_list_json(const std::vector<InvocationView>& views) {
  Json list = Json::array();
  for (const InvocationView& view : views) list.push_back(describe_invocation(view));
  return to_text({{"invocations", list}});
}

std::string server_timing(const CallTimings& t) {
  std::string text;
  text.reserve(128);
  fmt::format_to(std::back_inserter(text),
                 "queue;dur={:.3f}, place;dur={:.3f}, compile;dur={:.3f}, link;dur={:.3f}, "
                 "run;dur={:.3f};desc={}",
                 milliseconds(t.queue), milliseconds(t.place), milliseconds(t.compile),
                 milliseconds(t.link), milliseconds(t.run), tier_of(t));
  return text;
}

}  // namespace orchid::gateway
