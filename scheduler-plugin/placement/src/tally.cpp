#include "tally.h"

#include <algorithm>
#include <array>

namespace orchid::placement {
namespace {

constexpr std::size_t most_examined = 64;

/// Collects one tally.
class Counter {
 public:
  Counter(const Book& book, const Needs& needs, const TallyOptions& options)
      : book_(book), needs_(needs), options_(options) {}

  void add(Reason reason, std::size_t grants) {
    counts_[static_cast<std::size_t>(reason)] += grants;
  }
  /// The first of some grants is an example of the reason, if there is none yet.
  template <typename Each>
  void add(Reason reason, std::size_t grants, const Each& each) {
    add(reason, grants);
    if (grants == 0 || examples_.size() >= options_.most_examples ||
        shown_[static_cast<std::size_t>(reason)])
      return;
    (void)each([&](SlotNumber slot) {
      example(reason, slot);
      return FreeIndex::Visit::stop;
    });
  }
  /// The first of a reason becomes its example.
  void example(Reason reason, SlotNumber slot) {
    if (examples_.size() >= options_.most_examples) return;
    bool& shown = shown_[static_cast<std::size_t>(reason)];
    if (shown) return;
    shown = true;
    examples_.push_back(finding_of(book_, book_.slot(slot), needs_, reason));
  }
  void examine(SlotNumber number) {
    ++examined_;
    Reason reason = misfit(book_, book_.slot(number), needs_);
    if (reason == Reason::fits) reason = Reason::declined_by_policy;
    add(reason, 1);
    example(reason, number);
  }
  [[nodiscard]] bool may_examine() const { return examined_ < most_examined; }

  Tally take() {
    Tally tally{
        .alternative = options_.alternative, .counts = {}, .examples = std::move(examples_)};
    for (std::size_t i = 0; i < counts_.size(); ++i)
      if (counts_[i] > 0) tally.counts.push_back({static_cast<Reason>(i), counts_[i]});
    std::ranges::stable_sort(tally.counts, [](const ReasonCount& left, const ReasonCount& right) {
      return left.grants > right.grants;
    });
    return tally;
  }

 private:
  const Book& book_;
  const Needs& needs_;
  const TallyOptions options_;
  std::array<std::size_t, reason_count> counts_{};
  std::array<bool, reason_count> shown_{};
  std::vector<HostReason> examples_;
  std::size_t examined_ = 0;
};

/// Grants of a class that will do, with so many free GPUs.
void count_level(Counter& counter, const FreeIndex& index, const Needs& needs, ClassNumber number,
                 std::uint32_t gpus) {
  const std::size_t few = index.count(number, gpus, needs.cores);
  counter.add(Reason::too_few_cores, few, [&](const auto& visitor) {
    return index.visit_level(number, gpus, 0, needs.cores - 1, visitor);
  });
  const auto each = [&](const auto& visitor) {
    return index.visit_level(number, gpus, needs.cores, CoreSet::limit, visitor);
  };
  std::size_t left = index.count(number, gpus) - few;
  if (gpus < std::min(needs.gpus, FreeIndex::most_gpus))
    return counter.add(Reason::too_few_gpus, left, each);
  (void)each([&](SlotNumber slot) {
    if (!counter.may_examine()) return FreeIndex::Visit::stop;
    counter.examine(slot);
    --left;
    return FreeIndex::Visit::next;
  });
  counter.add(Reason::not_examined, left);
}

void count_classes(Counter& counter, const Book& book, const Needs& needs) {
  const FreeIndex& index = book.index();
  for (ClassNumber number = 0; number < book.classes().end(); ++number) {
    if (!book.classes().in_use(number)) continue;
    const Reason reason = class_misfit(book.classes().at(number), needs);
    for (std::uint32_t gpus = 0; gpus < index.gpu_levels(number); ++gpus) {
      if (reason == Reason::fits) {
        count_level(counter, index, needs, number, gpus);
        continue;
      }
      counter.add(reason, index.count(number, gpus), [&](const auto& visitor) {
        return index.visit_level(number, gpus, 0, CoreSet::limit, visitor);
      });
    }
  }
}

}  // namespace

HostReason finding_of(const Book& book, const Slot& slot, const Needs& needs, Reason reason) {
  const HostEntry& host = book.host(slot.host);
  HostReason finding{.host = host.description.id,
                     .host_name = host.description.name,
                     .grant = slot.grant.id,
                     .reason = reason};
  switch (reason) {
    case Reason::fits:
    case Reason::declined_by_policy:
    case Reason::too_few_cores:
      finding.has = slot.free.size();
      finding.of = slot.usable.size();
      finding.wanted = needs.cores;
      break;
    case Reason::too_few_gpus:
      finding.has = slot.free_gpus.size();
      finding.of = slot.usable_gpus.size();
      finding.wanted = needs.gpus;
      break;
    case Reason::too_little_memory:
      finding.has = slot.memory_free.value;
      finding.of = slot.grant.memory.value;
      finding.wanted = needs.memory.value;
      break;
    case Reason::ends_too_soon:
      finding.has = static_cast<std::uint64_t>(std::max<std::int64_t>(
          0, std::chrono::duration_cast<std::chrono::milliseconds>(slot.grant.until - needs.now)
                 .count()));
      finding.wanted = static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::milliseconds>(needs.until - needs.now).count());
      break;
    case Reason::too_much_power:
      finding.has = static_cast<std::uint64_t>(host.expected_watts().value_or(0));
      finding.of = static_cast<std::uint64_t>(std::min(
          needs.watts_at_most.value_or(1e9), host.description.watts_at_most.value_or(1e9)));
      break;
    case Reason::wrong_architecture:
      finding.subject = host.description.architecture;
      break;
    case Reason::no_image:
      finding.subject = no_image_text({host.description.architecture}, needs.request->images);
      break;
    case Reason::wrong_kind:
      finding.subject = to_string(host.description.kind);
      break;
    default:
      break;
  }
  return finding;
}

