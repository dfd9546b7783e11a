// crew/crew.h: the processes of a crew, each in a network namespace of its own or all on one host,
// which chase when they are told to and sleep in between, so that crews can be measured in turns.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "crew/board.h"
#include "crew/chase_end.h"
#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "hosts/host_namespaces.h"

namespace orchid::bench {

/// What a process does while it has nothing to do in a round.
enum class Waiting : std::uint8_t {
  spin,   // it has its core for itself
  yield,  // it shares its core with others that look for work all the time
  sleep,
};

struct CrewPlan {
  ChaseWay way = ChaseWay::raw;
  ChaseOrder order = ChaseOrder::leaving;  // ways `raw` and `fetch`; the others leave
  unsigned members = 2;
  std::string transports;
  const tests::HostNamespaces* hosts = nullptr;  // null: all on this one
  Waiting waiting = Waiting::spin;
  Waiting beginner = Waiting::sleep;  // of process 0
  bool confined = false;              // the members by a worker's sandbox, both stages
  /// Of process 0, 1, …; again from the front of the second one when there are more.
  std::vector<int> cores;
};

/// Owned by the main thread. Ends its processes when it ends.
class Crew {
 public:
  /// Returns when all are wired to each other.
  [[nodiscard]] static Result<Crew> start(const CrewPlan& plan);
  Crew(Crew&& other) noexcept = default;
  Crew& operator=(Crew&&) = delete;
  ~Crew();

  struct Round {
    std::uint64_t depth = 1;
    unsigned in_flight = 1;
    unsigned chases = 1;  // of which the results are right, or it fails
  };
  /// Microseconds for each hop, of each chase; with several in flight: of all together, one value.
  [[nodiscard]] Result<std::vector<double>> chase(const Round& round);

  [[nodiscard]] pid_t process(unsigned number) const { return processes_[number].pid; }

 private:
  struct Process {
    pid_t pid = -1;
    UniqueFd control;
  };
  explicit Crew(Board board) : board_(std::move(board)) {}
  [[nodiscard]] Result<void> start_process(const CrewPlan& plan, const ChaseSetting& setting);
  [[nodiscard]] Result<void> hear(const Process& process) const;

  Board board_;
  std::vector<Process> processes_;
  std::vector<UniqueFd> kept_;  // descriptors that the processes have got
  unsigned round_ = 0;
};

}  // namespace orchid::bench
