#include "tally.h"

#include <algorithm>
#include <array>

namespace orchid::placement {
namespace {

constexpr std::size_t most_examined = 64;
constexpr std::size_t most_examples = 8;

/// Collects one tally.
class Counter {
 public:
  Counter(const Book& book, const Needs& needs) : book_(book), needs_(needs) {}

  void add(Reason reason, std::size_t grants) {
    counts_[static_cast<std::size_t>(reason)] += grants;
  }
  /// The first of a reason becomes its example.
  void example(Reason reason, SlotNumber slot) {
    if (examples_.size() >= most_examples) return;
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

  Tally take(std::uint32_t alternative) {
    Tally tally{.alternative = alternative, .counts = {}, .examples = std::move(examples_)};
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
  std::array<std::size_t, reason_count> counts_{};
  std::array<bool, reason_count> shown_{};
  std::vector<HostReason> examples_;
  std::size_t examined_ = 0;
};

void count_cell(Counter& counter, const Needs& needs, std::uint32_t gpus, std::uint32_t cores,
                const FreeIndex::Cell& cell) {
  const Reason reason = cores < needs.cores                                 ? Reason::too_few_cores
                        : gpus < std::min(needs.gpus, FreeIndex::most_gpus) ? Reason::too_few_gpus
                                                                            : Reason::fits;
  if (reason != Reason::fits) {
    counter.add(reason, cell.size());
    counter.example(reason, cell.begin()->slot);
    return;
  }
  std::size_t left = cell.size();
  for (const FreeIndex::Entry& entry : cell) {
    if (!counter.may_examine()) break;
    counter.examine(entry.slot);
    --left;
  }
  counter.add(Reason::not_examined, left);
}

void count_classes(Counter& counter, const Book& book, const Needs& needs) {
  for (ClassNumber number = 0; number < book.classes().end(); ++number) {
    if (!book.classes().in_use(number)) continue;
    const Reason reason = class_misfit(book.classes().at(number), needs);
    book.index().for_each_cell(
        number, [&](std::uint32_t gpus, std::uint32_t cores, const FreeIndex::Cell& cell) {
          if (reason == Reason::fits) return count_cell(counter, needs, gpus, cores, cell);
          counter.add(reason, cell.size());
          counter.example(reason, cell.begin()->slot);
        });
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
    case Reason::wrong_kind:
      finding.subject = to_string(host.description.kind);
      break;
    default:
      break;
  }
  return finding;
}

Tally tally_of(const Book& book, std::uint32_t alternative, const Needs& needs) {
  Counter counter(book, needs);
  if (needs.one_host) {
    std::size_t here = 0;
    if (needs.host != Names::unknown) {
      for (const SlotNumber slot : book.host(needs.host).slots) counter.examine(slot);
      here = book.host(needs.host).slots.size();
      if (here == 0) counter.add(Reason::no_grant, 1);
    }
    std::size_t all = book.index().size();
    for (std::size_t i = 0; i < reason_count; ++i) all += book.unavailable(static_cast<Reason>(i));
    counter.add(Reason::other_host, all - here);
    return counter.take(alternative);
  }
  counter.add(Reason::no_grant, book.hosts_without_grant());
  for (const Reason reason : {Reason::host_lost, Reason::drained, Reason::job_not_running})
    counter.add(reason, book.unavailable(reason));
  count_classes(counter, book, needs);
  return counter.take(alternative);
}

}  // namespace orchid::placement
