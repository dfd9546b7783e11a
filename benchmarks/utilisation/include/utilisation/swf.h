// utilisation/swf.h: reads traces in the Standard Workload Format, version 2 (Chapin et al. 1999;
// https://www.cs.huji.ac.il/labs/parallel/workload/swf.html): 18 numbers in a line for each job, -1
// where something is not known, and comments behind ';'.
#pragma once
#include <optional>
#include <string_view>

#include "foundation/result.h"
#include "utilisation/trace.h"

namespace orchid::utilisation {

struct SwfTrace {
  Trace trace;
  /// From the header's MaxNodes and MaxProcs, when both are there and go together.
  std::optional<ClusterShape> shape;
  /// Jobs that never ran: without processors or without a run time.
  std::size_t skipped = 0;
};

/// A job has the processors that it asked for, or else those that it got. Without a time that was
/// asked for, it asked for what it took, in whole minutes. Time begins with the first submission,
/// and jobs are numbered in that order. Errors: `bad_request`, with the line.
[[nodiscard]] Result<SwfTrace> parse_swf(std::string_view text);

}  // namespace orchid::utilisation
