// GPUs, cores or both at once, for calls whose function runs on either. The first call on each of
// them is a trial. Then whoever is free takes the next piece, so that pieces are divided in
// proportion to the speed of both; and towards the end the slower one begins none with which it
// would be done later than the faster ones with all that is left: for each piece that is the
// earliest finish.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include "flow/usable_hosts.h"
#include "optimisers.h"

namespace orchid::flow {
namespace {

constexpr double worth_of_run = 200;  // a call's price is one part in so many of it
constexpr double runs_left = 3;       // for each place, at each moment
constexpr double most_pieces_of_run = 1e9;

/// Workers of one kind, and what one of them takes for a piece.
struct Places {
  std::uint32_t count = 0;
  const FunctionTimes* times = nullptr;  // null: there was no trial yet
  bool in_runs = false;
  [[nodiscard]] bool is_known() const { return times != nullptr && times->pieces != 0; }
  [[nodiscard]] double seconds() const {
    // A batch of an iteration is one call with many steps.
    const double calls = static_cast<double>(times->calls) / static_cast<double>(times->pieces);
    return std::max(times->seconds_of_piece() + (in_runs ? 0 : times->overhead_seconds * calls),
                    1e-9);
  }
  /// The last piece may be as long as the longest so far.
  [[nodiscard]] double longest_seconds() const {
    return std::max(times->slowest_piece_seconds, times->seconds_of_piece()) +
           times->overhead_seconds;
  }
  [[nodiscard]] double speed() const { return count / seconds(); }  // pieces a second
  [[nodiscard]] std::string text() const {
    if (count == 0) return "none is free";
    return is_known() ? fmt::format("{:.3g} s a piece on {}", seconds(), count)
                      : fmt::format("a trial piece on each of {}", count);
  }
};

DevicePart part_of(const Places& one, const Places& other) {
  DevicePart part{.calls = one.count};
  if (one.count == 0) return part;
  if (!one.is_known()) {  // trials, on all at once: the others would wait for one as long
    part.pieces = 1;
    return part;
  }
  double speed = one.speed();
  if (other.count != 0 && other.is_known()) {
    speed += other.speed();
    if (other.seconds() < one.seconds())
      part.from = static_cast<std::uint64_t>(other.speed() * one.longest_seconds());
  }
  const double dear = std::ceil(worth_of_run * one.times->overhead_seconds / one.seconds());
  const double known = static_cast<double>(one.times->pieces) / one.count;
  part.pieces =
      static_cast<std::uint64_t>(std::clamp(std::min(dear, known), 1.0, most_pieces_of_run));
  part.share = static_cast<std::uint32_t>(
      std::clamp(std::ceil(runs_left * speed * one.seconds()), 1.0, most_pieces_of_run));
  return part;
}

class DeviceChoice final : public Optimiser {
 public:
  [[nodiscard]] std::string_view name() const override { return "device"; }
  [[nodiscard]] std::string description() const override {
    return "functions that run on a GPU and on cores: a trial on each, then both at once, each "
           "with "
           "as much as it does in the time";
  }
  [[nodiscard]] Result<Decided> decide(const Situation& situation) override {
    Decided decided;
    for (const ReadyNode& node : situation.nodes)
      if (node.cores_of_call != 0) decided.nodes.push_back(advice_for(node, situation));
    return decided;
  }

 private:
  static Advice advice_for(const ReadyNode& node, const Situation& situation) {
    Advice advice{.node = node.node, .devices = Devices{}};
    Places gpus{.times = situation.times_of(node.function, "gpu"), .in_runs = node.in_runs};
    Places cores{.times = situation.times_of(node.function, "cpu"), .in_runs = node.in_runs};
    for (const HostSituation& host : usable_hosts(node.constraints, situation.hosts)) {
      gpus.count += std::min(host.gpus_free, host.cores_free);  // a GPU's worker has a core, too
      cores.count +=
          (host.cores_free - std::min(host.gpus_free, host.cores_free)) / node.cores_of_call;
    }
    if (gpus.count == 0 && cores.count == 0) {
      advice.why = "device: wherever there is a place: none was free when hosts were looked at";
      return advice;
    }
    const bool one_by_one = node.kind == NodeKind::iterate || node.kind == NodeKind::call;
    if (one_by_one && gpus.count != 0 && cores.count != 0) keep_one(gpus, cores);
    advice.devices = Devices{.cores = part_of(cores, gpus), .gpu = part_of(gpus, cores)};
    advice.why = fmt::format("device: GPUs: {}; cores: {}", gpus.text(), cores.text());
    if (advice.devices->cores.from != 0 && gpus.count != 0)
      advice.why += fmt::format("; the last {} pieces go to GPUs", advice.devices->cores.from);
    if (advice.devices->gpu.from != 0 && cores.count != 0)
      advice.why += fmt::format("; the last {} pieces go to cores", advice.devices->gpu.from);
    return advice;
  }

  /// Where there is one call at a time: the one that was not tried yet, the GPU first; then the
  /// faster one.
  static void keep_one(Places& gpus, Places& cores) {
    const bool on_gpu = !gpus.is_known() || (cores.is_known() && gpus.seconds() <= cores.seconds());
    (on_gpu ? cores : gpus).count = 0;
  }
};

}  // namespace

std::unique_ptr<Optimiser> make_device() { return std::make_unique<DeviceChoice>(); }

}  // namespace orchid::flow
