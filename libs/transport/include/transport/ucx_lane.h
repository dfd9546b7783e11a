// transport/ucx_lane.h: the lane between hosts, over UCX active messages (docs/PROTOCOL.md, "The
// lane between hosts").
//
// UCX guards nothing: whoever may write bytes into one of its connections can write to the memory
// of the process. So a client is authenticated on a plain TCP socket of ours before UCX listens at
// all, both ends close UCX's listening sockets and all connections but their own before the first
// call, and neither end may live in a process whose memory the other must not reach
// (docs/THREAT-MODEL.md).
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "foundation/result.h"
#include "transport/lane.h"
#include "transport/lane_layout.h"

namespace orchid::transport {

/// Random, for one lane; both ends have got it from somebody they trust.
using ConnectionKey = std::array<std::byte, 16>;
/// From 32 hexadecimal digits. Errors: `bad_request`.
[[nodiscard]] Result<ConnectionKey> parse_connection_key(std::string_view digits);
/// In time that does not depend on where the two differ.
[[nodiscard]] bool same_key(const ConnectionKey& a, const ConnectionKey& b);
using LaneDeadline = std::chrono::steady_clock::time_point;

/// Maps libucp; does nothing more, so that a process that forks its workers can do it for them.
/// Leaves the environment and the signal handlers as they were. Not while another thread changes
/// signal handlers. Errors: `unsupported`.
[[nodiscard]] Result<void> load_ucx();

/// What lies between the hosts. On RDMA hardware UCX makes its connections with datagrams that it
/// takes from anybody on the fabric, and which can write anywhere in the process; nothing of ours
/// closes that door (docs/guide/infiniband.md).
enum class Fabric : std::uint8_t {
  tcp,      // TCP only, over whatever carries it
  trusted,  // nobody on it means ill: RDMA too, where there is a device for it
};

/// UCX in this process: one for all its lanes, made after the last fork. Any thread may open lanes
/// with it.
class UcxContext {
 public:
  struct Options {
    std::string transports;  // as UCX_TLS; empty: chosen by what this host has
    std::string devices;     // as UCX_NET_DEVICES; empty: chosen, or all
    std::string address;     // an IPv4 address of this host: TCP on its interface only
    Fabric fabric = Fabric::tcp;
  };
  /// Errors: `unsupported` (no library), `bad_configuration`.
  [[nodiscard]] static Result<UcxContext> create(const Options& options);
  UcxContext(UcxContext&& other) noexcept;
  UcxContext& operator=(UcxContext&& other) noexcept;
  ~UcxContext();  // after its lanes

  /// Which transports and devices it may use, and why, in one line.
  [[nodiscard]] const std::string& description() const;
  /// Whether an RDMA device is among them, which it has open then.
  [[nodiscard]] bool uses_verbs() const;

  class State;
  [[nodiscard]] State& state() { return *state_; }

 private:
  explicit UcxContext(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The worker's end. Owned by one thread. Needs no system call that opens, binds, connects or
/// accepts anything.
class UcxLaneWorker final : public LaneWorker {
 public:
  UcxLaneWorker(UcxLaneWorker&& other) noexcept;
  UcxLaneWorker& operator=(UcxLaneWorker&& other) noexcept;
  ~UcxLaneWorker() override;

  [[nodiscard]] Result<std::optional<LaneRequest>> receive() override;
  [[nodiscard]] bool ready() const override;
  [[nodiscard]] std::byte* output(std::size_t size) override;
  [[nodiscard]] Result<void> answer(const Answer& answer) override;
  [[nodiscard]] Result<void> flush() override;
  [[nodiscard]] bool asks_kernel() const override { return true; }
  [[nodiscard]] bool prepare_to_sleep() override;
  void finish_sleep() override;
  [[nodiscard]] int wake_descriptor() const override;

  class State;
  explicit UcxLaneWorker(std::unique_ptr<State> state);

 private:
  std::unique_ptr<State> state_;
};

/// Waits for the one client of a worker. Owned by one thread.
class UcxLaneListener {
 public:
  struct Options {
    std::string address;  // an IP address of this host; empty: all of them
    ConnectionKey key{};
    LaneGeometry geometry;                          // of what the lane holds at either end
    std::chrono::milliseconds hello_timeout{5000};  // for a peer to say who it is
    std::size_t pending_peers = 16;                 // beyond them the longest silent one is cut
  };
  /// Errors: `bad_configuration` (no such address), `system`.
  [[nodiscard]] static Result<UcxLaneListener> listen(UcxContext& context, const Options& options);
  UcxLaneListener(UcxLaneListener&& other) noexcept;
  UcxLaneListener& operator=(UcxLaneListener&& other) noexcept;
  ~UcxLaneListener();

  [[nodiscard]] int port() const;
  /// What the client connects to: "192.0.2.7:40123", "[2001:db8::7]:40123"; only the port when all
  /// addresses are listened on.
  [[nodiscard]] const std::string& address() const;
  /// The lane to the first client with the right key and version; the doors are closed then. Not
  /// twice. Errors: `timed_out`; `cancelled` when `stop`, a descriptor, became readable;
  /// `unreachable` when the right client did not finish.
  [[nodiscard]] Result<UcxLaneWorker> accept(LaneDeadline deadline, int stop = -1);

 private:
  class State;
  explicit UcxLaneListener(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The client's end. Owned by one thread.
class UcxLaneClient final : public LaneClient {
 public:
  struct Options {
    std::string address;  // as UcxLaneListener::address, with a host
    ConnectionKey key{};
    LaneDeadline deadline;
    LaneGeometry largest{2_GiB, 2_GiB};  // a worker that wants more memory here is refused
  };
  /// Errors: `unreachable`, `timed_out`, `unsupported` (other version), `bad_request` (the peer is
  /// no worker of ours), `too_large`.
  [[nodiscard]] static Result<UcxLaneClient> connect(UcxContext& context, const Options& options);
  UcxLaneClient(UcxLaneClient&& other) noexcept;
  UcxLaneClient& operator=(UcxLaneClient&& other) noexcept;
  ~UcxLaneClient() override;

  [[nodiscard]] Result<std::span<std::byte>> allocate(std::size_t size) override;
  void abandon(std::span<const std::byte> room) override;
  [[nodiscard]] Result<std::uint64_t> send(const LaneCall& call) override;
  [[nodiscard]] Result<std::optional<LaneResponse>> receive() override;
  void release(const LaneResponse& response) override;
  [[nodiscard]] std::size_t in_flight() const override;
  [[nodiscard]] bool prepare_to_sleep() override;
  void finish_sleep() override;
  [[nodiscard]] int wake_descriptor() const override;
  [[nodiscard]] bool is_at_end() const override;
  void trim() override;

 private:
  class State;
  explicit UcxLaneClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace orchid::transport
