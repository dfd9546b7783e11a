// functions/function_registry.h: the decisions of a deploy and a delete. Plain data: no store, no
// thread, no clock.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "functions/function_table.h"
#include "http/precondition.h"

namespace orchid::gateway {

/// Owned by the control thread.
class FunctionRegistry {
 public:
  struct Limits {
    std::size_t versions_per_function = 16;  // older ones are dropped; their running calls go on
    std::size_t versions = 8'000;            // each takes a descriptor
  };
  [[nodiscard]] bool is_full() const { return table_->version_count() >= limits_.versions; }
  explicit FunctionRegistry(Limits limits)
      : limits_(limits), table_(std::make_shared<const FunctionTable>()) {}

  [[nodiscard]] const std::shared_ptr<const FunctionTable>& table() const { return table_; }

  /// The version that makes a deploy of these bytes needless: the newest one with the same digest.
  /// Errors: `conflict` (the precondition does not hold), `quota`.
  [[nodiscard]] Result<const DeployedVersion*> find_same(uid_t tenant, const std::string& name,
                                                         const std::string& digest,
                                                         const Precondition& precondition) const;
  /// Digests that a new version pushes out.
  [[nodiscard]] std::vector<std::string> replaced_by(uid_t tenant, const std::string& name,
                                                     const std::string& digest) const;
  /// Makes the version the newest of its function.
  void put(uid_t tenant, std::shared_ptr<const FunctionVersion> version, UnixMillis created);
  /// Errors: `not_found`, `conflict`.
  [[nodiscard]] Result<void> check_removal(uid_t tenant, const std::string& name,
                                           const Precondition& precondition) const;
  void remove(uid_t tenant, const std::string& name);

 private:
  [[nodiscard]] Result<void> check(const Function* function, const std::string& name,
                                   const Precondition& precondition) const;
  Limits limits_;
  std::shared_ptr<const FunctionTable> table_;  // shared with the threads that read it
};

/// A manifest as the inspector derived it, made trustworthy: digest and size are ours, names are
/// what names may be. Errors: `module_rejected`.
[[nodiscard]] Result<module::Manifest> check_manifest(module::Manifest manifest,
                                                      const std::string& digest, ByteCount size);

}  // namespace orchid::gateway
