#include "flow/values.h"

#include <doctest/doctest.h>

#include <cstring>

#include "flow_under_test.h"

using namespace orchid;
using namespace orchid::flow;

namespace {

PortType type(const std::string& text) { return parse_port_type(text).value(); }

std::string gather(const std::string& result, const std::vector<std::string>& results) {
  Gathering gathering;
  for (const std::string& one : results) gathering.add(type(result), *value(result, one));
  return json_of_value(gathered(type(result)), gathering.take(type(result))).value();
}

}  // namespace

TEST_CASE("results of many calls become one value") {
  CHECK(gather("u8", {"1", "2", "3"}) == "[1,2,3]");
  CHECK(gather("u64", {"1", "2"}) == "[1,2]");
  CHECK(gather("bool", {"true", "false"}) == "[true,false]");
  CHECK(gather("struct<12,4:f32@0,u32@4,u32@8>", {"[1.5,2,3]", "[2.5,4,5]"}) ==
        "[[1.5,2,3],[2.5,4,5]]");
  CHECK(gather("span<u8>", {"[1]", "[]", "[2,3]"}) == "[1,2,3]");
  CHECK(gather("string", {"\"ab\"", "\"\"", "\"c\""}) == "\"abc\"");
  CHECK(gather("bytes", {"\"ab\"", "\"c\""}) == "\"abc\"");
}

TEST_CASE("what a step function gives is a head and a state, of the state's type") {
  const auto function = parse_function_type("step<u64>(struct<16,8:u64@0,u64@8>,u64)");
  REQUIRE(function.has_value());
  const PortType& step = function->result;
  CHECK(step.is_step());
  CHECK(step != type("u64"));
  CHECK(state_of(step) == type("u64"));
  Bytes bytes;
  append_budget(std::chrono::nanoseconds(1), 12, bytes);  // as a head: done, 12 steps
  CHECK_FALSE(fits(step, bytes));
  const Value state = value("u64", "7");
  bytes.insert(bytes.end(), state->begin(), state->end());
  CHECK(fits(step, bytes));
  CHECK(json_of_value(step, bytes).value() == R"({"done":true,"steps":12,"state":7})");
  const StepResult result = step_result(bytes);
  CHECK(result.done);
  CHECK(result.steps == 12);
  CHECK(result.state == *state);
  bytes[0] = std::byte{2};
  CHECK_FALSE(fits(step, bytes));
  CHECK_FALSE(json_of_value(step, bytes).has_value());
  CHECK_FALSE(parse_port_type("step<u64>").has_value());  // no port has it
}

TEST_CASE("parts of a span are items of their own") {
  const PortType span = type("span<u8>");
  const Value bytes = value("span<u8>", "[10,11,12,13,14,15,16,17,18,19]");
  CHECK(count_of(*bytes) == 10);
  Bytes element;
  append_element(span, *bytes, 9, element);
  CHECK(json_of_value(type("u8"), element).value() == "19");
  Bytes part;
  append_elements(span, *bytes, 7, 10, part);
  CHECK(json_of_value(span, part).value() == "[17,18,19]");
}

TEST_CASE("bytes that are no value of a type are told from those that are") {
  for (const auto& [text, good] :
       std::vector<std::pair<std::string, std::string>>{{"u8", "7"},
                                                        {"f64", "1.5"},
                                                        {"span<u32>", "[1,2,3]"},
                                                        {"string", "\"hello\""},
                                                        {"struct<16,8:f64@0,i32@8>", "[1,2]"}}) {
    Bytes bytes = *value(text, good);
    CHECK(fits(type(text), bytes));
    bytes.push_back(std::byte{0});
    CHECK_FALSE(fits(type(text), bytes));
    CHECK_FALSE(fits(type(text), std::span(bytes).first(bytes.size() - 9)));
  }
  Bytes huge = *value("span<u64>", "[1]");
  const std::uint64_t count = std::uint64_t{1} << 61;  // times 8 it is 0 again
  std::memcpy(huge.data(), &count, sizeof count);
  CHECK_FALSE(fits(type("span<u64>"), huge));
  CHECK_FALSE(fits(type("u64"), Bytes{}));
}

TEST_CASE("something is what is not 0, false or empty") {
  const auto something = [](const std::string& text, const std::string& json) {
    return is_something(type(text), *value(text, json));
  };
  CHECK(something("string", "\"a\""));
  CHECK_FALSE(something("string", "\"\""));
  CHECK(something("bool", "true"));
  CHECK_FALSE(something("bool", "false"));
  CHECK(something("span<u8>", "[0]"));
  CHECK_FALSE(something("span<u8>", "[]"));
  CHECK(something("i32", "-1"));
  CHECK_FALSE(something("u64", "0"));
  CHECK_FALSE(something("bytes", "\"\""));
  CHECK_FALSE(something("f64", "-0.0"));
  CHECK_FALSE(something("f32", "-0.0"));
  Bytes gap = *value("struct<16,8:u32@0,f64@8>", "[0,0]");
  gap[5] = std::byte{7};  // between the fields
  CHECK_FALSE(is_something(type("struct<16,8:u32@0,f64@8>"), gap));
  gap[9] = std::byte{7};
  CHECK(is_something(type("struct<16,8:u32@0,f64@8>"), gap));
}

TEST_CASE("a type that is none is refused with examples") {
  for (const std::string text : {"", "f65", "span<span<f64>>", "f64,f64", "void", "byte"})
    CHECK_FALSE_MESSAGE(parse_port_type(text).has_value(), text);
  CHECK(parse_port_type("f65").error().message.find("span<f64>") != std::string::npos);
}
