// code/code_service.h: from a tenant's module to code for this host: memory, disk, or his
// compilers, each module once.
//
// A module that nobody has seen is compiled quickly, so that its first call need not wait for the
// best code. A second compiler makes that behind it, and it takes the quick code's place here and
// in the workers. The compiler decides which modules can do with that: those that keep nothing
// between calls. PTX for GPUs is made in one go.
#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "code/code_store.h"
#include "code/compile_failures.h"
#include "code/compiler_pool.h"
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
  static constexpr ByteCount bytes_in_memory{std::uint64_t{1} << 30};  // of code
  /// So many modules may wait for better code; while they do, others get it at once.
  static constexpr std::size_t most_improvements = 512;
  /// So many modules of one tenant may wait for a compiler.
  static constexpr std::size_t most_waiting = 512;

  /// All outlive it.
  CodeService(boost::asio::io_context& io, CompilerPool& compilers, CodeStore& store)
      : io_(io), compilers_(compilers), store_(store) {}

  /// The code of that module, if it is here or being made: then `done` is called, now or later,
  /// and the answer is true. The same if it is known that it cannot be made.
  [[nodiscard]] bool find(const TenantModule& module, const Done& done);
  /// Whether it waits for a compiler, or is being compiled.
  [[nodiscard]] bool is_being_made(const TenantModule& module) const {
    return flights_.contains(module);
  }
  /// Compiles the module. Errors through `done`: `bad_request` when the bytes do not have that
  /// digest, `no_capacity` when too many wait, `module_rejected`, `compile_limit`. The last two are
  /// remembered for a while.
  void compile(const TenantModule& module, UniqueFd bytes, Done done);
  /// A module that a function has made: of these bytes, or, where `constants` are not empty, of the
  /// module with these bytes in which they are set (protocol/constants.h). `spent`: what compilers
  /// have spent on it, now and for the better code, as in CompilerPool::Request; may be empty. It
  /// is kept until both are there.
  struct Made {
    UniqueFd bytes;
    std::string digest_of_bytes;
    std::string constants = {};
    std::function<void(std::chrono::microseconds)> spent;
  };
  /// Errors: as above.
  void compile(const TenantModule& module, Made made, Done done);
  /// For one who was given quick code: `better` is called when the best code is there, now or
  /// later; never, if it cannot be made.
  void when_better(const TenantModule& module, Better better);
  [[nodiscard]] std::uint64_t improved() const { return improved_; }

 private:
  struct Flight {
    UniqueFd module;
    ByteCount size;
    CompileTier tier = CompileTier::quick;
    std::string constants;
    std::function<void(std::chrono::microseconds)> spent;  // may be empty
    std::vector<Done> waiting;
  };
  [[nodiscard]] bool find_in_memory(const TenantModule& module, const Done& done);
  [[nodiscard]] bool find_failure(const TenantModule& module, const Done& done);
  [[nodiscard]] bool find_on_disk(const TenantModule& module, const Done& done);
  void compiled(const TenantModule& module, Result<CompilerPool::Compiled> result);
  void improve(const TenantModule& module, Flight flight);
  void improved(const TenantModule& module, Result<CompilerPool::Compiled> result);
  void keep(const TenantModule& module, const UniqueFd& file);
  void remember(const TenantModule& module, std::shared_ptr<const UniqueFd> file, CompileTier tier);
  void remember_failure(const TenantModule& module, CompileTier tier, const Failure& why);
  [[nodiscard]] std::optional<Failure> known_failure(const TenantModule& module, CompileTier tier);
  [[nodiscard]] std::optional<CodeKey> key_of(const TenantModule& module,
                                              CompileTier tier = CompileTier::o3) const;

  struct Cached {
    std::shared_ptr<const UniqueFd> file;
    CompileTier tier;
    std::uint64_t bytes;
    std::list<TenantModule>::iterator place;
  };
  boost::asio::io_context& io_;
  CompilerPool& compilers_;
  CodeStore& store_;
  std::map<TenantModule, Cached> memory_;
  std::list<TenantModule> recency_;                           // of memory_, most recent first
  std::uint64_t bytes_ = 0;                                   // of memory_
  std::map<TenantModule, Flight> flights_;                    // single flight
  std::map<TenantModule, std::vector<Better>> improvements_;  // being made
  /// Under the tier that calls ask for first, or `o3` for better code: that one may be too much,
  /// and the quick code good.
  CompileFailures failures_;
  std::uint64_t improved_ = 0;
};

}  // namespace orchid::executor
