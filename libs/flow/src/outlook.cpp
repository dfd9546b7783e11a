#include "flow/outlook.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <string>
#include <utility>

#include "flow/transfer.h"
#include "flow/values.h"
#include "optimisers/optimisers.h"
#include "variant_book.h"

namespace orchid::flow {
namespace {

std::uint64_t groups_of(std::uint64_t count, std::uint64_t fan) { return (count + fan - 1) / fan; }

/// Goes through the nodes in the plan's order: each stands behind those that it needs.
class Prospect {
 public:
  Prospect(const Plan& plan, const OutlookOptions& options) : plan_(plan), options_(options) {
    outlook_.nodes.resize(plan.nodes.size());
    gives_.resize(plan.nodes.size());
    ends_.resize(plan.nodes.size());
    because_.resize(plan.nodes.size());
  }

  Outlook run() {
    for (std::uint32_t i = 0; i < plan_.nodes.size(); ++i) {
      find_wave(i);
      count_calls(i);
      say_where(i);
      estimate(i);
      bring_data(i);
      tell_variant(i);
      find_end(i);
    }
    mark_critical_path();
    return std::move(outlook_);
  }

 private:
  using Count = std::optional<std::uint64_t>;

  void find_wave(std::uint32_t node) {
    NodeOutlook& one = outlook_.nodes[node];
    for (const PlannedPort& port : plan_.nodes[node].ports)
      if (port.source.kind == Source::Kind::node)
        one.wave = std::max(one.wave, outlook_.nodes[port.source.index].wave + 1);
    outlook_.waves = std::max(outlook_.waves, one.wave + 1);
  }

  /// Elements of the span at the node's first port.
  [[nodiscard]] Count elements_at(const PlannedNode& node) const {
    const Source& source = node.ports.front().source;
    if (source.kind == Source::Kind::node) return gives_[source.index];
    const Value value = source.kind == Source::Kind::constant   ? plan_.constants[source.index]
                        : source.index < options_.inputs.size() ? options_.inputs[source.index]
                                                                : nullptr;
    if (value == nullptr || !node.ports.front().type.is_span()) return std::nullopt;
    return count_of(*value);
  }

  void count_calls(std::uint32_t number) {
    const PlannedNode& node = plan_.nodes[number];
    NodeOutlook& one = outlook_.nodes[number];
    switch (node.kind) {
      case NodeKind::call:
      case NodeKind::condition:
      case NodeKind::flow:
        one.calls = 1;
        break;
      case NodeKind::iterate:
        one.calls = node.times;
        one.why = fmt::format("at most {} steps", node.times);
        if (node.is_step) one.why = batches_of(node);
        if (node.is_step || node.ends != Until::never) one.calls = std::nullopt;
        break;
      case NodeKind::map:
        count_pieces(number);
        break;
      case NodeKind::reduce:
        count_groups(number);
        break;
      case NodeKind::master:
        one.why = "as much work as " + node.partition.function + " hands out";
        break;
      case NodeKind::divide:
        one.why = "as many branches as " + node.partition.function + " makes";
        break;
    }
    one.at_once = options_.at_once;
    if (node.window != 0) one.at_once = std::min(one.at_once, node.window);
    if (node.kind == NodeKind::iterate) one.at_once = 1;
  }

  static std::string batches_of(const PlannedNode& node) {
    const std::string most = node.times == no_bound ? "" : fmt::format(", at most {}", node.times);
    return fmt::format("batches of {} until {} is done{}", batch_text(node), node.main.function,
                       most);
  }

  void say_where(std::uint32_t number) {
    const PlannedNode& node = plan_.nodes[number];
    std::string& why = outlook_.nodes[number].why;
    const auto add = [&why](const std::string& text) { why += (why.empty() ? "" : "; ") + text; };
    if (!node.constraints.cluster.empty()) add("in the cluster " + node.constraints.cluster);
    if (!node.constraints.kind.empty()) add("on hosts of kind " + node.constraints.kind);
    if (!node.constraints.device.empty())
      add(node.constraints.device == "gpu" ? "on GPUs" : "on cores");
    if (node.cores_of_call != 0)
      add(fmt::format("on a GPU or {} {}, by trial", node.cores_of_call,
                      node.cores_of_call == 1 ? "core" : "cores"));
  }

  void count_pieces(std::uint32_t number) {
    const PlannedNode& node = plan_.nodes[number];
    NodeOutlook& one = outlook_.nodes[number];
    if (node.partition.exists()) {
      one.why = "as many pieces as " + node.partition.function + " gives";
      return;
    }
    const Count pieces = elements_at(node);
    if (!pieces) {
      one.why = "a piece for each element of port " + node.ports.front().name;
      return;
    }
    const bool ends_early = node.ends != Until::never;
    one.why = fmt::format("{}{} pieces{}", ends_early ? "at most " : "", *pieces,
                          node.in_runs ? ", several in a call" : "");
    if (ends_early || node.in_runs) return;
    one.calls = *pieces + (node.merge.exists() ? 1 : 0);
    if (!node.merge.exists() && node.main.result.is_element()) gives_[number] = pieces;
  }

