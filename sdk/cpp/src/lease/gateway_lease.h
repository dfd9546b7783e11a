// lease/gateway_lease.h: a lease that a gateway granted.
#pragma once
#include <memory>
#include <string>

#include "api/session.h"
#include "foundation/percent_encoding.h"
#include "lease/lease_source.h"

namespace orchid::sdk {

/// Any thread. What is asked in the background gives up sooner than what a caller waits for.
class GatewayLease final : public LeaseSource {
 public:
  GatewayLease(std::shared_ptr<Session> session, std::string id)
      : session_(std::move(session)), id_(std::move(id)) {}
  [[nodiscard]] LeaseGrant renew(std::chrono::milliseconds duration,
                                 const std::vector<LeaseId>& lost) override;
  void release() override;
  [[nodiscard]] FunctionInfo describe(const std::string& function) override;
  [[nodiscard]] std::vector<std::byte> module(const std::string& function,
                                              const std::string& digest) override;
  [[nodiscard]] DataInfo describe_data(const std::string& reference) override;
  void copy_data(const std::string& id, const std::string& host) override;

 private:
  [[nodiscard]] std::string path() const { return "/v1/leases/" + percent_encode(id_); }
  std::shared_ptr<Session> session_;  // shared with the Client
  std::string id_;
};

[[nodiscard]] LeaseGrant request_lease(Session& session, const LeaseOptions& options,
                                       WorkersAre workers = WorkersAre::apart);

}  // namespace orchid::sdk