std::vector<HostReason> all_findings(const Book& book, const Needs& needs) {
  std::vector<HostReason> findings;
  const Reason elsewhere = needs.data_at != nullptr ? Reason::data_elsewhere : Reason::other_host;
  for (HostNumber number = 0; number < book.hosts().size(); ++number) {
    const HostEntry& host = book.host(number);
    if (!host.used) continue;
    const bool may_be_it = !needs.one_host || number == needs.host;
    if (host.slots.empty())
      findings.push_back({.host = host.description.id,
                          .host_name = host.description.name,
                          .reason = may_be_it ? Reason::no_grant : elsewhere});
    for (const SlotNumber own : host.slots) {
      const Slot& slot = book.slot(own);
      findings.push_back(finding_of(book, slot, needs, misfit(book, slot, needs)));
    }
  }
  return findings;
}

namespace {

std::size_t grants_of(const Book& book) {
  std::size_t all = book.index().size();
  for (std::size_t i = 0; i < reason_count; ++i) all += book.unavailable(static_cast<Reason>(i));
  return all;
}

Tally counted(const Book& book, const Needs& needs, const TallyOptions& options) {
  Counter counter(book, needs, options);
  if (needs.one_host) {
    std::size_t here = 0;
    if (needs.host != Names::unknown) {
      for (const SlotNumber slot : book.host(needs.host).slots) counter.examine(slot);
      here = book.host(needs.host).slots.size();
      if (here == 0) counter.add(Reason::no_grant, 1);
    }
    counter.add(needs.data_at != nullptr ? Reason::data_elsewhere : Reason::other_host,
                grants_of(book) - here);
    return counter.take();
  }
  counter.add(Reason::no_grant, book.hosts_without_grant());
  for (const Reason reason : {Reason::host_lost, Reason::drained, Reason::job_not_running,
                              Reason::grant_draining, Reason::grant_silent})
    counter.add(reason, book.unavailable(reason));
  count_classes(counter, book, needs);
  return counter.take();
}

}  // namespace

Tally tally_of(const Book& book, const Needs& needs, const TallyOptions& options) {
  Tally tally = counted(book, needs, options);
  if (options.most_examples == 0 || grants_of(book) + book.hosts_without_grant() > few_grants)
    return tally;
  tally.examples = all_findings(book, needs);
  for (HostReason& finding : tally.examples)  // there was room, and nobody took it
    if (finding.reason == Reason::fits) finding.reason = Reason::declined_by_policy;
  return tally;
}

}  // namespace orchid::placement
