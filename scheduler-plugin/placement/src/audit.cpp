// audit.cpp: the Book counted again from its leases, grants and allocations, by plain loops that
// share nothing with what keeps the counts.
#include <fmt/format.h>

#include "book.h"

namespace orchid::placement {
namespace {

struct Counted {
  CoreSet leased;
  CoreSet leased_gpus;
};

std::optional<std::string> count_leases(const Book& book, std::vector<Counted>& hosts,
                                        std::vector<std::uint64_t>& placed) {
  for (const auto& [id, lease] : book.leases()) {
    if (lease.workers.empty()) return fmt::format("lease {} has no worker", id.value());
    for (const WorkerEntry& worker : lease.workers) {
      const Slot& slot = book.slot(worker.slot);
      if (!slot.used) return fmt::format("lease {} is on a grant that is gone", id.value());
      Counted& counted = hosts[slot.host];
      if (counted.leased.intersects(worker.cores))
        return fmt::format("lease {} has a core that another has", id.value());
      if (counted.leased_gpus.intersects(worker.gpus))
        return fmt::format("lease {} has a GPU that another has", id.value());
      counted.leased |= worker.cores;
      counted.leased_gpus |= worker.gpus;
      placed[worker.slot] += worker.memory.value;
      for (const std::uint32_t core : worker.cores.numbers()) {
        if (!slot.grant.cores.contains(core))
          return fmt::format("lease {} has core {}, which is not granted", id.value(), core);
        for (const JobAllocation& job : book.host(slot.host).jobs)
          if (slot.grant.job != job.job && job.cores.contains(core))
            return fmt::format("lease {} has core {} of job {}", id.value(), core, job.job.value());
      }
    }
  }
  return std::nullopt;
}

CoreSet usable_of(const HostEntry& host, const Slot& slot) {
  CoreSet usable;
  for (const Core& core : host.description.cores) {
    bool free = slot.grant.cores.contains(core.number);
    for (const JobAllocation& job : host.jobs)
      if (slot.grant.job != job.job && job.cores.contains(core.number)) free = false;
    if (free) usable.insert(core.number);
  }
  return usable;
}

}  // namespace

std::optional<std::string> Book::audit() const {
  std::vector<Counted> counted(hosts_.size());
  std::vector<std::uint64_t> placed(slots_.size());
  if (auto wrong = count_leases(*this, counted, placed)) return wrong;
  std::size_t without_grant = 0;
  for (HostNumber number = 0; number < hosts_.size(); ++number) {
    const HostEntry& host = hosts_[number];
    if (host.used && host.slots.empty()) ++without_grant;
    if (counted[number].leased.intersects(host.kept_back) ||
        counted[number].leased_gpus.intersects(host.kept_back_gpus))
      return fmt::format("host {}: a lease has what is kept back", host.description.name);
    counted[number].leased |= host.kept_back;
    counted[number].leased_gpus |= host.kept_back_gpus;
    if (host.leased != counted[number].leased || host.leased_gpus != counted[number].leased_gpus)
      return fmt::format("host {}: leased cores {} instead of {}", host.description.name,
                         to_string(host.leased), to_string(counted[number].leased));
  }
  if (without_grant != hosts_without_grant_) return "hosts without a grant are miscounted";
  std::size_t indexed = 0;
  std::array<std::size_t, reason_count> unavailable{};
  for (SlotNumber number = 0; number < slots_.size(); ++number) {
    const Slot& slot = slots_[number];
    const auto at = index_.find(number);
    if (!slot.used) {
      if (at) return "the index has a grant that is gone";
      continue;
    }
    const HostEntry& host = hosts_[slot.host];
    if (slot.placed.value != placed[number] || slot.placed > slot.grant.memory)
      return fmt::format("grant {}: memory {} instead of {}", slot.grant.id.value(),
                         slot.placed.value, placed[number]);
    const CoreSet free = usable_of(host, slot) - counted[slot.host].leased;
    if (slot.free != free)
      return fmt::format("grant {}: free cores {} instead of {}", slot.grant.id.value(),
                         to_string(slot.free), to_string(free));
    const Reason reason = availability(host, slot);
    if (reason != slot.unavailable || (reason == Reason::fits) != at.has_value())
      return fmt::format("grant {}: its availability is stale", slot.grant.id.value());
    if (reason != Reason::fits) ++unavailable[static_cast<std::size_t>(reason)];
    if (!at) continue;
    ++indexed;
    if (*at != position_of(slot))
      return fmt::format("grant {}: the index has it elsewhere", slot.grant.id.value());
  }
  if (unavailable != unavailable_) return "grants that get no work are miscounted";
  return index_.audit(indexed);
}

}  // namespace orchid::placement
