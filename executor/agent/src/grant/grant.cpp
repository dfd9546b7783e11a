#include "grant/grant.h"

#include <fmt/format.h>

#include <algorithm>

namespace orchid::executor {

using std::chrono::milliseconds;
using std::chrono::seconds;

milliseconds drain_time(milliseconds whole) {
  return std::min(std::clamp<milliseconds>(whole / 10, seconds(2), seconds(30)), whole / 2);
}

Grant::Grant(Options options, MonotonicTime now)
    : options_(std::move(options)), silent_since_(now) {
  if (!options_.terms.ends_in) return;
  ends_at_ = now + *options_.terms.ends_in;
  drains_at_ = *ends_at_ - drain_time(*options_.terms.ends_in);
}

GrantTerms Grant::terms(MonotonicTime now) const {
  GrantTerms terms = options_.terms;
  if (ends_at_)
    terms.ends_in =
        std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(*ends_at_ - now));
  return terms;
}

void Grant::gateway_lost(MonotonicTime now) {
  if (!silent_since_) silent_since_ = now;
}

bool Grant::begins_to_drain(MonotonicTime now) {
  if (options_.terms.draining || !drains_at_ || now < *drains_at_) return false;
  drain();
  return true;
}

std::optional<std::string> Grant::over(MonotonicTime now) const {
  if (ends_at_ && now >= *ends_at_) return "its time is over";
  if (options_.gateway_grace && silent_since_ && now - *silent_since_ >= *options_.gateway_grace)
    return fmt::format("no gateway has answered for {} s", options_.gateway_grace->count());
  return std::nullopt;
}

}  // namespace orchid::executor
