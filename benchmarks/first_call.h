// first_call.h: what a program waits for that has nothing yet.
#pragma once
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "orchid/client.h"
#include "orchid/lease.h"

namespace orchid::bench {

inline double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

/// From the request for a lease to the first result, in milliseconds, `times` times: each lease
/// comes `pause` after the one before has ended. The executor needs some of it to bear the next
/// worker.
inline std::vector<double> lease_and_call(Client& client, const std::string& function, int times,
                                          std::chrono::milliseconds pause) {
  std::vector<double> values;
  for (int i = 0; i < times; ++i) {
    std::this_thread::sleep_for(pause);
    const auto start = std::chrono::steady_clock::now();
    Lease lease = client.lease();
    (void)lease.function(function).invoke("input");
    values.push_back(milliseconds_since(start));
  }
  return values;
}

}  // namespace orchid::bench
