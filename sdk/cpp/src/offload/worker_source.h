// offload/worker_source.h: where an OffloadPool has its workers from.
#pragma once
#include <optional>

#include "offload/piece_schedule.h"
#include "orchid/lease.h"

namespace orchid::sdk {

struct Recruits {
  Lease lease;
  ParticipantKind kind;
};

/// Used by the crew's recruiting thread alone.
class WorkerSource {
 public:
  virtual ~WorkerSource() = default;
  /// Throws `orchid::Error` when there are none now.
  [[nodiscard]] virtual Recruits take() = 0;
};

}  // namespace orchid::sdk
