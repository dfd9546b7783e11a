// transport/ucx_transfer.h: the bytes of one immutable object on their way to another host, over a
// connection that is made, keyed and guarded like a lane between hosts (docs/PROTOCOL.md, "Copies
// of data between hosts").
//
// The receiver asks for parts, several at a time; the sender answers each of them in its order,
// from where the bytes lie to where they belong. What has come is always a beginning of the object
// without a gap, so that another sender can go on from there. Neither end trusts the other: a
// sender reads nothing beyond its object, a receiver writes nothing that it has not asked for.
//
// Either end may listen. Either may have a pipe instead of memory: a sender that sends what comes
// out of it, a receiver that writes into it; what is under way is kept in a window then.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "foundation/result.h"
#include "foundation/units.h"
#include "transport/ucx_lane.h"

namespace orchid::transport {

class UcxLink;

constexpr std::size_t transfer_part = 1 << 20;  // bytes that are asked for at once, at most
constexpr std::size_t transfer_window = 16;     // parts that are under way, at most

/// How long an end goes on.
struct TransferPace {
  LaneDeadline deadline;                     // for all of it
  std::chrono::milliseconds patience{5000};  // with a peer that does not get on
  int stop = -1;                             // a descriptor; readable: it is to end
};

/// Where the other end listens.
struct TransferPeer {
  std::string address;  // as UcxTransferListener::address, with a host
  ConnectionKey key{};
  ByteCount bytes;  // of the object; who has another size is not the right one
  LaneDeadline deadline;
};

/// Of an object.
struct TransferRange {
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
};

/// The sender's end. Owned by one thread. Once connected it needs no system call that opens, binds,
/// connects or accepts anything.
class UcxTransferSender {
 public:
  /// To a receiver that listens. Errors: as of UcxTransferReceiver::connect.
  [[nodiscard]] static Result<UcxTransferSender> connect(UcxContext& context,
                                                         const TransferPeer& peer);
  UcxTransferSender(UcxTransferSender&& other) noexcept;
  UcxTransferSender& operator=(UcxTransferSender&& other) noexcept;
  ~UcxTransferSender();

  /// Sends of `object` what is asked for, until the receiver says that it needs no more. Not twice.
  /// The bytes are read while this sender lives. Errors: `timed_out`, `cancelled`, `unreachable`
  /// (the receiver has gone), `bad_request` (it asks for what there is not), `internal` (of another
  /// size than was listened for).
  [[nodiscard]] Result<void> serve(std::span<const std::byte> object, const TransferPace& pace);
  /// The same of an object that comes out of `source`, a non-blocking descriptor, once. The
  /// patience is with the receiver alone. Errors: also `cancelled` (the source has ended early),
  /// `bad_request` (parts are not asked for in their order).
  [[nodiscard]] Result<void> serve_from(int source, const TransferPace& pace);

  class State;
  explicit UcxTransferSender(std::unique_ptr<State> state);

 private:
  std::unique_ptr<State> state_;
};

class UcxTransferReceiver;

/// Waits for the one other end. Owned by one thread.
class UcxTransferListener {
 public:
  struct Options {
    std::string address;  // an IP address of this host; empty: all of them
    ConnectionKey key{};  // of this transfer alone
    ByteCount bytes;      // of the object
    std::chrono::milliseconds hello_timeout{5000};  // for a peer to say who it is
  };
  /// Errors: `bad_configuration` (no such address), `system`.
  [[nodiscard]] static Result<UcxTransferListener> listen(UcxContext& context,
                                                          const Options& options);
  UcxTransferListener(UcxTransferListener&& other) noexcept;
  UcxTransferListener& operator=(UcxTransferListener&& other) noexcept;
  ~UcxTransferListener();

  /// What the receiver connects to; only the port when all addresses are listened on.
  [[nodiscard]] const std::string& address() const;
  /// The connection with the first receiver that has the right key; the doors are closed then. Not
  /// twice. Errors: as of UcxLaneListener::accept.
  [[nodiscard]] Result<UcxTransferSender> accept(LaneDeadline deadline, int stop = -1);
  /// The same with a sender, instead.
  [[nodiscard]] Result<UcxTransferReceiver> accept_sender(LaneDeadline deadline, int stop = -1);

 private:
  class State;
  explicit UcxTransferListener(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The receiver's end. Owned by one thread. Once connected it needs no system call that opens,
/// binds, connects or accepts anything.
class UcxTransferReceiver {
 public:
  /// Errors: `unreachable`, `timed_out`, `unsupported` (other version), `bad_request` (no sender of
  /// this object).
  [[nodiscard]] static Result<UcxTransferReceiver> connect(UcxContext& context,
                                                           const TransferPeer& peer);
  /// With one that has come to us, and speaks first.
  [[nodiscard]] static UcxTransferReceiver over(std::unique_ptr<UcxLink> link, ByteCount bytes);
  UcxTransferReceiver(UcxTransferReceiver&& other) noexcept;
  UcxTransferReceiver& operator=(UcxTransferReceiver&& other) noexcept;
  ~UcxTransferReceiver();

  /// Fills `room`, which has the object's size, from its byte `have` on. `have` counts what lies
  /// there from the start, also after an error: another receiver can go on with it. Not twice.
  /// Errors: `timed_out`, `cancelled`, `unreachable` (the sender has gone), `bad_request` (it sends
  /// what was not asked for).
  [[nodiscard]] Result<void> receive(std::span<std::byte> room, std::uint64_t& have,
                                     const TransferPace& pace);
  /// The same of a part of the object, written into `sink`, a non-blocking descriptor. The patience
  /// is with the sender alone. Errors: also `cancelled` (nobody reads there any more).
  [[nodiscard]] Result<void> receive_into(int sink, const TransferRange& range,
                                          const TransferPace& pace);

  class State;
  explicit UcxTransferReceiver(std::unique_ptr<State> state);

 private:
  std::unique_ptr<State> state_;
};

}  // namespace orchid::transport
