#include "calls/function_needs.h"

#include <utility>

#include "placement/shape_text.h"

namespace orchid::gateway {

std::shared_ptr<const WorkerNeeds> FunctionNeeds::get() const {
  if (!some_.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard lock(mutex_);
  return needs_;
}

void FunctionNeeds::set(std::shared_ptr<const WorkerNeeds> needs) {
  const bool some = needs != nullptr;
  {
    const std::lock_guard lock(mutex_);
    needs_.swap(needs);
  }
  some_.store(some, std::memory_order_release);
}

std::shared_ptr<const WorkerNeeds> NeedsBook::of(std::vector<placement::WorkerShape> alternatives) {
  if (alternatives.empty() || alternatives == std::vector{placement::WorkerShape{}}) return nullptr;
  std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
  auto& known = known_[to_string(alternatives)];
  auto needs = known.lock();
  if (needs == nullptr) {
    needs = std::make_shared<const WorkerNeeds>(next_++, std::move(alternatives));
    known = needs;
  }
  return needs;
}

std::string to_string(const std::shared_ptr<const WorkerNeeds>& needs) {
  return needs == nullptr ? "" : placement::to_string(needs->alternatives);
}

}  // namespace orchid::gateway
