// ucx/link.h: one UCX endpoint with the frames that go through it, whatever they mean.
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "transport/ucx_lane.h"
#include "ucx/doors.h"
#include "ucx/frame.h"
#include "ucx/library.h"

namespace orchid::transport {

/// Who takes what arrives.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  FrameSink(const FrameSink&) = delete;
  FrameSink& operator=(const FrameSink&) = delete;
  /// Called inside `UcxLink::progress`; copies what it needs. Returns what is wrong with the frame,
  /// a literal, or null.
  [[nodiscard]] virtual const char* on_frame(const Frame& frame,
                                             std::span<const std::byte> payload) noexcept = 0;

 protected:
  FrameSink() = default;
};

/// A UCX worker with one endpoint. Owned by one thread; stays where it is.
class UcxLink {
 public:
  static constexpr std::size_t small_payload = 6 * 1024;  // is copied and sent in one piece
  static constexpr std::size_t chunk = 60 * 1024;  // of a large one; fits TCP's buffer of UCX
  static constexpr std::size_t chunks_in_flight = 16;
  static constexpr std::size_t outbox_limit = 512;

  [[nodiscard]] static Result<std::unique_ptr<UcxLink>> create(UcxContext& context,
                                                               const ConnectionKey& key);
  UcxLink(const UcxLink&) = delete;
  UcxLink& operator=(const UcxLink&) = delete;
  ~UcxLink();

  /// For the other end's `connect`.
  [[nodiscard]] const std::vector<std::byte>& address() const { return address_; }
  [[nodiscard]] Result<void> connect(std::span<const std::byte> peer);
  /// Waits for the peer's `ready` frame: its connection is there then, and our `connect` uses it
  /// instead of making one.
  [[nodiscard]] Result<void> wait_for_peer(LaneDeadline deadline);
  /// Exchanges `ready` frames and waits until nothing of the connection's making is left to do.
  [[nodiscard]] Result<void> complete(LaneDeadline deadline);
  void set_sink(FrameSink* sink) { sink_ = sink; }

  /// Whether `send` would copy a payload of this size at once.
  [[nodiscard]] bool sends_at_once(std::size_t size) const {
    return outbox_first_ == outbox_next_ && size <= small_payload && free_slots_ != 0;
  }
  struct Parcel {
    Frame frame;
    std::span<const std::byte> payload;  // over 64 bytes: stays until *pending is 0, unless it was
                                         // sent at once
    std::uint32_t* pending = nullptr;    // counts what UCX and the outbox still hold of it
  };
  /// Takes at most `outbox_limit` parcels that wait.
  void send(const Parcel& parcel);
  /// The same of one of several: small ones travel in one message, which is sent when it is full,
  /// before anything else, and with the next `progress`. Only to a peer that takes such messages.
  void send_together(const Parcel& parcel);

  /// Parcels wait here, or UCX works on them.
  [[nodiscard]] bool is_sending() const {
    return outbox_first_ != outbox_next_ || free_slots_ != slot_count;
  }
  /// Waits, asleep where it can, until nothing that was sent is left in this process: over TCP the
  /// kernel delivers it, also when the process has ended. The other end need not be driven while
  /// the kernel has room. Errors: `timed_out` (nothing has moved for so long, or it takes ten times
  /// that), and why the link is of no use.
  [[nodiscard]] Result<void> flush(std::chrono::milliseconds patience);

  /// Lets UCX work, and sends on what waits. False: there was nothing to do.
  bool progress();
  /// While a connection is made: UCX's own thread, which accepts it, may need this core.
  void progress_or_yield();
  /// Why the link is of no use any more.
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }
  void fail_with(Failure failure);
  /// Connections that UCX has made for this link, so that it is known how they end. Errors:
  /// `system`.
  [[nodiscard]] Result<void> keep(std::span<const TcpSocket> connections);
  /// The link has failed since the other end has closed it in good order, after all that was
  /// received. Over TCP only; else nobody can know.
  [[nodiscard]] bool is_at_end() const;

  /// True: nothing to do, and `wake_descriptor` will become readable.
  [[nodiscard]] bool arm();
  [[nodiscard]] int wake_descriptor() const { return wake_descriptor_; }
  /// What UCX has granted; `create` has seen to it that it is enough. Errors: `system`.
  [[nodiscard]] Result<ucs_thread_mode_t> thread_mode() const;

 private:
  /// What UCX reads while a send is under way.
  struct Slot {
    UcxLink* link = nullptr;
    std::uint32_t* pending = nullptr;
    Slot* next_free = nullptr;
    bool large = false;
    std::vector<std::byte> bundle;  // behind the frame: its payload, and more frames with theirs
    Frame frame;
    std::array<std::byte, small_payload> payload;  // follows the frame without a gap
  };
  struct Waiting {
    Parcel parcel;
    std::size_t sent = 0;
    bool started = false;
    std::array<std::byte, 64> copy{};
  };
  static constexpr std::size_t slot_count = 64;

  UcxLink(const UcxLibrary& ucx, const ConnectionKey& key, bool over_verbs);
  [[nodiscard]] Result<void> open(ucp_context_h context);
  static ucs_status_t on_message(void* self, const void* header, std::size_t header_length,
                                 void* data, std::size_t length,
                                 const ucp_am_recv_param_t* parameters) noexcept;
  static void on_error(void* self, ucp_ep_h endpoint, ucs_status_t status) noexcept;
  static void on_sent(void* request, ucs_status_t status, void* slot) noexcept;
  void take(const Frame& frame, std::span<const std::byte> payload) noexcept;
  void take_all(Frame frame, std::span<const std::byte> rest) noexcept;
  void stamp(Frame& frame, std::size_t size);
  [[nodiscard]] Slot* take_slot(const Frame& frame, std::size_t size, std::uint32_t* pending);
  void free_slot(Slot* slot);
  void finish(ucs_status_ptr_t request, Slot* slot);
  void send_copied(const Frame& frame, std::span<const std::byte> payload, std::uint32_t* pending);
  void send_in_place(const Frame& frame, std::span<const std::byte> payload,
                     std::uint32_t* pending);
  void send_slot(Slot* slot, std::span<const std::byte> behind);
  void send_bundle();
  void pump();
  [[nodiscard]] bool send_some(Waiting& waiting);
  void close_endpoint();
  bool progress_or_sleep();  // true: there was something to do
  [[nodiscard]] ucs_status_ptr_t send_last();

  const UcxLibrary& ucx_;
  ConnectionKey key_;
  bool over_verbs_;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  int wake_descriptor_ = -1;
  std::vector<std::byte> address_;
  FrameSink* sink_ = nullptr;
  std::optional<Failure> failure_;
  std::vector<UniqueFd> connections_;  // copies: UCX closes its own when they end
  bool peer_ready_ = false;
  bool unflushed_ = false;  // something was sent since the last flush
  bool closing_ = false;
  std::uint64_t sent_frames_ = 0;
  std::uint64_t received_frames_ = 0;
  std::unique_ptr<std::array<Slot, slot_count>> slots_;
  Slot* free_list_ = nullptr;
  std::size_t free_slots_ = 0;
  std::size_t large_in_flight_ = 0;
  Slot* bundle_ = nullptr;                                     // is being filled
  std::unique_ptr<std::array<Waiting, outbox_limit>> outbox_;  // a ring, oldest first
  std::uint64_t outbox_first_ = 0;
  std::uint64_t outbox_next_ = 0;
};

}  // namespace orchid::transport
