#include "share/share_option.h"

#include <doctest/doctest.h>

#include <string>

namespace orchid::share {
namespace {

ShareOption read(std::string_view text) {
  const auto parsed = parse_share_option(text);
  REQUIRE_MESSAGE(parsed.fault == nullptr, std::string(text));
  return parsed.option;
}

}  // namespace

TEST_CASE("what is to be shared is said by cores and memory, in any order") {
  constexpr std::uint64_t gib = 1ULL << 30;
  CHECK(read("") == ShareOption{});
  CHECK(read("auto") == ShareOption{});
  CHECK(read("cores:auto") == ShareOption{});
  CHECK(read("auto,mem:8G") == ShareOption{.memory_bytes = 8 * gib});
  CHECK(read("cores:4") == ShareOption{.cores = 4});
  CHECK(read("cores:4,mem:8G") == ShareOption{.cores = 4, .memory_bytes = 8 * gib});
  CHECK(read("mem:8GiB,cores:auto") == ShareOption{.memory_bytes = 8 * gib});
  CHECK(read("mem:1T") == ShareOption{.memory_bytes = 1024 * gib});
  CHECK(read("mem:524288K") == ShareOption{.memory_bytes = gib / 2});
  CHECK(read("mem:512") == ShareOption{.memory_bytes = gib / 2});  // as Slurm's --mem
  CHECK(read("cores:1,cores:2").cores == 2);
  CHECK(read("bandwidth:2G,mem:1G") ==
        ShareOption{.memory_bytes = gib, .bandwidth_bytes = 2 * gib});
}

TEST_CASE("what cannot be understood is told") {
  for (const char* text :
       {"cores:",     "cores:0",      "cores:-1",       "cores:4x", "cores:99999999999999999999",
        "mem:",       "mem:G",        "mem:1M",         "mem:8Q",   "mem:99999999999T",
        "bandwidth:", "bandwidth:1M", "gpus:1",         "4",        "cores:4,",
        ",",          "cores:4 ",     "cores:4;mem:8G", "auto:",    "autos"})
    CHECK_MESSAGE(parse_share_option(text).fault != nullptr, text);
  CHECK(std::string(parse_share_option("cores:0").fault).find("cores:") != std::string::npos);
  CHECK(std::string(parse_share_option("cores:1,mem:x").fault).find("mem:") != std::string::npos);
  CHECK(std::string(parse_share_option("bandwidth:x").fault).starts_with("write bandwidth:"));
}

}  // namespace orchid::share
