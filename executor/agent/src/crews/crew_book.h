// crews/crew_book.h: the crews of this host: whose members wait for a worker, and that these are
// born together, and end together.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "protocol/crew.h"
#include "protocol/lease_id.h"
#include "workers/worker_pool.h"

namespace orchid::executor {

/// Owned by the agent's thread. A crew goes by the client's lease, each member by a lease of its
/// own. A worker that is confined can get no new memory: when one is lost, all of them go, and the
/// crew is formed anew with new memory, into which nobody of the old one can write.
class CrewBook {
 public:
  /// Before births that have failed are tried again: twice as long each time.
  static constexpr std::chrono::milliseconds shortest_pause{100};
  static constexpr std::chrono::milliseconds longest_pause{5'000};
  explicit CrewBook(WorkerPool& workers, boost::asio::io_context& io)
      : workers_(workers), io_(io) {}

  struct Member {
    LeaseId crew;
    LeaseId lease;
  };
  /// Of a crew that is at several executors; `near` is empty if all of it is here.
  struct Seating {
    std::uint32_t members = 0;
    std::uint32_t member = 0;         // which one it is; 0: the book numbers it
    std::vector<std::uint32_t> near;  // those that are here, with the client if that is
    friend bool operator==(const Seating&, const Seating&) = default;
  };
  /// Its client has claimed it, or its last worker has ended: `taken` gets the next one, once all
  /// members here wait and their workers are there; of a crew that is elsewhere, too, once they
  /// listen. False: the crew has all its members, or another one with that number or seating.
  [[nodiscard]] bool join(const Member& member, const Seating& seating, WorkerPool::Taken taken);
  /// Its worker has ended: the others' are ended as well.
  void lost(const Member& member);
  /// Nobody claims it any more: the others' workers end, and wait until somebody does.
  void leave(const Member& member);

 private:
  struct Seat {
    std::uint32_t number = 0;
    WorkerPool::Taken taken;                // set: it waits
    std::shared_ptr<WorkerProcess> worker;  // while it waits: born, and not handed over
  };
  struct Crew {
    std::uint32_t members = 0;
    std::vector<std::uint32_t> near;
    [[nodiscard]] std::size_t here() const {  // without the client
      return near.empty() ? members : near.size() - (near.front() == crew::client_member ? 1 : 0);
    }
    std::map<LeaseId, Seat> seats;
    std::uint64_t forming = 0;  // the attempt that is under way; 0: none
    std::unique_ptr<boost::asio::steady_timer> retry;
    std::chrono::milliseconds pause = shortest_pause;  // before the next one
  };
  using Crews = std::map<LeaseId, Crew>;
  [[nodiscard]] static std::uint32_t free_number(const Crew& crew);
  void form(const LeaseId& id);
  void born(const Member& member, std::uint64_t attempt, std::shared_ptr<WorkerProcess> worker);
  void hand_over(const LeaseId& id);
  void give_up(const LeaseId& id);
  static void end_workers(Crew& crew);

  WorkerPool& workers_;
  boost::asio::io_context& io_;
  Crews crews_;
  std::uint64_t attempts_ = 0;
};

}  // namespace orchid::executor
