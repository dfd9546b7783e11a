#include "orchid/embedded.h"

#include <doctest/doctest.h>

#include <cstring>
#include <stdexcept>

#include "embedded_functions.h"
#include "orchid/lease.h"
#include "orchid/native_twin.h"

namespace orchid {
namespace {

std::span<const std::byte> bytes_of_text(std::string_view text) {
  return std::as_bytes(std::span(text));
}

template <auto* Function>
concept Marked = is_embedded<Function>;

static_assert(Marked<scalar_product> && !Marked<unmarked>);
static_assert(std::is_same_v<SignatureOf<greeting_with_call>, std::string(std::string_view)>);

}  // namespace

TEST_CASE("files of one orchid_add_functions share a module of bitcode in the program") {
  const EmbeddedFunction& typed = embedded<scalar_product>();
  CHECK(std::string_view(typed.name) == "scalar_product");
  CHECK(typed.module == orchid_embedded_reversed.module);
  const auto module = module_of(typed);
  REQUIRE(module.size() > 4);
  CHECK(std::memcmp(module.data(), "BC\xC0\xDE", 4) == 0);
}

TEST_CASE("the native twin is called with the function's own types") {
  const std::vector<double> a{1, 2, 3};
  CHECK(call_twin<scalar_product>(a, a) == 14);
}

TEST_CASE("a native twin that asks for its call gets one") {
  CHECK(call_twin<greeting_with_call>(std::string_view("you")) == "hello, you");
}

TEST_CASE("an entry of bytes runs natively as on a worker") {
  CHECK(call_native(orchid_embedded_reversed, bytes_of_text("abc")).text() == "cba");
  CHECK(call_native(orchid_embedded_reversed, {}).output.empty());
  const Reply sum = call_native(embedded<scalar_product>(),
                                values::encode_all(std::vector{2.0}, std::vector{3.0}));
  CHECK(decode_reply<double>(sum, "scalar_product") == 6);
}

TEST_CASE("a native entry that fails is a function_error with its message") {
  try {
    (void)call_native(orchid_embedded_fails, {});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::function_error);
    CHECK(error.message() == "always");
    CHECK(error.function() == "fails");
  }
  CHECK_THROWS_WITH_AS(call_twin<refuses>(3), "no 3", std::runtime_error);
}

TEST_CASE("a typed function without a value to give fails with what it has said") {
  static_assert(std::is_same_v<SignatureOf<root_or_reason>, double(double)>);
  CHECK(call_twin<root_or_reason>(9.0) == 3);
  try {
    (void)call_twin<root_or_reason>(-1.0);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::function_error);
    CHECK(error.message() == "it is negative");
  }
}

TEST_CASE("bytes that do not fit a native entry are a bad request") {
  try {
    (void)call_native(embedded<scalar_product>(), bytes_of_text("x"));
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::bad_request);
  }
}

TEST_CASE("the device of a native twin is the calling thread") {
  const Reply reply =
      call_native(orchid_embedded_halve, values::encode_all(std::vector<float>{1, 2, 3}));
  CHECK(decode_reply<std::vector<float>>(reply, "halve") == std::vector<float>{0.5F, 1, 1.5F});
}

TEST_CASE("what a device refuses, a native twin is refused, too") {
  const auto message_of = [](const EmbeddedFunction& function) {
    try {
      (void)call_native(function, {});
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::function_error);
      return error.message();
    }
    return std::string();
  };
  CHECK(message_of(orchid_embedded_copies_too_much).starts_with("orchid_device_read: these 9"));
  CHECK(message_of(orchid_embedded_launches_too_much)
            .starts_with("kernel 'halve' cannot be launched over 9223372036854775808 items"));
}

TEST_CASE("a native twin is given no data objects, and is told so when it asks for one") {
  try {
    (void)call_native(orchid_embedded_asks_for_data, {});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::function_error);
    CHECK(error.message() == "data object 0 was asked for, and a call within the program has none");
  }
}

TEST_CASE(
    "a room for more elements than have a number of bytes is refused before anybody is asked") {
  try {
    (void)call_native(orchid_embedded_makes_room_without_number, {});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.message() ==
          "2305843009213693953 elements of 8 bytes are more than any memory has");
  }
}

TEST_CASE("a native twin neither opens nor makes data, and is told what would help") {
  for (const auto* function :
       {&orchid_embedded_opens_data, &orchid_embedded_makes_room, &orchid_embedded_seals_nothing}) {
    CAPTURE(function->name);
    try {
      (void)call_native(*function, {});
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::function_error);
      CHECK(error.message().starts_with("a call within the program opens and makes no data"));
      CHECK(error.message().ends_with("through a lease"));
    }
  }
}

}  // namespace orchid
