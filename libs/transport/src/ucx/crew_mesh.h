// ucx/crew_mesh.h: a member's one UCX worker, and an endpoint of it for each peer.
#pragma once
#include <ucp/api/ucp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "protocol/crew.h"
#include "transport/crew_mesh.h"
#include "ucx/context.h"
#include "ucx/library.h"
#include "ucx/slab.h"

namespace orchid::transport {

enum class MeshFrameKind : std::uint8_t {
  ready = 1,      // the first one in each direction
  message = 2,    // a message's header, and the first or all of its bytes
  more = 3,       // the next bytes of it
  cancelled = 4,  // the call with the header's number is to end
  hungry = 5,     // the sender has nothing to do
};

/// What one active message between members starts with. The header's `payload_offset` is how many
/// bytes of payload and log the message has in all, its `sequence` the number of the frame in its
/// direction, from 1.
struct MeshFrame {
  std::array<std::byte, 16> key{};
  MeshFrameKind kind = MeshFrameKind::ready;
  std::uint8_t from = 0;
  std::uint16_t reserved = 0;
  std::uint32_t size = 0;  // bytes behind it
  CallHeader header;
};
static_assert(sizeof(MeshFrame) == 88);

/// The whole of it, from the open UCX worker on. Nothing is sent from within UCX's handlers: where
/// a peer has just died, UCX would end this process (docs/measurements/crews.md).
class UcxCrewMesh final : public CrewMesh {
 public:
  static constexpr std::size_t chunk = 60 * 1024;  // fits TCP's buffer of UCX

  [[nodiscard]] static Result<std::unique_ptr<UcxCrewMesh>> open(UcxContext& context,
                                                                 const Options& options);
  ~UcxCrewMesh() override;

  /// For the peers' `connect`.
  [[nodiscard]] Result<std::vector<std::byte>> address() const;
  [[nodiscard]] Result<void> connect(std::uint32_t peer, std::span<const std::byte> address);
  /// It says so to the peer, whose endpoint is there.
  void say_ready(std::uint32_t peer);
  [[nodiscard]] bool is_ready(std::uint32_t peer) const { return at(peer).ready; }
  /// Nothing of the connections' making is left to do, once all peers are ready.
  [[nodiscard]] Result<void> flush(LaneDeadline deadline, int stop);

  [[nodiscard]] std::vector<std::uint32_t> peers() const override;
  [[nodiscard]] std::byte* memory_of(std::uint32_t peer) const override {
    return at(peer).memory->bytes().data();
  }
  bool progress() override;
  void send(std::uint32_t to, const CallHeader& header, std::span<const std::byte> payload,
            const CrewLog& log) override;
  void tell_cancelled(std::uint64_t request_id) override;
  [[nodiscard]] std::optional<std::uint64_t> take_cancelled() override;
  void tell_hungry() override;
  [[nodiscard]] bool claim_hungry(std::uint32_t member) override;
  [[nodiscard]] const std::optional<Failure>& failure() const override { return failure_; }
  [[nodiscard]] bool arm() override;
  [[nodiscard]] int wake_descriptor() const override { return wake_descriptor_; }

 private:
  struct OnePeer {
    UcxCrewMesh* mesh = nullptr;
    std::uint32_t member = 0;  // 0 is the client
    bool is_peer = false;
    ConnectionKey key{};
    ucp_ep_h endpoint = nullptr;
    bool ready = false;      // it has said so
    bool hungry = false;     // it has said so, and nobody here has lent it anything since
    bool was_told = false;   // that this member is hungry
    std::uint64_t sent = 0;  // frames
    std::uint64_t received = 0;
    std::optional<Slab> memory;
    std::byte* in = nullptr;
    std::uint64_t written = 0;  // messages, into its ring
    // The message that is arriving.
    CallHeader header;
    std::size_t got = 0;
    std::size_t total = 0;  // 0: none is
    /// Calls that it is still to hear of, by their places: what one that computes does not take
    /// piles up here, and no further.
    std::array<std::uint64_t, crew::window_places> cancels{};
    std::size_t cancel_count = 0;
    std::size_t next_cancel = 0;    // the place that is looked at first
    bool cancel_under_way = false;  // UCX has one of them, and the kernel does not
  };
  /// What UCX reads while a send is under way.
  struct Slot {
    UcxCrewMesh* mesh = nullptr;
    Slot* next_free = nullptr;
    OnePeer* cancels_of = nullptr;  // it is one of these
    std::vector<std::byte> bytes;
  };
  UcxCrewMesh(const UcxLibrary& ucx, std::uint32_t member) : ucx_(ucx), member_(member) {}
  [[nodiscard]] Result<void> start(ucp_context_h context, const Options& options);
  [[nodiscard]] OnePeer& at(std::uint32_t peer) { return peers_[peer]; }
  [[nodiscard]] const OnePeer& at(std::uint32_t peer) const { return peers_[peer]; }
  static ucs_status_t on_message(void* self, const void* header, std::size_t header_length,
                                 void* data, std::size_t length,
                                 const ucp_am_recv_param_t* parameters) noexcept;
  static void on_error(void* peer, ucp_ep_h endpoint, ucs_status_t status) noexcept;
  static void on_sent(void* request, ucs_status_t status, void* slot) noexcept;
  void take(const MeshFrame& frame, std::span<const std::byte> bytes) noexcept;
  [[nodiscard]] const char* take_frame(OnePeer& peer, const MeshFrame& frame,
                                       std::span<const std::byte> bytes) noexcept;
  [[nodiscard]] const char* begin_message(OnePeer& peer, const CallHeader& header) noexcept;
  [[nodiscard]] const char* take_bytes(OnePeer& peer, std::span<const std::byte> bytes) noexcept;
  static void finish_message(OnePeer& peer) noexcept;
  void send_cancels(OnePeer& peer);
  void give_back(Slot& slot);
  void send_frame(OnePeer& peer, MeshFrame frame, std::span<const std::byte> first,
                  std::span<const std::byte> second = {});
  void fail_with(Failure failure) {
    if (!failure_) failure_ = std::move(failure);
  }
  void close_endpoints();

  const UcxLibrary& ucx_;
  std::uint32_t member_;
  ucp_worker_h worker_ = nullptr;
  int wake_descriptor_ = -1;
  std::array<OnePeer, crew::most_members + 1> peers_{};
  /// By the calls' places: what was said last, and is not taken yet.
  std::array<std::uint64_t, crew::window_places> cancelled_{};
  std::size_t cancelled_count_ = 0;
  std::size_t cancels_waiting_ = 0;  // of all peers
  std::deque<Slot> slots_;
  Slot* free_list_ = nullptr;
  std::size_t sending_ = 0;  // slots that UCX has
  std::optional<Failure> failure_;
  bool closing_ = false;
};

}  // namespace orchid::transport
