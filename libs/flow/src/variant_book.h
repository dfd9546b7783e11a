// variant_book.h: how long calls of a node's variants take, in comparison.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flow/engine.h"
#include "flow/plan.h"
#include "flow/variants.h"

namespace orchid::flow {

/// Times are kept as parts of what the usual variant takes at that moment: pieces that grow while
/// the flow runs, or hosts that slow down, make none of them look better than the others. Owned by
/// the tuner; the plan outlives it.
class VariantBook {
 public:
  explicit VariantBook(const Plan& plan) : plan_(plan) {}

  /// What flows before have left. What does not fit is passed over.
  void set_kept(std::vector<KeptVariants> kept) { kept_ = std::move(kept); }
  /// Which of the node's variants a call of the plan is; nothing: it is about something else. A
  /// partition or a merge may be of the same function, and is none of them.
  [[nodiscard]] std::optional<std::uint32_t> number_of(std::uint32_t node,
                                                       const PlannedCall* call) const;
  void begins(std::uint32_t node, Device device, std::uint32_t variant);
  void ends(std::uint32_t node, Device device, std::uint32_t variant);
  /// A call of it, by its own fault. The node's own function is never given up.
  void fails(std::uint32_t node, Device device, std::uint32_t variant);
  void learn(std::uint32_t node, Device device, std::uint32_t variant, double piece_seconds);
  void see(const Advice& said);
  /// Empty: the node has no choice.
  [[nodiscard]] std::vector<VariantChoice> choices_of(std::uint32_t node);
  /// What was learned, with what was kept before.
  [[nodiscard]] std::vector<KeptVariants> learned() const;

 private:
  struct Measure {
    std::uint64_t calls = 0;
    double relative = 0;
    double kept_calls = 0;  // so many count for what flows before have learned
    std::uint32_t open_calls = 0;
    bool has_failed = false;
  };
  /// Of one node on one device.
  struct Run {
    std::uint32_t usual = 0;
    double level = 0;  // seconds where `relative` is 1, of about the last 32 calls
    std::uint64_t level_calls = 0;
    double kept_level = 0;  // in flows before
    double squares = 0;     // of relative deviations, summed
    double squares_count = 0;
    std::vector<Measure> all;
    std::vector<std::pair<std::uint32_t, double>> early;  // before there was a level
  };
  Run& run_of(std::uint32_t node, Device device);
  [[nodiscard]] std::vector<std::string> exact_names(std::uint32_t node) const;
  static void compare(Run& run, std::uint32_t variant, double piece_seconds);

  const Plan& plan_;
  std::vector<KeptVariants> kept_;
  std::map<std::pair<std::uint32_t, Device>, Run> runs_;
};

}  // namespace orchid::flow
