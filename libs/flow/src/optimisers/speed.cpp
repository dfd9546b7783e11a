// Critical path first: whoever has the longest way to the flow's end begins first, so that nothing
// long is left when all else is done. With calls that any worker may take next this is the list
// schedule of HEFT (Topcuoglu, Hariri and Wu 2002): the platform gives a call to the worker that is
// free first, which is where it ends first. Data counts: what nodes give goes along their edges,
// and what a call lacks has to be brought to the host where it would end first.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "flow/transfer.h"
#include "optimisers.h"

namespace orchid::flow {
namespace {

double seconds_of_call(const Situation& situation, const ReadyNode& node) {
  const FunctionTimes* times = situation.times_of(node.function);
  return times == nullptr ? 0 : times->seconds_of_piece();
}

class Speed final : public Optimiser {
 public:
  [[nodiscard]] std::string_view name() const override { return "speed"; }
  [[nodiscard]] std::string description() const override {
    return "the node with the longest way to the flow's end goes first; what has to be brought to "
           "the host where it would end first is a part of that way";
  }
  [[nodiscard]] Result<Decided> decide(const Situation& situation) override {
    constexpr double nanoseconds = 1e9;
    constexpr double most = 9e18;
    Decided decided;
    for (const ReadyNode& node : situation.nodes) {
      const FirstEnd end = first_end_of({.data = node.data,
                                         .run_seconds = seconds_of_call(situation, node),
                                         .constraints = node.constraints},
                                        situation.hosts);
      const double seconds = node.seconds_to_end + end.transfer_seconds;
      const double rank = std::clamp(seconds * nanoseconds, 0.0, most);
      decided.nodes.push_back(
          {.node = node.node,
           .priority = static_cast<std::int64_t>(rank),
           .why = fmt::format("speed: {:.3g} s from here to the end of the flow{}{}", seconds,
                              end.host.empty() ? "" : "; ", to_text(end))});
    }
    return decided;
  }
};

double seconds_of(const RankOptions& options, const PlannedCall& call) {
  if (!call.exists()) return 0;
  const auto known = std::ranges::find_if(options.times, [&](const FunctionTimes& one) {
    return one.function == call.function && one.host_kind.empty();
  });
  if (known == options.times.end() || known->pieces == 0) return options.unknown_seconds;
  return known->seconds_of_piece() + known->overhead_seconds;
}

double own_seconds(const Plan& plan, const RankOptions& options, std::size_t number) {
  const PlannedNode& node = plan.nodes[number];
  const double main = seconds_of(options, node.main);
  double seconds = main + seconds_of(options, node.until);
  if (node.if_false.exists()) seconds = std::max(main, seconds_of(options, node.if_false));
  const std::uint64_t pieces = number < options.pieces.size() ? options.pieces[number] : 0;
  if (node.kind == NodeKind::iterate) {
    // Without a bound: one step after those that were made, at least.
    seconds *= static_cast<double>(node.times == no_bound ? std::max<std::uint64_t>(pieces, 1)
                                                          : node.times);
  } else if (pieces > 1) {
    const std::uint32_t side_by_side =
        node.window == 0 ? options.workers : std::min(node.window, options.workers);
    seconds *= std::ceil(static_cast<double>(pieces) / std::max(side_by_side, 1U));
  }
  return seconds + seconds_of(options, node.partition) + seconds_of(options, node.merge);
}

}  // namespace

std::unique_ptr<Optimiser> make_speed() { return std::make_unique<Speed>(); }

std::vector<double> seconds_to_end(const Plan& plan, const RankOptions& options) {
  std::vector<double> ranks(plan.nodes.size(), 0);
  for (std::size_t i = plan.nodes.size(); i-- > 0;) {  // those that need it stand behind it
    const double bytes = i < options.bytes.size() ? static_cast<double>(options.bytes[i]) : 0;
    double behind = 0;
    for (const std::uint32_t consumer : plan.nodes[i].consumers)
      behind = std::max(behind, bytes / options.bytes_per_second + ranks[consumer]);
    ranks[i] = own_seconds(plan, options, i) + behind;
  }
  return ranks;
}

}  // namespace orchid::flow
