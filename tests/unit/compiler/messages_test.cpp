#include <doctest/doctest.h>

#include <string>
#include <variant>

#include "protocol/compiler_messages.h"

using namespace orchid;

TEST_CASE("each compiler message survives the way through text") {
  const CompilerMessage messages[] = {
      CompileRequest{.id = 7, .tier = CompileTier::quick},
      CompileRequest{.id = 7, .tier = CompileTier::o3, .gpu = "sm_80"},
      InspectRequest{.id = 18446744073709551615U},
      CompilerReady{.triple = "x86_64-pc-linux-gnu",
                    .cpu = "znver4",
                    .features = "+avx,-amx",
                    .llvm = "19.1.7",
                    .pipeline = "o"},
      CompileStarted{.id = 7, .functions = 3, .branches = 16384, .most_branches = 16000},
      CompiledCode{
          .id = 7, .tier = CompileTier::quick, .compile_us = std::chrono::microseconds(1234)},
      CompileFailed{.id = 7, .code = ErrorCode::module_rejected, .message = "no \"entry\""},
      InspectedManifest{.id = 8, .manifest = R"({"abi":1,"entries":[]})"},
      InspectRejected{.id = 8, .code = ErrorCode::bad_request, .message = "what?"}};
  for (const CompilerMessage& message : messages) {
    const auto read = parse_compiler_message(encode(message));
    REQUIRE_MESSAGE(read.has_value(), read.error().message);
    CHECK(read->index() == message.index());
    CHECK(encode(*read) == encode(message));
  }
}

TEST_CASE("a message that does not fit is refused with its fault") {
  const auto message = [](const char* text) {
    const auto read = parse_compiler_message(text);
    REQUIRE_FALSE(read.has_value());
    return read.error().message;
  };
  CHECK(message(R"({"type":"compile","id":1})").find("tier") != std::string::npos);
  CHECK(message(R"({"type":"compile","id":1,"tier":"o9"})").find("tier") != std::string::npos);
  CHECK(message(R"({"type":"compile","id":-1,"tier":"o3"})").find("id") != std::string::npos);
  CHECK(message(R"({"type":"dance","id":1})").find("dance") != std::string::npos);
  CHECK(message("[]").find("must be a JSON object") != std::string::npos);
}

TEST_CASE("bytes of a module that are not UTF-8 do not hinder a message") {
  CHECK(parse_compiler_message(encode(CompileFailed{.id = 1, .message = "symbol \xff\xfe"}))
            .has_value());
}
