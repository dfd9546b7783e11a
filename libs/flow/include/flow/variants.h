// flow/variants.h: functions that do the same, of which the fastest one is found by trial: a kernel
// that was built with several group sizes, for example. A node has numbers for them: 0 is its own
// function, and i the i-th of PlannedNode::variants.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "flow/devices.h"

namespace orchid::flow {

inline constexpr std::size_t most_variants = 16;  // of a node, beside its own function

/// Which of them a node's next calls run.
struct VariantTurns {
  Device device = Device::any;  // that the calls have (StartCall::device)
  std::uint32_t usual = 0;
  /// The next calls run these, one each, before `usual` has its turn again.
  std::vector<std::uint32_t> trials{};
  friend bool operator==(const VariantTurns&, const VariantTurns&) = default;
};

/// What is known of one.
struct VariantTimes {
  std::string function;
  std::uint64_t calls = 0;  // that have ended, in this flow
  double relative = 0;      // time of a piece; comparable with those of the others; 0: not known
  double samples = 0;       // so many calls are in that, with those of flows before
  std::uint32_t open_calls = 0;
  bool has_failed = false;  // a call, by its own fault; of variants only
};

/// What an optimiser is shown of them, for calls of one node on one device.
struct VariantChoice {
  Device device = Device::any;
  std::uint32_t usual = 0;        // as was last said
  double piece_seconds = 0;       // where `relative` is 1; 0: not known yet
  double spread = 0;              // of calls of one variant: standard deviation by mean
  std::vector<VariantTimes> all;  // by number
};

/// What flows leave for those after them. It counts for these versions of functions only.
struct KeptVariants {
  std::vector<std::string> functions;  // exact names, by number
  Device device = Device::any;
  double piece_seconds = 0;  // of the fastest one, the last time; for nodes that make one call only
  struct One {
    double relative = 0;      // to the fastest one; 0: not known
    std::uint64_t calls = 0;  // that say so
    friend bool operator==(const One&, const One&) = default;
  };
  std::vector<One> all;  // by number
  friend bool operator==(const KeptVariants&, const KeptVariants&) = default;
};

}  // namespace orchid::flow
