#include "http/request.h"

#include <doctest/doctest.h>

#include "functions/function_options.h"
#include "http/precondition.h"
#include "http/query.h"
#include "http/request_options.h"
#include "invocations/invocation_options.h"

namespace orchid::gateway {
namespace {

using std::chrono::milliseconds;

TEST_CASE("a target is split, and its path decoded") {
  std::string path;
  std::string query;
  REQUIRE(split_target("/v1/functions/a%40b?wait=30s&x=%20", path, query));
  CHECK(path == "/v1/functions/a@b");
  CHECK(query == "wait=30s&x=%20");
}

TEST_CASE("a target may name scheme and host, or be a star") {
  std::string path;
  std::string query;
  REQUIRE(split_target("HTTP://host:80/v1/a%62?x=1", path, query));
  CHECK(path == "/v1/ab");
  CHECK(query == "x=1");
  REQUIRE(split_target("http://[::1]?x=2", path, query));
  CHECK(path == "/");
  CHECK(query == "x=2");
  REQUIRE(split_target("*", path, query));
  CHECK(path == "*");
  CHECK(query.empty());
}

TEST_CASE("the parameters of a query are found by their decoded names") {
  CHECK(query_parameter("wait=30s&x=%20", "wait") == "30s");
  CHECK(query_parameter("wait=30s&x=%20", "x") == " ");
  CHECK(query_parameter("w%61it=30s", "wait") == "30s");
  CHECK(query_parameter("wait=1m+30s", "wait") == "1m 30s");
  CHECK(query_parameter("x=a%2Bb", "x") == "a+b");
  CHECK(query_parameter("wait=30s&x=%20", "none").empty());
}

TEST_CASE("a query takes what its route declares, once and with a value") {
  const std::vector<std::string> declared{"wait", "state"};
  for (const char* good : {"", "wait=30s", "state=x&wait=%20", "w%61it=1"}) {
    CAPTURE(good);
    CHECK(check_query(good, declared).has_value());
  }
  struct Case {
    const char* query;
    const char* message;
  };
  for (const Case& wrong :
       {Case{"other=1", "'other' is not known: this path takes wait, state"},
        Case{"Wait=1", "'Wait' is not known"}, Case{"wait=1&wait=1", "'wait' comes twice"},
        Case{"wait=1&w%61it=2", "'wait' comes twice"}, Case{"state=", "'state' has no value"},
        Case{"state", "'state' has no value"}, Case{"wait=%4", "'wait' is badly encoded"},
        Case{"%zz=1", "a name in the query"}, Case{"&wait=1", "''"}}) {
    CAPTURE(wrong.query);
    const auto refused = check_query(wrong.query, declared);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::bad_request);
    CHECK(refused.error().message.contains(wrong.message));
  }
  CHECK(check_query("x=1", {}).error().message.contains("takes no query parameters"));
}

TEST_CASE("a target that is no path or badly encoded is refused") {
  std::string path;
  std::string query;
  for (const char* target : {"", "**", "x", "https://x/y", "http:///y", "http://", "http://u@x/y",
                             "x:80", "http://x/%", "/%", "/%4", "/%zz", "/%00"}) {
    CAPTURE(target);
    CHECK_FALSE(split_target(target, path, query));
  }
}

TEST_CASE("header fields are found whatever their case, and singular ones may not come twice") {
  HeaderFields fields;
  REQUIRE(fields.add("AUTHORIZATION", "Bearer x"));
  REQUIRE(fields.add("X-Other", "1"));
  REQUIRE(fields.add("X-Other", "2"));
  CHECK(fields.find(Header::authorization) == "Bearer x");
  CHECK_FALSE(fields.add("authorization", "Bearer y"));
  CHECK(fields.size() == 3);
}

TEST_CASE("list fields that come twice become one list") {
  HeaderFields fields;
  REQUIRE(fields.add("Prefer", "respond-async"));
  REQUIRE(fields.add("prefer", "wait=5"));
  CHECK(fields.find(Header::prefer) == "respond-async, wait=5");
}

TEST_CASE("preferences are read, and unknown ones ignored") {
  const Preferences some =
      parse_prefer("handling=lenient, Respond-Later, respond-async; x=1 , wait=7");
  CHECK(some.respond_async);
  CHECK(some.wait == std::chrono::seconds(7));
  CHECK_FALSE(parse_prefer("wait=-1").wait.has_value());
  const Preferences shouted = parse_prefer("Respond-Async, WAIT = \"9\", wait=1");
  CHECK(shouted.respond_async);
  CHECK(shouted.wait == std::chrono::seconds(9));
  CHECK_FALSE(parse_prefer("").respond_async);
}

TEST_CASE("a wait has a unit, and a bound") {
  CHECK(parse_wait("30s").value() == milliseconds(30'000));
  CHECK(parse_wait("30").value() == milliseconds(30'000));
  CHECK(parse_wait("250ms").value() == milliseconds(250));
  CHECK(parse_wait("2m").value() == milliseconds(120'000));
  CHECK(parse_wait("24h").value() == std::chrono::hours(24));
  for (const char* text : {"", "s", "-1s", "1 x", "25h", "99999999999999999999s"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_wait(text).has_value());
  }
}

Request with_fields(std::initializer_list<std::pair<const char*, const char*>> fields) {
  Request request;
  for (const auto& [name, value] : fields) REQUIRE(request.headers.add(name, value));
  return request;
}

TEST_CASE("a call without wishes gets the defaults") {
  const auto options = parse_invocation_options(with_fields({}), {});
  REQUIRE(options.has_value());
  CHECK(options->deadline == milliseconds(60'000));
  CHECK(options->wait == milliseconds(30'000));
  CHECK_FALSE(options->respond_async);
}

TEST_CASE("a caller that waits longer than the default deadline gets a later one") {
  const auto options = parse_invocation_options(with_fields({{"Prefer", "wait=300"}}), {});
  REQUIRE(options.has_value());
  CHECK(options->deadline == milliseconds(300'000));
}

TEST_CASE("a deadline that is stated counts, and a wrong one is refused") {
  const auto options = parse_invocation_options(with_fields({{"Orchid-Deadline-Ms", "1500"}}), {});
  REQUIRE(options.has_value());
  CHECK(options->deadline == milliseconds(1500));
  for (const char* wrong : {"0", "", "abc", "86400001", "1s"}) {
    CAPTURE(wrong);
    const auto refused = parse_invocation_options(with_fields({{"Orchid-Deadline-Ms", wrong}}), {});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::bad_request);
  }
}

TEST_CASE("a call may ask for a kind of host, and only for one that there is") {
  CHECK_FALSE(parse_invocation_options(with_fields({}), {})->kind.has_value());
  CHECK(parse_invocation_options(with_fields({{"Orchid-Host-Kind", "dpu"}}), {})->kind ==
        placement::HostKind::dpu);
  for (const char* wrong : {"", "DPU", "moon"}) {
    CAPTURE(wrong);
    const auto refused = parse_invocation_options(with_fields({{"Orchid-Host-Kind", wrong}}), {});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::bad_request);
  }
}

TEST_CASE("a call may ask for a worker with a GPU or without one") {
  CHECK_FALSE(parse_invocation_options(with_fields({}), {})->device.has_value());
  CHECK(parse_invocation_options(with_fields({{"Orchid-Device", "gpu"}}), {})->device ==
        placement::CallDevice::gpu);
  for (const char* wrong : {"", "GPU", "cpu"}) {
    CAPTURE(wrong);
    const auto refused = parse_invocation_options(with_fields({{"Orchid-Device", wrong}}), {});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::bad_request);
  }
}

TEST_CASE("a call may name its cluster") {
  CHECK(parse_invocation_options(with_fields({}), {})->cluster.empty());
  CHECK(parse_invocation_options(with_fields({{"Orchid-Cluster", "moss"}}), {})->cluster == "moss");
  const std::string long_one(257, 'a');
  for (const char* wrong : {"", "two words", long_one.c_str()}) {
    CAPTURE(wrong);
    const auto refused = parse_invocation_options(with_fields({{"Orchid-Cluster", wrong}}), {});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::bad_request);
  }
}

TEST_CASE("the output of a call may become data of a name, and nothing else") {
  CHECK(parse_invocation_options(with_fields({}), {})->output_data.empty());
  CHECK(parse_invocation_options(with_fields({{"Orchid-Output", " data=smoothed "}}), {})
            ->output_data == "smoothed");
  for (const char* wrong : {"", "data", "data=", "smoothed", "file=smoothed", "data=a b",
                            "data=a@3", "DATA=a", "data=d-00112233445566778899aabbccddeeff"}) {
    CAPTURE(wrong);
    const auto refused = parse_invocation_options(with_fields({{"Orchid-Output", wrong}}), {});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::bad_request);
    CHECK(refused.error().message.contains("data=NAME"));
  }
}

TEST_CASE("If-Match takes tags with quotation marks or a star") {
  const auto tags = parse_precondition(with_fields({{"If-Match", "\"sha256:ab\" , \"x\""}}));
  REQUIRE(tags.has_value());
  CHECK(tags->if_match == std::vector<std::string>{"sha256:ab", "x"});
  const auto odd = parse_precondition(with_fields({{"If-Match", "W/\"weak\",\"a,b\" ,, *"}}));
  REQUIRE(odd.has_value());
  CHECK(odd->if_match == std::vector<std::string>{"W/weak", "a,b", "*"});
  for (const char* wrong : {"\"a", "\"a\" \"b\"", "W/a", "a\"b\"", "*x"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_precondition(with_fields({{"If-Match", wrong}})).has_value());
  }
  CHECK(parse_precondition(with_fields({{"If-None-Match", "*"}}))->if_none_match);
  CHECK_FALSE(parse_precondition(with_fields({{"If-Match", "sha256:ab"}})).has_value());
  CHECK_FALSE(parse_precondition(with_fields({{"If-None-Match", "\"x\""}})).has_value());
}

TEST_CASE("a wrong signature is refused, and both are named") {
  CHECK(check_signature("", std::nullopt).has_value());
  CHECK(check_signature("f64(f64)", "f64(f64)").has_value());
  const auto other = check_signature("f64(f32)", "f64(f64)");
  REQUIRE_FALSE(other.has_value());
  CHECK(other.error().code == ErrorCode::bad_request);
  CHECK(other.error().message.find("f64(f32)") != std::string::npos);
  CHECK(other.error().message.find("f64(f64)") != std::string::npos);
  CHECK_FALSE(check_signature("f64(f64)", std::nullopt).has_value());
}

}  // namespace
}  // namespace orchid::gateway
