// lanes/member_address.h: where a worker may be told that another member of its crew listens.
#pragma once
#include <string>

namespace orchid::executor {

/// Whether a door of a member can be at `address`, an "IP:port". The kernel of its host has chosen
/// the port, so it is none below 1024. The IP address is one host's; only what is on this host or
/// this link goes on where this executor, whose doors are at the IP address `own_host`, is reached
/// in the same way: else its workers would reach services here that expect nobody of elsewhere.
[[nodiscard]] bool is_member_address(const std::string& address, const std::string& own_host);

}  // namespace orchid::executor
