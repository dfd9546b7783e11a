// flows/flow_service.h: a process for each tenant that has flows.
#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "flows/flow_process.h"
#include "foundation/clock.h"
#include "foundation/units.h"

namespace orchid::gateway {

struct FlowSettings {
  std::filesystem::path program;                       // orchid-flows
  std::size_t per_user = 100;                          // that have not ended
  ByteCount store{4ULL << 30};                         // on disk, of one user
  std::chrono::milliseconds keep{7 * 24 * 3'600'000};  // those that have ended
  std::vector<std::string> templates;                  // folders with templates
};

/// Belongs to the control thread, whose io_context it is given.
class FlowService {
 public:
  struct Options {
    FlowSettings settings;
    std::filesystem::path folder;  // a folder for each tenant in it, by uid
  };
  FlowService(boost::asio::io_context& control, const Clock& clock, Options options,
              TakeFlowConnection take);

  /// The processes of those who have flows and are tenants: these go on. Flows of others stay on
  /// the disk, in case they come back.
  void start(const std::function<bool(uid_t)>& is_tenant);
  /// Starts the tenant's process if there is none. Errors: those of making its folder, and as
  /// FlowProcess::ask.
  void ask(const Tenant& tenant, FlowRequest request, const std::vector<std::byte>& content,
           FlowReplied done);
  void tick();
  void stop();

 private:
  [[nodiscard]] Result<FlowProcess*> process_of(const Tenant& tenant);

  boost::asio::io_context& control_;
  const Clock& clock_;
  Options options_;
  TakeFlowConnection take_;
  std::map<uid_t, std::unique_ptr<FlowProcess>> processes_;
  bool stopped_ = false;
};

}  // namespace orchid::gateway