  void count_groups(std::uint32_t number) {
    const PlannedNode& node = plan_.nodes[number];
    NodeOutlook& one = outlook_.nodes[number];
    Count left = elements_at(node);
    if (!left) {
      one.why = fmt::format("groups of {}, until one element is left", node.fan);
      return;
    }
    std::uint64_t calls = 0;
    unsigned levels = 0;
    for (std::uint64_t elements = *left; elements > 0; ++levels) {
      elements = groups_of(elements, node.fan);
      calls += elements;
      if (elements == 1) elements = 0;
    }
    one.calls = calls;
    one.why = fmt::format("{} elements in groups of {}, {} {}", *left, node.fan, levels,
                          levels == 1 ? "level" : "levels");
  }

  [[nodiscard]] std::optional<double> seconds_of(const PlannedCall& call) const {
    if (!call.exists()) return 0.0;
    const auto known = options_.seconds.find(call.function);
    return known == options_.seconds.end() ? std::nullopt : std::optional(known->second);
  }

  void estimate(std::uint32_t number) {
    const PlannedNode& node = plan_.nodes[number];
    NodeOutlook& one = outlook_.nodes[number];
    const auto each = node.kind == NodeKind::condition
                          ? longer(seconds_of(node.main), seconds_of(node.if_false))
                          : seconds_of(node.main);
    const auto partition = seconds_of(node.partition);
    const auto merge = seconds_of(node.merge);
    const auto until = seconds_of(node.until);
    if (!each || !partition || !merge || !until) return;
    one.is_least = !one.calls.has_value();
    const std::uint64_t calls = one.calls.value_or(1) - (one.calls && node.merge.exists() ? 1 : 0);
    const auto rounds = static_cast<double>(groups_of(calls, one.at_once));
    one.seconds = *partition + rounds * (*each + *until) + *merge;
  }

  /// Of what the flow is given; what nodes will make is not there yet.
  void bring_data(std::uint32_t number) {
    const PlannedNode& node = plan_.nodes[number];
    NodeOutlook& one = outlook_.nodes[number];
    std::vector<ObjectSituation> data;
    for (const PlannedPort& port : node.ports) {
      if (!port.type.is_data() || port.source.kind != Source::Kind::input) continue;
      const Value value =
          port.source.index < options_.inputs.size() ? options_.inputs[port.source.index] : nullptr;
      if (value == nullptr) continue;
      const auto known = std::ranges::find(options_.objects, data_of(*value), &ObjectSituation::id);
      if (known != options_.objects.end() && !known->hosts.empty()) data.push_back(*known);
    }
    const FirstEnd end = first_end_of(
        {.data = data, .host_kind = node.constraints.kind, .run_seconds = one.seconds.value_or(0)},
        options_.hosts);
    if (end.host.empty()) return;
    one.why += (one.why.empty() ? "" : "; ") + to_text(end);
    if (one.seconds) *one.seconds += end.transfer_seconds;
  }

  /// Which one the node would begin with, and what else it would try.
  void tell_variant(std::uint32_t number) {
    const PlannedNode& node = plan_.nodes[number];
    if (!node.chooses_variant) return;
    VariantBook book(plan_);
    book.set_kept(options_.kept);
    Situation situation;
    situation.nodes.push_back({.node = number,
                               .name = node.name,
                               .kind = node.kind,
                               .function = node.main.function,
                               .variants = book.choices_of(number)});
    const auto decided = make_grid()->decide(situation);
    std::string& why = outlook_.nodes[number].why;
    why += (why.empty() ? "" : "; ") + decided->nodes.front().why;
  }

  static std::optional<double> longer(std::optional<double> a, std::optional<double> b) {
    if (!a || !b) return std::nullopt;
    return std::max(*a, *b);
  }

  /// When it ends at the earliest, and because of which node it begins no sooner. Where no time is
  /// known the number of nodes counts.
  void find_end(std::uint32_t number) {
    End latest;
    for (const PlannedPort& port : plan_.nodes[number].ports)
      if (port.source.kind == Source::Kind::node && latest < ends_[port.source.index]) {
        latest = ends_[port.source.index];
        because_[number] = port.source.index;
      }
    ends_[number] = {.seconds = latest.seconds + outlook_.nodes[number].seconds.value_or(0),
                     .nodes = latest.nodes + 1};
  }

  void mark_critical_path() {
    if (ends_.empty()) return;
    auto at = static_cast<std::uint32_t>(std::ranges::max_element(ends_) - ends_.begin());
    double seconds = 0;
    bool is_known = true;
    for (std::optional<std::uint32_t> next = at; next; next = because_[at]) {
      at = *next;
      NodeOutlook& one = outlook_.nodes[at];
      one.is_critical = true;
      is_known = is_known && one.seconds.has_value();
      seconds += one.seconds.value_or(0);
    }
    for (const NodeOutlook& one : outlook_.nodes)
      outlook_.is_least = outlook_.is_least || one.is_least || !one.seconds;
    if (is_known) outlook_.seconds = seconds;
  }

  struct End {
    double seconds = 0;
    std::uint32_t nodes = 0;
    friend auto operator<=>(const End&, const End&) = default;
  };

  const Plan& plan_;
  const OutlookOptions& options_;
  Outlook outlook_;
  std::vector<Count> gives_;  // elements of what each node gives, where that is known
  std::vector<End> ends_;
  std::vector<std::optional<std::uint32_t>> because_;
};

}  // namespace

Outlook outlook_of(const Plan& plan, const OutlookOptions& options) {
  return Prospect(plan, options).run();
}

}  // namespace orchid::flow
