// agent/code_service.h: from a module's digest to an object for this host: memory, disk, or the
// compiler, each module once.
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

#include "compiler_process.h"
#include "object_store.h"
#include "protocol/lane_messages.h"

namespace orchid::executor {

/// Owned by the agent's thread.
class CodeService {
 public:
  struct Object {
    std::shared_ptr<const UniqueFd>
        file;  // sealed; shared by the cache and those who still load it
    CodeSource source = CodeSource::memory;
    std::chrono::microseconds compile{0};
  };
  using Done = std::function<void(Result<Object>)>;
  static constexpr std::size_t objects_in_memory = 256;

  /// All outlive it.
  CodeService(boost::asio::io_context& io, CompilerProcess& compiler, ObjectStore& store)
      : io_(io), compiler_(compiler), store_(store) {}

  /// The object of that module, if it is here or being made: then `done` is called, now or later,
  /// and the answer is true.
  [[nodiscard]] bool find(const std::string& digest, const Done& done);
  /// Compiles the module. Errors through `done`: `bad_request` when the bytes do not have that
  /// digest, `module_rejected`.
  void compile(const std::string& digest, UniqueFd module, Done done);

 private:
  [[nodiscard]] bool find_in_memory(const std::string& digest, const Done& done);
  [[nodiscard]] bool find_on_disk(const std::string& digest, const Done& done);
  void compiled(const std::string& digest, Result<CompilerProcess::Compiled> result);
  void keep(const std::string& digest, const UniqueFd& file);
  /// `digest` is not in memory yet.
  void remember(const std::string& digest, std::shared_ptr<const UniqueFd> file);
  [[nodiscard]] std::optional<ObjectKey> key_of(const std::string& digest) const;

  struct Cached {
    std::shared_ptr<const UniqueFd> file;
    std::list<std::string>::iterator place;
  };
  boost::asio::io_context& io_;
  CompilerProcess& compiler_;
  ObjectStore& store_;
  std::unordered_map<std::string, Cached> memory_;
  std::list<std::string> recency_;                              // of memory_, most recent first
  std::unordered_map<std::string, std::vector<Done>> waiting_;  // single flight
};

}  // namespace orchid::executor
