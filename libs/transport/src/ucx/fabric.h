// ucx/fabric.h: which of UCX's transports and devices a lane may use. A plain function over what
// the host has.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "transport/ucx_lane.h"

namespace orchid::transport {

/// One line of what UCX finds on a host: `ucx_info -d` prints them, too.
struct UcxResource {
  std::string transport;  // "tcp", "rc_mlx5", "ud_verbs"
  std::string device;     // "eth0", "mlx5_0:1"
  friend bool operator==(const UcxResource&, const UcxResource&) = default;
};

struct TransportChoice {
  std::string transports;  // as UCX_TLS
  std::string devices;     // as UCX_NET_DEVICES; empty: all
  std::string reason;      // for people, one line
  bool verbs = false;      // an RDMA device is among the devices
};

/// TCP always, since the connection is made there. On a trusted fabric also reliable connections of
/// a verbs device, which UCX sets up with datagrams: a device that lacks one of both is left out
/// (EFA has no connections), and so is one whose verbs are done in software (Omni-Path), on which
/// TCP is faster.
[[nodiscard]] TransportChoice choose_transports(std::span<const UcxResource> resources,
                                                Fabric fabric);

}  // namespace orchid::transport
