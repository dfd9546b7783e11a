#include "transport/crew_end.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "crew/crew_rooms.h"
#include "local/lane_signal.h"
#include "transport/payload_rooms.h"

namespace orchid::transport {
namespace {

constexpr std::uint16_t known_flags = flag_message | flag_log | flag_quick;
/// Messages from one host must not keep those of others waiting.
constexpr unsigned looks_between_far = 8;

/// False: what it says of its size cannot be.
bool read_log(const std::byte* room, std::size_t payload, CrewLog& log) {
  const std::byte* at = room + align_to_line(payload);
  CrewLogPrefix prefix;
  std::memcpy(&prefix, at, sizeof(prefix));
  if (prefix.length > crew::log_size.value) return false;
  log = {.text = {reinterpret_cast<const char*>(at + sizeof(prefix)), prefix.length},
         .dropped = prefix.dropped};
  return true;
}

void write_log(std::byte* room, std::size_t payload, const CrewLog& log) {
  const std::string_view text = log.text.substr(0, crew::log_size.value);
  const CrewLogPrefix prefix{.dropped = log.dropped + (log.text.size() - text.size()),
                             .length = text.size()};
  std::byte* at = room + align_to_line(payload);
  std::memcpy(at, &prefix, sizeof(prefix));
  std::memcpy(at + sizeof(prefix), text.data(), text.size());
}

}  // namespace

CrewEnd::Mapping::Mapping(Mapping&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), size_(other.size_) {}
CrewEnd::Mapping& CrewEnd::Mapping::operator=(Mapping&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(size_, other.size_);
  return *this;
}
CrewEnd::Mapping::~Mapping() {
  if (base_ != nullptr) ::munmap(base_, size_);
}

Result<CrewEnd::Mapping> CrewEnd::map(int memory, std::size_t offset, std::size_t size) {
  void* base =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, static_cast<off_t>(offset));
  if (base == MAP_FAILED) return fail_errno("mmap a crew's memory");
  return Mapping(static_cast<std::byte*>(base), size);
}

/// The lower number writes into the first direction. With itself a member uses one ring, and the
/// rooms of both directions in turn.
Result<CrewEnd::Peer> CrewEnd::map_peer(const Place& place, std::uint32_t peer, int memory) {
  const CrewLayout layout{place.members};
  auto mapped = map(memory, layout.pair_offset(place.member, peer), CrewLayout::pair_bytes);
  if (!mapped) return fail(std::move(mapped.error()));
  std::byte* const first = mapped->base();
  std::byte* const second = first + CrewLayout::direction_bytes;
  Peer made;
  made.out = place.member <= peer ? first : second;
  made.in = peer <= place.member ? first : second;
  made.memory = std::move(*mapped);
  return made;
}

Result<CrewEnd> CrewEnd::attach(Place place, int memory) {
  if (place.members > crew::most_members)
    return fail(ErrorCode::bad_request, "a crew has 2 to 64 members");
  std::vector<std::uint32_t> all(std::size_t{place.members} + 1);
  std::iota(all.begin(), all.end(), 0U);
  return attach_near(place, all, memory);
}

