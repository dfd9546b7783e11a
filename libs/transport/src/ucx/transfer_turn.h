// ucx/transfer_turn.h: the time that one end of a transfer takes, and how it waits.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>

#include "foundation/result.h"
#include "transport/ucx_transfer.h"
#include "ucx/link.h"

namespace orchid::transport {

/// Owned by the thread of its end.
class TransferTurn {
 public:
  TransferTurn(UcxLink& link, const TransferPace& pace, const char* peer);
  /// Lets UCX work, or sleeps until there is something for it to do. `moved`: a number that changes
  /// whenever the peer gets on. Errors: `timed_out`, `cancelled`, and why the link is of no use.
  [[nodiscard]] Result<void> take(std::uint64_t moved) { return take(moved, Own{}); }
  /// Something of ours besides.
  struct Own {
    int pipe = -1;         // it is waited for, too
    short events = 0;      // as of poll
    bool is_late = false;  // it, and not the peer, is what keeps the transfer from getting on
  };
  [[nodiscard]] Result<void> take(std::uint64_t moved, const Own& own);

 private:
  [[nodiscard]] Result<void> check(std::uint64_t moved);
  void sleep(const Own& own);

  UcxLink& link_;
  TransferPace pace_;
  const char* peer_;  // "receiver", for messages
  LaneDeadline checked_{};
  LaneDeadline moved_at_;
  std::optional<LaneDeadline> overdue_since_;  // as far as was seen
  std::uint64_t moved_ = 0;
};

}  // namespace orchid::transport
