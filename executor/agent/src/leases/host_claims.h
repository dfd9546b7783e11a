// leases/host_claims.h: what of its host an executor has, so that no other one of the same gateway
// takes it meanwhile.
//
// As a rule the gateway sees to that. But it does not know what an executor holds that it has never
// heard from since it started, or not for a long time: calls go on there.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "foundation/unique_fd.h"

namespace orchid::executor {

enum class HostPart : std::uint8_t { core, gpu };

class HostClaims {
 public:
  HostClaims() = default;
  virtual ~HostClaims() = default;
  HostClaims(const HostClaims&) = delete;
  HostClaims& operator=(const HostClaims&) = delete;
  /// False: another executor has it.
  [[nodiscard]] virtual bool take(HostPart part, std::uint32_t number) = 0;
  virtual void leave(HostPart part, std::uint32_t number) = 0;
};

/// A claim is the name of a socket that nobody connects to: only one process of a host can have it,
/// and the kernel takes it back when that ends, however it ends. Owned by the agent's thread.
class SocketClaims final : public HostClaims {
 public:
  /// Executors of this gateway on this host ("boot_id") share what there is; others count for
  /// themselves. Without a gateway ("") everything can be taken.
  void belong_to(const std::string& gateway, const std::string& boot_id);
  /// True also when the system has no socket left: the gateway sees to it as well.
  [[nodiscard]] bool take(HostPart part, std::uint32_t number) override;
  void leave(HostPart part, std::uint32_t number) override { held_.erase({part, number}); }

 private:
  std::string group_;  // "": none
  std::map<std::pair<HostPart, std::uint32_t>, UniqueFd> held_;
};

}  // namespace orchid::executor
