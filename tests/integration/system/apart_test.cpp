// Over HTTP no process runs code of two modules.
#include <array>
#include <string>
#include <utility>

#include "orchid/client.h"
#include "system_fixture.h"

namespace orchid::tests {

TEST_CASE_FIXTURE(SystemFixture, "two functions in turn over HTTP run in two processes, and stay") {
  for (const char* name : {"reports_pid", "reports_pid_again", "counts_calls"}) deploy(name);
  Client one_connection = client();
  const std::string first{one_connection.invoke("reports_pid", "").text()};
  const std::string second{one_connection.invoke("reports_pid_again", "").text()};
  CHECK(first != second);
  for (int i = 1; i <= 5; ++i) {
    CHECK(one_connection.invoke("counts_calls", "").text() == std::to_string(i));
    CHECK(one_connection.invoke("reports_pid", "").text() == first);
    CHECK(one_connection.invoke("reports_pid_again", "").text() == second);
  }
}

TEST_CASE_FIXTURE(SystemFixture, "the crash of one function leaves another one's state over HTTP") {
  for (const char* name : {"segfaults", "counts_calls"}) deploy(name);
  Client one_connection = client();
  for (int i = 1; i <= 3; ++i) {
    CHECK(one_connection.invoke("counts_calls", "").text() == std::to_string(i));
    CHECK_THROWS_AS((void)one_connection.invoke("segfaults", ""), Error);
  }
}

TEST_CASE_FIXTURE(SystemFixture,
                  "the function that was called longest ago makes room for a ninth") {
  constexpr std::array<std::pair<const char*, const char*>, 8> others{
      {{"reports_pid", ""},
       {"reports_pid_again", ""},
       {"sleeps", "1"},
       {"spins", "1"},
       {"holds_memory", "1 0"},
       {"fills_memory", "1 0"},
       {"reads_environment", "HOME"},
       {"logs_write", ""}}};
  deploy("counts_calls");
  for (const auto& [name, input] : others) deploy(name);
  Client one_connection = client();
  const auto count = [&] { return std::string(one_connection.invoke("counts_calls", "").text()); };
  CHECK(count() == "1");
  for (std::size_t i = 0; i < 7; ++i)
    (void)one_connection.invoke(others[i].first, others[i].second);
  CHECK(count() == "2");
  for (const auto& [name, input] : others) (void)one_connection.invoke(name, input);
  CHECK(count() == "1");
}

}  // namespace orchid::tests
