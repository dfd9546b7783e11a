// site/grant_service.h: root's service on a host: placeholders come to a socket, and each grant
// that is allowed gets an executor of its own.
#pragma once
#include <memory>

#include "foundation/result.h"
#include "site/host_configuration.h"

namespace orchid::site {

/// Owned by main's thread, the process's only one.
class GrantService {
 public:
  /// Connections that have made no offer yet, or wait for Slurm's answer; in all, and of one user.
  static constexpr std::size_t most_unproven = 64;
  static constexpr std::size_t most_unproven_of_one = 8;
  /// Questions to Slurm at a time.
  static constexpr std::size_t most_inquiries = 8;

  /// Makes folders and listens. `lane_listen` of the configuration is a place or "none" by now.
  /// Errors: `system`, `denied`: another user owns a folder, or has one of the uids.
  [[nodiscard]] static Result<std::unique_ptr<GrantService>> create(
      HostConfiguration configuration);
  virtual ~GrantService() = default;
  GrantService(const GrantService&) = delete;
  GrantService& operator=(const GrantService&) = delete;

  /// Until SIGTERM or SIGINT, and then until no executor is left.
  virtual void run() = 0;

 protected:
  GrantService() = default;
};

}  // namespace orchid::site
