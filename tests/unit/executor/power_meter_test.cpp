#include "topology/power_meter.h"

#include <doctest/doctest.h>

#include "file_tree.h"

namespace orchid::executor {
namespace {

using std::chrono::seconds;
constexpr MonotonicTime epoch{seconds(1000)};

/// The counters of a machine.
struct Counters : FileTree {
  void count(const std::string& name, std::uint64_t microjoules) const {
    write(name + "/energy_uj", std::to_string(microjoules) + "\n");
    write(name + "/max_energy_range_uj", "1000000000\n");
  }
};

}  // namespace

TEST_CASE("power is that of all packages over an interval, and of no part of one twice") {
  const Counters counters;
  counters.count("intel-rapl:0", 5'000'000);
  counters.count("intel-rapl:1", 7'000'000);
  counters.count("intel-rapl:0:0", 1);
  counters.count("psys", 1);
  PowerMeter meter(counters.root());
  CHECK_FALSE(meter.look(epoch));
  CHECK_FALSE(meter.milliwatts().has_value());
  counters.count("intel-rapl:0", 5'000'000 + 500'000'000);
  counters.count("intel-rapl:1", 7'000'000 + 250'000'000);
  counters.count("intel-rapl:0:0", 900'000'000);
  CHECK_FALSE(meter.look(epoch + seconds(1)));
  CHECK(meter.look(epoch + seconds(10)));
  CHECK(meter.milliwatts() == 75'000);
}

TEST_CASE("a counter that begins anew does not make power of nothing") {
  const Counters counters;
  counters.count("intel-rapl:0", 999'000'000);
  PowerMeter meter(counters.root());
  CHECK_FALSE(meter.look(epoch));
  counters.count("intel-rapl:0", 99'000'000);
  CHECK(meter.look(epoch + seconds(10)));
  CHECK(meter.milliwatts() == 10'000);
}

TEST_CASE("without readable counters power is unknown") {
  const Counters counters;
  PowerMeter nothing(counters.root() / "none");
  CHECK_FALSE(nothing.look(epoch));
  CHECK_FALSE(nothing.look(epoch + seconds(10)));
  counters.count("intel-rapl:0", 1);
  PowerMeter meter(counters.root());
  CHECK_FALSE(meter.look(epoch));
  counters.count("intel-rapl:0", 2);
  CHECK(meter.look(epoch + seconds(10)));
  std::filesystem::remove(counters.root() / "intel-rapl:0" / "energy_uj");
  CHECK_FALSE(meter.look(epoch + seconds(20)));
  CHECK_FALSE(meter.milliwatts().has_value());
}

}  // namespace orchid::executor
