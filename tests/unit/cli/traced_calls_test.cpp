// Calls of a crew that were traced, as explain and logs show them.
#include "terminal/traced_calls.h"

#include <doctest/doctest.h>

#include <string>

#include "orchid/error.h"

namespace orchid::cli {
namespace {

std::string call_with(const std::string& path, const std::string& outcome = "ok") {
  return R"({"function":"chase.walk","member":2,"outcome":")" + outcome + R"(","message":")" +
         (outcome == "ok" ? "" : "why") + R"(","took_ns":5100000,"age_ms":3000,"path":[)" + path +
         R"(],"log":"at 2\n"})";
}
std::string step(unsigned member) {
  return R"({"member":)" + std::to_string(member) + R"(,"entry":"walk","run_ns":12900})";
}

}  // namespace

TEST_CASE("a traced call is shown with its path, and what it logged") {
  const std::string text = R"({"calls":[)" + call_with(step(2) + "," + step(1)) + "," +
                           call_with("", "worker_lost") + "]}";
  const std::string paths = paths_text(text);
  CHECK(paths.starts_with("chase.walk at member 2, 5100 us, "));
  CHECK(paths.find(": ok\n  path: 2 walk 12 us > 1 walk 12 us\n") != std::string::npos);
  CHECK(paths.find(": worker_lost: why\n  path: not known\n") != std::string::npos);
  CHECK(logs_text(text).find(": ok\nat 2\n") != std::string::npos);
  CHECK(paths_text(R"({"calls":[]})").empty());
}

TEST_CASE("of a long path both ends are shown") {
  std::string path = step(1);
  for (unsigned number = 2; number <= 40; ++number) path += "," + step(number);
  const std::string paths = paths_text(R"({"calls":[)" + call_with(path) + "]}");
  CHECK(paths.find(" > 16 walk 12 us > (8 more) > 25 walk 12 us > ") != std::string::npos);
  CHECK(paths.find(" > 40 walk 12 us\n") != std::string::npos);
}

TEST_CASE("what is no list of calls is said so") {
  CHECK_THROWS_AS((void)paths_text("nonsense"), Error);
}

}  // namespace orchid::cli
