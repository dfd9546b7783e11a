#include <doctest/doctest.h>

#include <fstream>

#include "calls/call_statistics.h"
#include "calls/repeated_calls.h"
#include "calls/typed_call.h"
#include "fake_gateway.h"
#include "foundation/files.h"
#include "scratch_folder.h"

namespace orchid::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using tests::FakeAnswer;
using tests::FakeGateway;
using tests::FakeRequest;

constexpr auto two_entries = R"json({"name":"math","version":"sha256:aa","entries":[
  {"name":"dot","signature":"f64(span<f64>,span<f64>)"},{"name":"raw","signature":null}]})json";

}  // namespace

TEST_CASE("quantiles are by nearest rank") {
  CHECK(quantiles_of({}).max.count() == 0);
  CHECK(quantiles_of({nanoseconds(5)}).p50 == nanoseconds(5));
  std::vector<nanoseconds> hundred;
  for (int i = 100; i >= 1; --i) hundred.emplace_back(i);
  const Quantiles quantiles = quantiles_of(hundred);
  CHECK(quantiles.p50 == nanoseconds(50));
  CHECK(quantiles.p99 == nanoseconds(99));
  CHECK(quantiles.max == nanoseconds(100));
}

TEST_CASE("a call's cost is told with all of its parts, which add up to the total") {
  CallTiming timing;
  nanoseconds next(1'000);
  for (const CallPart& part : call_parts) {
    timing.*part.duration = next;
    timing.total += next;
    next *= 2;
  }
  CHECK(describe_timing(timing) ==
        "total 511 µs (connect 1 µs, send 2 µs, queue 4 µs, place 8 µs, compile 16 µs, link 32 µs, "
        "run 64 µs, wait 128 µs, receive 256 µs)");
  const std::string table = to_table(summarise({timing}, 0, std::chrono::seconds(1)));
  for (const CallPart& part : call_parts) CHECK(table.find(part.name) != std::string::npos);
}

TEST_CASE("statistics count what failed, and the rate is of what went well") {
  CallTiming timing;
  timing.total = milliseconds(2);
  const CallStatistics statistics = summarise({timing, timing}, 3, std::chrono::seconds(1));
  CHECK(statistics.calls_per_second() == doctest::Approx(2));
  CHECK(to_table(statistics).find("5 calls in 1 s, 2 calls/s, 3 failed") != std::string::npos);
  CHECK(to_json(statistics).find("\"failed\":3") != std::string::npos);
}

TEST_CASE("repeated calls are made as often as asked, by as many threads as asked") {
  FakeGateway gateway([](const FakeRequest& request) { return FakeAnswer{.body = request.body}; });
  Client client({.gateway = gateway.address()});
  const auto result =
      repeat_call(client, as_bytes("in"), {.function = "f", .count = 50, .concurrency = 4});
  CHECK(result.statistics.succeeded == 50);
  CHECK(gateway.requests().size() == 50);
  REQUIRE(result.first.has_value());
  CHECK(result.first->text() == "in");
  CHECK_FALSE(result.first_failure.has_value());
}

TEST_CASE("a failing function is called on, a missing one is not") {
  int status = 502;
  FakeGateway gateway([&status](const FakeRequest&) {
    return FakeAnswer{.status = status, .body = R"({"detail":"no"})"};
  });
  Client client({.gateway = gateway.address()});
  CHECK(
      repeat_call(client, {}, {.function = "f", .count = 5, .concurrency = 1}).statistics.failed ==
      5);
  status = 404;
  const auto missing = repeat_call(client, {}, {.function = "f", .count = 1000, .concurrency = 1});
  CHECK(missing.statistics.failed == 1);
  CHECK(missing.first_failure->kind() == ErrorKind::not_found);
}

TEST_CASE("the signature is that of the entry which is meant") {
  FakeGateway gateway([](const FakeRequest&) { return FakeAnswer{.body = two_entries}; });
  Client client({.gateway = gateway.address()});
  CHECK(find_signature(client, "math.dot").value() == "f64(span<f64>,span<f64>)");
  CHECK(gateway.requests()[0].target == "/v1/functions/math");
  CHECK(find_signature(client, "math.dot@abcdef").has_value());
  CHECK(gateway.requests()[1].target == "/v1/functions/math@abcdef");
  const auto several = find_signature(client, "math");
  REQUIRE_FALSE(several.has_value());
  CHECK(several.error().message.find("math.dot, math.raw") != std::string::npos);
  CHECK(find_signature(client, "math.raw").error().message.find("raw bytes") != std::string::npos);
  CHECK(find_signature(client, "math.none").error().code == ErrorCode::not_found);
  CHECK(find_signature(client, "9bad").error().code == ErrorCode::bad_request);
}

TEST_CASE("arguments go from JSON or .npy to bytes, and the result comes back as JSON") {
  const std::string signature = "f64(span<f64>,span<f64>)";
  const auto bytes = encode_json_arguments(signature, "[[1,2],[3,4]]");
  REQUIRE(bytes.has_value());
  CHECK(*bytes == values::encode_all(std::vector<double>{1, 2}, std::vector<double>{3, 4}));
  CHECK(encode_json_arguments(signature, "[\"text\",1]").error().message.find("span<f64>") !=
        std::string::npos);
  CHECK_FALSE(encode_json_arguments(signature, "[[1,2]").has_value());
  CHECK_FALSE(encode_json_arguments("damaged(", "[]").has_value());
  CHECK(decode_output("f64()", values::encode_all(2.5)).value() == "2.5");
  CHECK_FALSE(decode_output("f64()", {}).has_value());

  const tests::Scratch scratch;
  const std::string file = scratch / "a.npy";
  std::string head = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }";
  head.append(128 - 10 - 1 - head.size(), ' ').push_back('\n');
  const double numbers[] = {1, 2};
  std::ofstream(file, std::ios::binary)
      << "\x93NUMPY\x01" << '\0' << static_cast<char>(head.size()) << '\0' << head
      << std::string(reinterpret_cast<const char*>(numbers), sizeof(numbers));
  CHECK(encode_npy_arguments(signature, {file, file}).value() ==
        values::encode_all(std::vector<double>{1, 2}, std::vector<double>{1, 2}));
  CHECK(encode_npy_arguments(signature, {"/nonexistent"}).error().code == ErrorCode::not_found);
}

}  // namespace orchid::cli
