#include "call_memory.h"

#include <doctest/doctest.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "foundation/packet_room.h"
#include "foundation/sockets.h"

namespace orchid::executor {
namespace {

/// What is at the other end of a socket: it does with each packet as the test says, until that is
/// false, and then hangs up.
class MemoryPeer {
 public:
  using Does = std::function<bool(int socket, const std::string& packet)>;
  explicit MemoryPeer(Does does)
      : thread_([this, does = std::move(does)] {
          while (auto packet = receive_packet(ends_.second.get(), true))
            if (!does(ends_.second.get(), (*packet)->text)) break;
          ends_.second.reset();
        }) {}
  ~MemoryPeer() {
    ends_.first.reset();
    thread_.join();
  }
  MemoryPeer(const MemoryPeer&) = delete;
  MemoryPeer& operator=(const MemoryPeer&) = delete;
  [[nodiscard]] int socket() const { return ends_.first.get(); }

 private:
  std::pair<UniqueFd, UniqueFd> ends_ = make_packet_pair().value();
  std::thread thread_;
};

constexpr std::uint64_t size_of_memory = 1 << 20;
const char* const lease_name = "l-3-17";

/// A worker whose depot gives it a memory at whose other end is `process`.
struct MemoryWorker {
  using Process = std::function<bool(int socket, const MemoryPacket<MemoryAccess>& asked)>;
  explicit MemoryWorker(const Process& does)
      : process([does](int socket, const std::string& packet) {
          const auto asked = parse_memory_access(packet);
          return asked.has_value() && does(socket, *asked);
        }),
        depot([this](int socket, const std::string& packet) { return give(socket, packet); }) {}
  bool give(int socket, const std::string& packet) {
    const auto request = parse_service_request(packet);
    if (!request || request->ask != ServiceAsk::open_memory) return false;
    ++opened;
    ServiceAnswer answer{.sequence = request->sequence, .bytes = size_of_memory};
    if (request->name == lease_name)
      return send_packet(socket, encode(answer), {process.socket()}).has_value();
    answer.verdict = ServiceVerdict::refused;
    answer.code = ErrorCode::not_found;
    return send_packet(socket, encode(answer)).has_value();
  }
  std::uint32_t open() { return memory.open(lease_name).value().memory; }

