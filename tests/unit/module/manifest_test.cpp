#include "module/manifest.h"

#include <doctest/doctest.h>

using namespace orchid;
using namespace orchid::module;

namespace {
Manifest example() {
  return {
      .abi = 1,
      .digest = "sha256:00",
      .size = 100_B,
      .entries = {{.name = "a", .signature = "f64(f64)"}, {.name = "b", .signature = std::nullopt}},
      .targets =
          {{.triple = "x86_64-linux-gnu", .arch = "x86_64", .kind = "bitcode", .size = 90_B}},
      .undefined = {"malloc"},
      .effects = {}};
}
}  // namespace

TEST_CASE("a manifest survives the way through JSON") {
  const auto read = parse_manifest(to_json(example()));
  REQUIRE(read.has_value());
  CHECK(to_json(*read) == to_json(example()));
  CHECK(read->entries[0].signature == "f64(f64)");
  CHECK_FALSE(read->entries[1].signature.has_value());
  CHECK(read->targets[0].size == 90_B);
}

TEST_CASE("kernels survive the way through JSON, and older manifests have none") {
  Manifest manifest = example();
  manifest.kernels = {{.name = "j", .on_cores = false},
                      {.name = "k", .args_size = 24, .args_alignment = 8, .group_size = 64}};
  const auto read = parse_manifest(to_json(manifest));
  REQUIRE(read.has_value());
  CHECK(read->kernels == manifest.kernels);
  std::string without = to_json(manifest);  // as older versions wrote a kernel
  const std::string field = ",\"on_cores\":false";
  REQUIRE(without.find(field) != std::string::npos);
  without.erase(without.find(field), field.size());
  CHECK(parse_manifest(without)->kernels[0].on_cores);
  std::string older = to_json(example());
  const std::string list = "\"kernels\":[],";
  const auto at = older.find(list);
  REQUIRE(at != std::string::npos);
  older.erase(at, list.size());
  CHECK(parse_manifest(older).has_value());
  manifest.kernels.assign(300, {.name = "k"});
  CHECK(parse_manifest(to_json(manifest)).error().message.find("more than 256") !=
        std::string::npos);
}

TEST_CASE("entries are found by name") {
  CHECK(example().entry_index("a") == 0);
  CHECK(example().entry_index("b") == 1);
  CHECK_FALSE(example().entry_index("c").has_value());
}

TEST_CASE("a symbol that is not UTF-8 does not hinder a manifest") {
  Manifest manifest = example();
  manifest.undefined = {
      "bad\xff"
      "name"};
  CHECK(parse_manifest(to_json(manifest)).has_value());
}

TEST_CASE("unsorted entries and missing fields are refused") {
  Manifest manifest = example();
  std::swap(manifest.entries[0], manifest.entries[1]);
  CHECK_FALSE(parse_manifest(to_json(manifest)).has_value());
  CHECK_FALSE(parse_manifest("{\"abi\":1}").has_value());
  CHECK_FALSE(parse_manifest("not json").has_value());
}
