// turn_functions.h: small functions, each of a module of its own, that are called in turn.
#pragma once
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "foundation/result.h"
#include "foundation/tick_clock.h"
#include "harness/child_process.h"
#include "orchid/client.h"
#include "timed_calls.h"

namespace orchid::bench {

/// Removed at the end.
struct Folder {
  Folder() {
    std::string pattern = "/tmp/orchid-turn-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

inline std::string name_of(int number) { return "turn" + std::to_string(number); }

/// A module of its own for each number.
inline Result<void> deploy(Client& client, const std::filesystem::path& folder, int number) {
  const std::string name = name_of(number);
  const std::filesystem::path source = folder / (name + ".c");
  std::ofstream(source) << "#include <string.h>\n#include <orchid/function.h>\n"
                           "ORCHID_ENTRY("
                        << name << ") {\n  void* output = orchid_output(call, input_size);\n"
                        << "  if (output == NULL) return ORCHID_ERROR;\n"
                        << "  memcpy(output, input, input_size);\n  return ORCHID_OK;\n}\n";
  const std::filesystem::path module = folder / (name + ".orc");
  auto built = output_of({.command = {PROGRAMS "/orchid", "build", source, "-o", module}},
                         std::chrono::seconds(60));
  if (!built) return fail(std::move(built.error()));
  client.deploy_file(name, module.string());
  return {};
}

/// Calls those that were deployed in turn, and goes on where it stopped. Borrows both.
class TurnCalls {
 public:
  TurnCalls(Client& client, const TickRate& rate) : client_(client), rate_(rate) {}

  /// `count` calls of the first `functions` of them; how long each took, in microseconds.
  [[nodiscard]] Result<std::vector<double>> operator()(int count, int functions) {
    return timed_calls(count, rate_, [&]() -> Result<void> {
      next_ = (next_ + 1) % functions;
      if (client_.invoke(name_of(next_), "hello").text() != "hello")
        return fail(ErrorCode::internal, "a wrong answer");
      return {};
    });
  }

 private:
  Client& client_;
  const TickRate& rate_;
  int next_ = 0;
};

}  // namespace orchid::bench
