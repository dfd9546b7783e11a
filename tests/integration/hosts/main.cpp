// Tests with several hosts; where namespaces are not permitted they say so and test nothing.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <optional>

#include "host_namespaces.h"

namespace orchid::tests {
extern std::optional<HostNamespaces> hosts;
std::optional<HostNamespaces> hosts;
}  // namespace orchid::tests

int main(int argc, char** argv) {
  constexpr int skipped = 77;  // as CMakeLists.txt tells ctest
  auto made = orchid::tests::HostNamespaces::create(2);
  if (!made) {
    std::fprintf(stderr, "skipped: %s\n", made.error().message.c_str());
    return skipped;
  }
  orchid::tests::hosts.emplace(std::move(*made));
  doctest::Context context(argc, argv);
  const int status = context.run();
  orchid::tests::hosts.reset();
  return status;
}
