// worker/worker_process.h: the life of one worker after the fork.
#pragma once
#include <vector>

#include "foundation/tick_clock.h"
#include "foundation/unique_fd.h"
#include "worker/messages.h"

namespace orchid::executor {

/// The descriptors that come with a Birth, in this order.
struct BirthDescriptors {
  UniqueFd control;
  UniqueFd lane_memory;
  UniqueFd wake_worker;
  UniqueFd wake_client;
  UniqueFd status_page;
  UniqueFd service;  // comes with Proceed
  // Empty: it has no lane to a device process.
  UniqueFd device_memory;
  UniqueFd wake_device;               // that process
  UniqueFd wake_from_device;          // the worker
  std::vector<UniqueFd> crew_wake{};  // of a member of a crew: come with CrewWiring
};

/// Confines the process, then serves calls until it is killed. Never returns. Called in a fresh
/// child with one thread.
[[noreturn]] void live_as_worker(const Birth& birth, BirthDescriptors descriptors,
                                 const TickRate& rate, int parent_pid);

}  // namespace orchid::executor
