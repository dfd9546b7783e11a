#include "page/page_sessions.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "foundation/background_thread.h"
#include "gateway_fakes.h"
#include "page/session_file.h"

namespace orchid::gateway {
namespace {

using namespace std::chrono_literals;

constexpr uid_t owner = 1000;

struct Sessions {
  std::string token = make_token();
  std::string others = make_token();
  TokenBook tokens{
      {.uid = owner, .name = "ada"},
      {{.hash = hash_token(token), .tenant = {.uid = owner, .name = "ada"}, .label = "owner"},
       {.hash = hash_token(others), .tenant = {.uid = 1001, .name = "bob"}, .label = "tenant"}}};
  ManualClock clock;
  std::string saved;
  PageSessions sessions{
      tokens, clock, {.session_time = 1h, .link_time = 1min}, [this](std::string text) {
        saved = std::move(text);
      }};

  [[nodiscard]] std::string link() {
    return sessions.make_link({"Bearer " + token, std::nullopt}).value();
  }
};

TEST_CASE_FIXTURE(Sessions, "a token opens a session of its tenant, until it is closed") {
  const std::string secret = sessions.open_by_token(others).value();
  CHECK(sessions.find(secret)->tenant.name == "bob");
  CHECK(sessions.find(secret)->left == 1h);
  sessions.close(secret);
  CHECK(sessions.find(secret).error().code == ErrorCode::unauthenticated);
}

TEST_CASE_FIXTURE(Sessions, "a wrong token, and none, open nothing") {
  for (const char* wrong : {"", "orc_wrong"}) {
    CAPTURE(wrong);
    CHECK(sessions.open_by_token(wrong).error().code == ErrorCode::unauthenticated);
  }
  CHECK(sessions.find("").error().code == ErrorCode::unauthenticated);
}

TEST_CASE_FIXTURE(Sessions, "a session ends with its time") {
  const std::string secret = sessions.open_by_token(token).value();
  clock.advance(1h - 1ms);
  CHECK(sessions.find(secret).has_value());
  clock.advance(1ms);
  CHECK(sessions.find(secret).error().code == ErrorCode::unauthenticated);
}

TEST_CASE_FIXTURE(Sessions, "a link works once") {
  const std::string once = link();
  const std::string secret = sessions.open_by_link(once).value();
  CHECK(sessions.find(secret)->tenant.name == "ada");
  CHECK(sessions.open_by_link(once).error().code == ErrorCode::unauthenticated);
}

TEST_CASE_FIXTURE(Sessions, "a link works for a minute") {
  const std::string in_time = link();
  clock.advance(1min - 1ms);
  CHECK(sessions.open_by_link(in_time).has_value());
  const std::string late = link();
  clock.advance(1min);
  CHECK(sessions.open_by_link(late).error().code == ErrorCode::unauthenticated);
}

TEST_CASE_FIXTURE(Sessions, "a link needs a right to lend") {
  CHECK(sessions.make_link({"", std::nullopt}).error().code == ErrorCode::unauthenticated);
  CHECK(sessions.make_link({"", 1002}).error().code == ErrorCode::denied);
  CHECK(sessions.open_by_link(sessions.make_link({"", owner}).value()).has_value());
}

TEST_CASE_FIXTURE(Sessions, "a link is no session, and a session no link") {
  const std::string once = link();
  CHECK_FALSE(sessions.find(once).has_value());
  const std::string secret = sessions.open_by_token(token).value();
  CHECK_FALSE(sessions.open_by_link(secret).has_value());
}

TEST_CASE("who logs in again and again ends the oldest sessions of his own") {
  Sessions s;
  PageSessions few(s.tokens, s.clock, {.session_time = 1h, .sessions_per_tenant = 2},
                   [](const std::string&) {});
  const std::string bobs = few.open_by_token(s.others).value();
  std::vector<std::string> secrets;
  for (int i = 0; i < 3; ++i) {
    secrets.push_back(few.open_by_token(s.token).value());
    s.clock.advance(1s);
  }
  CHECK_FALSE(few.find(secrets[0]).has_value());
  CHECK(few.find(secrets[1]).has_value());
  CHECK(few.find(secrets[2]).has_value());
  CHECK(few.find(bobs).has_value());
}

TEST_CASE_FIXTURE(Sessions, "sessions outlive a restart as hashes, and links do not") {
  const std::string by_socket =
      sessions.open_by_link(sessions.make_link({"", owner}).value()).value();
  const std::string once = link();
  const std::string secret = sessions.open_by_token(token).value();
  CHECK(saved.find(secret) == std::string::npos);
  PageSessions restarted(tokens, clock, {}, [](const std::string&) {});
  REQUIRE(restarted.restore(saved).has_value());
  CHECK(restarted.find(secret)->tenant.name == "ada");
  CHECK(restarted.find(by_socket)->tenant.name == "ada");
  CHECK_FALSE(restarted.open_by_link(once).has_value());
}

TEST_CASE_FIXTURE(Sessions, "a session ends with the token that opened it") {
  const std::string mine = sessions.open_by_token(token).value();
  const std::string bobs = sessions.open_by_token(others).value();
  const TokenBook fewer({.uid = owner, .name = "ada"},
                        {{.hash = hash_token(token), .tenant = {.uid = owner, .name = "ada"}}});
  PageSessions restarted(fewer, clock, {}, [](const std::string&) {});
  REQUIRE(restarted.restore(saved).has_value());
  CHECK(restarted.find(mine).has_value());
  CHECK_FALSE(restarted.find(bobs).has_value());
}

TEST_CASE_FIXTURE(Sessions, "a damaged file of sessions is told, and changes nothing") {
  const std::string secret = sessions.open_by_token(token).value();
  for (const char* damaged : {"", "{", R"({"sessions": [{"secret": 1}]})"}) {
    CAPTURE(damaged);
    CHECK(sessions.restore(damaged).error().code == ErrorCode::bad_request);
    CHECK(sessions.find(secret).has_value());
  }
}

TEST_CASE_FIXTURE(Sessions, "sessions are kept in a file that only its owner reads") {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("orchid-page-" + random_hex(8));
  std::string secret;
  {
    BackgroundThread writer;
    PageSessions kept(tokens, clock, {}, save_sessions_in(file, writer));
    secret = kept.open_by_token(token).value();
    writer.finish();
  }
  CHECK((std::filesystem::status(file).permissions() & std::filesystem::perms::all) ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  PageSessions restarted(tokens, clock, {}, [](const std::string&) {});
  restore_sessions(restarted, file);
  CHECK(restarted.find(secret).has_value());
  std::filesystem::remove(file);
  PageSessions without(tokens, clock, {}, [](const std::string&) {});
  restore_sessions(without, file);
  CHECK_FALSE(without.find(secret).has_value());
}

}  // namespace
}  // namespace orchid::gateway
