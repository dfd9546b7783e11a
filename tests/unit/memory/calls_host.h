// calls_host.h: an executor's part of leased memory in calls, with the test in the places of worker
// and gateway.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "event_loop.h"
#include "foundation/log.h"
#include "foundation/sockets.h"
#include "memory/memory_of_calls.h"
#include "memory_under_test.h"
#include "protocol/memory_access.h"

namespace orchid::executor::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline const LeaseTenant carl{1000, "carl"};
inline const LeaseTenant dora{1001, "dora"};
inline constexpr LeaseId lease_here{1, 1};
inline constexpr ByteCount bytes_here = 1_MiB;

struct Told {
  ServiceAnswer answer;
  UniqueFd socket;
};

struct CallsHost : EventLoop {
  explicit CallsHost(milliseconds open_within = seconds(10),
                     milliseconds settle_within = seconds(5))
      : data(io, {.budget = 64_MiB, .per_tenant = 64_MiB}),
        leases(io, children, data, {.program = MEMORY_PROGRAM, .listen = "127.0.0.1"}, say()),
        calls({.io = io, .children = children, .leases = leases, .tell = say()},
              {.program = MEMORY_PROGRAM,
               .open_within = open_within,
               .settle_within = settle_within}) {
    log::configure("unit_memory", LogLevel::error);
  }
  std::function<void(const ControlMessage&)> say() {
    return [this](const ControlMessage& message) { said.push_back(message); };
  }
  void take(LeaseId lease, const LeaseTenant& tenant = carl) {
    leases.obey(LeaseMemory{.lease = lease,
                            .tenant = tenant,
                            .bytes = bytes_here,
                            .key = std::string(32, 'b'),
                            .wait = WaitMode::adaptive,
                            .expires_in = seconds(60)});
    run_until([&] {
      return std::ranges::any_of(said, [&](const ControlMessage& message) {
        const auto* leased = std::get_if<MemoryLeased>(&message);
        return leased != nullptr && leased->lease == lease;
      });
    });
  }
  void ask(std::uint64_t worker, const std::string& lease, std::uint32_t sequence = 1,
           const LeaseTenant& tenant = carl) {
    calls.ask(tenant, worker, {.ask = ServiceAsk::open_memory, .sequence = sequence, .name = lease},
              [this](const ServiceAnswer& answer, int socket) {
                answers.push_back({answer, UniqueFd(socket < 0 ? -1 : ::dup(socket))});
              });
  }
  Told await() {
    run_until([&] { return !answers.empty(); });
    Told told = std::move(answers.front());
    answers.pop_front();
    return told;
  }
  Told open(std::uint64_t worker, LeaseId lease = lease_here) {
    ask(worker, to_string(lease));
    Told told = await();
    REQUIRE_MESSAGE(told.answer.verdict == ServiceVerdict::done, told.answer.message);
    REQUIRE(told.socket.get() >= 0);
    return told;
  }
  void check_refused(ErrorCode code, const std::string& why) {
    const Told told = await();
    CHECK(told.answer.verdict == ServiceVerdict::refused);
    CHECK(told.answer.code == code);
    CHECK_MESSAGE(told.answer.message.find(why) != std::string::npos, told.answer.message);
    CHECK(told.socket.get() < 0);
  }
  /// Nothing: the process has hung up.
  std::optional<std::string> hear(int socket) {
    std::optional<std::string> text;
    bool is_over = false;
    run_until([&] {
      auto packet = receive_packet(socket, false);
      if (packet && *packet) text = (*packet)->text;
      is_over = !packet || text.has_value();
      return is_over;
    });
    return text;
  }
  MemoryAnswer access(int socket, const MemoryAccess& asked, std::string_view bytes = {}) {
    REQUIRE(send_packet(socket, encode(asked, bytes)).has_value());
    const auto text = hear(socket);
    REQUIRE(text.has_value());
    const auto answer = parse_memory_answer(*text, asked.ask == MemoryAsk::get ? asked.bytes : 0);
    REQUIRE(answer.has_value());
    CHECK(answer->head.sequence == asked.sequence);
    return answer->head;
  }
  MemoryAnswer add(int socket, std::uint32_t sequence = 1) {
    return access(socket, {.ask = MemoryAsk::fetch_add, .sequence = sequence, .operand = 1});
  }
  /// What the gateway is asked next, or has been asked.
  FindMemory question() {
    std::optional<FindMemory> found;
    run_until([&] {
      for (auto at = said.begin(); at != said.end() && !found; ++at)
        if (const auto* one = std::get_if<FindMemory>(&*at)) {
          found = *one;
          said.erase(at);
          break;
        }
      return found.has_value();
    });
    return *found;
  }

  ChildWatch children{io};
  DataService data;
  MemoryLeases leases;
  std::deque<ControlMessage> said;
  std::deque<Told> answers;
  MemoryOfCalls calls;
};

}  // namespace orchid::executor::test
