// protocol/compiler_messages.h: what executor or gateway and orchid-compiler say to each other
// (docs/PROTOCOL.md §6). Text only; the descriptors that go along are named at each message.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "foundation/error_code.h"
#include "foundation/result.h"

namespace orchid {

/// quick: usable code soon, for modules whose code can be replaced later. o3: the best code for
/// this host.
enum class CompileTier : std::uint8_t { quick, o3 };
[[nodiscard]] std::string_view to_string(CompileTier tier);
[[nodiscard]] std::optional<CompileTier> parse_compile_tier(std::string_view name);

// To the compiler. Each comes with one descriptor: the module as a sealed memory file.

struct CompileRequest {
  std::uint64_t id = 0;
  CompileTier tier = CompileTier::o3;
  /// Not empty, such as "sm_80": PTX for that GPU instead of code for this host. `not_found`: the
  /// module has no image for GPUs.
  std::string gpu = {};
  /// What the module's constants are set to before anything else (constants.h); empty: nothing.
  std::string constants = {};
};

struct InspectRequest {
  std::uint64_t id = 0;
};

// From `--serve`.

/// The first message, once the process is confined. All fields are part of what identifies its
/// code.
struct CompilerReady {
  std::string triple;
  std::string cpu;
  std::string features;  // sorted: "+adx,+aes,-amx-bf16,…"
  std::string llvm;      // "19.1.7"
  std::string pipeline;  // passes and codegen options, by name and version
};

/// It has read the module, and begins with what may take long. Figures for people.
struct CompileStarted {
  std::uint64_t id = 0;
  std::uint64_t functions = 0;      // that have a body
  std::uint64_t branches = 0;       // instructions with more than one successor
  std::uint64_t most_branches = 0;  // in one function
};

/// Comes with one descriptor: the code as a sealed memory file.
struct CompiledCode {
  std::uint64_t id = 0;
  /// What it is: o3 also when quick was asked for, and the module keeps state between calls.
  CompileTier tier = CompileTier::o3;
  std::chrono::microseconds compile_us{0};
};

struct CompileFailed {
  std::uint64_t id = 0;
  ErrorCode code = ErrorCode::module_rejected;
  std::string message;
};

// From `--inspect-server`.

struct InspectedManifest {
  std::uint64_t id = 0;
  std::string manifest;  // JSON, for module::parse_manifest; made by code that untrusted input may
                         // have subverted: whoever asked knows digest and size better
};

struct InspectRejected {
  std::uint64_t id = 0;
  ErrorCode code = ErrorCode::module_rejected;
  std::string message;
};

using CompilerMessage =
    std::variant<CompileRequest, InspectRequest, CompilerReady, CompileStarted, CompiledCode,
                 CompileFailed, InspectedManifest, InspectRejected>;

[[nodiscard]] std::string encode(const CompilerMessage& message);
/// Errors: `bad_request`, naming the type and the field that is missing or wrong.
[[nodiscard]] Result<CompilerMessage> parse_compiler_message(std::string_view text);

}  // namespace orchid
