#include "protocol/http_head.h"

#include <doctest/doctest.h>

#include <random>
#include <string>

namespace orchid {
namespace {

bool is_refused(std::string_view text) {
  const auto parsed = parse_http_head(text);
  return !parsed && parsed.error().code == ErrorCode::bad_request;
}

}  // namespace

TEST_CASE("a head says where it ends and how much follows") {
  const std::string text =
      "POST /v1/functions/f/invocations HTTP/1.1\r\nHost: orchid\r\ncontent-length:  5 \r\n"
      "X-Empty:\r\n\r\nhello";
  const auto head = parse_http_head(text);
  REQUIRE(head.has_value());
  REQUIRE(head->has_value());
  CHECK((*head)->start_line == "POST /v1/functions/f/invocations HTTP/1.1");
  CHECK((*head)->size == text.size() - 5);
  CHECK((*head)->states_length);
  CHECK((*head)->content_length == 5);
  CHECK((*head)->find("HOST") == "orchid");
  CHECK((*head)->has("x-empty"));
  CHECK((*head)->find("x-empty").empty());
  CHECK_FALSE((*head)->has("x-other"));
}

TEST_CASE("each beginning of a head is waited for, and never read as one") {
  const std::string text = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
  const std::size_t head_size = text.size() - 3;
  for (std::size_t size = 0; size < head_size; ++size) {
    const auto head = parse_http_head(std::string_view(text).substr(0, size));
    REQUIRE(head.has_value());
    CHECK_FALSE(head->has_value());
  }
  CHECK(parse_http_head(text)->has_value());
}

TEST_CASE("what two readers could see differently is refused") {
  CHECK(is_refused("\r\n\r\n"));
  CHECK(is_refused("GET / HTTP/1.1\r\nA\r\n\r\n"));
  CHECK(is_refused("GET / HTTP/1.1\r\n: b\r\n\r\n"));
  CHECK(is_refused("GET / HTTP/1.1\r\nA : b\r\n\r\n"));
  CHECK(is_refused("GET / HTTP/1.1\r\n folded: b\r\n\r\n"));
  CHECK(is_refused("GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n"));
  CHECK(is_refused("GET / HTTP/1.1\r\nA: b\rC: d\r\n\r\n"));
  CHECK(is_refused(std::string_view("GET / HTTP/1.1\r\nA: \0\r\n\r\n", 24)));
  CHECK(is_refused("GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n"));
  for (const char* length : {"", "-1", "+1", "0x10", "1 1", "1,1", "99999999999999999999"})
    CHECK(is_refused("GET / HTTP/1.1\r\nContent-Length: " + std::string(length) + "\r\n\r\n"));
}

TEST_CASE("a head has an end") {
  const auto endless = parse_http_head(std::string(largest_http_head, 'a'));
  REQUIRE_FALSE(endless.has_value());
  CHECK(endless.error().code == ErrorCode::too_large);
  std::string many = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 300; ++i) many += "A: b\r\n";
  CHECK(is_refused(many + "\r\n"));
}

TEST_CASE("a response has a status") {
  const auto status = [](const std::string& line) {
    const std::string text = line + "\r\n\r\n";
    return http_status_of(**parse_http_head(text)).value_or(-1);
  };
  CHECK(status("HTTP/1.1 200 OK") == 200);
  CHECK(status("HTTP/1.1 503") == 503);
  for (const char* line : {"HTTP/2 200", "HTTP/1.1 20", "HTTP/1.1 2000", "HTTP/1.1 -20 x",
                           "HTTP/1.1 000 x", "GET / HTTP/1.1"})
    CHECK(status(line) == -1);
}

TEST_CASE("damaged heads end in an answer") {
  const std::string whole =
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nServer: orchid\r\nA: b\r\n\r\nabc";
  std::mt19937 random(20261121);  // NOLINT(bugprone-random-generator-seed): the same each time
  for (int round = 0; round < 20'000; ++round) {
    std::string text = whole;
    for (int changes = 0; changes < 3; ++changes)
      text[random() % text.size()] = static_cast<char>(random());
    const auto head = parse_http_head(text);
    if (!head || !*head) continue;
    CHECK((*head)->size <= text.size());
    for (const auto& [name, value] : (*head)->fields) {
      CHECK(name.data() >= text.data());
      CHECK(value.data() + value.size() <= text.data() + (*head)->size);
    }
    (void)http_status_of(**head);
  }
}

}  // namespace orchid
