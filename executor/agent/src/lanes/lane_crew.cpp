// A worker that is a member of a crew: whom it is claimed for, and how it gets to those elsewhere.
#include <algorithm>
#include <utility>

#include "lanes/lane_session.h"
#include "lanes/member_address.h"
#include "protocol/crew.h"
#include "protocol/lane_protocol.h"

namespace orchid::executor {
namespace {

bool is_seating(const LaneClaim& claim, bool client_is_here) {
  const auto& near = claim.near;
  const bool ordered = std::ranges::adjacent_find(near, std::greater_equal<>()) == near.end();
  return ordered && !near.empty() && near.back() <= claim.members &&
         std::ranges::binary_search(near, claim.member) &&
         (near.front() == crew::client_member) == client_is_here;
}

}  // namespace

Result<void> LaneSession::seat_in_crew(const LaneClaim& message) {
  if (message.protocol == spread_crew_lane_protocol - 1)
    return fail(ErrorCode::unsupported,
                "lane protocol 4 is not spoken any more; update the older side");
  const bool spread = message.protocol == spread_crew_lane_protocol;
  if (is_in_crew() != (spread || message.protocol == crew_lane_protocol))
    return fail(ErrorCode::unsupported,
                is_in_crew() ? "the lease is of a crew: claim its members with lane protocol 3 or 5"
                             : "the lease is of no crew: claim its workers with lane protocol 1");
  if (!is_in_crew()) return {};
  seating_ = {.members = message.members != 0 ? message.members : client_terms_->crew,
              .member = 0,
              .near = {}};
  if (seating_.members > client_terms_->crew)
    return fail(ErrorCode::bad_request, "the crew was not granted so many members");
  if (!spread) {
    if (uid_) return {};
    return fail(ErrorCode::unsupported,
                "a crew that is elsewhere than its client is claimed with lane protocol 5");
  }
  if (message.members == 0 || !is_seating(message, uid_.has_value()))
    return fail(ErrorCode::bad_request,
                "the claim does not say which member of how many the worker is, and who is here");
  if (!services_.workers.takes_remote())
    return fail(ErrorCode::unsupported,
                "this executor takes nobody of other hosts: start it with --lane-listen");
  seating_.member = message.member;
  seating_.near = message.near;
  return {};
}

/// A worker that has ended meanwhile is replaced, and its client hears of that.
void LaneSession::wire(const LaneWire& message) {
  if (!is_spread())
    return refuse({ErrorCode::bad_request, "only a crew at several executors is wired"});
  if (worker_ == nullptr || worker_->id() != message.worker || !worker_->awaits_client()) return;
  WireCrew order;
  for (const LanePeer& peer : message.peers) {
    if (peer.member > seating_.members || std::ranges::binary_search(seating_.near, peer.member))
      return refuse({ErrorCode::bad_request, "a peer of the crew that is here, or no member"});
    if (peer.member > seating_.member &&
        !is_member_address(peer.address, services_.workers.remote_address()))
      return refuse({ErrorCode::bad_request,
                     "no member of a crew listens at '" + peer.address +
                         "': tell the address of its executor, and the port that it has said"});
    order.peers.push_back({.member = peer.member, .address = peer.address, .key = peer.key});
  }
  connected_by_ = std::chrono::steady_clock::now() + limits::lease_claim;
  worker_->tell(order);
}

void LaneSession::wired() {
  tell_terms();
  send(LaneWired{worker_->id()});
  if (worker_ != nullptr) load_again();
}

}  // namespace orchid::executor
