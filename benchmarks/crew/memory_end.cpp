// The rivals that reach into each other's memory: a client that reads each step with ucp_get, and
// mailboxes that are put into and polled.
#include <array>
#include <cstring>

#include "crew/chase_end.h"
#include "crew/ucx_party.h"

namespace orchid::bench {
namespace {

/// Memory of ours that peers reach, with what they need for it.
class OpenMemory {
 public:
  Result<void> open(const UcxParty& party, std::size_t size) {
    context_ = party.context();
    ucp_mem_map_params_t map{};
    map.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                     UCP_MEM_MAP_PARAM_FIELD_FLAGS;
    map.address = nullptr;
    map.length = size;
    map.flags = UCP_MEM_MAP_ALLOCATE;
    if (ucp_mem_map(context_, &map, &memory_) != UCS_OK)
      return fail(ErrorCode::system, "ucp_mem_map");
    ucp_mem_attr_t attributes{};
    attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
    ucp_mem_query(memory_, &attributes);
    base_ = static_cast<std::byte*>(attributes.address);
    std::memset(base_, 0, size);
    return {};
  }
  [[nodiscard]] std::byte* base() const { return base_; }
  /// Behind the worker's address: where the memory is, and the key to it.
  void append_key(std::vector<std::byte>& bytes) const {
    void* key = nullptr;
    std::size_t size = 0;
    if (ucp_rkey_pack(context_, memory_, &key, &size) != UCS_OK) return;
    const std::array<std::uint64_t, 2> head{reinterpret_cast<std::uint64_t>(base_), size};
    const auto* start = reinterpret_cast<const std::byte*>(head.data());
    bytes.insert(bytes.end(), start, start + sizeof(head));
    const auto* packed = static_cast<const std::byte*>(key);
    bytes.insert(bytes.end(), packed, packed + size);
    ucp_rkey_buffer_release(key);
  }
  ~OpenMemory() {
    if (memory_ != nullptr) ucp_mem_unmap(context_, memory_);
  }

 private:
  ucp_context_h context_ = nullptr;
  ucp_mem_h memory_ = nullptr;
  std::byte* base_ = nullptr;
};

struct RemoteMemory {
  std::uint64_t base = 0;
  ucp_rkey_h key = nullptr;
};

constexpr std::size_t address_room =
    1024;                            // a worker's address on the board, and its key behind it
constexpr unsigned slots_each = 64;  // messages under way from one member to another

struct Letter {
  ChaseRequest request;
  std::uint64_t sequence = 0;  // arrives last
};

class MemoryEnd final : public ChaseEnd {
 public:
  MemoryEnd(std::unique_ptr<UcxParty> party, const ChaseSetting& setting)
      : party_(std::move(party)),
        table_(setting.processes - 1),
        self_(setting.self),
        count_(setting.processes),
        gets_(setting.way == ChaseWay::get),
        remote_(count_),
        sent_(count_),
        taken_(count_) {}
  ~MemoryEnd() override {
    for (const RemoteMemory& one : remote_)
      if (one.key != nullptr) ucp_rkey_destroy(one.key);
  }

  Result<void> wire(Board& board) {
    const std::size_t table_bytes = table_.size() * sizeof(std::uint64_t);
    const std::size_t size =
        gets_ ? table_bytes : std::size_t{count_} * slots_each * sizeof(Letter);
    if (auto opened = memory_.open(*party_, size); !opened) return opened;
    if (gets_) std::memcpy(memory_.base(), table_.entries(), table_bytes);
    std::vector<std::byte> all = party_->address();
    all.resize(address_room);
    memory_.append_key(all);
    board.publish(self_, all);
    if (auto wired = party_->wire(board, self_, count_); !wired) return wired;
    for (unsigned peer = 0; peer < count_; ++peer) {
      if (peer == self_) continue;
      const auto bytes = board.of(peer);
      if (!bytes) return fail(bytes.error());
      std::memcpy(&remote_[peer].base, &(*bytes)[address_room], sizeof(std::uint64_t));
      if (ucp_ep_rkey_unpack(party_->endpoint(peer), &(*bytes)[address_room + 16],
                             &remote_[peer].key) != UCS_OK)
        return fail(ErrorCode::system, "ucp_ep_rkey_unpack");
    }
    return {};
  }

