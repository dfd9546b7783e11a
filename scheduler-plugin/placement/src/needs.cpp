#include "needs.h"

#include <algorithm>

#include "book.h"

namespace orchid::placement {
namespace {

/// Of those names that some host has.
CoreSet numbers_of(const Names& names, const std::vector<std::string>& wanted) {
  CoreSet numbers;
  for (const std::string& name : wanted)
    if (const std::uint32_t number = names.find(name); number != Names::unknown)
      numbers.insert(number);
  return numbers;
}

}  // namespace

Needs needs_of(const Book& book, const Request& request, const WorkerShape& shape,
               MonotonicTime now) {
  const WorkerRequest& wanted = request.worker;
  Needs needs{.tenant = request.tenant,
              .cores = shape.cores,
              .memory = shape.memory,
              .gpus = shape.gpus,
              .kind = wanted.kind,
              .now = now,
              .watts_at_most = wanted.watts_at_most,
              .one_host = !wanted.host.empty() || wanted.client_host_only ||
                          !wanted.data_at.value().empty(),
              .request = &wanted};
  // A grant whose end is now has ended, also for a request that does not say how long it needs.
  const auto lifetime =
      std::max<std::chrono::nanoseconds>(wanted.lifetime, std::chrono::nanoseconds(1));
  needs.until = no_end - now <= lifetime ? no_end : now + lifetime;
  if (!shape.gpu_model.empty() && shape.gpus > 0) needs.model = book.models().find(shape.gpu_model);
  if (!wanted.cluster.empty()) needs.cluster = book.clusters().find(wanted.cluster);
  if (!wanted.architecture.empty())
    needs.architecture = book.architectures().find(wanted.architecture);
  if (!wanted.images.empty()) needs.images = numbers_of(book.architectures(), wanted.images);
  for (const std::string& feature : wanted.features) {
    const std::uint32_t number = book.features().find(feature);
    if (number == Names::unknown)
      needs.unknown_feature = feature;
    else
      needs.features.insert(number);
  }
  if (!wanted.host.empty()) needs.host = book.host_named(wanted.host).value_or(Names::unknown);
  if (wanted.client_host_only) {
    const HostNumber client = book.find_host(wanted.client_host).value_or(Names::unknown);
    needs.host = wanted.host.empty() || needs.host == client ? client : Names::unknown;
  }
  if (!wanted.data_at.value().empty()) {
    needs.data_at = &wanted.data_at;
    const auto slot = book.find_grant(wanted.data_at);
    const HostNumber holder = slot ? book.slot(*slot).host : Names::unknown;
    const bool any_host = wanted.host.empty() && !wanted.client_host_only;
    needs.host = any_host || needs.host == holder ? holder : Names::unknown;
  }
  needs.on_client_host = needs.one_host && book.find_host(wanted.client_host) == needs.host;
  return needs;
}

namespace {

Reason power_misfit(const HostEntry& host, const Needs& needs) {
  const std::optional<double> cap = host.description.watts_at_most;
  if (!needs.watts_at_most && !cap) return Reason::fits;
  const std::optional<double> expected = host.expected_watts();
  // A cap on a host that tells nothing cannot be kept; a request that insists cannot be met.
  if (!expected) return needs.watts_at_most ? Reason::power_unknown : Reason::fits;
  const double then = *expected + needs.cores * host.description.watts_per_core;
  const bool within =
      (!cap || then <= *cap) && (!needs.watts_at_most || then <= *needs.watts_at_most);
  return within ? Reason::fits : Reason::too_much_power;
}

}  // namespace

Reason room_misfit(const Book& book, const Slot& slot, const Needs& needs) {
  if (slot.free.size() < needs.cores) return Reason::too_few_cores;
  if (needs.gpus > 0) {
    if (slot.free_gpus.size() < needs.gpus) return Reason::too_few_gpus;
    if (needs.model && book.gpus_of_model(slot, *needs.model).size() < needs.gpus)
      return Reason::wrong_gpu_model;
  }
  const HostEntry& host = book.host(slot.host);
  if (const Reason reason = name_misfit(host.description.name, *needs.request);
      reason != Reason::fits)
    return reason;
  if (slot.grant.until < needs.until) return Reason::ends_too_soon;
  if (slot.memory_free < needs.memory) return Reason::too_little_memory;
  return power_misfit(host, needs);
}

Reason misfit(const Book& book, const Slot& slot, const Needs& needs) {
  if (slot.unavailable != Reason::fits) return slot.unavailable;
  if (needs.data_at != nullptr && *needs.data_at != slot.grant.id) return Reason::data_elsewhere;
  if (needs.one_host && needs.host != slot.host) return Reason::other_host;
  if (const Reason reason = class_misfit(book.classes().at(slot.host_class), needs);
      reason != Reason::fits)
    return reason;
  return room_misfit(book, slot, needs);
}

}  // namespace orchid::placement
