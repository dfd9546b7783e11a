// What an end of a crew does for members at other executors.
#include <sys/epoll.h>

#include <atomic>
#include <utility>

#include "transport/crew_end.h"

namespace orchid::transport {

Result<void> CrewEnd::join(std::unique_ptr<CrewMesh> mesh) {
  for (const std::uint32_t member : mesh->peers()) {
    if (member > place_.members || peers_[member].in != nullptr)
      return fail(ErrorCode::bad_request, "a member is both near and far");
    std::byte* const first = mesh->memory_of(member);
    std::byte* const second = first + CrewLayout::direction_bytes;
    const bool is_lower = place_.member < member;
    Peer& peer = peers_[member];
    peer.out = is_lower ? first : second;
    peer.in = is_lower ? second : first;
    peer.is_far = true;
  }
  for (std::uint32_t member = 0; member <= place_.members; ++member)
    if (member != place_.member && peers_[member].in == nullptr)
      return fail(ErrorCode::bad_request, "a member of the crew is neither near nor wired");
  if (wake_[place_.member] >= 0) {
    sleeper_.reset(::epoll_create1(EPOLL_CLOEXEC));
    if (!sleeper_) return fail_errno("epoll_create1");
    for (const int waker : {wake_[place_.member], mesh->wake_descriptor()}) {
      epoll_event event{.events = EPOLLIN, .data = {.fd = waker}};
      if (::epoll_ctl(sleeper_.get(), EPOLL_CTL_ADD, waker, &event) != 0)
        return fail_errno("epoll_ctl");
    }
  }
  mesh_ = std::move(mesh);
  return {};
}

bool CrewEnd::has_lost_one() const { return !loss_told_ && mesh_->failure().has_value(); }

/// All that has come: behind it nothing is missed when a member is gone.
void CrewEnd::look_far() {
  while (!has_message() && mesh_->progress()) {
  }
  obey_cancels();
}

void CrewEnd::obey_cancels() {
  while (const auto request_id = mesh_->take_cancelled()) store_cancelled(*request_id);
}

/// Numbers of one place grow. What comes late, from another executor, is of a call that is over.
void CrewEnd::store_cancelled(std::uint64_t request_id) {
  std::atomic<std::uint64_t>& word = head().cancelled[crew::place_of(request_id)];
  std::uint64_t seen = word.load(std::memory_order_relaxed);
  while (seen < request_id &&
         !word.compare_exchange_weak(seen, request_id, std::memory_order_release)) {
  }
}

void CrewEnd::send_far(CallHeader header, const Outgoing& message) {
  header.held_answers = static_cast<std::uint8_t>(crew::is_of_loan(header.kind) ? message.loan : 0);
  mesh_->send(message.to, header, message.payload, message.log);
}

/// False: something has come. Who has lost somebody waits for his executor's word alone.
bool CrewEnd::sleep_far() {
  if (loss_told_) return true;
  if (hungry_ && place_.member != crew::client_member) mesh_->tell_hungry();
  return mesh_->arm() && !has_message();
}

}  // namespace orchid::transport
