// The executor's tests, over one lane or the other.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <string_view>

#include "executor_fixture.h"

namespace {
orchid::tests::LaneKind chosen = orchid::tests::LaneKind::local;
bool trusted = false;
}  // namespace

orchid::tests::LaneKind orchid::tests::lane_under_test() { return chosen; }
bool orchid::tests::is_fabric_trusted() { return trusted; }

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--lane=ucx")
      chosen = orchid::tests::LaneKind::ucx;
    else if (std::string_view(argv[i]) == "--lane=relayed")
      chosen = orchid::tests::LaneKind::relayed;
    else if (std::string_view(argv[i]) == "--fabric=trusted")
      trusted = true;
  doctest::Context context(argc, argv);
  return context.run();
}
