// transport/crew_end.h: one member's end of all its rings in a crew. Messages go one way; nobody
// answers a message, and nobody waits for room. Members at other executors are reached over a
// CrewMesh, which fills rings of the same shape.
//
// Owned by one thread, or by whoever holds the lock of its owner. What others wrote is checked
// before it is used: nonsense is `bad_request`, never a wild access.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "protocol/call_header.h"
#include "transport/crew_memory.h"
#include "transport/crew_mesh.h"
#include "transport/local_lane.h"

namespace orchid::transport {

/// What a call has logged so far.
struct CrewLog {
  std::string_view text;
  std::uint64_t dropped = 0;  // bytes that did not fit
  [[nodiscard]] bool empty() const { return text.empty() && dropped == 0; }
};

/// A call, or an answer, as it came. Payload and log lie in the crew's memory until `done`.
struct CrewMessage {
  std::uint32_t from = 0;
  CallHeader header;
  std::span<std::byte> payload;
  CrewLog log;
};

class CrewEnd {
 public:
  struct Place {
    std::uint32_t member = 0;
    std::uint32_t members = 0;
  };
  /// Maps what `place.member` has to see of it. Errors: `bad_request` (the file has another size),
  /// `system`.
  [[nodiscard]] static Result<CrewEnd> attach(Place place, int memory);
  /// The same for `near` alone (with this member, and with the client if that is among them): the
  /// others come with `join`. `memory` -1: nobody is near.
  [[nodiscard]] static Result<CrewEnd> attach_near(Place place, std::span<const std::uint32_t> near,
                                                   int memory);
  /// The members that are reached over UCX. After `set_wake` of this member, if others here wake
  /// it. Opens a descriptor. Errors: `system`.
  [[nodiscard]] Result<void> join(std::unique_ptr<CrewMesh> mesh);
  CrewEnd(CrewEnd&&) noexcept = default;
  CrewEnd& operator=(CrewEnd&&) noexcept = default;
  CrewEnd(const CrewEnd&) = delete;
  CrewEnd& operator=(const CrewEnd&) = delete;
  ~CrewEnd() = default;

  [[nodiscard]] const Place& place() const { return place_; }
  /// Whether there are members at other executors.
  [[nodiscard]] bool has_far() const { return mesh_ != nullptr; }
  /// The eventfd that wakes that member. Borrowed.
  void set_wake(std::uint32_t member, int descriptor) { wake_[member] = descriptor; }

  /// Whether `receive` has something. Never again after it has met nonsense, which stays where it
  /// is: the crew has to be given up then.
  [[nodiscard]] bool ready() const;
  /// The next message, one of each peer in turn. Errors: `bad_request`, naming who wrote it;
  /// `unreachable`, once, behind all that has arrived: a member at another executor is gone.
  [[nodiscard]] Result<std::optional<CrewMessage>> receive();
  /// The message that was received last is used up.
  void done();

  /// Where the payload of a message to `to` may be written in place, for the call with that number:
  /// `payload_size` bytes, aligned to 4096. `turn`: of a message to oneself, which must not lie
  /// where the last one does: alternately 0 and 1.
  [[nodiscard]] std::span<std::byte> room(std::uint32_t to, std::uint64_t request_id,
                                          std::uint32_t turn);
  struct Outgoing {
    std::uint32_t to = 0;
    std::uint32_t turn = 0;
    std::uint32_t loan = 0;              // of a child, or its end
    std::span<const std::byte> payload;  // in the room, or anywhere if `fits_inline`
    CrewLog log;
  };
  /// Publishes it. `header` needs no payload fields. Errors: `bad_request`: the reader has not
  /// taken what an honest one would have.
  [[nodiscard]] Result<void> send(const CallHeader& header, const Outgoing& message);
  [[nodiscard]] static bool fits_inline(std::size_t size) { return size <= inline_bytes; }

  /// Between the client and a member: memory that no message uses, as answer_shelf.h has it, which
  /// this end writes, and which the other one has written. Empty if the other is elsewhere.
  [[nodiscard]] std::span<std::byte> shelf_to(std::uint32_t peer);
  [[nodiscard]] std::span<const std::byte> shelf_from(std::uint32_t peer) const;

  /// The client's wish, which each member that gets the call looks at.
  void cancel(std::uint64_t request_id);
  [[nodiscard]] bool is_cancelled(std::uint64_t request_id) const;

  /// This member has nothing to do, or has something again.
  void set_hungry(bool hungry);
  /// Whether that member is hungry, and this one is who lends it a child now.
  [[nodiscard]] bool claim_hungry(std::uint32_t member);

  /// Announces sleep; true: nothing is there, wait for `wake_descriptor` to become readable.
  [[nodiscard]] bool prepare_to_sleep();
  void finish_sleep();
  [[nodiscard]] int wake_descriptor() const;

 private:
  class Mapping {
   public:
    Mapping() = default;
    Mapping(std::byte* base, std::size_t size) : base_(base), size_(size) {}
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping();
    [[nodiscard]] std::byte* base() const { return base_; }

   private:
    std::byte* base_ = nullptr;
    std::size_t size_ = 0;
  };
  struct Peer {
    Mapping memory;
    std::byte* out = nullptr;  // this member writes
    std::byte* in = nullptr;   // the peer writes
    std::uint64_t sent = 0;
    std::uint64_t taken = 0;
    bool is_far = false;  // the memory is the mesh's
  };
  CrewEnd(Place place, Mapping head, std::vector<Peer> peers);
  [[nodiscard]] static Result<Mapping> map(int memory, std::size_t offset, std::size_t size);
  [[nodiscard]] static Result<Peer> map_peer(const Place& place, std::uint32_t peer, int memory);
  [[nodiscard]] CrewHead& head() const { return *reinterpret_cast<CrewHead*>(head_.base()); }
  [[nodiscard]] bool has(std::uint32_t peer) const { return peers_[peer].in != nullptr; }
  [[nodiscard]] const char* read(std::uint32_t from, LaneEntry& entry, CrewMessage& message) const;
  [[nodiscard]] bool has_message() const;
  [[nodiscard]] Result<std::optional<CrewMessage>> take_next();

  // Members at other executors: crew_end_far.cpp.
  [[nodiscard]] bool is_far(std::uint32_t member) const { return peers_[member].is_far; }
  [[nodiscard]] bool has_lost_one() const;
  void look_far();
  void obey_cancels();
  void send_far(CallHeader header, const Outgoing& message);
  [[nodiscard]] bool sleep_far();
  void store_cancelled(std::uint64_t request_id);

  Place place_;
  Mapping head_;
  std::vector<Peer> peers_;  // by member; the client has none with itself
  std::array<int, crew::most_members + 1> wake_{};
  std::uint32_t next_from_ = 0;
  std::optional<std::uint32_t> last_from_;
  bool hungry_ = false;  // as it was said last
  WakeWatch watch_;
  bool nonsense_ = false;           // a peer has written some
  std::unique_ptr<CrewMesh> mesh_;  // null: all are near
  UniqueFd sleeper_;                // what wakes it, and the mesh's descriptor
  bool loss_told_ = false;
  unsigned looks_ = 0;
};

}  // namespace orchid::transport
