// Tests with an emulated Arm machine, which boots once for all of them. dev.d/test_aarch64 starts
// this program.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <exception>
#include <optional>

#include "mixed_site.h"

namespace orchid::tests {
extern std::optional<MixedSite> site;
std::optional<MixedSite> site;
}  // namespace orchid::tests

int main(int argc, char** argv) {
  try {
    orchid::tests::site.emplace();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  const int status = doctest::Context(argc, argv).run();
  if (status != 0) std::fprintf(stderr, "%s\n", orchid::tests::site->logs().c_str());
  orchid::tests::site.reset();
  return status;
}
