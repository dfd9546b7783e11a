#include "changes.h"

#include <doctest/doctest.h>

#include "protocol/source_inventory.h"
#include "recorded.h"

namespace orchid::slurm {
namespace {

/// What a gateway has after the lines that `update` becomes.
void pass(SourceInventory& gateway, SourceUpdate update, std::uint64_t& sequence) {
  update.sequence = sequence;
  for (const std::string& line : encode(update)) {
    const auto message = parse_source_message(line);
    REQUIRE_MESSAGE(message.has_value(), line);
    const auto applied = gateway.apply(std::get<SourceUpdate>(*message));
    REQUIRE_MESSAGE(applied.has_value(), applied.error().message);
    ++sequence;
  }
}

}  // namespace

TEST_CASE("the same inventory has no changes") {
  const Inventory inventory = inventory_of(recorded("partly_used"));
  CHECK(is_empty(changes_between(inventory, inventory)));
}

TEST_CASE("changes name what is new, other and gone, and nothing else") {
  const Inventory before = inventory_of(recorded("idle"));
  const Inventory after = inventory_of(recorded("partly_used"));
  const SourceUpdate update = changes_between(before, after);
  CHECK_FALSE(update.full);
  REQUIRE(update.nodes.size() == 1);
  CHECK(update.nodes[0].name == "n1");
  CHECK(update.jobs.size() == 2);
  REQUIRE(update.forecasts.size() == 1);
  const SourceUpdate back = changes_between(after, before);
  CHECK(back.jobs_gone == std::vector<std::uint64_t>{1, 2});
  Inventory smaller = before;
  smaller.nodes.erase("n2");
  smaller.forecasts.erase("n2");
  CHECK(changes_between(before, smaller).nodes_gone == std::vector<std::string>{"n2"});
}

TEST_CASE("a gateway that follows the changes knows what the source knows") {
  SourceInventory gateway;
  std::uint64_t sequence = 1;
  Inventory before = inventory_of(recorded("idle"));
  pass(gateway, everything_of(before), sequence);
  for (const std::string name :
       {"partly_used", "exclusive", "drained", "reserved", "array", "planned", "suspended",
        "completing", "core_specialisation", "private_data", "exclusive_user", "idle"}) {
    CAPTURE(name);
    const Inventory after = inventory_of(recorded(name));
    pass(gateway, changes_between(before, after), sequence);
    CHECK(gateway.nodes() == after.nodes);
    CHECK(gateway.jobs() == after.jobs);
    CHECK(gateway.forecasts() == after.forecasts);
    before = after;
  }
}

}  // namespace orchid::slurm
