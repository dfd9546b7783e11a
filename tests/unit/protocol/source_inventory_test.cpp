#include "protocol/source_inventory.h"

#include <doctest/doctest.h>

namespace orchid {
namespace {

SourceNode node(const std::string& name, std::uint32_t free = 0) {
  return {.name = name, .cores_per_socket = 4, .cores_usable = 4, .cores_free = free};
}

SourceUpdate full(std::uint64_t sequence) {
  return {.sequence = sequence,
          .full = true,
          .time = 10,
          .nodes = {node("a"), node("b")},
          .jobs = {{.id = 1}},
          .forecasts = {{"a", {{}}}}};
}

bool inventory_is_refused(SourceInventory& inventory, SourceUpdate update) {
  const auto applied = inventory.apply(std::move(update));
  return !applied && applied.error().code == ErrorCode::bad_request;
}

}  // namespace

TEST_CASE("a full update is all there is, and changes change it") {
  SourceInventory inventory;
  CHECK_FALSE(inventory.is_complete());
  CHECK(inventory.apply(full(1)).value());
  CHECK(inventory.is_complete());
  CHECK(inventory.nodes().size() == 2);
  CHECK(inventory
            .apply({.sequence = 2,
                    .time = 20,
                    .nodes = {node("b", 2), node("c")},
                    .nodes_gone = {"a"},
                    .jobs = {{.id = 2}},
                    .jobs_gone = {1}})
            .value());
  CHECK(inventory.time() == 20);
  CHECK_FALSE(inventory.nodes().contains("a"));
  CHECK(inventory.forecasts().empty());
  CHECK(inventory.nodes().at("b").cores_free == 2);
  CHECK(inventory.jobs().contains(2));
  CHECK_FALSE(inventory.jobs().contains(1));
  CHECK(inventory.apply(full(3)).value());
  CHECK_FALSE(inventory.nodes().contains("c"));
}

TEST_CASE("jobs are known by their nodes, and nodes by their hostnames") {
  SourceInventory inventory;
  SourceUpdate all = full(1);
  all.nodes[0].hostname = all.nodes[1].hostname = "twin";
  all.jobs = {{.id = 2, .shares = {{.node = "a"}}},
              {.id = 1, .shares = {{.node = "b"}, {.node = "a", .cores = {3}}}}};
  REQUIRE(inventory.apply(all).value());
  const auto on = inventory.jobs_on("a");
  REQUIRE(on.size() == 2);
  CHECK(on[0].job->id == 1);
  CHECK(on[0].share->cores == CoreList{3});
  CHECK(on[1].job->id == 2);
  CHECK(inventory.jobs_on("c").empty());
  CHECK(inventory.only_node_with("twin") == nullptr);
  REQUIRE(inventory.apply({.sequence = 2, .nodes_gone = {"b"}, .jobs_gone = {1}}).value());
  CHECK(inventory.jobs_on("a").size() == 1);
  CHECK(inventory.jobs_on("b").empty());
  CHECK(inventory.only_node_with("twin") == &inventory.nodes().at("a"));
}

TEST_CASE("an update says which nodes it is about, as they were and as they are") {
  SourceInventory inventory;
  using Names = std::set<std::string>;
  SourceUpdate all = full(1);
  all.nodes[0].hostname = "old";
  all.jobs = {{.id = 1, .shares = {{.node = "b"}}}};
  REQUIRE(inventory.apply(all).value());
  CHECK(inventory.touched().all);
  SourceNode renamed = node("a");
  renamed.hostname = "new";
  REQUIRE(inventory.apply({.sequence = 2, .nodes = {renamed}}).value());
  CHECK_FALSE(inventory.touched().all);
  CHECK(inventory.touched().names == Names{"a", "old", "new"});
  // A job that moves is about both.
  REQUIRE(inventory.apply({.sequence = 3, .jobs = {{.id = 1, .shares = {{.node = "a"}}}}}).value());
  CHECK(inventory.touched().names == Names{"a", "b", "", "new"});
  REQUIRE(inventory.apply({.sequence = 4, .jobs_gone = {1}}).value());
  CHECK(inventory.touched().names == Names{"a", "new"});
  REQUIRE(inventory.apply({.sequence = 5}).value());
  CHECK(inventory.touched().names.empty());
}

TEST_CASE("lines that belong together count when the last one is there") {
  SourceInventory inventory;
  SourceUpdate first = full(1);
  first.more = true;
  CHECK_FALSE(inventory.apply(first).value());
  CHECK_FALSE(inventory.is_complete());
  CHECK(inventory.nodes().empty());
  CHECK(inventory.apply({.sequence = 2, .full = true, .time = 11, .nodes = {node("c")}}).value());
  CHECK(inventory.nodes().size() == 3);
  CHECK(inventory.time() == 11);
}

TEST_CASE("changes before everything are refused") {
  SourceInventory inventory;
  CHECK(inventory_is_refused(inventory, {.sequence = 1, .nodes = {node("a")}}));
  CHECK(inventory.apply(full(2)).value());
}

TEST_CASE("after a lost line only a full update helps, and what was known stays until then") {
  SourceInventory inventory;
  CHECK(inventory.apply(full(1)).value());
  CHECK(inventory_is_refused(inventory, {.sequence = 3, .nodes_gone = {"a"}}));
  CHECK(inventory.nodes().size() == 2);
  CHECK(inventory_is_refused(inventory, {.sequence = 4, .nodes_gone = {"a"}}));
  CHECK(inventory.apply(full(9)).value());
  CHECK(inventory.apply({.sequence = 10, .nodes_gone = {"a"}}).value());
}

TEST_CASE("updates that do not fit what is known are refused") {
  const SourceUpdate bad[] = {
      {.sequence = 2, .nodes = {node("c"), node("c")}},
      {.sequence = 2, .nodes_gone = {"c"}},
      {.sequence = 2, .nodes = {node("a")}, .nodes_gone = {"a"}},
      {.sequence = 2, .jobs = {{.id = 5}, {.id = 5}}},
      {.sequence = 2, .jobs = {{.id = 5, .shares = {{.node = "a"}, {.node = "a"}}}}},
      {.sequence = 2, .jobs_gone = {5}},
      {.sequence = 2, .forecasts = {{"c", {{}}}}},
      {.sequence = 2, .full = true, .nodes = {node("a")}, .nodes_gone = {"b"}},
  };
  for (const SourceUpdate& update : bad) {
    SourceInventory inventory;
    CHECK(inventory.apply(full(1)).value());
    CHECK(inventory_is_refused(inventory, update));
    CHECK(inventory.nodes().size() == 2);
    CHECK(inventory.jobs().size() == 1);
  }
}

TEST_CASE("a full update may begin while another one is not complete, but they do not mix") {
  SourceInventory inventory;
  CHECK(inventory.apply(full(1)).value());
  CHECK_FALSE(inventory.apply({.sequence = 2, .more = true, .nodes = {node("c")}}).value());
  CHECK(inventory.apply(full(3)).value());
  CHECK_FALSE(inventory.nodes().contains("c"));
  SourceUpdate begun = full(4);
  begun.more = true;
  CHECK_FALSE(inventory.apply(begun).value());
  CHECK(inventory_is_refused(inventory, {.sequence = 5, .nodes = {node("d")}}));
}

}  // namespace orchid
