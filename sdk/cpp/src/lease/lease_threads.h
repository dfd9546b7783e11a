// lease/lease_threads.h: the two threads that all leases of a Client share. They start with its
// first lease and end with its last.
#pragma once
#include "lease/lane_thread.h"
#include "lease/lease_keeper.h"

namespace orchid::sdk {

struct LeaseThreads {
  LaneThread lanes;
  LeaseKeeper keeper;
};

}  // namespace orchid::sdk