  bool look() override {
    const bool worked = party_->progress();
    return gets_ ? finish_gets() || worked : open_letters() || worked;
  }
  void begin(const ChaseRequest& request) override {
    if (gets_)
      get(request);
    else
      post(ChaseTable::owner(request.address), request);
  }
  bool prepare_to_sleep() override { return false; }  // memory that changes wakes nobody
  int wake_descriptor() const override { return -1; }
  std::optional<std::string> failure() const override { return party_->failure(); }

 private:
  struct Get {
    ChaseRequest request;
    std::unique_ptr<std::uint64_t> value = std::make_unique<std::uint64_t>(0);
    ucs_status_ptr_t pending = nullptr;
  };
  void get(const ChaseRequest& request) {
    Get one{.request = request};
    const RemoteMemory& at = remote_[ChaseTable::owner(request.address)];
    const ucp_request_param_t parameters{};
    one.pending =
        ucp_get_nbx(party_->endpoint(ChaseTable::owner(request.address)), one.value.get(),
                    sizeof(std::uint64_t), at.base + request.address * sizeof(std::uint64_t),
                    at.key, &parameters);
    gets_open_.push_back(std::move(one));
  }
  bool finish_gets() {
    bool worked = false;
    for (std::size_t i = 0; i < gets_open_.size();) {
      Get& one = gets_open_[i];
      if (UCS_PTR_IS_PTR(one.pending)) {
        if (ucp_request_check_status(one.pending) == UCS_INPROGRESS) {
          ++i;
          continue;
        }
        ucp_request_free(one.pending);
      }
      ChaseRequest request = one.request;
      request.address = *one.value;
      std::swap(one, gets_open_.back());
      gets_open_.pop_back();
      if (--request.left == 0)
        answers_.push_back({request.number, request.address});
      else
        get(request);
      worked = true;
    }
    return worked;
  }

  void post(unsigned peer, const ChaseRequest& request) {
    const std::uint64_t number = sent_[peer]++;
    Letter* letter = &outgoing_[posted_++ % outgoing_.size()];
    *letter = {request, number + 1};
    const ucp_request_param_t parameters{};
    const std::size_t place = (std::size_t{self_} * slots_each + number % slots_each);
    const ucs_status_ptr_t pending =
        ucp_put_nbx(party_->endpoint(peer), letter, sizeof(Letter),
                    remote_[peer].base + place * sizeof(Letter), remote_[peer].key, &parameters);
    if (UCS_PTR_IS_PTR(pending)) ucp_request_free(pending);  // completes by itself
  }
  bool open_letters() {
    bool worked = false;
    for (unsigned peer = 0; peer < count_; ++peer) {
      const std::byte* place =
          memory_.base() +
          (std::size_t{peer} * slots_each + taken_[peer] % slots_each) * sizeof(Letter);
      const auto* letter = reinterpret_cast<const Letter*>(place);
      if (__atomic_load_n(&letter->sequence, __ATOMIC_ACQUIRE) != taken_[peer] + 1) continue;
      ++taken_[peer];
      worked = true;
      ChaseRequest request = letter->request;
      if (self_ == 0) {
        answers_.push_back({request.number, request.address});
        continue;
      }
      request.address = table_.next(request.address);
      post(--request.left == 0 ? 0 : ChaseTable::owner(request.address), request);
    }
    return worked;
  }

  std::unique_ptr<UcxParty> party_;
  OpenMemory memory_;
  ChaseTable table_;
  unsigned self_;
  unsigned count_;
  bool gets_;
  std::vector<RemoteMemory> remote_;
  std::vector<std::uint64_t> sent_;
  std::vector<std::uint64_t> taken_;
  std::vector<Get> gets_open_;
  std::vector<Letter> outgoing_ = std::vector<Letter>(1024);  // more than are ever under way
  std::size_t posted_ = 0;
};

}  // namespace

Result<std::unique_ptr<ChaseEnd>> open_memory_end(const ChaseSetting& setting, Board& board) {
  auto party = UcxParty::open(
      {.transports = setting.transports, .devices = setting.devices, .remote_memory = true});
  if (!party) return fail(std::move(party.error()));
  auto end = std::make_unique<MemoryEnd>(std::move(*party), setting);
  if (auto wired = end->wire(board); !wired) return fail(std::move(wired.error()));
  return end;
}

}  // namespace orchid::bench
