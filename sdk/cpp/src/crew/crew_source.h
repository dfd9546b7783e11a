// crew/crew_source.h: whoever grants crews, as a crew sees it.
#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/session.h"
#include "crew/call_trace.h"
#include "crew/crew_places.h"
#include "lease/lease_grant.h"
#include "orchid/client.h"
#include "orchid/crew.h"

namespace orchid::sdk {

/// Any thread. All functions throw `orchid::Error`.
class CrewSource {
 public:
  virtual ~CrewSource() = default;
  /// A lease of all its members.
  [[nodiscard]] virtual LeaseGrant take(const CrewOptions& options) = 0;
  virtual void renew(const std::string& lease, std::chrono::milliseconds duration) = 0;
  virtual void release(const std::string& lease) = 0;
  /// "N" or "N@<version>".
  [[nodiscard]] virtual FunctionInfo describe(const std::string& function) = 0;
  /// A deployed module's bytes.
  [[nodiscard]] virtual std::vector<std::byte> module(const std::string& function,
                                                      const std::string& digest) = 0;
  /// "N", "N@<version>", or a digest, of which "sha256:" and 16 digits are enough: its bytes.
  [[nodiscard]] virtual std::vector<std::byte> look_up(const std::string& name) = 0;
  /// Who has that data object: a name, "N@VERSION", or an id.
  [[nodiscard]] virtual DataHolders holders_of(const std::string& data) = 0;
  /// Calls of the lease that were traced, for whoever asks the gateway about it.
  virtual void tell_calls(const std::string& /*lease*/, const std::vector<TracedCall>& /*calls*/) {}
};

/// Of the gateway's document of a data object.
[[nodiscard]] DataHolders parse_data_holders(std::string_view text);

/// A gateway.
class GatewayCrews final : public CrewSource {
 public:
  explicit GatewayCrews(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  [[nodiscard]] LeaseGrant take(const CrewOptions& options) override;
  void renew(const std::string& lease, std::chrono::milliseconds duration) override;
  void release(const std::string& lease) override;
  [[nodiscard]] FunctionInfo describe(const std::string& function) override;
  [[nodiscard]] std::vector<std::byte> module(const std::string& function,
                                              const std::string& digest) override;
  [[nodiscard]] std::vector<std::byte> look_up(const std::string& name) override;
  [[nodiscard]] DataHolders holders_of(const std::string& data) override;
  void tell_calls(const std::string& lease, const std::vector<TracedCall>& calls) override;

 private:
  std::shared_ptr<Session> session_;  // shared with the Client
};

}  // namespace orchid::sdk
