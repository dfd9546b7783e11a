// How a link comes to its end: nothing that was sent is left behind, and the other side sees
// whether something is missing.
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "foundation/duplicate.h"
#include "ucx/link.h"

namespace orchid::transport {

/// UCX counts a frame as sent that it has copied, and takes the next one when the kernel has all of
/// those before: here one that is too short to be a frame, which no end looks at.
ucs_status_ptr_t UcxLink::send_last() {
  ucp_request_param_t parameters{};
  if (over_verbs_) return ucx_.ep_flush_nbx(endpoint_, &parameters);
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  parameters.flags = UCP_AM_SEND_FLAG_EAGER;
  return ucx_.am_send_nbx(endpoint_, message_id, nullptr, 0, nullptr, 0, &parameters);
}

/// Over TCP a flush of UCX's own asks the UCX of the other end for a sign, and that may rest. Where
/// the kernel had no room it does not, but reads; and what it sends meanwhile to a process that has
/// ended would make the kernel throw the rest away.
Result<void> UcxLink::flush(std::chrono::milliseconds patience) {
  if (failure_) return fail(*failure_);
  if (!unflushed_) return {};
  constexpr int most_waits = 10;
  auto moved = std::chrono::steady_clock::now();
  auto give_up = moved + most_waits * patience;
  const auto goes_on = [&] {
    const auto now = std::chrono::steady_clock::now();
    if (progress_or_sleep()) moved = now;
    return !failure_ && now < moved + patience && now < give_up;
  };
  const auto wait_for = [&](ucs_status_ptr_t request) {
    if (UCS_PTR_IS_ERR(request)) return UCS_PTR_STATUS(request);
    ucs_status_t status = UCS_PTR_IS_PTR(request) ? UCS_INPROGRESS : UCS_OK;
    while (status == UCS_INPROGRESS && goes_on()) status = ucx_.request_check_status(request);
    if (UCS_PTR_IS_PTR(request)) ucx_.request_free(request);
    return status;
  };
  // What has come and is not read would make the kernel take the answer back at the end.
  const auto read_on = [&] {
    while (progress()) {
    }
  };
  const bool had_room = !is_sending();
  read_on();
  while (is_sending() && goes_on()) {
  }
  if (failure_) return fail(*failure_);
  if (is_sending() || wait_for(send_last()) != UCS_OK)
    return fail(
        failure_.value_or(Failure{ErrorCode::timed_out, "what was sent did not get away in time"}));
  ucp_request_param_t parameters{};
  constexpr std::chrono::milliseconds for_a_sign{100};
  give_up = std::chrono::steady_clock::now() + for_a_sign;
  if (!had_room && !over_verbs_) (void)wait_for(ucx_.ep_flush_nbx(endpoint_, &parameters));
  read_on();
  if (failure_) return fail(*failure_);
  unflushed_ = false;
  return {};
}

Result<void> UcxLink::keep(std::span<const TcpSocket> connections) {
  for (const TcpSocket& connection : connections) {
    auto copy = orchid::duplicate(connection.fd);
    if (!copy) return fail(std::move(copy.error()).while_doing("keep a connection of UCX's"));
    connections_.push_back(std::move(*copy));
  }
  return {};
}

bool UcxLink::is_at_end() const {
  return failure_ && !connections_.empty() &&
         std::ranges::all_of(connections_, [](const UniqueFd& connection) {
           return was_read_to_its_end(connection.get());
         });
}

bool UcxLink::progress_or_sleep() {
  if (progress()) return true;
  if (!arm()) return false;
  constexpr int look_ms = 10;
  pollfd wait{.fd = wake_descriptor_, .events = POLLIN, .revents = 0};
  ::poll(&wait, 1, look_ms);
  return false;
}

}  // namespace orchid::transport
