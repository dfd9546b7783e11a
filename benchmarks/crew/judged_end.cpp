// What a crew would do between hosts: each message carries the key of its pair and what the
// receiver judges before code runs; messages have credits and no answers; a call's function is
// found in a table, and its forward goes out when it has returned.
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <utility>

#include "crew/chase_end.h"
#include "crew/moved_call.h"
#include "crew/ucx_party.h"

namespace orchid::bench {
namespace {

constexpr unsigned crew_message_id = 1;
using PairKey = std::array<std::byte, 16>;

/// Before a call's bytes, in one piece with them.
struct CrewFrame {
  PairKey key{};
  std::uint16_t from = 0;
  std::uint16_t kind = 0;
  std::uint32_t size = 0;
  std::uint64_t taken = 0;  // messages of the receiver's that the sender has taken so far: credits
  CallHeader header;        // sequence: of the pair's calls and answers in this direction, from 1
};
static_assert(sizeof(CrewFrame) == 96);
enum FrameKindOfCrew : std::uint16_t { call_frame = 1, credit_frame = 2 };

/// Of the crew's secret and both numbers; each member is told its own ones only.
PairKey pair_key(unsigned one, unsigned other) {
  static constexpr std::array<unsigned char, 32> secret{1, 2, 3, 4};
  const std::array<unsigned char, 2> pair{static_cast<unsigned char>(std::min(one, other)),
                                          static_cast<unsigned char>(std::max(one, other))};
  std::array<unsigned char, EVP_MAX_MD_SIZE> whole{};
  unsigned length = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), pair.data(), pair.size(),
       whole.data(), &length);
  PairKey key;
  std::memcpy(key.data(), whole.data(), key.size());
  return key;
}

bool is_same_key(const PairKey& a, const PairKey& b) {
  std::array<std::uint64_t, 2> one{};
  std::array<std::uint64_t, 2> other{};
  std::memcpy(one.data(), a.data(), a.size());
  std::memcpy(other.data(), b.data(), b.size());
  return ((one[0] ^ other[0]) | (one[1] ^ other[1])) == 0;
}

class JudgedEnd final : public ChaseEnd {
 public:
  JudgedEnd(std::unique_ptr<UcxParty> party, const ChaseSetting& setting)
      : party_(std::move(party)),
        self_(setting.self),
        table_(setting.processes - 1),
        runner_(&table_),
        batches_(setting.way == ChaseWay::batched),
        pairs_(setting.processes) {
    for (unsigned peer = 0; peer < setting.processes; ++peer)
      pairs_[peer].key = pair_key(self_, peer);
    party_->handle(crew_message_id, on_message, this);
  }
  Result<void> wire(Board& board) {
    board.publish(self_, party_->address());
    return party_->wire(board, self_, static_cast<unsigned>(pairs_.size()));
  }

  bool look() override {
    const bool worked = party_->progress();
    while (first_ != next_) run(inbox_[first_++ % inbox_.size()]);
    if (worked)
      for (unsigned peer = 0; peer < pairs_.size(); ++peer) send_waiting(peer);
    if (batches_)
      for (unsigned peer = 0; peer < pairs_.size(); ++peer) post(peer);
    return worked;
  }
  void begin(const ChaseRequest& request) override {
    open_[request.number % open_.size()] = request.number;
    std::array<std::byte, inline_room> bytes;
    std::memcpy(bytes.data(), &request, sizeof(request));
    const unsigned target = ChaseTable::owner(request.address);
    send(target, first_header(request), bytes);
    post(target);
  }
  bool prepare_to_sleep() override { return party_->arm(); }
  int wake_descriptor() const override { return party_->wake_descriptor(); }
  std::optional<std::string> failure() const override {
    if (wrong_ != nullptr) return std::string("nonsense from a member: ") + wrong_;
    return party_->failure();
  }

 private:
  struct Pair {
    PairKey key;
    std::uint64_t sent = 0;
    std::uint64_t taken_there = 0;  // of `sent`
    std::uint64_t received = 0;
    std::uint64_t told = 0;  // of `received`
    struct Waiting {
      CallHeader header;
      std::array<std::byte, inline_room> bytes;
    };
    std::deque<Waiting> waiting;       // for credits; at most `crew_window` calls are open
    UcxParty::Slot* letter = nullptr;  // frames that are sent together
    std::size_t letter_size = 0;
  };
  struct Arrived {
    CallHeader header;
    std::uint64_t came = 0;
    unsigned from = 0;
    std::array<std::byte, inline_room> bytes;
  };

