// crew/party_processes.h: processes on hosts of their own whose UCX workers are wired to each
// other, and which then do what a benchmark wants of them.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <vector>

#include "crew/board.h"
#include "crew/ucx_party.h"
#include "foundation/result.h"
#include "hosts/host_namespaces.h"

namespace orchid::bench {

/// What a process found out, in its figures on the board. Times are milliseconds of
/// CLOCK_MONOTONIC.
enum PartyFigure : std::uint8_t { open_took, wire_began, wire_ended, memory_kib, descriptors, own };

[[nodiscard]] double milliseconds_now();

/// Owned by the main thread. Ends its processes when it ends.
class PartyProcesses {
 public:
  struct Plan {
    unsigned count = 2;
    const tests::HostNamespaces& hosts;
    unsigned host_count = 1;  // members take them in turns
    std::vector<int> cores;   // taken in turns
    bool quiet = false;       // UCX's words about its own end are not wanted
  };
  /// In the child, when it is wired to all others; the process ends when it returns.
  using Life = std::function<void(UcxParty& party, Board& board, unsigned self)>;

  /// Returns when all are wired. Errors: `unreachable`, one has ended; `timed_out`.
  [[nodiscard]] static Result<PartyProcesses> start(const Plan& plan, const Life& life);
  PartyProcesses(PartyProcesses&& other) noexcept = default;
  PartyProcesses& operator=(PartyProcesses&&) = delete;
  ~PartyProcesses();

  [[nodiscard]] Board& board() { return board_; }
  [[nodiscard]] pid_t pid(unsigned process) const { return pids_[process]; }
  /// Its exit status, or 128 + signal; nothing while it is there.
  [[nodiscard]] std::optional<int> end_of(unsigned process);

 private:
  explicit PartyProcesses(Board board) : board_(std::move(board)) {}
  Board board_;
  std::vector<pid_t> pids_;
};

/// Looks every millisecond. False: not within that time.
[[nodiscard]] bool comes_true(const std::function<bool()>& condition,
                              std::chrono::milliseconds patience);

}  // namespace orchid::bench
