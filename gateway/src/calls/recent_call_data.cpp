#include "calls/recent_call_data.h"

#include <algorithm>
#include <utility>

namespace orchid::gateway {

std::shared_ptr<const CallData> RecentCallData::find(uid_t tenant, std::string_view names,
                                                     const placement::WorkerRequest& worker) {
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.tenant == tenant && entry.names == names && entry.worker == worker;
  });
  if (found == entries_.end()) return nullptr;
  // Kept from here on: whatever changes after the next line comes after this call.
  std::shared_ptr<const CallData> data = found->data.lock();
  if (data != nullptr && data->as_of == changes_->load()) return data;
  entries_.erase(found);
  return nullptr;
}

void RecentCallData::remember(uid_t tenant, std::string_view names,
                              const placement::WorkerRequest& worker,
                              const std::shared_ptr<const CallData>& data) {
  if (changes_ == nullptr) return;
  std::erase_if(entries_, [](const Entry& entry) { return entry.data.expired(); });
  if (entries_.size() >= most) entries_.pop_back();
  entries_.push_front({tenant, std::string(names), worker, data});
}

}  // namespace orchid::gateway