  static ucs_status_t on_message(void* self, const void*, std::size_t header_length, void* data,
                                 std::size_t length, const ucp_am_recv_param_t* parameters) {
    auto& end = *static_cast<JudgedEnd*>(self);
    std::span<const std::byte> rest(static_cast<const std::byte*>(data), length);
    if (header_length != 0 || (parameters->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0)
      end.wrong_ = "a message of another kind";
    while (end.wrong_ == nullptr && !rest.empty()) end.wrong_ = end.take(rest);
    return UCS_OK;
  }

  /// Takes the first frame off. Null, or what is wrong.
  const char* take(std::span<const std::byte>& rest) {
    CrewFrame frame;
    if (rest.size() < sizeof(frame)) return "length of a message";
    std::memcpy(static_cast<void*>(&frame), rest.data(), sizeof(frame));
    rest = rest.subspan(sizeof(frame));
    if (frame.size > inline_room || frame.size > rest.size()) return "length of a frame";
    const std::span<const std::byte> content = rest.first(frame.size);
    rest = rest.subspan(frame.size);
    if (frame.from >= pairs_.size() || frame.from == self_) return "member";
    Pair& pair = pairs_[frame.from];
    if (!is_same_key(frame.key, pair.key)) return "key";
    if (frame.taken < pair.taken_there || frame.taken > pair.sent) return "credits";
    pair.taken_there = frame.taken;
    if (frame.kind == credit_frame) return nullptr;
    if (frame.kind != call_frame) return "kind of frame";
    if (frame.header.sequence != pair.received + 1) return "order";
    if (pair.received - pair.told >= crew_window) return "more than its credits";
    if (next_ - first_ == inbox_.size()) return "more than the crew's window";
    const char* wrong = judge(frame.header, content.size(), static_cast<unsigned>(pairs_.size()),
                              runner_.modules());
    if (wrong != nullptr) return wrong;
    ++pair.received;
    Arrived& arrived = inbox_[next_++ % inbox_.size()];
    arrived.header = frame.header;
    arrived.came = ticks_now();
    arrived.from = frame.from;
    std::ranges::copy(content, arrived.bytes.begin());
    return nullptr;
  }

  void run(Arrived& arrived) {
    const std::span<const std::byte> input =
        std::span(arrived.bytes).first(arrived.header.payload_length);
    if ((arrived.header.flags & answer_flag) != 0) {
      finish(arrived.header, input);
    } else {
      std::array<std::byte, inline_room> room;
      const unsigned target = runner_.run(arrived.header, input, room, arrived.came);
      send(target, arrived.header, room);
    }
    Pair& pair = pairs_[arrived.from];
    if (pair.received - pair.told > crew_window / 2) tell_credits(arrived.from);
  }

  void finish(const CallHeader& header, std::span<const std::byte> output) {
    ChaseRequest request;
    std::uint64_t& open = open_[header.request_id % open_.size()];
    if (open != header.request_id || output.size() != sizeof(request) ||
        header.status != static_cast<std::uint8_t>(Outcome::ok)) {
      wrong_ = "an answer to nothing";
      return;
    }
    open = ~std::uint64_t{0};
    std::memcpy(&request, output.data(), sizeof(request));
    answers_.push_back({request.number, request.address});
  }

  void send(unsigned target, const CallHeader& header,
            const std::array<std::byte, inline_room>& bytes) {
    Pair& pair = pairs_[target];
    if (pair.sent - pair.taken_there >= crew_window)
      pair.waiting.push_back({header, bytes});
    else
      write_call(target, header, bytes);
  }
  void send_waiting(unsigned peer) {
    Pair& pair = pairs_[peer];
    while (!pair.waiting.empty() && pair.sent - pair.taken_there < crew_window) {
      write_call(peer, pair.waiting.front().header, pair.waiting.front().bytes);
      pair.waiting.pop_front();
    }
  }
  void write_call(unsigned target, const CallHeader& header,
                  const std::array<std::byte, inline_room>& bytes) {
    CallHeader numbered = header;
    numbered.sequence = ++pairs_[target].sent;
    write(target, call_frame, numbered, std::span(bytes).first(header.payload_length));
  }
  void tell_credits(unsigned peer) { write(peer, credit_frame, {}, {}); }

  void write(unsigned target, FrameKindOfCrew kind, const CallHeader& header,
             std::span<const std::byte> bytes) {
    Pair& pair = pairs_[target];
    if (pair.letter != nullptr &&
        pair.letter_size + sizeof(CrewFrame) + bytes.size() > pair.letter->bytes.size())
      post(target);
    if (pair.letter == nullptr) pair.letter = party_->take_slot();
    const CrewFrame frame{.key = pair.key,
                          .from = static_cast<std::uint16_t>(self_),
                          .kind = kind,
                          .size = static_cast<std::uint32_t>(bytes.size()),
                          .taken = pair.told = pair.received,
                          .header = header};
    std::byte* place = pair.letter->bytes.data() + pair.letter_size;
    std::memcpy(place, &frame, sizeof(frame));
    if (!bytes.empty()) std::memcpy(place + sizeof(frame), bytes.data(), bytes.size());
    pair.letter_size += sizeof(frame) + bytes.size();
    if (!batches_) post(target);
  }
  void post(unsigned peer) {
    Pair& pair = pairs_[peer];
    if (pair.letter == nullptr) return;
    party_->send(peer, crew_message_id, std::exchange(pair.letter, nullptr),
                 std::exchange(pair.letter_size, 0));
  }

  std::unique_ptr<UcxParty> party_;
  unsigned self_;
  ChaseTable table_;
  CallRunner runner_;
  bool batches_;
  std::vector<Pair> pairs_;
  const char* wrong_ = nullptr;
  std::array<std::uint64_t, 256> open_{};  // calls that we began, by number
  std::vector<Arrived> inbox_ = std::vector<Arrived>(2 * (crew_window + 1));
  std::uint64_t first_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace

Result<std::unique_ptr<ChaseEnd>> open_judged_end(const ChaseSetting& setting, Board& board) {
  // Orchid has no lane over UCX's shared memory; its settings would leave that without memory.
  auto party = UcxParty::open({.transports = setting.transports,
                               .devices = setting.devices,
                               .as_lanes = setting.transports.starts_with("tcp"),
                               .wakes = true});
  if (!party) return fail(std::move(party.error()));
  auto end = std::make_unique<JudgedEnd>(std::move(*party), setting);
  if (auto wired = end->wire(board); !wired) return fail(std::move(wired.error()));
  return end;
}

}  // namespace orchid::bench
