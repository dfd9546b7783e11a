// A program that calls a function: deploys the module that it is given and checks what comes back.
#include <cstdio>
#include <span>
#include <vector>

#include "orchid/client.h"
#include "orchid/lease.h"

namespace {

/// The same without the gateway in between, where this host's gateway grants leases.
bool scales_directly(orchid::Client& client) try {
  orchid::Lease lease = client.lease({.workers = 1});
  auto scale = lease.function<std::vector<double>(double, std::span<const double>)>("scale");
  const std::vector<double> values{1, 2, 3};
  return scale.async(3, values).get() == std::vector<double>{3, 6, 9};
} catch (const orchid::Error& error) {
  // A gateway that knows no leases.
  return error.kind() == orchid::ErrorKind::not_found;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) return 2;
  orchid::Client client;
  client.deploy_file("scale", argv[1]);
  auto scale = client.function<std::vector<double>(double, std::span<const double>)>("scale");
  const std::vector<double> values{1, 2, 3};
  const std::vector<double> expected{2, 4, 6};
  if (scale(2, values) != expected) return 1;

  const auto pending = scale.submit(2, values);
  if (pending.get(std::chrono::seconds(30)) != expected) return 1;
  if (!scales_directly(client)) return 1;
  std::puts("scaled");
  return 0;
} catch (const orchid::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 3;
}
