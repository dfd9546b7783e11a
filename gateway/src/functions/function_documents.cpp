#include "functions/function_documents.h"

#include <nlohmann/json.hpp>
#include <ranges>

#include "http/json_text.h"
#include "http/timestamp.h"

namespace orchid::gateway {
namespace {

using Json = nlohmann::ordered_json;

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

/// Null: one core.
Json describe_needs(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json describe_alternatives(const std::shared_ptr<const WorkerNeeds>& needs) {
  Json list = Json::array();
  for (const placement::WorkerShape& shape :
       needs != nullptr ? needs->alternatives : std::vector{placement::WorkerShape{}})
    list.push_back({{"cores", shape.cores},
                    {"memory_bytes", shape.memory.value},
                    {"gpus", shape.gpus},
                    {"gpu_model", shape.gpu_model}});
  return list;
}

Json describe_version(const DeployedVersion& deployed) {
  const module::Manifest& manifest = deployed.version->manifest;
  const auto needs = deployed.version->worker_needs();
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
  Json kernels = Json::array();
  for (const module::Kernel& kernel : manifest.kernels)
    kernels.push_back({{"name", kernel.name},
                       {"args_size", kernel.args_size},
                       {"args_alignment", kernel.args_alignment},
                       {"group_size", kernel.group_size},
                       {"local_bytes", kernel.local_bytes},
                       {"on_cores", kernel.on_cores}});
  return {{"name", deployed.version->function},
          {"version", deployed.version->digest},
          {"created", format_time(deployed.created)},
          {"size", manifest.size.value},
          {"abi", manifest.abi},
          {"entries", entries},
          {"targets", targets},
          {"kernels", kernels},
          {"undefined", manifest.undefined},
          {"effects", manifest.effects},
          {"concurrency", describe_limit(deployed.version->gate)},
          {"needs", describe_needs(to_string(needs))},
          {"alternatives", describe_alternatives(needs)},
          {"calls", describe_calls(deployed.version->calls)}};
}

Json describe_function(const Function& function, const DeployedVersion& version) {
  Json json = describe_version(version);
  json["first_created"] = format_time(function.created);
  json["versions"] = function.versions.size();
  return json;
}

}  // namespace

std::string version_json(const DeployedVersion& version) {
  return json_text(describe_version(version));
}

std::string function_json(const Function& function, const DeployedVersion& version) {
  return json_text(describe_function(function, version));
}

std::string function_list_json(const std::vector<const Function*>& functions) {
  Json list = Json::array();
  for (const Function* function : functions)
    list.push_back(describe_function(*function, function->newest()));
  return json_text({{"functions", list}});
}

std::string version_list_json(const Function& function) {
  Json list = Json::array();
  for (const auto& version : std::views::reverse(function.versions))
    list.push_back(describe_version(version));
  return json_text({{"versions", list}});
}

}  // namespace orchid::gateway
