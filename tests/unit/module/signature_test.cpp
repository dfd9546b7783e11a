#include "module/signature.h"

#include <doctest/doctest.h>

#include <string>

using namespace orchid;
using namespace orchid::module;

TEST_CASE("signatures are read and written back") {
  for (const std::string text :
       {"void()", "f64(span<f64>,span<f64>)",
        "string(string,bool,i8,u8,i16,u16,i32,u32,i64,u64,f32)",
        "struct<16,8:f64@0,i32@8>(span<struct<3,1:u8@0,u8@1,u8@2>>)",
        "span<struct<8,4:f32@0,f32@4>>(u64)", "f64(data<f64>,u8,data<struct<3,1:u8@0,u8@1,u8@2>>)",
        "step<f64>(struct<16,8:u64@0,u64@8>,f64)", "step<data<struct<3,1:u8@0,u8@1,u8@2>>>(u8)"}) {
    const auto signature = parse_signature(text);
    REQUIRE_MESSAGE(signature.has_value(), text);
    CHECK(to_string(*signature) == text);
  }
}

TEST_CASE("the parts of a signature are what they say") {
  const auto signature = parse_signature("span<struct<16,8:f64@0,i32@8>>(i32,string)");
  REQUIRE(signature.has_value());
  CHECK(signature->result.kind == TypeKind::span);
  CHECK(signature->result.has_structure);
  CHECK(signature->result.element_size() == 16);
  REQUIRE(signature->result.structure.fields.size() == 2);
  CHECK(signature->result.structure.fields[1].type == Scalar::i32);
  CHECK(signature->result.structure.fields[1].offset == 8);
  REQUIRE(signature->arguments.size() == 2);
  CHECK(signature->arguments[0].kind == TypeKind::scalar);
  CHECK(signature->arguments[1].kind == TypeKind::string);
}

TEST_CASE("data objects are arguments that are not in the input") {
  const auto signature = parse_signature("f64(data<f32>,u8,data<struct<4,4:f32@0>>)");
  REQUIRE(signature.has_value());
  REQUIRE(signature->arguments.size() == 3);
  CHECK(signature->arguments[0].kind == TypeKind::data);
  CHECK(signature->arguments[0].element_size() == 4);
  CHECK(signature->arguments[2].has_structure);
  REQUIRE(signature->input().size() == 1);
  CHECK(signature->input()[0].scalar == Scalar::u8);
  for (const std::string_view text :
       {"void(data<string>)", "void(data<f64)", "void(data)", "void(span<data<f64>>)", "data()"})
    CHECK_FALSE(parse_signature(text).has_value());
}

TEST_CASE("a data object may be the result") {
  const auto signature = parse_signature("data<f64>(u64)");
  REQUIRE(signature.has_value());
  CHECK(signature->result.kind == TypeKind::data);
  CHECK(to_string(*signature) == "data<f64>(u64)");
}

TEST_CASE("a wrong signature is refused, and the place is named") {
  const auto message = [](std::string_view text) {
    const auto signature = parse_signature(text);
    REQUIRE_MESSAGE(!signature.has_value(), std::string(text));
    CHECK(signature.error().code == ErrorCode::bad_request);
    return signature.error().message;
  };
  CHECK(message("f64(span<f65>)").find("wrong at character 10: a type should be there") !=
        std::string::npos);
  CHECK(message("f64(f64").find("',' or ')'") != std::string::npos);
  CHECK(message("f64(f64) ").find("the end") != std::string::npos);
  CHECK(message("f64").find("'('") != std::string::npos);
  for (const std::string_view text :
       {"", "()", "f64(void)", "f64(,)", "f64(f64,)", "span<string>()", "span<span<f64>>()",
        "struct<0,1:u8@0>()", "struct<8,16:f64@0>()", "struct<8,8:f64@4>()",
        "struct<8,4:f32@4,f32@0>()", "struct<8,8:>()", "struct<12,8:f64@0>()",
        "struct<8,8:struct<4,4:f32@0>@0>()", "struct<8,8:f64@18446744073709551616>()",
        "struct<4294967295,1:u8@0>()", "f64 (f64)"})
    message(text);
  message(std::string(100'000, '('));
}
