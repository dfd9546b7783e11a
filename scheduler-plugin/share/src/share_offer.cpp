#include "share/share_offer.h"

#include <algorithm>
#include <utility>

namespace orchid::share {

ShareOffer::ShareOffer(CoreList job_cores, std::uint32_t most)
    : job_cores_(std::move(job_cores)), most_(most == 0 ? job_cores_.size() : most) {}

const CoreList& ShareOffer::decide(MonotonicTime now, const CoresUsed& used) {
  CoreList leave = used.cores;
  // Whoever is not bound goes where there is room: the lowest cores are left for him, always the
  // same ones, so that few calls have to give way.
  CoreList others = without(job_cores_, leave);
  others.resize(std::min<std::size_t>(others.size(), used.loose));
  leave = united(leave, others);
  for (const std::uint32_t core : leave) left_[core] = now;
  std::erase_if(left_, [now](const auto& left) { return now - left.second >= settle; });
  CoreList usable;
  for (const std::uint32_t core : job_cores_)
    if (!left_.contains(core)) usable.push_back(core);
  CoreList kept = common(usable, offered_);
  CoreList more = without(usable, kept);
  while (kept.size() < most_ && !more.empty()) {
    kept = united(kept, {more.back()});
    more.pop_back();
  }
  offered_ = std::move(kept);
  return offered_;
}

}  // namespace orchid::share
