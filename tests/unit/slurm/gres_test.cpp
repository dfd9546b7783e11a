#include "gres.h"

#include <doctest/doctest.h>

#include <random>

namespace orchid::slurm {

TEST_CASE("GPUs are read in all the ways that Slurm writes them") {
  CHECK(count_of(parse_gpus("gpu:2")) == 2);
  CHECK(count_of(parse_gpus("gpu")) == 1);
  CHECK(count_of(parse_gpus("gpu:a100")) == 1);
  CHECK(count_of(parse_gpus("gres:gpu:4")) == 4);
  CHECK(count_of(parse_gpus("gres/gpu=3")) == 3);
  CHECK(count_of(parse_gpus("craynetwork:4,gpu:a100:2(S:0-1),gpu:v100:1,shard:8")) == 3);

  const auto typed = parse_gpus("gpu:a100:2(S:0-1)");
  REQUIRE(typed.size() == 1);
  CHECK(typed[0].type == "a100");
  CHECK(typed[0].indices.empty());
}

TEST_CASE("the indices in use are found, whatever else stands in the parentheses") {
  CHECK(indices_of(parse_gpus("gpu:a100:3(IDX:0,2-3),shard:1(IDX:1)")) == CoreList{0, 2, 3});
  CHECK(indices_of(parse_gpus("gpu:a:1(IDX:0),gpu:b:1(IDX:5)")) == CoreList{0, 5});
  CHECK(indices_of(parse_gpus("gpu:0(IDX:N/A)")).empty());
  CHECK(count_of(parse_gpus("gpu:0")) == 0);
}

TEST_CASE("what is no GPU is passed over, and nonsense counts as nothing") {
  CHECK(parse_gpus("").empty());
  CHECK(parse_gpus("(null)").empty());
  CHECK(parse_gpus("gpus:4").empty());
  CHECK(parse_gpus("shard:gpu:3").empty());
  CHECK(count_of(parse_gpus("gpu:4000000000")) == 1024);
  CHECK(indices_of(parse_gpus("gpu:1(IDX:99999999999)")).empty());
  std::mt19937 random(20261122);  // NOLINT(bugprone-random-generator-seed): the same each time
  constexpr std::string_view alphabet = "gpu:=/,()IDX0123456789-a";
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (int i = 0; i < 24; ++i) text += alphabet[random() % alphabet.size()];
    CHECK(count_of(parse_gpus(text)) <= 1024);
  }
}

}  // namespace orchid::slurm
