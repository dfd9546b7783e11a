// needs.h: a request's one alternative, with names made numbers.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "host_classes.h"
#include "placement/request.h"

namespace orchid::placement {

using HostNumber = std::uint32_t;

/// A value. `Names::unknown` is a name that no host has.
struct Needs {
  TenantId tenant;
  std::uint32_t cores = 1;
  ByteCount memory;
  std::uint32_t gpus = 0;
  std::optional<std::uint32_t> model;
  std::optional<std::uint32_t> cluster;
  std::optional<std::uint32_t> architecture;
  std::optional<CoreSet> images;  // numbers of architectures
  std::optional<HostKind> kind;
  CoreSet features;             // numbers of names
  std::string unknown_feature;  // that no host has
  MonotonicTime now;
  MonotonicTime until;  // the grant must last so long
  std::optional<double> watts_at_most;
  bool one_host = false;
  HostNumber host = ~HostNumber{0};        // if `one_host`: that one; Names::unknown: there is none
  const GrantId* data_at = nullptr;        // no other grant; borrowed; null: any
  bool on_client_host = false;             // `host` is the client's
  const WorkerRequest* request = nullptr;  // borrowed: what is looked at host by host
};

class Book;
[[nodiscard]] Needs needs_of(const Book& book, const Request& request, const WorkerShape& shape,
                             MonotonicTime now);

struct Slot;
/// The first reason why the grant has no room for it; `fits` if it has.
[[nodiscard]] Reason misfit(const Book& book, const Slot& slot, const Needs& needs);
/// The same for a grant of a class that will do, and that the free index offers.
[[nodiscard]] Reason room_misfit(const Book& book, const Slot& slot, const Needs& needs);

}  // namespace orchid::placement
