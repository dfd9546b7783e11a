#include "page/page_gate.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway_fakes.h"

namespace orchid::gateway {
namespace {

using Fields = std::vector<std::pair<std::string_view, std::string_view>>;

Request request_with(Method method, const Fields& fields) {
  Request request;
  request.method = method;
  for (const auto& [name, value] : fields) REQUIRE(request.headers.add(name, value));
  return request;
}

struct Gate {
  std::string token = make_token();
  TokenBook tokens{{.uid = 1, .name = "ada"},
                   {{.hash = hash_token(token), .tenant = {.uid = 1, .name = "ada"}}}};
  ManualClock clock;
  PageSessions sessions{tokens, clock, {}, [](const std::string&) {}};
  PageHosts hosts{{"orchid.example.org"}};
  PageGate gate{hosts, sessions};
  std::string secret = sessions.open_by_token(token).value();
  std::string cookie = "a=b; orchid_page_8080=" + secret + "; c=d";

  [[nodiscard]] unsigned refused(Method method, const Fields& fields) const {
    const auto answer = gate.refuse(request_with(method, fields));
    return answer ? answer->status : 0;
  }
};

TEST_CASE("the page is reached by loopback's names and those of the site") {
  const PageHosts hosts({"orchid.example.org"});
  for (const char* good :
       {"localhost", "localhost:8080", "LocalHost:1", "127.0.0.1", "127.0.0.1:65535", "[::1]",
        "[::1]:8080", "orchid.example.org", "ORCHID.example.org:443"}) {
    CAPTURE(good);
    CHECK(hosts.check(good).has_value());
  }
  for (const char* bad : {"", "evil.example", "evil.example:8080", "localhost.evil.example",
                          "127.0.0.1.evil.example", "127.0.0.2", "localhost:8080:evil", "[::2]:1",
                          "::1", "xlocalhost", "orchid.example.org."}) {
    CAPTURE(bad);
    CHECK(hosts.check(bad).error().code == ErrorCode::denied);
  }
}

TEST_CASE_FIXTURE(Gate, "another name than the page's is a misdirected request") {
  CHECK(refused(Method::get, {{"Host", "evil.example"}}) == 421);
  CHECK(refused(Method::get, {{"Host", "localhost:8080"}}) == 0);
}

TEST_CASE_FIXTURE(Gate, "what changes something needs the page's own origin") {
  const Method change = Method::post;
  CHECK(refused(change, {{"Host", "localhost:8080"}}) == 403);
  CHECK(refused(change, {{"Host", "localhost:8080"}, {"Origin", "http://localhost:8080"}}) == 0);
  CHECK(refused(change,
                {{"Host", "orchid.example.org"}, {"Origin", "https://orchid.example.org"}}) == 0);
  for (const char* foreign : {"http://evil.example", "http://localhost:8081", "null", "",
                              "http://localhost", "ftp://localhost:8080"}) {
    CAPTURE(foreign);
    CHECK(refused(change, {{"Host", "localhost:8080"}, {"Origin", foreign}}) == 403);
  }
}

TEST_CASE_FIXTURE(Gate, "an image or script of another port's page reads nothing") {
  for (const char* own : {"same-origin", "none"})
    CHECK(refused(Method::get, {{"Host", "localhost:8080"}, {"Sec-Fetch-Site", own}}) == 0);
  for (const char* foreign : {"same-site", "cross-site"})
    CHECK(refused(Method::get, {{"Host", "localhost:8080"}, {"Sec-Fetch-Site", foreign}}) == 403);
}

TEST_CASE_FIXTURE(Gate, "a link anywhere may lead to a document of the page, by its name only") {
  const auto status = [&](std::string_view host) {
    const auto answer = gate.refuse_name(
        request_with(Method::get, {{"Host", host}, {"Sec-Fetch-Site", "cross-site"}}));
    return answer ? answer->status : 0;
  };
  CHECK(status("localhost:8080") == 0);
  CHECK(status("evil.example") == 421);
}

TEST_CASE_FIXTURE(Gate, "a foreign origin reads nothing either, and streams no events") {
  CHECK(refused(Method::get, {{"Host", "localhost:8080"}, {"Origin", "http://evil.example"}}) ==
        403);
  CHECK(refused(Method::get, {{"Host", "localhost:8080"}}) == 0);
}

TEST_CASE_FIXTURE(Gate, "a cookie is who logged in, among other cookies and at its own port") {
  const auto judged =
      gate.judge(request_with(Method::get, {{"Host", "localhost:8080"}, {"Cookie", cookie}}));
  REQUIRE(judged.has_value());
  REQUIRE(judged->has_value());
  CHECK((*judged)->tenant.name == "ada");
  CHECK_FALSE((*judged)->peer_uid.has_value());
  CHECK_FALSE(gate.judge(request_with(Method::get, {{"Host", "localhost:8080"}})).has_value());
  CHECK_FALSE(
      gate.judge(request_with(Method::get, {{"Host", "localhost:8081"}, {"Cookie", cookie}}))
          .has_value());
}

TEST_CASE_FIXTURE(Gate, "a cookie does not count where its request may not come from") {
  const auto status = [&](Method method, const Fields& fields) {
    const auto judged = gate.judge(request_with(method, fields));
    REQUIRE(judged.has_value());
    REQUIRE_FALSE(judged->has_value());
    return judged->error().status;
  };
  const std::string rebound = "orchid_page_=" + secret;
  CHECK(status(Method::get, {{"Host", "evil.example"}, {"Cookie", rebound}}) == 421);
  CHECK(status(Method::delete_, {{"Host", "localhost:8080"}, {"Cookie", cookie}}) == 403);
  CHECK(status(Method::get, {{"Host", "localhost:8080"}, {"Cookie", "orchid_page_8080=0"}}) == 401);
}

TEST_CASE_FIXTURE(Gate, "the cookie is out of reach of scripts and of other sites") {
  const Request plain =
      request_with(Method::post, {{"Host", "localhost:8080"}, {"Origin", "http://localhost:8080"}});
  const std::string line = gate.cookie(plain, "5ec2e7");
  CHECK(line == "orchid_page_8080=5ec2e7; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200");
  const Request secure = request_with(
      Method::post, {{"Host", "orchid.example.org"}, {"Origin", "https://orchid.example.org"}});
  CHECK(gate.cookie(secure, "5ec2e7").ends_with("; Secure"));
  CHECK(PageGate::no_cookie(plain).find("Max-Age=0") != std::string::npos);
}

}  // namespace
}  // namespace orchid::gateway