Result<CrewEnd> CrewEnd::attach_near(Place place, std::span<const std::uint32_t> near, int memory) {
  if (place.members < crew::least_members || place.members > crew::most_members ||
      place.member > place.members ||
      std::ranges::any_of(near, [&](std::uint32_t member) { return member > place.members; }))
    return fail(ErrorCode::bad_request, "a crew has 2 to 64 members");
  std::vector<Peer> peers(std::size_t{place.members} + 1);
  if (memory < 0) {
    void* base = ::mmap(nullptr, CrewLayout::head_bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return fail_errno("mmap a crew's memory");
    return CrewEnd(place, Mapping(static_cast<std::byte*>(base), CrewLayout::head_bytes),
                   std::move(peers));
  }
  const CrewLayout layout{place.members};
  // Not fstat: the C library may ask by path, which a sandbox refuses.
  const off_t end = ::lseek(memory, 0, SEEK_END);
  if (end < 0) return fail_errno("lseek");
  if (static_cast<std::size_t>(end) != layout.file_bytes())
    return fail(ErrorCode::bad_request,
                "the crew's memory file has another size than its number of members says");
  auto head = map(memory, 0, CrewLayout::head_bytes);
  if (!head) return fail(std::move(head.error()));
  for (const std::uint32_t peer : near) {
    if (place.member == crew::client_member && peer == crew::client_member) continue;
    auto mapped = map_peer(place, peer, memory);
    if (!mapped) return fail(std::move(mapped.error()));
    peers[peer] = std::move(*mapped);
  }
  return CrewEnd(place, std::move(*head), std::move(peers));
}

CrewEnd::CrewEnd(Place place, Mapping head, std::vector<Peer> peers)
    : place_(place), head_(std::move(head)), peers_(std::move(peers)) {
  wake_.fill(-1);
}

bool CrewEnd::has_message() const {
  return std::ranges::any_of(peers_, [](const Peer& peer) {
    return peer.in != nullptr &&
           is_published(crew_ring_at(peer.in).entries[peer.taken % crew::ring_entries], peer.taken);
  });
}

bool CrewEnd::ready() const {
  // What nobody will take is nothing to stay awake for.
  if (nonsense_) return false;
  if (has_message()) return true;
  if (mesh_ == nullptr) return false;
  mesh_->progress();
  return has_message() || has_lost_one();
}

/// Returns what is wrong with it, or null.
const char* CrewEnd::read(std::uint32_t from, LaneEntry& entry, CrewMessage& message) const {
  std::memcpy(static_cast<void*>(&message.header), &entry.header, sizeof(CallHeader));
  const CallHeader& header = message.header;
  if (header.version != call_header_version) return "version";
  if ((header.flags & ~known_flags) != 0) return "flags";
  if (header.request_id == 0) return "request id";
  const bool of_loan = crew::is_of_loan(header.kind);
  // The client spawns nothing, and a member lends nothing to itself.
  if (of_loan && (from == place_.member || from == crew::client_member ||
                  place_.member == crew::client_member || header.held_answers >= crew::loans))
    return "kind";
  if (header.payload_offset == inline_payload) {
    if (header.payload_length > inline_bytes || (header.flags & flag_log) != 0) return "length";
    message.payload = {entry.payload, header.payload_length};
    return nullptr;
  }
  if (header.payload_length > crew::payload_size.value) return "length";
  const Peer& peer = peers_[from];
  // Of its own pair a member has both directions, and its turn says which.
  std::byte* const direction = from == place_.member && header.held_answers != 0
                                   ? peer.in + CrewLayout::direction_bytes
                                   : peer.in;
  std::byte* const room = crew_room_at(direction, crew_room_number(header, header.held_answers));
  message.payload = {room, header.payload_length};
  if ((header.flags & flag_log) != 0 && !read_log(room, header.payload_length, message.log))
    return "log";
  return nullptr;
}

Result<std::optional<CrewMessage>> CrewEnd::receive() {
  if (mesh_ == nullptr) return take_next();
  if (++looks_ % looks_between_far == 0) mesh_->progress();
  obey_cancels();
  Result<std::optional<CrewMessage>> message = take_next();
  if (message && !*message) {
    look_far();
    message = take_next();
    if (message && !*message && has_lost_one()) message = std::unexpected(*mesh_->failure());
  }
  // What is wrong stays where it is. It is no reason to stay awake.
  if (!message) loss_told_ = true;
  return message;
}

Result<std::optional<CrewMessage>> CrewEnd::take_next() {
  Result<std::optional<CrewMessage>> message;
  const auto count = static_cast<std::uint32_t>(peers_.size());
  for (std::uint32_t look = 0; look < count; ++look) {
    const std::uint32_t from = next_from_;
    next_from_ = from + 1 == count ? 0 : from + 1;
    Peer& peer = peers_[from];
    if (peer.in == nullptr) continue;
    LaneEntry& entry = crew_ring_at(peer.in).entries[peer.taken % crew::ring_entries];
    if (!is_published(entry, peer.taken)) continue;
    CrewMessage& taken = message->emplace();
    taken.from = from;
    if (const char* wrong = read(from, entry, taken)) {
      nonsense_ = true;
      message = fail(ErrorCode::bad_request,
                     fmt::format("member {} wrote nonsense into its crew ({})", from, wrong));
      return message;
    }
    last_from_ = from;
    return message;
  }
  if (watch_.flooded)
    message = fail(ErrorCode::bad_request,
                   "somebody, the function perhaps, wrote to the eventfd that wakes this member");
  return message;
}

void CrewEnd::done() {
  if (!last_from_) return;
  Peer& peer = peers_[*last_from_];
  crew_ring_at(peer.in).taken.store(++peer.taken, lane_orders.release_answer);
  last_from_.reset();
}

std::span<std::byte> CrewEnd::room(std::uint32_t to, std::uint64_t request_id, std::uint32_t turn) {
  std::byte* const direction = to == place_.member && turn != 0
                                   ? peers_[to].out + CrewLayout::direction_bytes
                                   : peers_[to].out;
  return {crew_room_at(direction, crew::place_of(request_id)), crew::payload_size.value};
}

/// The client neither spawns nor is lent anything, so its rooms for that are free. Members at other
/// executors have none: what is written there does not outlive them.
std::span<std::byte> CrewEnd::shelf_to(std::uint32_t peer) {
  if (peers_[peer].out == nullptr || is_far(peer)) return {};
  return {crew_room_at(peers_[peer].out, crew::window_places), 2 * crew::loans * crew_room_bytes};
}
std::span<const std::byte> CrewEnd::shelf_from(std::uint32_t peer) const {
  if (!has(peer) || is_far(peer)) return {};
  return {crew_room_at(peers_[peer].in, crew::window_places), 2 * crew::loans * crew_room_bytes};
}

Result<void> CrewEnd::send(const CallHeader& header, const Outgoing& message) {
  if (is_far(message.to)) {
    send_far(header, message);
    return {};
  }
  Peer& peer = peers_[message.to];
  CrewRing& ring = crew_ring_at(peer.out);
  if (peer.sent - ring.taken.load(lane_orders.see_released) >= crew::ring_entries)
    return fail(
        ErrorCode::bad_request,
        fmt::format("the ring to member {} is full, which no honest crew's is", message.to));
  LaneEntry& entry = ring.entries[peer.sent % crew::ring_entries];
  CallHeader out = header;
  out.payload_length = message.payload.size();
  const bool of_loan = crew::is_of_loan(header.kind);
  const std::uint32_t turn = message.to == place_.member ? message.turn : 0;
  out.held_answers = static_cast<std::uint8_t>(of_loan ? message.loan : turn);
  if (fits_inline(message.payload.size()) && message.log.empty()) {
    out.payload_offset = inline_payload;
    if (!message.payload.empty())
      std::memcpy(entry.payload, message.payload.data(), message.payload.size());
  } else {
    const std::span<std::byte> place =
        of_loan ? std::span(crew_room_at(peer.out, crew_room_number(header, message.loan)),
                            crew::payload_size.value)
                : room(message.to, header.request_id, turn);
    out.payload_offset = 0;
    if (!message.payload.empty() && message.payload.data() != place.data())
      std::memmove(place.data(), message.payload.data(), message.payload.size());
    if (!message.log.empty()) {
      out.flags |= flag_log;
      write_log(place.data(), message.payload.size(), message.log);
    }
  }
  publish(entry, out, peer.sent);
  ++peer.sent;
  if (message.to != place_.member) wake_if_sleeping(head().sleeping[message.to], wake_[message.to]);
  return {};
}

void CrewEnd::cancel(std::uint64_t request_id) {
  if (is_cancelled(request_id)) return;
  store_cancelled(request_id);
  if (mesh_ != nullptr) mesh_->tell_cancelled(request_id);
}

bool CrewEnd::is_cancelled(std::uint64_t request_id) const {
  return head().cancelled[crew::place_of(request_id)].load(std::memory_order_acquire) == request_id;
}

void CrewEnd::set_hungry(bool hungry) {
  if (hungry == hungry_) return;
  hungry_ = hungry;
  // One that has just been claimed gets its child all the same.
  head().hungry[place_.member].value.store(hungry ? 1 : 0, std::memory_order_relaxed);
}

bool CrewEnd::claim_hungry(std::uint32_t member) {
  if (is_far(member)) return mesh_->claim_hungry(member);
  std::atomic<std::uint64_t>& word = head().hungry[member].value;
  return word.load(std::memory_order_relaxed) == 1 && word.exchange(0) == 1;
}

bool CrewEnd::prepare_to_sleep() {
  announce_sleep(head().sleeping[place_.member]);
  if (!ready() && (mesh_ == nullptr || sleep_far())) return true;
  finish_sleep();
  return false;
}

int CrewEnd::wake_descriptor() const {
  if (mesh_ == nullptr || loss_told_) return wake_[place_.member];
  return sleeper_ ? sleeper_.get() : mesh_->wake_descriptor();
}

void CrewEnd::finish_sleep() {
  end_sleep(head().sleeping[place_.member], wake_[place_.member], watch_);
}

}  // namespace orchid::transport
