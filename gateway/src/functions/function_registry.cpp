#include "functions/function_registry.h"

#include <algorithm>
#include <ranges>

#include "protocol/digest.h"
#include "protocol/limits.h"

namespace orchid::gateway {

Result<void> FunctionRegistry::check(const Function* function, const std::string& name,
                                     const Precondition& precondition) const {
  if (precondition.if_none_match && function != nullptr)
    return fail(ErrorCode::conflict,
                "the name '" + name +
                    "' is taken: choose another one, or deploy without If-None-Match to make "
                    "a new version of it");
  std::optional<std::string> now;
  if (function != nullptr) now = function->newest().version->digest;
  if (precondition.is_met_by(now)) return {};
  return fail(ErrorCode::conflict, "'" + name + "' is not the version that If-Match names; it is " +
                                       now.value_or("not deployed") +
                                       ": look at it again, then repeat");
}

Result<const DeployedVersion*> FunctionRegistry::find_same(uid_t tenant, const std::string& name,
                                                           const std::string& digest,
                                                           const Precondition& precondition) const {
  const Function* function = table_->find(tenant, name);
  if (auto checked = check(function, name, precondition); !checked)
    return fail(std::move(checked.error()));
  if (function != nullptr && function->newest().version->digest == digest)
    return &function->newest();
  if (is_full())
    return fail(ErrorCode::quota, "there are " + std::to_string(limits_.versions) +
                                      " versions already: delete functions that nobody uses");
  return nullptr;
}

std::vector<std::string> FunctionRegistry::replaced_by(uid_t tenant, const std::string& name,
                                                       const std::string& digest) const {
  std::vector<std::string> replaced;
  const Function* function = table_->find(tenant, name);
  if (function == nullptr) return replaced;
  std::size_t kept = 1;  // the new one
  for (const auto& known : std::views::reverse(function->versions)) {
    if (known.version->digest == digest) continue;
    if (++kept > limits_.versions_per_function) replaced.push_back(known.version->digest);
  }
  return replaced;
}

void FunctionRegistry::put(uid_t tenant, std::shared_ptr<const FunctionVersion> version,
                           UnixMillis created) {
  const std::string name = version->function;
  const std::vector<std::string> replaced = replaced_by(tenant, name, version->digest);
  const Function* present = table_->find(tenant, name);
  Function next =
      present != nullptr ? *present : Function{.name = name, .created = created, .versions = {}};
  std::erase_if(next.versions, [&](const DeployedVersion& v) {
    return v.version->digest == version->digest ||
           std::ranges::find(replaced, v.version->digest) != replaced.end();
  });
  next.versions.push_back({std::move(version), created});
  auto table = std::make_shared<FunctionTable>(*table_);
  table->put(tenant, std::move(next));
  table_ = std::move(table);
}

Result<void> FunctionRegistry::check_removal(uid_t tenant, const std::string& name,
                                             const Precondition& precondition) const {
  const Function* function = table_->find(tenant, name);
  if (function == nullptr)
    return fail(ErrorCode::not_found, "there is no function '" + name + "': see 'orchid list'");
  return check(function, name, precondition);
}

void FunctionRegistry::remove(uid_t tenant, const std::string& name) {
  auto table = std::make_shared<FunctionTable>(*table_);
  table->remove(tenant, name);
  table_ = std::move(table);
}

Result<module::Manifest> check_manifest(module::Manifest manifest, const std::string& digest,
                                        ByteCount size) {
  manifest.digest = digest;
  manifest.size = size;
  if (manifest.entries.empty())
    return fail(ErrorCode::module_rejected,
                "the module has no entry: mark one with ORCHID_ENTRY (see orchid/function.h)");
  if (manifest.entries.size() > limits::entries_per_module)
    return fail(ErrorCode::module_rejected, "the module has more than " +
                                                std::to_string(limits::entries_per_module) +
                                                " entries: split it");
  for (const module::Entry& entry : manifest.entries)
    if (!is_entry_name(entry.name))
      return fail(ErrorCode::module_rejected, "an entry's name is not a C identifier: rename it");
  const auto same = std::ranges::adjacent_find(manifest.entries, {}, &module::Entry::name);
  if (same != manifest.entries.end())
    return fail(ErrorCode::module_rejected, "two entries are called '" + same->name + "'");
  return manifest;
}

}  // namespace orchid::gateway
