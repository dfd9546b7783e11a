// ucx/interfaces.h: which network interface an address belongs to, as UCX names it.
#pragma once
#include <string>

namespace orchid::transport {

/// Of an IPv4 address of this host, "192.0.2.7"; empty when it is none, or none of this host: then
/// UCX has to look at all. Needs a socket and ioctl, and no netlink, so that a confined process can
/// ask.
[[nodiscard]] std::string interface_of(const std::string& address);

}  // namespace orchid::transport
