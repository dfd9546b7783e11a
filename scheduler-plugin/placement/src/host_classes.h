// host_classes.h: grants that differ in nothing that a request can ask for except in how much they
// have, and when they end. Clusters have few classes, so that a search looks at classes, not hosts.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "placement/grant.h"
#include "placement/reason.h"

namespace orchid::placement {

/// Small numbers for names that are compared often.
class Names {
 public:
  static constexpr std::uint32_t unknown = ~std::uint32_t{0};
  [[nodiscard]] std::uint32_t number_of(const std::string& name);
  [[nodiscard]] std::uint32_t find(const std::string& name) const;
  [[nodiscard]] std::size_t size() const { return numbers_.size(); }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

struct HostClass {
  std::uint32_t cluster = 0;
  std::uint32_t architecture = 0;
  HostKind kind = HostKind::cpu;
  CoreSet features;               // numbers of names
  CoreSet models;                 // of its GPUs
  std::optional<TenantId> owner;  // of grants that are for their owner only
  bool own_host_only = false;     // for clients of the grant's host only
  friend bool operator==(const HostClass&, const HostClass&) = default;
};

struct Needs;
/// The first reason why no grant of the class will do; `fits` if some may.
[[nodiscard]] Reason class_misfit(const HostClass& host_class, const Needs& needs);

using ClassNumber = std::uint32_t;

class HostClasses {
 public:
  /// One more grant is of this class.
  [[nodiscard]] ClassNumber enter(const HostClass& host_class);
  void leave(ClassNumber number);
  [[nodiscard]] const HostClass& at(ClassNumber number) const { return entries_[number].value; }
  /// Those that a tenant may use: everybody's, and its own.
  [[nodiscard]] const std::vector<ClassNumber>& shared() const { return shared_; }
  [[nodiscard]] const std::vector<ClassNumber>& owned_by(TenantId tenant) const;
  /// One past the highest number in use.
  [[nodiscard]] std::size_t end() const { return entries_.size(); }
  [[nodiscard]] bool in_use(ClassNumber number) const { return entries_[number].grants > 0; }
  [[nodiscard]] std::size_t grants(ClassNumber number) const { return entries_[number].grants; }

 private:
  struct Entry {
    HostClass value;
    std::size_t grants = 0;
    std::string key;
  };
  std::vector<ClassNumber>& list_of(const HostClass& host_class);

  std::vector<Entry> entries_;
  std::vector<ClassNumber> unused_;
  std::map<std::string, ClassNumber> by_key_;
  std::vector<ClassNumber> shared_;
  std::unordered_map<TenantId, std::vector<ClassNumber>> owned_;
};

}  // namespace orchid::placement
