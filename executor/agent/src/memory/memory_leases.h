// memory/memory_leases.h: the leases of memory of this executor: what the gateway says of them,
// their processes, and until when.
#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "children/child_watch.h"
#include "data/data_service.h"
#include "foundation/clock.h"
#include "memory/memory_process.h"
#include "protocol/control_messages.h"

namespace orchid::executor {

/// Owned by the agent's thread. It maps no memory of a lease. What a lease has is charged until
/// its process has ended: nothing of it is left then, and the memory is somebody else's to have,
/// as zero pages.
class MemoryLeases {
 public:
  struct Options {
    std::filesystem::path program;  // orchid-memory
    std::string listen;  // the IP address that clients come to; empty: those of this host alone
  };
  /// `tell`: what the gateway is to hear.
  MemoryLeases(boost::asio::io_context& io, ChildWatch& children, DataService& data,
               Options options, std::function<void(const ControlMessage&)> tell);

  void obey(const LeaseMemory& request);
  void obey(const RenewMemory& request);
  void obey(const EndMemory& request);
  /// Ends those whose time is over.
  void tick(MonotonicTime now);
  /// What a hello tells of them.
  [[nodiscard]] std::vector<MemoryHeld> introduce(MonotonicTime now) const;
  /// How a lease of this tenant is reached. The address is empty while no process listens for it:
  /// a port that one has let go of may be anybody's, and is never told with the next key. Nothing:
  /// it has none of that id here, or none any more.
  [[nodiscard]] std::optional<MemoryReach> way_to(LeaseId lease, std::uint32_t tenant) const;
  void count(std::map<std::string, std::uint64_t>& counters) const;
  /// The grant ends.
  void end_all();

 private:
  struct Lease {
    LeaseMemory terms;
    MonotonicTime expires;
    DataService::Room room;
    std::unique_ptr<MemoryProcess> process;
    std::string address{};           // where its process listens; empty: none does
    bool was_reachable = false;      // a process has listened for it
    std::optional<LeaseEnd> ends{};  // it does: its process has yet to
  };
  using Leases = std::map<LeaseId, Lease>;
  [[nodiscard]] Result<void> begin(const LeaseMemory& request);
  [[nodiscard]] Result<void> start_process(LeaseId id, Lease& lease);
  void refuse(LeaseId id, const Failure& why) const;
  void tell_leased(const Leases::value_type& lease) const;
  void listening(LeaseId id, const std::string& address);
  void process_ended(LeaseId id, const std::optional<Failure>& why);
  static void end(Lease& lease, LeaseEnd reason);
  void forget(Leases::iterator lease, LeaseEnd reason);

  boost::asio::io_context& io_;
  ChildWatch& children_;
  DataService& data_;
  Options options_;
  std::function<void(const ControlMessage&)> tell_;
  Leases leases_;
  std::set<LeaseId> waiting_;  // for the disk to take what others need less
};

}  // namespace orchid::executor
