#include "host_classes.h"

#include <fmt/format.h>

#include <algorithm>

#include "needs.h"

namespace orchid::placement {

std::uint32_t Names::number_of(const std::string& name) {
  return numbers_.try_emplace(name, static_cast<std::uint32_t>(numbers_.size())).first->second;
}

std::uint32_t Names::find(const std::string& name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? unknown : found->second;
}

Reason class_misfit(const HostClass& host_class, const Needs& needs) {
  if (host_class.owner && *host_class.owner != needs.tenant) return Reason::owner_only;
  if (host_class.own_host_only && !needs.on_client_host) return Reason::unreachable;
  if (needs.cluster && *needs.cluster != host_class.cluster) return Reason::other_cluster;
  if (needs.architecture && *needs.architecture != host_class.architecture)
    return Reason::wrong_architecture;
  if (needs.images && !needs.images->contains(host_class.architecture)) return Reason::no_image;
  if (needs.kind && *needs.kind != host_class.kind) return Reason::wrong_kind;
  if (!needs.unknown_feature.empty() || !host_class.features.includes(needs.features))
    return Reason::lacks_feature;
  if (needs.model && host_class.models.empty()) return Reason::too_few_gpus;
  if (needs.model && (*needs.model == Names::unknown || !host_class.models.contains(*needs.model)))
    return Reason::wrong_gpu_model;
  return Reason::fits;
}

namespace {

std::string key_of(const HostClass& host_class) {
  return fmt::format("{} {} {} {}; {}; {}{}", host_class.cluster, host_class.architecture,
                     static_cast<int>(host_class.kind), to_string(host_class.features),
                     to_string(host_class.models),
                     host_class.owner ? std::to_string(host_class.owner->value()) : "",
                     host_class.own_host_only ? "; own host" : "");
}

}  // namespace

std::vector<ClassNumber>& HostClasses::list_of(const HostClass& host_class) {
  return host_class.owner ? owned_[*host_class.owner] : shared_;
}

ClassNumber HostClasses::enter(const HostClass& host_class) {
  std::string key = key_of(host_class);
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    ++entries_[found->second].grants;
    return found->second;
  }
  if (unused_.empty()) {
    unused_.push_back(static_cast<ClassNumber>(entries_.size()));
    entries_.emplace_back();
  }
  const ClassNumber number = unused_.back();
  unused_.pop_back();
  by_key_.emplace(key, number);
  entries_[number] = {.value = host_class, .grants = 1, .key = std::move(key)};
  list_of(host_class).push_back(number);
  return number;
}

void HostClasses::leave(ClassNumber number) {
  Entry& entry = entries_[number];
  if (--entry.grants > 0) return;
  by_key_.erase(entry.key);
  std::vector<ClassNumber>& list = list_of(entry.value);
  std::erase(list, number);
  if (entry.value.owner && list.empty()) owned_.erase(*entry.value.owner);
  unused_.push_back(number);
}

const std::vector<ClassNumber>& HostClasses::owned_by(TenantId tenant) const {
  static const std::vector<ClassNumber> none;
  const auto found = owned_.find(tenant);
  return found == owned_.end() ? none : found->second;
}

}  // namespace orchid::placement
