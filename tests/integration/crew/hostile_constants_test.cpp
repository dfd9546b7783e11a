// Functions that hand over what no worker hands over as constants of a module.
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "crew_fixture.h"
#include "makes_modules.h"

namespace orchid::tests {
namespace {

std::vector<std::byte> constants_of(std::uint64_t bytes, std::uint64_t times) {
  return raw_bytes(std::array<std::uint64_t, 2>{bytes, times});
}

CrewFunction sender(Crew& crew) {
  return CrewFixture::entry_of(crew, std::filesystem::path(FUNCTIONS) / "sends_constants.bc",
                               "sends_constants");
}

}  // namespace

TEST_CASE_FIXTURE(CrewFixture, "constants over the limit are refused before anybody reads them") {
  Crew crew = take({.workers = 2});
  const CrewFunction send = sender(crew);
  for (const std::uint64_t bytes : {std::uint64_t{8193}, std::uint64_t{4} << 20U})
    CHECK(text_of(send.invoke(1, constants_of(bytes, 1))).find("have at most 8 KiB as text") !=
          std::string::npos);
  CHECK(text_of(send.invoke(1, constants_of(8192, 1))).find("no constant has such a name") !=
        std::string::npos);
  CHECK(crew.formations() == 1);
}

TEST_CASE("constants that are none cost their tenant compile time") {
  LocalExecutor executor({.programs = PROGRAMS, .spare = 1, .compile_quota = milliseconds(1)});
  Crew crew = take_crew(std::make_unique<ExecutorCrews>(executor), {.workers = 2});
  const std::string refused = text_of(sender(crew).invoke(1, constants_of(8192, 300)));
  CHECK(refused.find("modules that your functions have made took") != std::string::npos);
}

}  // namespace orchid::tests
