// Calls that wait for data: what ends them, and what is done about what is missing.
#include <algorithm>

#include "http/problem.h"
#include "lane_client/policy.h"
#include "lease/call_objects.h"
#include "lease/lease_board.h"
#include "lease/lease_threads.h"

namespace orchid::sdk {
namespace {

/// So often at most the gateway is asked for the same copy.
constexpr std::chrono::milliseconds copy_interval{1000};

}  // namespace

void LeaseBoard::data_missing(const DataId& data, const std::string& host) {
  {
    const std::lock_guard lock(mutex_);
    bool is_waited_for = false;
    queue_.for_each([&](const DirectCall& call) {
      is_waited_for = is_waited_for || (call.data != nullptr && call.data->has(data));
    });
    if (!is_waited_for) return;
    const MonotonicTime now = std::chrono::steady_clock::now();
    std::erase_if(copies_wanted_,
                  [&](const auto& one) { return now - one.second >= copy_interval; });
    if (!copies_wanted_.try_emplace({data, host}, now).second) return;
  }
  if (const auto lease_threads = threads())
    lease_threads->keeper.bring(weak_from_this(), data, host);
}

void LeaseBoard::data_refused(const DataId& data, const Error::Details& why, bool may_pass) {
  std::deque<DirectCall*> ended;
  {
    const std::lock_guard lock(mutex_);
    ended = queue_.take_all_that([&](DirectCall& call) {
      if (call.data == nullptr || !call.data->has(data)) return false;
      return !may_pass || ++call.history.data_losses > lane_client::most_data_losses;
    });
    waiting_.fetch_sub(static_cast<unsigned>(ended.size()));
  }
  for (DirectCall* call : ended) {
    Error::Details details = why;
    details.message = "data '" + call->data->label_of(data) + "': " + why.message;
    finish_with(*call, std::move(details));
  }
}

}  // namespace orchid::sdk
