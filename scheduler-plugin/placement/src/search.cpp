#include "search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orchid::placement {
namespace {

// What the index cannot tell (a little too little memory, a little too short, power) is found out
// one by one. After so many of a group in vain the search goes on with the next; only when nothing
// is found at all are those looked at that were passed over.
constexpr std::uint32_t misfits_in_group = 8;
constexpr std::uint32_t misfits_by_watts = 64;
constexpr std::uint32_t any_number = std::numeric_limits<std::uint32_t>::max();

}  // namespace

Search::Search(const Options& options)
    : options_(options),
      order_(options.policy.order()),
      wanted_{.gpus = options.needs.gpus,
              .cores = options.needs.cores,
              .memory = memory_level(options.needs.memory),
              .until = options.needs.until},
      wanted_candidates_(std::clamp(options.policy.candidates(), 1U, Policy::most_candidates)) {
  const HostClasses& classes = options.book.classes();
  for (const auto* list : {&classes.shared(), &classes.owned_by(options.needs.tenant)})
    for (const ClassNumber number : *list)
      if (class_misfit(classes.at(number), options.needs) == Reason::fits)
        classes_.push_back(number);
}

std::optional<SlotNumber> Search::run() {
  if (options_.needs.one_host) {
    if (options_.needs.host != Names::unknown) (void)offer_host(options_.needs.host, std::nullopt);
    return best_;
  }
  if (!options_.book.index().may_have(classes_, wanted_)) return std::nullopt;
  if (order_ == Order::nearest_first && offer_near_hosts()) return best_;
  if (order_ == Order::least_watts) {
    visit_by_watts();
    if (best_) return best_;
  }
  visit_all(misfits_in_group);
  if (!best_ && skipped_) visit_all(any_number);
  return best_;
}

void Search::visit_all(std::uint32_t misfits_in_group) {
  misfits_ = 0;
  (void)options_.book.index().visit(
      classes_, wanted_, order_ == Order::most_free,
      [&](SlotNumber slot) { return offer_listed(slot, misfits_in_group); });
}

void Search::visit_by_watts() {
  std::uint32_t misfits = 0;
  (void)options_.book.index().visit_by_watts([&](SlotNumber number) {
    if (misfit(options_.book, options_.book.slot(number), options_.needs) == Reason::fits &&
        offer(number, std::nullopt))
      return FreeIndex::Visit::stop;
    return ++misfits < misfits_by_watts ? FreeIndex::Visit::next : FreeIndex::Visit::stop;
  });
}

FreeIndex::Visit Search::offer_listed(SlotNumber number, std::uint32_t most_misfits) {
  if (room_misfit(options_.book, options_.book.slot(number), options_.needs) == Reason::fits) {
    const std::uint32_t before = candidates_;
    if (offer(number, std::nullopt)) return FreeIndex::Visit::stop;
    if (candidates_ > before) {
      misfits_ = 0;
      return FreeIndex::Visit::next;
    }
  }
  if (++misfits_ < most_misfits) return FreeIndex::Visit::next;
  misfits_ = 0;
  skipped_ = true;
  return FreeIndex::Visit::leave_group;
}

/// The grants of one host, in the same order as those of all hosts.
bool Search::offer_host(HostNumber number, std::optional<std::uint32_t> near_rank) {
  const Book& book = options_.book;
  struct Fitting {
    std::uint32_t gpus;
    std::int64_t cores;
    SlotNumber slot;
    auto operator<=>(const Fitting&) const = default;
  };
  std::vector<Fitting> fitting;
  for (const SlotNumber at : book.host(number).slots) {
    const Slot& slot = book.slot(at);
    if (misfit(book, slot, options_.needs) != Reason::fits) continue;
    const std::int64_t cores = slot.free.size();
    fitting.push_back({slot.free_gpus.size(), order_ == Order::most_free ? -cores : cores, at});
  }
  std::ranges::sort(fitting);
  return std::ranges::any_of(fitting,
                             [&](const Fitting& one) { return offer(one.slot, near_rank); });
}

/// True: they are enough. Otherwise the best of them still takes part.
bool Search::offer_near_hosts() {
  const WorkerRequest& wanted = options_.request.worker;
  std::uint32_t rank = 0;
  const auto offer_next = [&](const HostId& id) {
    const auto host = options_.book.find_host(id);
    const bool is_enough = host && offer_host(*host, rank);
    ++rank;
    return is_enough;
  };
  if (!wanted.client_host.value().empty() && offer_next(wanted.client_host)) return true;
  return std::ranges::any_of(wanted.near, offer_next);
}

Candidate Search::candidate_of(const Slot& slot, std::optional<std::uint32_t> near_rank) const {
  const HostEntry& host = options_.book.host(slot.host);
  const auto here = options_.placed.find(slot.host);
  Candidate candidate{.host = host.description,
                      .grant = slot.grant,
                      .cores_free = slot.free.size(),
                      .gpus_free = slot.free_gpus.size(),
                      .memory_free = slot.memory_free,
                      .watts = host.expected_watts(),
                      .remaining = {},
                      .workers_here = here == options_.placed.end() ? 0 : here->second,
                      .near_rank = near_rank};
  if (slot.grant.until != no_end)
    candidate.remaining = std::chrono::duration_cast<std::chrono::milliseconds>(slot.grant.until -
                                                                                options_.needs.now);
  return candidate;
}

/// It fits. True: enough were compared.
bool Search::offer(SlotNumber number, std::optional<std::uint32_t> near_rank) {
  const auto score = options_.policy.score(options_.request, options_.shape,
                                           candidate_of(options_.book.slot(number), near_rank));
  if (!score || std::isnan(*score)) return false;
  ++candidates_;
  if (!best_ || *score < best_score_) {
    best_ = number;
    best_score_ = *score;
  }
  return candidates_ >= wanted_candidates_;
}

}  // namespace orchid::placement
