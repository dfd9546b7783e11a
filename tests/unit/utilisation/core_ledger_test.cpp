#include "utilisation/core_ledger.h"

#include <doctest/doctest.h>

using namespace orchid::utilisation;
using std::chrono::seconds;

TEST_CASE("a window holds as many whole functions as its time after the start-up") {
  CHECK(usable(seconds(30), SimTime(800), seconds(10)) == seconds(20));
  CHECK(usable(SimTime(30'800), SimTime(800), seconds(10)) == seconds(30));
  CHECK(usable(SimTime(10'799), SimTime(800), seconds(10)) == seconds(0));
  CHECK(usable(SimTime(500), SimTime(800), seconds(10)) == seconds(0));
}

TEST_CASE("windows lie between batch jobs, whatever pilots do in them") {
  CoreLedger ledger({.shape = {.nodes = 1, .cores_per_node = 2},
                     .counted = {seconds(100), seconds(1000)},
                     .start_up = seconds(1),
                     .function = seconds(10)});
  const CoreSet first = ledger.give_to_batch({.node = 0, .cores = 1}, seconds(0));
  CHECK(first == CoreSet{0});
  const CoreSet pilot = ledger.give_to_pilot({.node = 0, .cores = 1});
  CHECK(pilot == CoreSet{1});
  CHECK_FALSE(ledger.audit());
  ledger.take_from_pilot(0, pilot);
  ledger.take_from_batch(0, first, seconds(150));
  // Core 0 was free from 150 to 172, core 1 from the beginning: its window counts from 100 on.
  CHECK(ledger.give_to_batch({.node = 0, .cores = 2}, seconds(172)) == CoreSet{0, 1});
  CHECK(ledger.idle_time().windows == 2);
  CHECK(ledger.idle_time().whole == seconds(22 + 72));
  CHECK(ledger.idle_time().oracle == seconds(20 + 70));
  CHECK(ledger.idle_time().under_ten_minutes == 2);
  ledger.take_from_batch(0, CoreSet{1}, seconds(200));
  ledger.finish(seconds(1000));
  CHECK(ledger.idle_time().windows == 3);
  CHECK(ledger.idle_time().whole == seconds(22 + 72 + 800));
  CHECK(ledger.idle_time().under_ten_minutes == 2);
  CHECK(ledger.idle_time().under_half_an_hour == 3);
  CHECK_FALSE(ledger.audit());
}
