#include "placement/explanation.h"

#include <fmt/format.h>

namespace orchid::placement {

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

std::string to_string(const HostReason& finding) {
  const std::string detail = detail_of(finding);
  std::string text = finding.host_name + ": ";
  const bool says_all = finding.reason == Reason::fits || finding.reason == Reason::no_image;
  if (!says_all) text += to_string(finding.reason);
  if (!says_all && !detail.empty()) text += ": ";
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
  if (!explanation.request.worker.data_at.value().empty())
    text +=
        fmt::format("the data of its calls is at the executor {}, and decides before the policy\n",
                    explanation.request.worker.data_at.value());
  if (explanation.refusal) text += "refused: " + explanation.refusal->message + "\n";
  for (const HostReason& chosen : explanation.chosen) text += "  on " + to_string(chosen) + "\n";
  for (const Tally& tally : explanation.tallies) {
    const bool known = tally.alternative < explanation.request.worker.alternatives.size();
    text +=
        fmt::format("  alternative {} ({}): {}\n", tally.alternative + 1,
                    known ? to_string(explanation.request.worker.alternatives[tally.alternative])
                          : std::string(),
                    summary_of(tally));
    for (const HostReason& example : tally.examples) text += "    not " + to_string(example) + "\n";
  }
  return text;
}

}  // namespace orchid::placement
