#include "leases/placement_report.h"

#include <algorithm>

#include "http/json_text.h"

#include <nlohmann/json.hpp>

namespace orchid::gateway {
namespace {

using Json = nlohmann::ordered_json;

Json texts_of(const std::vector<placement::HostReason>& findings) {
  Json texts = Json::array();
  for (const placement::HostReason& finding : findings) texts.push_back(to_string(finding));
  return texts;
}

/// `wanted`: of the request.
Json tally_json(const placement::Tally& tally, const std::vector<placement::WorkerShape>& wanted) {
  Json counts = Json::object();
  for (const placement::ReasonCount& count : tally.counts)
    counts[std::string(to_string(count.reason))] = count.grants;
  return {{"wanted", tally.alternative < wanted.size() ? to_string(wanted[tally.alternative]) : ""},
          {"summary", summary_of(tally)},
          {"counts", std::move(counts)},
          {"examples", texts_of(tally.examples)}};
}

Json explanation_json(const placement::Explanation& explanation, MonotonicTime now) {
  const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now - explanation.decided);
  Json json{{"number", explanation.id.value()},
            {"age_ms", age.count()},
            {"policy", explanation.policy},
            {"placed", !explanation.refusal.has_value()},
            {"workers", explanation.request.workers}};
  if (!explanation.request.worker.alternatives.empty()) {
    json["cores_per_worker"] = explanation.request.worker.alternatives.front().cores;
    json["memory_bytes"] = explanation.request.worker.alternatives.front().memory.value;
  }
  if (const auto& holder = explanation.request.worker.data_at; !holder.value().empty())
    json["data_at"] = holder.value();
  if (explanation.refusal) json["refusal"] = explanation.refusal->message;
  json["chosen"] = texts_of(explanation.chosen);
  json["alternatives"] = Json::array();
  for (const placement::Tally& tally : explanation.tallies)
    json["alternatives"].push_back(tally_json(tally, explanation.request.worker.alternatives));
  return json;
}

}  // namespace

std::string explanations_json(const std::vector<placement::Explanation>& explanations,
                              MonotonicTime now) {
  Json list = Json::array();
  for (const placement::Explanation& one : explanations) list.push_back(explanation_json(one, now));
  return json_text({{"decisions", std::move(list)}});
}

std::string findings_json(const std::vector<Considered>& considered) {
  const auto fits = [](const placement::HostReason& finding) {
    return finding.reason == placement::Reason::fits;
  };
  Json chosen;
  Json alternatives = Json::array();
  for (const Considered& one : considered) {
    Json hosts = Json::array();
    for (const placement::HostReason& finding : one.findings)
      hosts.push_back({{"host", finding.host_name},
                       {"grant", finding.grant.value()},
                       {"fits", fits(finding)},
                       {"reason", to_string(finding.reason)},
                       {"text", to_string(finding)}});
    if (chosen.is_null() && std::ranges::any_of(one.findings, fits)) chosen = alternatives.size();
    alternatives.push_back({{"wanted", to_string(one.shape)}, {"hosts", std::move(hosts)}});
  }
  const std::size_t shown = chosen.is_null() ? alternatives.size() - 1 : chosen.get<std::size_t>();
  Json hosts = alternatives.at(shown).at("hosts");
  return json_text({{"hosts", std::move(hosts)},
                    {"chosen", std::move(chosen)},
                    {"alternatives", std::move(alternatives)}});
}

}  // namespace orchid::gateway
