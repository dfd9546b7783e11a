// Ways from workers to leased memory: the real program at both ends, and the test in the places of
// worker and gateway.
#include "memory/memory_of_calls.h"

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "event_loop.h"
#include "foundation/log.h"
#include "foundation/sockets.h"
#include "memory_under_test.h"
#include "protocol/memory_access.h"

namespace orchid::executor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace orchid::test;

const LeaseTenant carl{1000, "carl"};
const LeaseTenant dora{1001, "dora"};
constexpr LeaseId lease_here{1, 1};
constexpr ByteCount bytes_here = 1_MiB;

struct Told {
  ServiceAnswer answer;
  UniqueFd socket;
};

struct CallsHost : executor::test::EventLoop {
  explicit CallsHost(milliseconds open_within = seconds(10))
      : data(io, {.budget = 64_MiB, .per_tenant = 64_MiB}),
        leases(io, children, data, {.program = MEMORY_PROGRAM, .listen = "127.0.0.1"}, say()),
        calls({.io = io, .children = children, .leases = leases, .tell = say()},
              {.program = MEMORY_PROGRAM, .open_within = open_within}) {
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
  FindMemory question() {
    std::optional<FindMemory> found;
    run_until([&] {
      for (const ControlMessage& message : said)
        if (const auto* one = std::get_if<FindMemory>(&message)) found = *one;
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

}  // namespace

TEST_CASE("a worker gets a socket to a memory, and the next one goes on where it was") {
  CallsHost host;
  host.take(lease_here);
  {
    const Told told = host.open(7);
    CHECK(told.answer.bytes == bytes_here.value);
    CHECK(host.add(told.socket.get()).before == 0);
    CHECK(host.add(told.socket.get()).before == 1);
    const auto beyond = host.access(
        told.socket.get(),
        {.ask = MemoryAsk::put, .sequence = 3, .offset = bytes_here.value - 2, .bytes = 5},
        "bytes");
    CHECK(beyond.verdict == MemoryVerdict::refused);
    CHECK(beyond.code == ErrorCode::bad_request);
    CHECK(host.add(told.socket.get()).before == 2);
  }
  const Told told = host.open(8);
  CHECK(host.add(told.socket.get()).before == 3);
  host.leases.obey(EndMemory{lease_here});
  MemoryAnswer late;
  // What comes before the end of the connection has been seen may have happened.
  host.run_until([&] {
    late = host.add(told.socket.get());
    return late.verdict != MemoryVerdict::done;
  });
  CHECK(late.code == ErrorCode::lease_ended);
  late = host.access(told.socket.get(), {.ask = MemoryAsk::get, .sequence = 4, .bytes = 8});
  CHECK(late.verdict == MemoryVerdict::refused);
  CHECK(late.code == ErrorCode::lease_ended);
}

TEST_CASE("one uses a memory at a time, and who waits too long is told so") {
  CallsHost host(seconds(3));
  host.take(lease_here);
  Told first = host.open(7);
  host.ask(8, to_string(lease_here));
  host.check_refused(ErrorCode::conflict, "at a time");
  CHECK(host.add(first.socket.get()).before == 0);
  first.socket.reset();
  CHECK(host.add(host.open(8).socket.get()).before == 1);
}

TEST_CASE("only a tenant's own leases are found, here or by the gateway") {
  CallsHost host(milliseconds(700));
  host.take(lease_here, dora);
  host.ask(7, to_string(lease_here));
  host.check_refused(ErrorCode::unreachable, "no gateway");
  host.calls.begin(true);
  host.ask(7, to_string(lease_here), 2);
  const FindMemory question = host.question();
  CHECK(question.tenant == carl);
  CHECK(question.lease == lease_here);
  host.calls.obey(MemoryNotFound{question.question, ErrorCode::not_found, "there is no lease"});
  host.check_refused(ErrorCode::not_found, "there is no lease");
  host.calls.obey(MemoryNotFound{question.question, ErrorCode::not_found, "once more"});
  host.ask(7, "weather", 3);
  host.check_refused(ErrorCode::bad_request, "the id of its lease");
  host.ask(7, to_string(lease_here), 4);
  host.check_refused(ErrorCode::timed_out, "the gateway does not answer");
}

TEST_CASE("a worker has four memories open at most, and a request that comes twice is one") {
  CallsHost host(seconds(4));
  std::vector<Told> held;
  for (std::uint64_t number = 1; number <= MemoryOfCalls::most_of_worker; ++number) {
    host.take({2, number});
    host.ask(7, to_string(LeaseId{2, number}), 9);
    host.ask(7, to_string(LeaseId{2, number}), 9);  // as after a depot that was killed
    held.push_back(host.await());
    CHECK(host.answers.empty());
  }
  host.take(lease_here);
  host.ask(7, to_string(lease_here));
  host.check_refused(ErrorCode::quota, "at most 4");
  CHECK(host.add(host.open(8).socket.get()).before == 0);
}

TEST_CASE("who sends nonsense, or takes no answers, loses its way and nothing else") {
  CallsHost host;
  host.take(lease_here);
  {
    const Told told = host.open(7);
    REQUIRE(send_packet(told.socket.get(), "rubbish").has_value());
    CHECK_FALSE(host.hear(told.socket.get()).has_value());
  }
  {
    const Told told = host.open(7);
    const auto pair = make_packet_pair().value();
    REQUIRE(send_packet(told.socket.get(),
                        encode(MemoryAccess{.ask = MemoryAsk::fence, .sequence = 1}),
                        {pair.first.get()})
                .has_value());
    CHECK_FALSE(host.hear(told.socket.get()).has_value());
  }
  CHECK(host.add(host.open(8).socket.get()).before == 0);
}

TEST_CASE("the end of its worker, or of the grant, ends a way") {
  CallsHost host;
  host.take(lease_here);
  const Told told = host.open(7);
  CHECK(host.children.watched() == 2);
  host.calls.worker_ended(7);
  CHECK_FALSE(host.hear(told.socket.get()).has_value());
  host.run_until([&] { return host.children.watched() == 1; });
  const Told again = host.open(8);
  host.calls.end_all();
  host.leases.end_all();
  host.run_until([&] { return host.children.watched() == 0; });
}

TEST_CASE("a memory of which nobody listens any more is not waited for without end") {
  CallsHost host(milliseconds(500));
  host.calls.begin(true);
  host.ask(7, to_string(lease_here));
  host.calls.obey(MemoryFound{.question = host.question().question,
                              .address = "127.0.0.1:1",
                              .key = std::string(32, 'c'),
                              .bytes = 1_MiB,
                              .host = "n17"});
  host.check_refused(ErrorCode::conflict, "not to be reached");
  host.run_until([&] { return host.children.watched() == 0; });
}

}  // namespace orchid::executor
