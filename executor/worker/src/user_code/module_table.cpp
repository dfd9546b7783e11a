#include "user_code/module_table.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "protocol/crew.h"
#include "protocol/limits.h"

namespace orchid::executor {
namespace {

constexpr char before_entry = '.';

/// Names of any length come from functions.
std::string shown(std::string_view name) { return std::string(name.substr(0, 128)); }

std::optional<std::uint16_t> number_of(const LoadedModule& module, std::string_view entry) {
  const auto found = std::ranges::find(module.names, entry);
  if (found == module.names.end()) return std::nullopt;
  return static_cast<std::uint16_t>(found - module.names.begin());
}

}  // namespace

LoadedModule& ModuleTable::insert(LoadedModule module) {
  if (slots_.size() <= module.slot) slots_.resize(module.slot + 1);
  LoadedModule& placed = slots_[module.slot];
  module.key = crew::module_key(module.digest);
  placed = std::move(module);
  return placed;
}

void ModuleTable::remove(std::uint32_t slot) {
  if (slot < slots_.size()) slots_[slot] = {};
}

const LoadedModule* ModuleTable::find_key(std::uint64_t key) const {
  const auto found = std::ranges::find_if(slots_, [key](const LoadedModule& module) {
    return module.key == key && module.generation != 0;
  });
  return found == slots_.end() ? nullptr : &*found;
}

const LoadedModule* ModuleTable::find_digest(std::string_view digest) const {
  const auto found = std::ranges::find_if(slots_, [digest](const LoadedModule& module) {
    return module.generation != 0 && module.digest == digest;
  });
  return found == slots_.end() ? nullptr : &*found;
}

Result<ModuleTable::Entry> ModuleTable::find_entry(std::string_view name,
                                                   std::uint32_t own_slot) const {
  const std::size_t dot = name.find(before_entry);
  const std::string_view digest = dot == std::string_view::npos ? "" : name.substr(0, dot);
  const std::string_view entry = digest.empty() ? name : name.substr(dot + 1);
  if (digest.empty() && own_slot < slots_.size())
    if (const auto number = number_of(slots_[own_slot], entry))
      return Entry{&slots_[own_slot], *number};
  std::optional<Entry> found;
  for (const LoadedModule& module : slots_) {
    if (!digest.empty() && module.digest != digest) continue;
    const auto number = number_of(module, entry);
    if (!number) continue;
    if (found)
      return fail(ErrorCode::conflict,
                  "several modules of this worker have an entry '" + shown(entry) +
                      "': name it with its module's digest, as sha256:DIGEST.E");
    found = Entry{&module, *number};
  }
  if (found) return *found;
  return fail(
      ErrorCode::not_found,
      "no module that this worker has loaded has an entry '" + shown(name) +
          "': put it into the same module, load its module before the call "
          "(Crew::function, Lease::function), or make it within one (orchid_deploy_module)");
}

}  // namespace orchid::executor
