// What a crew would do on one host: a ring of lane entries from each member to each other one. An
// entry is judged like a message between hosts; no key, since only its writer has it mapped.
#include <cstring>
#include <vector>

#include "crew/chase_end.h"
#include "crew/moved_call.h"
#include "crew/ring_memory.h"
#include "local/lane_signal.h"

namespace orchid::bench {
namespace {

using transport::LaneEntry;
using transport::ring_entries;

/// The reader tells how far it is after so many entries: seldom enough to cost nothing.
constexpr std::uint64_t told_every = 64;

class RingEnd final : public ChaseEnd {
 public:
  explicit RingEnd(const ChaseSetting& setting)
      : self_(setting.self),
        count_(setting.processes),
        memory_(setting.rings),
        wakes_(setting.wake_descriptors),
        table_(count_ - 1),
        runner_(&table_),
        peers_(count_) {
    for (unsigned peer = 0; peer < count_; ++peer) {
      peers_[peer].from = &ring_of(memory_, count_, peer, self_);
      peers_[peer].to = &ring_of(memory_, count_, self_, peer);
    }
  }

  bool look() override {
    bool worked = false;
    for (unsigned peer = 0; peer < count_; ++peer)
      while (take_one(peers_[peer])) worked = true;
    if (!worked) settle_wakes();
    return worked;
  }
  void begin(const ChaseRequest& request) override {
    std::array<std::byte, inline_room> bytes;
    std::memcpy(bytes.data(), &request, sizeof(request));
    send(ChaseTable::owner(request.address), first_header(request), bytes);
  }
  bool prepare_to_sleep() override {
    settle_wakes();
    transport::announce_sleep(sleep_line_of(memory_, count_, self_));
    for (const Peer& peer : peers_)
      if (transport::is_published(next_entry(peer), peer.taken)) return false;
    return true;
  }
  void finish_sleep() override {
    transport::end_sleep(sleep_line_of(memory_, count_, self_), wake_descriptor(), watch_);
  }
  int wake_descriptor() const override { return wakes_[self_]; }
  std::optional<std::string> failure() const override {
    if (wrong_ != nullptr) return std::string("nonsense from a member: ") + wrong_;
    return std::nullopt;
  }

 private:
  struct Peer {
    CrewRing* from = nullptr;
    CrewRing* to = nullptr;
    std::uint64_t taken = 0;
    std::uint64_t sent = 0;
    std::uint64_t taken_there = 0;  // as we last saw it
    bool unsettled = false;         // it may sleep without having seen what was sent
  };
  static LaneEntry& next_entry(const Peer& peer) {
    return peer.from->entries[peer.taken % ring_entries];
  }

  bool take_one(Peer& peer) {
    LaneEntry& entry = next_entry(peer);
    if (!transport::is_published(entry, peer.taken)) return false;
    const std::uint64_t came = ticks_now();
    CallHeader header = entry.header;
    if (wrong_ == nullptr)
      wrong_ = header.payload_length > inline_room
                   ? "length"
                   : judge(header, header.payload_length, count_, runner_.modules());
    if (wrong_ != nullptr) return false;
    const std::span<const std::byte> input(entry.payload, header.payload_length);
    if ((header.flags & answer_flag) != 0) {
      finish(header, input);
    } else {
      std::array<std::byte, inline_room> room;
      const unsigned target = runner_.run(header, input, room, came);
      send(target, header, room);
    }
    if (++peer.taken % told_every == 0)
      peer.from->taken.value.store(peer.taken, std::memory_order_release);
    return true;
  }

  void finish(const CallHeader& header, std::span<const std::byte> output) {
    ChaseRequest request;
    if (output.size() != sizeof(request) || header.status != 0) {
      wrong_ = "an answer";
      return;
    }
    std::memcpy(&request, output.data(), sizeof(request));
    answers_.push_back({request.number, request.address});
  }

  /// The crew's window keeps each ring from running full; a reader that lies about what it has
  /// taken loses its own entries.
  void send(unsigned target, const CallHeader& header,
            const std::array<std::byte, inline_room>& bytes) {
    Peer& peer = peers_[target];
    if (peer.sent - peer.taken_there >= ring_entries) {
      peer.taken_there = peer.to->taken.value.load(std::memory_order_acquire);
      if (peer.sent - peer.taken_there >= ring_entries) {
        wrong_ = "a member that takes nothing";
        return;
      }
    }
    LaneEntry& entry = peer.to->entries[peer.sent % ring_entries];
    std::memcpy(entry.payload, bytes.data(), header.payload_length);
    transport::publish(entry, header, peer.sent);
    ++peer.sent;
    peer.unsettled = true;
    transport::wake_if_seen_sleeping(sleep_line_of(memory_, count_, target), wakes_[target]);
    __builtin_prefetch(&peer.to->entries[peer.sent % ring_entries], 1);
  }

  void settle_wakes() {
    for (unsigned peer = 0; peer < count_; ++peer)
      if (std::exchange(peers_[peer].unsettled, false))
        transport::wake_if_sleeping(sleep_line_of(memory_, count_, peer), wakes_[peer]);
  }

  unsigned self_;
  unsigned count_;
  std::byte* memory_;
  std::vector<int> wakes_;
  ChaseTable table_;
  CallRunner runner_;
  std::vector<Peer> peers_;
  transport::WakeWatch watch_;
  const char* wrong_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<ChaseEnd>> open_ring_end(const ChaseSetting& setting) {
  return std::make_unique<RingEnd>(setting);
}

}  // namespace orchid::bench
