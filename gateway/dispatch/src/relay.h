// dispatch/src/relay.h: makes a worker of another host look like one of this host to a gateway's
// thread: its lane socket and its local lane on one side, the executor's address and the UCX lane
// on the other.
//
// What passes is the same on both sides, message for message and call for call, so request ids are
// equal too.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "foundation/clock.h"
#include "foundation/result.h"
#include "foundation/sockets.h"
#include "foundation/tick_clock.h"
#include "lane_client/conversation.h"
#include "protocol/lane_messages.h"
#include "transport/local_lane.h"
#include "transport/secure_channel.h"
#include "transport/ucx_lane.h"
#include "ucx_contexts.h"

namespace orchid::dispatch {

/// Of one worker; owned by one thread, which it keeps busy until one of the two sides has gone.
class Relay {
 public:
  /// `gateway`: a connection from the gateway that has claimed nothing yet. `ucx` outlives it.
  Relay(UniqueFd gateway, UcxContexts& ucx, const TickRate& rate)
      : gateway_(std::move(gateway)), ucx_(ucx), rate_(rate) {}
  /// Why it ended: `unreachable` and the like; never without a reason.
  [[nodiscard]] Failure run();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds spin{50};

  [[nodiscard]] Result<void> claim();
  [[nodiscard]] Result<void> turn();
  void wait();
  [[nodiscard]] Result<bool> pass_to_executor();
  [[nodiscard]] Result<bool> pass_to_gateway();
  [[nodiscard]] Result<void> pass(const LaneClaimed& claimed);
  [[nodiscard]] Result<void> pass(LaneEnded& ended);
  [[nodiscard]] Result<void> pass(const LaneProgress& progress);
  [[nodiscard]] Result<void> pass(const auto& other) { return tell_gateway(other); }
  [[nodiscard]] Result<bool> pass_call();
  [[nodiscard]] Result<bool> pass_answer();
  [[nodiscard]] Result<bool> lose_remote(Failure why);
  [[nodiscard]] Result<void> give_up_remote(const Failure& why);
  [[nodiscard]] Result<void> replace_worker(const std::string& why);
  void take_last_answers(const LaneEnded& ended);
  [[nodiscard]] Result<void> check_time();
  [[nodiscard]] Result<void> answer(const transport::LaneResponse& response);
  [[nodiscard]] Result<void> tell_gateway(const LaneMessage& message,
                                          const std::vector<int>& descriptors = {});

  UniqueFd gateway_;
  UcxContexts& ucx_;
  const TickRate& rate_;
  std::string executor_address_;
  std::optional<transport::SecureChannel> executor_;
  std::optional<transport::LocalLaneWorker> local_;
  std::optional<transport::UcxLaneClient> remote_;
  bool in_remote_ = false;            // a call has been passed on and is not answered
  std::uint64_t remote_request_ = 0;  // that call, or the one before
  bool trimmed_ = true;               // no memory of large past payloads is left in it
  MonotonicTime idle_since_;          // the remote lane
  std::uint64_t worker_ = 0;          // the executor's number for it
  /// The remote lane that has failed, until the executor says why: UCX notices the end of one of
  /// its connections, and the others may come to theirs a moment later.
  std::optional<transport::UcxLaneClient> lost_;
  /// How a worker ended that has sent what no worker sends, until the executor says that it has.
  std::optional<LaneEnded> forged_;
  lane_client::Conversation conversation_;
};

}  // namespace orchid::dispatch
