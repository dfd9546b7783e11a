#include <cstdio>
#include <span>
#include <vector>

#include "orchid/client.h"

int main() try {
  orchid::Client client;                               // finds the gateway that `orchid up` started
  orchid::Lease lease = client.lease({.workers = 2});  // until the end of the scope
  auto scale = lease.function<std::vector<double>(double, std::span<const double>)>("scale");

  const std::vector<double> values{1, 2, 3};
  std::printf("%g\n", scale(2, values).back());  // waits

  std::vector<orchid::Future<std::vector<double>>> pending;
  for (int i = 0; i < 10; ++i) pending.push_back(scale.async(i, values));  // does not
  for (const auto& future : pending) std::printf("%g\n", future.get().back());
  return 0;
} catch (const orchid::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
