// The tests of leases, over one lane or the other.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <string_view>

#include "lease_fixture.h"

namespace {
orchid::tests::LaneKind chosen = orchid::tests::LaneKind::local;
}

orchid::tests::LaneKind orchid::tests::lane_under_test() { return chosen; }

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--lane=ucx") chosen = orchid::tests::LaneKind::ucx;
  doctest::Context context(argc, argv);
  return context.run();
}
