// flows/flow_process.h: the process that runs one tenant's flows. The gateway asks it, and gives it
// connections over which it is this tenant; what a flow is, the gateway does not know.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "companions/kept_process.h"
#include "foundation/clock.h"
#include "foundation/result.h"
#include "foundation/sockets.h"
#include "protocol/flow_messages.h"
#include "tenants/peer_identity.h"

namespace orchid::gateway {

/// What came of a request.
struct FlowReply {
  FlowAnswer answer;
  std::string content;
};
using FlowReplied = std::move_only_function<void(Result<FlowReply>)>;

/// Takes the gateway's end of a connection, whose other end is this tenant's.
using TakeFlowConnection = std::function<void(UniqueFd socket, const Tenant& tenant)>;

/// Owned by the control thread, whose io_context it is given. A process that ends is started again:
/// what was asked of it fails, and what is asked meanwhile waits for the next one.
class FlowProcess {
 public:
  struct Options {
    std::filesystem::path program;       // orchid-flows
    std::vector<std::string> arguments;  // without the socket
    Tenant tenant;
    std::filesystem::path folder;  // the gateway's alone: there a connection gets its name
  };
  FlowProcess(boost::asio::io_context& control, const Clock& clock, Options options,
              TakeFlowConnection take);
  FlowProcess(const FlowProcess&) = delete;
  FlowProcess& operator=(const FlowProcess&) = delete;

  void start() { process_.start(); }
  /// Nothing is answered any more.
  void stop();
  /// `content` goes along, if it is not empty. Errors: `no_capacity` (too many wait),
  /// `unreachable`.
  void ask(FlowRequest request, const std::vector<std::byte>& content, FlowReplied done);
  /// What has waited for too long is given up. Several times a second.
  void tick();

 private:
  struct Asked {
    std::string packet;
    UniqueFd content;  // until it has been sent
    FlowReplied done;
    MonotonicTime give_up;
    bool is_sent = false;
  };
  [[nodiscard]] Result<UniqueFd> connect();
  void wait_for_packets();
  void receive();
  [[nodiscard]] Result<void> handle(Packet packet);
  [[nodiscard]] Result<void> take_answer(FlowAnswer answer, std::vector<UniqueFd> descriptors);
  [[nodiscard]] Result<void> give_connection();
  void send_waiting();
  void lose(const std::string& why);
  void fail_all(const std::string& why, bool also_waiting);

  boost::asio::io_context& io_;
  const Clock& clock_;
  Options options_;
  TakeFlowConnection take_;
  boost::asio::posix::stream_descriptor socket_;  // our end; closed while no process runs
  std::map<std::uint64_t, Asked> asked_;          // by number
  std::uint64_t next_ = 1;
  KeptProcess process_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();  // see KeptProcess
};

}  // namespace orchid::gateway