  std::atomic<int> opened{0};
  std::atomic<bool> is_stopped{false};
  MemoryPeer process;
  MemoryPeer depot;
  ServiceClient client{depot.socket()};
  CallMemory memory{client, [this] { return is_stopped.load(); }};
};

/// When there is room, as the real process does.
bool say_done(int socket, std::uint32_t sequence, std::string_view bytes = {},
              std::uint64_t before = 0) {
  const std::string answer = encode(MemoryAnswer{.sequence = sequence, .before = before}, bytes);
  for (;;) {
    const auto sent = try_send_packet(socket, answer);
    if (!sent || *sent) return sent.has_value();
    pollfd room{.fd = socket, .events = POLLOUT, .revents = 0};
    if (::poll(&room, 1, 20'000) <= 0) return false;
  }
}

/// A memory that does what it is asked.
bool do_asked(std::string& memory, int socket, const MemoryPacket<MemoryAccess>& asked) {
  const MemoryAccess& head = asked.head;
  const std::uint64_t row = head.row == 0 ? head.bytes : head.row;
  std::string got;
  for (std::uint64_t at = 0; at < head.bytes; at += row) {
    const std::uint64_t place = head.offset + at / row * head.stride;
    if (head.ask == MemoryAsk::put) memory.replace(place, row, asked.bytes.substr(at, row));
    if (head.ask == MemoryAsk::get) got += memory.substr(place, row);
  }
  return say_done(socket, head.sequence, got);
}

orchid_leased_step a_put(std::uint64_t offset, std::span<const std::byte> bytes) {
  return {offset, bytes.size(), 0, 1, bytes.data(), nullptr};
}
orchid_leased_step a_get(std::uint64_t offset, std::span<std::byte> bytes) {
  return {offset, bytes.size(), 0, 1, nullptr, bytes.data()};
}

std::vector<std::byte> numbered(std::size_t size, std::size_t seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + seed);
  return bytes;
}

template <typename T>
ErrorCode code_in(const CallMemory::Answer<T>& answer) {
  REQUIRE_FALSE(answer.has_value());
  return answer.error().why.code;
}

}  // namespace

TEST_CASE("a call moves bytes of any size, in parts, and opens a memory once") {
  std::string memory(size_of_memory, '\0');
  MemoryWorker worker([&](int socket, const MemoryPacket<MemoryAccess>& asked) {
    return do_asked(memory, socket, asked);
  });
  const auto opened = worker.memory.open(lease_name);
  REQUIRE(opened.has_value());
  CHECK(opened->size.value == size_of_memory);
  CHECK(worker.open() == opened->memory);
  CHECK(worker.opened == 1);
  for (const std::size_t size :
       {std::size_t{1}, memory_access_part, memory_access_part + 1, 5 * memory_access_part + 3}) {
    CAPTURE(size);
    const auto bytes = numbered(size, size);
    REQUIRE(worker.memory.put(opened->memory, 11, bytes).has_value());
    std::vector<std::byte> back(size);
    REQUIRE(worker.memory.get(opened->memory, 11, back).has_value());
    CHECK(back == bytes);
  }
  worker.memory.close();
  CHECK(code_in(worker.memory.fence(opened->memory)) == ErrorCode::bad_request);
}

TEST_CASE("what is not within the memory, or in none, is not asked for") {
  int asked = 0;
  MemoryWorker worker([&](int socket, const MemoryPacket<MemoryAccess>& packet) {
    ++asked;
    return say_done(socket, packet.head.sequence);
  });
  const std::uint32_t memory = worker.open();
  std::vector<std::byte> bytes(16);
  CHECK(code_in(worker.memory.put(memory, size_of_memory - 15, bytes)) == ErrorCode::bad_request);
  CHECK(code_in(worker.memory.get(memory, ~0ULL - 7, bytes)) == ErrorCode::bad_request);
  CHECK(code_in(worker.memory.put(memory + 1, 0, bytes)) == ErrorCode::bad_request);
  CHECK(code_in(worker.memory.change(memory, {.ask = MemoryAsk::fetch_add, .offset = 4})) ==
        ErrorCode::bad_request);
  CHECK(code_in(worker.memory.change(memory,
                                     {.ask = MemoryAsk::fetch_add, .offset = size_of_memory})) ==
        ErrorCode::bad_request);
  CHECK(worker.memory.put(memory, size_of_memory, {}).has_value());
  CHECK_FALSE(worker.memory.open("weather").has_value());
  CHECK(worker.memory.open("l-3-18").error().code == ErrorCode::not_found);
  CHECK(asked == 0);
}

TEST_CASE("an atomic whose answer is lost is not known, and is not sent again") {
  std::atomic<int> asked = 0;
  MemoryWorker worker([&](int socket, const MemoryPacket<MemoryAccess>& packet) {
    ++asked;
    return asked == 1 && say_done(socket, packet.head.sequence, {}, 41);
  });
  const std::uint32_t memory = worker.open();
  const MemoryAccess add{.ask = MemoryAsk::fetch_add, .offset = 8, .operand = 1};
  CHECK(worker.memory.change(memory, add).value() == 41);
  const auto lost = worker.memory.change(memory, add);
  CHECK(code_in(lost) == ErrorCode::unreachable);
  CHECK(lost.error().may_have_happened);
  const auto later = worker.memory.change(memory, add);
  CHECK(code_in(later) == ErrorCode::unreachable);
  CHECK_FALSE(later.error().may_have_happened);
  CHECK(asked == 2);
}

TEST_CASE("what is no answer to the request ends the way, and gives no bytes") {
  for (const char* how : {"another sequence", "other bytes", "nonsense"}) {
    CAPTURE(how);
    MemoryWorker worker([&](int socket, const MemoryPacket<MemoryAccess>& packet) {
      const std::uint32_t sequence = packet.head.sequence;
      if (how[0] == 'n') return send_packet(socket, "nonsense").has_value();
      return say_done(socket, how[0] == 'a' ? sequence + 1 : sequence,
                      how[0] == 'a' ? "12345678" : "1");
    });
    const std::uint32_t memory = worker.open();
    std::vector<std::byte> bytes(8);
    CHECK(code_in(worker.memory.get(memory, 0, bytes)) == ErrorCode::unreachable);
    CHECK(bytes == std::vector<std::byte>(8));
    CHECK(code_in(worker.memory.fence(memory)) == ErrorCode::unreachable);
  }
}

TEST_CASE("a memory that has ended stays so, until it is opened again") {
  MemoryWorker worker([&](int socket, const MemoryPacket<MemoryAccess>& packet) {
    return send_packet(socket, encode(MemoryAnswer{.verdict = packet.head.ask == MemoryAsk::fence
                                                                  ? MemoryVerdict::refused
                                                                  : MemoryVerdict::unknown,
                                                   .sequence = packet.head.sequence,
                                                   .code = ErrorCode::lease_ended,
                                                   .message = "it is gone"}))
        .has_value();
  });
  const std::uint32_t memory = worker.open();
  const auto change = worker.memory.change(memory, {.ask = MemoryAsk::compare_swap});
  CHECK(code_in(change) == ErrorCode::lease_ended);
  CHECK(change.error().may_have_happened);
  CHECK(code_in(worker.memory.fence(memory)) == ErrorCode::lease_ended);
  CHECK(worker.opened == 1);
  CHECK(worker.open() == memory);
  CHECK(worker.opened == 2);
  const auto fence = worker.memory.fence(memory);
  CHECK(code_in(fence) == ErrorCode::lease_ended);
  CHECK_FALSE(fence.error().may_have_happened);
}

TEST_CASE("a call that is to stop waits for nothing more") {
  MemoryWorker* self = nullptr;
  MemoryWorker worker([&](int, const MemoryPacket<MemoryAccess>&) {
    self->is_stopped = true;
    return true;
  });
  self = &worker;
  const std::uint32_t memory = worker.open();
  const auto change = worker.memory.change(memory, {.ask = MemoryAsk::fetch_add});
  CHECK(code_in(change) == ErrorCode::cancelled);
  CHECK(change.error().may_have_happened);
  worker.is_stopped = false;
  CHECK(code_in(worker.memory.fence(memory)) == ErrorCode::cancelled);
}

TEST_CASE("a window of requests is on its way, and their answers come in order") {
  std::string memory(size_of_memory, '\0');
  std::vector<std::string> waiting;
  std::size_t most = 0;
  std::size_t left = 40;
  MemoryWorker worker([&](int socket, const MemoryPacket<MemoryAccess>& asked) {
    waiting.push_back(encode(asked.head, asked.bytes));
    most = std::max(most, waiting.size());
    // Nothing is answered before all are there that may be on their way.
    if (waiting.size() < std::min(left, memory_access_window)) return true;
    for (const std::string& one : waiting)
      if (!do_asked(memory, socket, parse_memory_access(one).value())) return false;
    left -= waiting.size();
    waiting.clear();
    return true;
  });
  const std::uint32_t opened = worker.open();
  std::vector<orchid_leased_step> steps;
  std::vector<std::vector<std::byte>> put, got(20, std::vector<std::byte>(1000));
  for (std::size_t i = 0; i < 20; ++i) {
    put.push_back(numbered(1000, i));
    steps.push_back(a_put(i * 1000, put[i]));
    steps.push_back(a_get(i * 1000, got[i]));
  }
  REQUIRE(worker.memory.run(opened, steps).has_value());
  CHECK(put == got);
  CHECK(most == memory_access_window);
}

TEST_CASE("what is asked for later comes with what is waited for, in order") {
  std::string memory(size_of_memory, '\0');
  MemoryWorker worker([&](int socket, const MemoryPacket<MemoryAccess>& asked) {
    return do_asked(memory, socket, asked);
  });
  const std::uint32_t opened = worker.open();
  auto bytes = numbered(3 * memory_access_part, 1);
  const auto before = bytes;
  std::vector<std::byte> got(bytes.size());
  const std::vector<orchid_leased_step> steps{a_put(5, bytes), a_get(5, got)};
  const auto first = worker.memory.start(opened, steps);
  REQUIRE(first.has_value());
  std::ranges::fill(bytes, std::byte{9});  // it has gone already
  CHECK(worker.memory.change(opened, {.ask = MemoryAsk::fetch_add}).has_value());
  CHECK(got == before);
  CHECK(worker.memory.wait(opened, *first).has_value());
  CHECK(worker.memory.wait(opened, *first).has_value());
  CHECK(code_in(worker.memory.wait(opened, *first + 100)) == ErrorCode::bad_request);
  CHECK(code_in(worker.memory.wait(opened + 1, 0)) == ErrorCode::bad_request);
  const auto nothing = worker.memory.start(opened, {});
  CHECK(worker.memory.wait(opened, nothing.value()).has_value());
}

TEST_CASE("more than a window goes at once, of more than the socket has room for") {
  std::string memory(size_of_memory, '\0');
  MemoryWorker worker([&](int socket, const MemoryPacket<MemoryAccess>& asked) {
    return do_asked(memory, socket, asked);
  });
  const std::uint32_t opened = worker.open();
  const auto bytes = numbered(size_of_memory, 3);
  std::vector<std::byte> got(bytes.size());
  REQUIRE(worker.memory.put(opened, 0, bytes).has_value());
  CHECK(memory == std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  REQUIRE(worker.memory.get(opened, 0, got).has_value());
  CHECK(got == bytes);
}

TEST_CASE("rows go together, and lie here one behind the other") {
  std::string memory(size_of_memory, '\0');
  std::vector<std::uint64_t> sizes;
  MemoryWorker worker([&](int socket, const MemoryPacket<MemoryAccess>& asked) {
    sizes.push_back(asked.head.bytes);
    return do_asked(memory, socket, asked);
  });
  const std::uint32_t opened = worker.open();
  const auto column = numbered(1000 * 80, 2);
  std::vector<std::byte> got(column.size());
  const std::vector<orchid_leased_step> steps{{3, 80, 1000, 1000, column.data(), nullptr},
                                              {3, 80, 1000, 1000, nullptr, got.data()}};
  REQUIRE(worker.memory.run(opened, steps).has_value());
  CHECK(got == column);
  CHECK(sizes == std::vector<std::uint64_t>{65'520, 14'480, 65'520, 14'480});
  std::vector<std::byte> one(80);
  REQUIRE(worker.memory.get(opened, 3 + 999'000, one).has_value());
  CHECK(one == std::vector<std::byte>(column.end() - 80, column.end()));
}

TEST_CASE("of steps of which one is not possible none is done") {
  int asked = 0;
  MemoryWorker worker([&](int socket, const MemoryPacket<MemoryAccess>& packet) {
    ++asked;
    return say_done(socket, packet.head.sequence);
  });
  const std::uint32_t memory = worker.open();
  std::vector<std::byte> bytes(16);
  const orchid_leased_step good = a_put(0, bytes);
  for (const orchid_leased_step& bad :
       {a_get(size_of_memory - 15, bytes), a_put(~0ULL - 7, bytes),
        orchid_leased_step{0, 8, 4, 2, bytes.data(), nullptr},
        orchid_leased_step{0, 1ULL << 40, 1ULL << 40, 1ULL << 40, bytes.data(), nullptr},
        orchid_leased_step{0, 8, 0, 1, nullptr, nullptr},
        orchid_leased_step{0, 8, 0, 1, bytes.data(), bytes.data()}})
    CHECK(code_in(worker.memory.run(memory, std::vector{good, bad})) == ErrorCode::bad_request);
  CHECK(worker.memory.run(memory, std::vector{orchid_leased_step{}}).has_value());
  CHECK(asked == 0);
}

TEST_CASE("what was on its way when the memory has ended is lost, also when it is opened again") {
  int asked = 0;
  MemoryWorker worker([&](int socket, const MemoryPacket<MemoryAccess>& packet) {
    if (++asked != 3) return say_done(socket, packet.head.sequence, "12345678");
    return send_packet(socket, encode(MemoryAnswer{.verdict = MemoryVerdict::refused,
                                                   .sequence = packet.head.sequence,
                                                   .code = ErrorCode::lease_ended,
                                                   .message = "it is gone"}))
        .has_value();
  });
  const std::uint32_t memory = worker.open();
  std::vector<std::byte> bytes(8);
  const std::vector<orchid_leased_step> steps(3, a_get(0, bytes));
  const auto good = worker.memory.start(memory, std::span(steps).first(2));
  const auto bad = worker.memory.start(memory, steps);
  REQUIRE(bad.has_value());
  CHECK(code_in(worker.memory.wait(memory, *bad)) == ErrorCode::lease_ended);
  CHECK(worker.memory.wait(memory, *good).has_value());
  const auto add = worker.memory.change(memory, {.ask = MemoryAsk::fetch_add});
  CHECK(code_in(add) == ErrorCode::lease_ended);
  CHECK_FALSE(add.error().may_have_happened);
  CHECK(worker.open() == memory);
  CHECK(code_in(worker.memory.wait(memory, *bad)) == ErrorCode::unreachable);
  CHECK(worker.memory.run(memory, {}).has_value());
}

TEST_CASE("an atomic behind what fails may have happened") {
  MemoryWorker worker([&](int socket, const MemoryPacket<MemoryAccess>& packet) {
    if (packet.head.ask == MemoryAsk::put) return true;
    return send_packet(socket, encode(MemoryAnswer{.verdict = MemoryVerdict::refused,
                                                   .sequence = packet.head.sequence - 1,
                                                   .code = ErrorCode::lease_ended,
                                                   .message = "it is gone"}))
        .has_value();
  });
  const std::uint32_t memory = worker.open();
  const std::vector<std::byte> bytes(8);
  REQUIRE(worker.memory.start(memory, std::vector{a_put(0, bytes)}).has_value());
  const auto add = worker.memory.change(memory, {.ask = MemoryAsk::fetch_add});
  CHECK(code_in(add) == ErrorCode::lease_ended);
  CHECK(add.error().may_have_happened);
}

}  // namespace orchid::executor
