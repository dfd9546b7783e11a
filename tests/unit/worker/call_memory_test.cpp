#include "call_memory.h"

#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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

bool say_done(int socket, std::uint32_t sequence, std::string_view bytes = {},
              std::uint64_t before = 0) {
  return send_packet(socket, encode(MemoryAnswer{.sequence = sequence, .before = before}, bytes))
      .has_value();
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
    const MemoryAccess& head = asked.head;
    if (head.ask == MemoryAsk::put) memory.replace(head.offset, head.bytes, asked.bytes);
    const auto bytes = head.ask == MemoryAsk::get ? memory.substr(head.offset, head.bytes) : "";
    return say_done(socket, head.sequence, bytes);
  });
  const auto opened = worker.memory.open(lease_name);
  REQUIRE(opened.has_value());
  CHECK(opened->size.value == size_of_memory);
  CHECK(worker.open() == opened->memory);
  CHECK(worker.opened == 1);
  for (const std::size_t size :
       {std::size_t{1}, memory_access_part, memory_access_part + 1, 5 * memory_access_part + 3}) {
    CAPTURE(size);
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + size);
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

}  // namespace orchid::executor
