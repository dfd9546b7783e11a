#include "http/stream_limit.h"

#include <string>

namespace orchid::gateway {

Result<StreamLimit::Place> StreamLimit::enter(uid_t tenant) {
  {
    const std::lock_guard lock(mutex_);
    std::size_t& open = open_[tenant];
    if (open >= per_tenant_)
      return fail(ErrorCode::quota,
                  std::to_string(open) +
                      " event streams are open, and a user may have no more: close some, or ask "
                      "for the documents with ?wait=60s");
    ++open;
  }
  // The pointer is to the limit itself; what counts is the end of its life.
  return Place(this, [this, tenant](const void*) { leave(tenant); });
}

void StreamLimit::leave(uid_t tenant) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(tenant);
  if (--found->second == 0) open_.erase(found);
}

}  // namespace orchid::gateway
