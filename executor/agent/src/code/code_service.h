// code/code_service.h: from a module's digest to code for this host: memory, disk, or the
// compilers, each module once.
//
// A module that nobody has seen is compiled quickly, so that its first call need not wait for the
// best code. A second compiler makes that behind it, and it takes the quick code's place here and
// in the workers. The compiler decides which modules can do with that: those that keep nothing
// between calls.
#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "code/code_store.h"
#include "code/compiler_process.h"
#include "protocol/lane_messages.h"

namespace orchid::executor {

/// Owned by the agent's thread.
class CodeService {
 public:
  struct Code {
    std::shared_ptr<const UniqueFd>
        file;  // sealed; shared by the cache and those who still load it
    CodeSource source = CodeSource::memory;
    std::chrono::microseconds compile{0};
    CompileTier tier = CompileTier::o3;
  };
  /// Called with the best code.
  using Better = std::function<void(const UniqueFd& code)>;
  using Done = std::function<void(Result<Code>)>;
  static constexpr std::size_t modules_in_memory = 256;
  /// So many modules may wait for better code; while they do, others get it at once.
  static constexpr std::size_t most_improvements = 512;

  /// All outlive it.
  CodeService(boost::asio::io_context& io, CompilerProcess& compiler, CompilerProcess& improver,
              CodeStore& store)
      : io_(io), compiler_(compiler), improver_(improver), store_(store) {}

  /// The code of that module, if it is here or being made: then `done` is called, now or later,
  /// and the answer is true.
  [[nodiscard]] bool find(const std::string& digest, const Done& done);
  /// Compiles the module. Errors through `done`: `bad_request` when the bytes do not have that
  /// digest, `module_rejected`.
  void compile(const std::string& digest, UniqueFd module, Done done);
  /// For one who was given quick code: `better` is called when the best code is there, now or
  /// later; never, if it cannot be made.
  void when_better(const std::string& digest, Better better);
  [[nodiscard]] std::uint64_t improved() const { return improved_; }

 private:
  [[nodiscard]] bool find_in_memory(const std::string& digest, const Done& done);
  [[nodiscard]] bool find_on_disk(const std::string& digest, const Done& done);
  void compiled(const std::string& digest, Result<CompilerProcess::Compiled> result);
  void improved(const std::string& digest, Result<CompilerProcess::Compiled> result);
  void keep(const std::string& digest, const UniqueFd& file);
  void remember(const std::string& digest, std::shared_ptr<const UniqueFd> file, CompileTier tier);
  [[nodiscard]] std::optional<CodeKey> key_of(const std::string& digest) const;

  struct Cached {
    std::shared_ptr<const UniqueFd> file;
    CompileTier tier;
    std::list<std::string>::iterator place;
  };
  struct Flight {
    UniqueFd module;
    std::vector<Done> waiting;
  };
  boost::asio::io_context& io_;
  CompilerProcess& compiler_;
  CompilerProcess& improver_;
  CodeStore& store_;
  std::unordered_map<std::string, Cached> memory_;
  std::list<std::string> recency_;                   // of memory_, most recent first
  std::unordered_map<std::string, Flight> flights_;  // single flight
  std::unordered_map<std::string, std::vector<Better>> improvements_;  // being made
  std::uint64_t improved_ = 0;
};

}  // namespace orchid::executor
