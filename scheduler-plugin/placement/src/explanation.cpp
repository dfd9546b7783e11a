#include "placement/explanation.h"

#include <fmt/format.h>

namespace orchid::placement {

std::string_view to_string(HostKind kind) {
  switch (kind) {
    case HostKind::cpu:
      return "cpu";
    case HostKind::gpu:
      return "gpu";
    case HostKind::dpu:
      return "dpu";
  }
  return "cpu";
}

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::fits:
      return "fits";
    case Reason::no_grant:
      return "nothing granted";
    case Reason::host_lost:
      return "host does not answer";
    case Reason::drained:
      return "drained";
    case Reason::job_not_running:
      return "its job is not running";
    case Reason::grant_draining:
      return "ends soon";
    case Reason::grant_silent:
      return "its executor does not answer";
    case Reason::unreachable:
      return "reached from its own host only";
    case Reason::other_host:
      return "another host";
    case Reason::owner_only:
      return "owner only";
    case Reason::wrong_architecture:
      return "wrong architecture";
    case Reason::wrong_kind:
      return "wrong kind of host";
    case Reason::lacks_feature:
      return "lacks a feature";
    case Reason::wrong_gpu_model:
      return "wrong GPU model";
    case Reason::too_few_cores:
      return "too few cores free";
    case Reason::too_few_gpus:
      return "too few GPUs free";
    case Reason::ends_too_soon:
      return "grant ends too soon";
    case Reason::too_little_memory:
      return "too little memory free";
    case Reason::too_much_power:
      return "draws too much power";
    case Reason::power_unknown:
      return "power unknown";
    case Reason::declined_by_policy:
      return "declined by the policy";
    case Reason::not_examined:
      return "not looked at one by one";
  }
  return "unknown";
}

namespace {

std::string seconds_text(std::uint64_t milliseconds) {
  return fmt::format("{:g} s", static_cast<double>(milliseconds) / 1000);
}

std::string detail_of(const HostReason& finding) {
  switch (finding.reason) {
    case Reason::fits:
    case Reason::declined_by_policy:
    case Reason::too_few_cores:
      return fmt::format("{} of {} cores free, wanted {}", finding.has, finding.of, finding.wanted);
    case Reason::too_few_gpus:
      return fmt::format("{} of {} GPUs free, wanted {}", finding.has, finding.of, finding.wanted);
    case Reason::too_little_memory:
      return fmt::format("{} of {} free, wanted {}", to_string(ByteCount{finding.has}),
                         to_string(ByteCount{finding.of}), to_string(ByteCount{finding.wanted}));
    case Reason::ends_too_soon:
      return fmt::format("{} left, wanted {}", seconds_text(finding.has),
                         seconds_text(finding.wanted));
    case Reason::too_much_power:
      return fmt::format("{} W expected, {} W allowed", finding.has, finding.of);
    default:
      return finding.subject;
  }
}

}  // namespace

std::string to_string(const WorkerShape& shape) {
  std::string text = fmt::format("{} core{}", shape.cores, shape.cores == 1 ? "" : "s");
  if (shape.gpus > 0)
    text += fmt::format(", {} GPU{}{}{}", shape.gpus, shape.gpus == 1 ? "" : "s",
                        shape.gpu_model.empty() ? "" : " ", shape.gpu_model);
  if (shape.memory.value > 0) text += ", " + to_string(shape.memory);
  return text;
}

std::string to_string(const HostReason& finding) {
  const std::string detail = detail_of(finding);
  std::string text = finding.host_name + ": ";
  if (finding.reason != Reason::fits) text += to_string(finding.reason);
  if (finding.reason != Reason::fits && !detail.empty()) text += ": ";
  text += detail;
  if (!finding.grant.value().empty()) text += fmt::format(" (grant {})", finding.grant.value());
  return text;
}

std::string summary_of(const Tally& tally) {
  if (tally.counts.empty()) return "no host has room: no host is known";
  std::string text = "no host has room: ";
  for (std::size_t i = 0; i < tally.counts.size(); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", tally.counts[i].grants,
                        to_string(tally.counts[i].reason));
  return text;
}

std::string to_string(const Explanation& explanation) {
  std::string text =
      fmt::format("decision {}: policy {}, {} of {} workers placed\n", explanation.id.value(),
                  explanation.policy, explanation.places.size(), explanation.request.workers);
  if (explanation.refusal) text += "refused: " + explanation.refusal->message + "\n";
  for (const HostReason& chosen : explanation.chosen) text += "  on " + to_string(chosen) + "\n";
  for (const Tally& tally : explanation.tallies) {
    const bool known = tally.alternative < explanation.request.alternatives.size();
    text += fmt::format(
        "  alternative {} ({}): {}\n", tally.alternative + 1,
        known ? to_string(explanation.request.alternatives[tally.alternative]) : std::string(),
        summary_of(tally));
    for (const HostReason& example : tally.examples) text += "    not " + to_string(example) + "\n";
  }
  return text;
}

}  // namespace orchid::placement
