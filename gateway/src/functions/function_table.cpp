#include "functions/function_table.h"

#include "protocol/digest.h"

namespace orchid::gateway {
namespace {

constexpr std::string_view digest_prefix = "sha256:";

std::string entry_names(const module::Manifest& manifest) {
  std::string names;
  for (const module::Entry& entry : manifest.entries) {
    if (!names.empty()) names += ", ";
    names += entry.name;
  }
  return names;
}

}  // namespace

const Function* FunctionTable::find(uid_t tenant, std::string_view name) const {
  const auto found = functions_.find(KeyView{tenant, name});
  return found == functions_.end() ? nullptr : found->second.get();
}

std::vector<const Function*> FunctionTable::of_tenant(uid_t tenant) const {
  std::vector<const Function*> functions;
  for (auto at = functions_.lower_bound(KeyView{tenant, ""});
       at != functions_.end() && at->first.tenant == tenant; ++at)
    functions.push_back(at->second.get());
  return functions;
}

Result<const DeployedVersion*> FunctionTable::find_version(uid_t tenant, std::string_view name,
                                                           std::string_view prefix) const {
  const Function* function = find(tenant, name);
  if (function == nullptr)
    return fail(ErrorCode::not_found, "there is no function '" + std::string(name) +
                                          "': deploy it first, or see 'orchid list'");
  if (prefix.empty()) return &function->newest();
  const DeployedVersion* match = nullptr;
  for (const DeployedVersion& version : function->versions) {
    if (!std::string_view(version.version->digest).substr(digest_prefix.size()).starts_with(prefix))
      continue;
    if (match != nullptr)
      return fail(ErrorCode::bad_request, "several versions of '" + std::string(name) +
                                              "' begin with " + std::string(prefix) +
                                              ": write more digits");
    match = &version;
  }
  if (match == nullptr)
    return fail(ErrorCode::not_found,
                "'" + std::string(name) + "' has no version " + std::string(prefix) +
                    ": the newest is " +
                    std::string(short_digest(function->newest().version->digest)));
  return match;
}

Result<const DeployedVersion*> FunctionTable::find_digest(uid_t tenant,
                                                          std::string_view prefix) const {
  const DeployedVersion* match = nullptr;
  for (const Function* function : of_tenant(tenant))
    for (const DeployedVersion& version : function->versions) {
      const std::string& digest = version.version->digest;
      if (!digest.starts_with(prefix) || (match != nullptr && match->version->digest == digest))
        continue;
      if (match != nullptr)
        return fail(ErrorCode::bad_request, "several modules' digests begin with " +
                                                std::string(prefix) + ": write more digits");
      match = &version;
    }
  if (match == nullptr)
    return fail(ErrorCode::not_found,
                "no deployed function has the module " + std::string(prefix) + ": deploy it first");
  return match;
}

Result<ResolvedEntry> FunctionTable::resolve(uid_t tenant,
                                             const FunctionReference& reference) const {
  auto deployed = find_version(tenant, reference.function, reference.version_prefix);
  if (!deployed) return fail(std::move(deployed.error()));
  const std::shared_ptr<const FunctionVersion>& version = (*deployed)->version;
  const module::Manifest& manifest = version->manifest;
  if (reference.entry.empty()) {
    if (manifest.entries.size() == 1) return ResolvedEntry{version, 0};
    return fail(ErrorCode::bad_request, "'" + reference.function + "' has " +
                                            std::to_string(manifest.entries.size()) +
                                            " entries: write " + reference.function +
                                            ".ENTRY with one of " + entry_names(manifest));
  }
  const auto entry = manifest.entry_index(reference.entry);
  if (!entry)
    return fail(ErrorCode::not_found, "'" + reference.function + "' has no entry '" +
                                          reference.entry + "': it has " + entry_names(manifest));
  return ResolvedEntry{version, *entry};
}

std::size_t FunctionTable::version_count() const {
  std::size_t count = 0;
  for (const auto& [key, function] : functions_) count += function->versions.size();
  return count;
}

void FunctionTable::put(uid_t tenant, Function function) {
  std::string name = function.name;
  functions_.insert_or_assign(Key{tenant, std::move(name)},
                              std::make_shared<const Function>(std::move(function)));
}

void FunctionTable::remove(uid_t tenant, std::string_view name) {
  const auto found = functions_.find(KeyView{tenant, name});
  if (found != functions_.end()) functions_.erase(found);
}

}  // namespace orchid::gateway
