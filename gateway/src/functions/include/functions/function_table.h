// functions/function_table.h: what is deployed, as of one moment.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calls/call.h"
#include "foundation/result.h"
#include "protocol/names.h"
#include "store/records.h"

namespace orchid::gateway {

struct DeployedVersion {
  std::shared_ptr<const FunctionVersion> version;  // shared with the calls that run it
  UnixMillis created = 0;
};

struct Function {
  std::string name;
  UnixMillis created = 0;
  std::vector<DeployedVersion> versions;  // the newest last; never empty
  [[nodiscard]] const DeployedVersion& newest() const { return versions.back(); }
};

/// What a reference names.
struct ResolvedEntry {
  std::shared_ptr<const FunctionVersion> version;
  std::uint16_t entry = 0;
};

/// Immutable once it is published, so that every thread may read it.
class FunctionTable {
 public:
  [[nodiscard]] const Function* find(uid_t tenant, std::string_view name) const;
  /// A tenant's functions by name.
  [[nodiscard]] std::vector<const Function*> of_tenant(uid_t tenant) const;
  /// Errors: `not_found` (function, version or entry), `bad_request` (several entries or versions
  /// fit), with the choices.
  [[nodiscard]] Result<ResolvedEntry> resolve(uid_t tenant,
                                              const FunctionReference& reference) const;
  /// Errors: `not_found`, `bad_request`. An empty prefix is the newest.
  [[nodiscard]] Result<const DeployedVersion*> find_version(uid_t tenant, std::string_view function,
                                                            std::string_view prefix) const;
  /// Of whichever function has that version. `prefix`: "sha256:" and at least 16 digits. Errors:
  /// `not_found`, `bad_request` (several modules' digests begin so).
  [[nodiscard]] Result<const DeployedVersion*> find_digest(uid_t tenant,
                                                           std::string_view prefix) const;
  [[nodiscard]] std::size_t function_count() const { return functions_.size(); }
  [[nodiscard]] std::size_t version_count() const;

  // For the registry, which makes the next table from a copy.
  void put(uid_t tenant, Function function);
  void remove(uid_t tenant, std::string_view name);

 private:
  struct Key {
    uid_t tenant;
    std::string name;
  };
  struct KeyView {
    uid_t tenant;
    std::string_view name;
  };
  struct Less {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return std::pair(a.tenant, std::string_view(a.name)) <
             std::pair(b.tenant, std::string_view(b.name));
    }
  };
  // Tables share the functions that a change left as they were.
  std::map<Key, std::shared_ptr<const Function>, Less> functions_;
};

}  // namespace orchid::gateway
