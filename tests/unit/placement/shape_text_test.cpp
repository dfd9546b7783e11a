#include "placement/shape_text.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>

namespace orchid::placement {
namespace {

std::string why_not(std::string_view text) {
  const auto shapes = parse_shapes(text);
  if (shapes) return "it is right";
  CHECK(shapes.error().code == ErrorCode::bad_request);
  return shapes.error().message;
}

}  // namespace

TEST_CASE("shapes are read in the order of preference, in any case, with and without blanks") {
  const std::vector<WorkerShape> either{{.cores = 1, .gpus = 1}, {.cores = 4}};
  CHECK(parse_shapes("1 gpu | 4 cores").value() == either);
  CHECK(parse_shapes("1GPU|4cores").value() == either);
  CHECK(parse_shapes("  1 GPUs |  4   Cores ").value() == either);
  const std::vector<WorkerShape> all{
      {.cores = 2, .memory = 2_GiB, .gpus = 2, .gpu_model = "A100-sxm4:80g"}};
  CHECK(parse_shapes("2 GiB, 2 gpus A100-sxm4:80g, 2 cores").value() == all);
  CHECK(parse_shapes("2GiB memory,2 gpus A100-sxm4:80g,2 core").value() == all);
  CHECK(parse_shapes("512 MiB").value() == std::vector<WorkerShape>{{.memory = 512_MiB}});
}

TEST_CASE("what is no shape is refused with what would be right") {
  for (const auto& [text, why] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", "an alternative is empty: write for example '4 cores'"},
           {"1 gpu |", "an alternative is empty"},
           {"4", "'4' is no part of what a worker has: write for example '4 cores'"},
           {"4 coers", "'4 coers' is no part of what a worker has"},
           {"cores", "'cores' is no part"},
           {"4 cores,", "'' is no part"},
           {"-1 cores", "'-1 cores' is no part"},
           {"1.5 GiB", "'1.5 GiB' is no part"},
           {"4 cores 2 GiB", "says more than a number of cores: write '4 cores'"},
           {"0 cores", "is not from 1 to 65536 cores"},
           {"65537 cores", "is not from 1 to 65536 cores"},
           {"0 gpus", "is not from 1 to 1024 GPUs"},
           {"1 gpu a100 b", "names no model"},
           {"1 gpu, 2 gpus", "is a second number of GPUs"},
           {"1 core, 2 cores", "is a second number of cores"},
           {"1 GiB, 2 GiB", "is a second size"},
           {"0 B", "is no memory"},
           {"4 cores | 4 cores", "is there twice"},
           {"1 core|2 core|3 core|4 core|5 core|6 core|7 core|8 core|9 core",
            "there are more than 8 alternatives"}}) {
    CAPTURE(text);
    CHECK_MESSAGE(why_not(text).find(why) != std::string::npos, why_not(text));
  }
}

TEST_CASE("shapes that are written and read are the same") {
  std::mt19937 random(21);
  const auto below = [&](std::uint32_t limit) {
    return std::uniform_int_distribution<std::uint32_t>(0, limit - 1)(random);
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<WorkerShape> shapes;
    for (std::uint32_t i = 0; i <= below(most_alternatives); ++i) {
      WorkerShape shape{.cores = 1 + below(most_cores_of_worker), .memory = {}};
      if (below(2) == 0) shape.memory = {(std::uint64_t{1} + below(4096)) << below(38)};
      if (below(2) == 0) shape.gpus = 1 + below(most_gpus_of_worker);
      if (shape.gpus > 0 && below(2) == 0) shape.gpu_model = "m" + std::to_string(below(100));
      if (std::ranges::find(shapes, shape) == shapes.end()) shapes.push_back(std::move(shape));
    }
    const std::string text = to_string(shapes);
    CAPTURE(text);
    const auto read = parse_shapes(text);
    REQUIRE_MESSAGE(read, read.error().message);
    CHECK(*read == shapes);
    CHECK(to_string(*read) == text);
  }
}

}  // namespace orchid::placement
