// worker_requests.h: what the tests of leases ask for.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "placement/worker_request.h"

namespace orchid::gateway {

/// Of this host alone.
inline placement::WorkerRequest on_host(std::string boot_id,
                                        std::vector<placement::WorkerShape> alternatives = {
                                            {.cores = 1}}) {
  return {.alternatives = std::move(alternatives),
          .client_host = placement::HostId(std::move(boot_id)),
          .client_host_only = true};
}

}  // namespace orchid::gateway
