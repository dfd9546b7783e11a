#include "http/problem.h"

#include <doctest/doctest.h>

namespace orchid::sdk {
namespace {

HttpResponse answer(int status, std::string_view text) {
  HttpResponse response{.status = status, .headers = {}, .body = {}};
  const auto bytes = std::as_bytes(std::span(text));
  response.body.assign(bytes.begin(), bytes.end());
  return response;
}

}  // namespace

TEST_CASE("each kind of error is found again by its name") {
  for (int i = 0; i <= static_cast<int>(ErrorKind::internal); ++i) {
    const auto kind = static_cast<ErrorKind>(i);
    CAPTURE(to_string(kind));
    CHECK(parse_error_kind(to_string(kind)) == kind);
  }
  CHECK_FALSE(parse_error_kind("something_new").has_value());
}

TEST_CASE("outcomes and error codes have kinds of the same names") {
  for (std::uint8_t i = 1; i < outcome_count; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    CHECK(to_string(kind_of(outcome)) == to_string(outcome));
    CHECK(is_outcome(kind_of(outcome)));
  }
  for (int i = 0; i <= static_cast<int>(ErrorCode::system); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    CHECK(to_string(kind_of(code)) == to_string(code));
  }
  CHECK(kind_of(ErrorCode::compile_limit) == ErrorKind::module_rejected);
  CHECK(kind_of(ErrorCode::no_data_memory) == ErrorKind::no_capacity);
  CHECK(kind_of(ErrorCode::data_lost) == ErrorKind::data_lost);
  CHECK(kind_of(ErrorCode::data_elsewhere) == ErrorKind::data_elsewhere);
  CHECK_FALSE(is_outcome(ErrorKind::internal));
  CHECK_FALSE(is_outcome(ErrorKind::lease_ended));
}

TEST_CASE("a problem document becomes an error with everything that it says") {
  HttpResponse response = answer(502, R"({"type":"urn:orchid:problem:function_crashed",
      "title":"The function crashed","status":502,"detail":"signal 11 at 0x0","function":"f",
      "invocation":"i-1","node":"n7","attempt":2,"retryable":false})");
  response.headers = {{"orchid-outcome", "function_crashed"}};
  const Error error = error_from_response(response);
  CHECK(error.kind() == ErrorKind::function_crashed);
  CHECK(error.message() == "signal 11 at 0x0");
  CHECK(error.outcome() == "function_crashed");
  CHECK(error.http_status() == 502);
  CHECK(error.function() == "f");
  CHECK(error.invocation() == "i-1");
  CHECK(error.node() == "n7");
  CHECK(error.attempt() == 2);
  CHECK_FALSE(error.retryable());
  CHECK(std::string(error.what())
            .find("signal 11 at 0x0 (function f, invocation i-1, node n7, attempt 2)") == 0);
}

TEST_CASE("the type decides about the kind, and where it is unknown the status does") {
  CHECK(error_from_response(answer(409, R"({"type":"urn:orchid:problem:cancelled"})")).kind() ==
        ErrorKind::cancelled);
  CHECK(error_from_response(answer(400, R"({"type":"https://orchid/problems/bad-request"})"))
            .kind() == ErrorKind::bad_request);
  struct Case {
    int status;
    ErrorKind kind;
  };
  for (const Case& c : {Case{400, ErrorKind::bad_request}, Case{401, ErrorKind::unauthenticated},
                        Case{403, ErrorKind::denied}, Case{404, ErrorKind::not_found},
                        Case{408, ErrorKind::timed_out}, Case{409, ErrorKind::conflict},
                        Case{412, ErrorKind::conflict}, Case{413, ErrorKind::too_large},
                        Case{422, ErrorKind::module_rejected}, Case{429, ErrorKind::quota},
                        Case{410, ErrorKind::lease_ended}, Case{500, ErrorKind::internal},
                        Case{503, ErrorKind::no_capacity}, Case{504, ErrorKind::deadline_exceeded},
                        Case{418, ErrorKind::bad_request}}) {
    CAPTURE(c.status);
    CHECK(error_from_response(answer(c.status, R"({"type":"about:blank","title":"t"})")).kind() ==
          c.kind);
  }
}

TEST_CASE(
    "what no gateway wrote is shown, shortened, in one line, with the hint to look at the "
    "address") {
  const Error error =
      error_from_response(answer(503, "<html>\nproxy says no" + std::string(5000, '.')));
  CHECK(error.message().starts_with("HTTP status 503: <html>"));
  CHECK(error.message().size() < 300);
  CHECK(std::string(error.what()).find('\n') == std::string::npos);
  CHECK(error.hint().find("orchid doctor") != std::string::npos);
}

TEST_CASE("what may go well the second time is retryable, unless the gateway says otherwise") {
  CHECK(error_from_response(answer(503, "{}")).retryable());
  CHECK_FALSE(error_from_response(answer(503, R"({"retryable":false})")).retryable());
  CHECK_FALSE(error_from_response(answer(404, "{}")).retryable());
}

TEST_CASE("an invocation that did not go well becomes an error of its outcome's kind") {
  const Error error = error_from_status({.id = "i-2",
                                         .function = "f",
                                         .state = "done",
                                         .outcome = "deadline_exceeded",
                                         .message = "after 1 s"});
  CHECK(error.kind() == ErrorKind::deadline_exceeded);
  CHECK(error.message() == "after 1 s");
  CHECK(error.invocation() == "i-2");
  CHECK_FALSE(error.hint().empty());
}

TEST_CASE("every error says what to do, in one line with what happened") {
  for (int i = 0; i <= static_cast<int>(ErrorKind::internal); ++i) {
    const auto kind = static_cast<ErrorKind>(i);
    CAPTURE(to_string(kind));
    const Error general({.kind = kind, .message = "it\nfailed"});
    CHECK_FALSE(general.hint().empty());
    CHECK(std::string(general.what()) == "it failed; " + general.hint());
    CHECK(Error({.kind = kind, .message = "m", .hint = "its own"}).hint() == "its own");
  }
}

}  // namespace orchid::sdk
