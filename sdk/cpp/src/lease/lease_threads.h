// lease/lease_threads.h: the threads that all leases of a Client share. They start with its first
// lease, those that connect to other hosts with the first such worker, and end with the last lease.
#pragma once
#include "lease/lane_connector.h"
#include "lease/lane_thread.h"
#include "lease/lease_keeper.h"

namespace orchid::sdk {

struct LeaseThreads {
  LaneThread lanes;
  LeaseKeeper keeper;
  LaneConnector connector;
};

}  // namespace orchid::sdk
