#include "site/slot_book.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace orchid::site {

SlotBook::SlotBook(std::vector<std::optional<SlotUse>> before) {
  for (std::optional<SlotUse>& use : before) slots_.push_back({.last = use});
}

std::optional<SlotBook::Taken> SlotBook::take(const SlotUse& use) {
  Slot* best = nullptr;
  const auto is_clean = [&](const Slot& slot) { return slot.last && slot.last->fits(use); };
  // The one of the same use that is warmest; else one that was never used; else the coldest.
  const auto rank = [&](const Slot& slot) {
    return std::tuple(is_clean(slot), !slot.last,
                      is_clean(slot) ? slot.given_back : ~slot.given_back);
  };
  for (Slot& slot : slots_)
    if (!slot.is_taken && (best == nullptr || rank(slot) > rank(*best))) best = &slot;
  if (best == nullptr) return std::nullopt;
  const Taken taken{.number = static_cast<std::uint32_t>(best - slots_.data()),
                    .is_clean = is_clean(*best),
                    .before = best->last};
  best->is_taken = true;
  best->last = use;
  return taken;
}

void SlotBook::give_back(std::uint32_t number) {
  Slot& slot = slots_.at(number);
  slot.is_taken = false;
  slot.given_back = ++count_;
}

void SlotBook::put_back(const Taken& slot) {
  slots_.at(slot.number).is_taken = false;
  slots_.at(slot.number).last = slot.before;
}

std::size_t SlotBook::in_use() const {
  return static_cast<std::size_t>(std::ranges::count(slots_, true, &Slot::is_taken));
}

}  // namespace orchid::site
