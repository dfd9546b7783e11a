// crew/chase_end.h: one member's end of a way in which chases can be done.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crew/board.h"
#include "crew/chase.h"
#include "foundation/result.h"
#include "foundation/units.h"
#include "transport/lane_layout.h"

namespace orchid::bench {

enum class ChaseWay : std::uint8_t {
  raw,      // UCX active messages whose handlers, deployed before, forward
  judged,   // what a crew would do: keys, judged headers, credits, a table of functions
  batched,  // the same, and what goes to one member at a time is one active message
  fetch,    // member 0 asks for each step by an active message, and is answered
  get,      // member 0 reads each step with ucp_get
  mailbox,  // a put into a mailbox at the next member, which polls it
  ring,     // what a crew would do on one host: a ring of lane entries for each direction
  lanes,    // Orchid's local lanes as they are, one for each direction, each step answered
};

/// What the processes of a crew got from the one that forked them.
struct ChaseSetting {
  ChaseWay way = ChaseWay::raw;
  ChaseOrder order = ChaseOrder::leaving;
  unsigned self = 0;
  unsigned processes = 0;  // members and the one that begins, which is number 0
  std::string transports;
  std::string devices;
  bool wakes = false;                 // it may sleep
  std::byte* rings = nullptr;         // way `ring`: all of them
  std::vector<int> wake_descriptors;  // ways `ring` and `lanes`: an eventfd of each process
  std::vector<int> lane_memories;     // way `lanes`: from each process to each
};

/// Way `lanes`: of the memory of each.
constexpr transport::LaneGeometry lanes_geometry{1_MiB, 1_MiB};

struct ChaseAnswer {
  std::uint64_t number = 0;
  std::uint64_t address = 0;
};

/// Owned by its process's only thread.
class ChaseEnd {
 public:
  virtual ~ChaseEnd() = default;
  ChaseEnd(const ChaseEnd&) = delete;
  ChaseEnd& operator=(const ChaseEnd&) = delete;

  /// Lets it work. False: there was nothing to do.
  [[nodiscard]] virtual bool look() = 0;
  /// Of process 0: `address` is the first one to be looked up.
  virtual void begin(const ChaseRequest& request) = 0;
  /// Announces sleep; true: `wake_descriptor` becomes readable when there is something to do.
  [[nodiscard]] virtual bool prepare_to_sleep() = 0;
  virtual void finish_sleep() {}
  [[nodiscard]] virtual int wake_descriptor() const = 0;
  /// Why it is of no use any more.
  [[nodiscard]] virtual std::optional<std::string> failure() const = 0;

  [[nodiscard]] std::vector<ChaseAnswer>& answers() { return answers_; }

 protected:
  ChaseEnd() = default;
  std::vector<ChaseAnswer> answers_;
};

/// Wired to its peers.
[[nodiscard]] Result<std::unique_ptr<ChaseEnd>> open_raw_end(const ChaseSetting& setting,
                                                             Board& board);
[[nodiscard]] Result<std::unique_ptr<ChaseEnd>> open_judged_end(const ChaseSetting& setting,
                                                                Board& board);
[[nodiscard]] Result<std::unique_ptr<ChaseEnd>> open_memory_end(const ChaseSetting& setting,
                                                                Board& board);
[[nodiscard]] Result<std::unique_ptr<ChaseEnd>> open_ring_end(const ChaseSetting& setting);
[[nodiscard]] Result<std::unique_ptr<ChaseEnd>> open_lanes_end(const ChaseSetting& setting);

}  // namespace orchid::bench
