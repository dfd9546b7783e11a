// Ways to leased memory that are lost, or that are too many.
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <future>
#include <string>
#include <utility>
#include <vector>

#include "calls_host.h"
#include "foundation/tcp.h"

namespace orchid::executor {
namespace {

using namespace test;
using orchid::test::memory_context;
using orchid::test::soon;

/// A memory that another executor serves, whose connection can be cut without the lease's end.
class ServedElsewhere {
 public:
  explicit ServedElsewhere(bool answers) {
    auto listener = transport::UcxMemoryListener::listen(
                        memory_context(), {.address = "127.0.0.1",
                                           .key = transport::parse_connection_key(key()).value(),
                                           .bytes = bytes_here})
                        .value();
    address_ = listener.address();
    served_ =
        std::async(std::launch::async, [this, answers, listener = std::move(listener)]() mutable {
          const int stop = stop_.first.get();
          auto server = listener.accept(soon(), stop);
          if (!server) return;
          pollfd wait{.fd = stop, .events = POLLIN, .revents = 0};
          if (answers)
            static_cast<void>(server->serve(memory_, {.stop = stop}));
          else
            ::poll(&wait, 1, 20'000);
        });
  }
  ~ServedElsewhere() { cut(); }
  ServedElsewhere(const ServedElsewhere&) = delete;
  ServedElsewhere& operator=(const ServedElsewhere&) = delete;
  static std::string key() { return std::string(32, 'c'); }
  [[nodiscard]] MemoryFound found(std::uint64_t question,
                                  std::string key = ServedElsewhere::key()) const {
    return {.question = question,
            .address = address_,
            .key = std::move(key),
            .bytes = bytes_here,
            .host = "n17"};
  }
  void cut() {
    stop_.second.reset();
    if (served_.valid()) served_.get();
  }

 private:
  std::vector<std::byte> memory_ = std::vector<std::byte>(bytes_here.value);
  std::pair<UniqueFd, UniqueFd> stop_ = make_packet_pair().value();
  std::string address_;
  std::future<void> served_;
};

/// What a call hears of a memory of another executor whose connection was cut, when the gateway
/// then says so of its lease.
MemoryAnswer after_a_cut(
    CallsHost& host, const MemoryAccess& asked, bool server_answers,
    const std::function<std::optional<ControlMessage>(const ServedElsewhere&, const FindMemory&)>&
        gateway) {
  ServedElsewhere elsewhere(server_answers);
  host.calls.begin(true);
  host.ask(7, "l-9-1");
  host.calls.obey(elsewhere.found(host.question().question));
  const Told told = host.await();
  REQUIRE_MESSAGE(told.answer.verdict == ServiceVerdict::done, told.answer.message);
  if (server_answers) {
    CHECK(host.add(told.socket.get()).before == 0);
    elsewhere.cut();
  }
  REQUIRE(send_packet(told.socket.get(), encode(asked)).has_value());
  if (!server_answers) {
    // Once it has been read, it is sent or being sent.
    host.run_until([&] {
      int left = 0;
      return ::ioctl(told.socket.get(), SIOCOUTQ, &left) == 0 && left == 0;
    });
    elsewhere.cut();
  }
  std::optional<std::string> text;
  host.run_until([&] {
    for (; !host.said.empty(); host.said.pop_front())
      if (const auto* question = std::get_if<FindMemory>(&host.said.front()))
        if (const auto answer = gateway(elsewhere, *question)) {
          if (const auto* found = std::get_if<MemoryFound>(&*answer)) host.calls.obey(*found);
          if (const auto* none = std::get_if<MemoryNotFound>(&*answer)) host.calls.obey(*none);
        }
    if (auto packet = receive_packet(told.socket.get(), false); packet && *packet)
      text = (*packet)->text;
    return text.has_value();
  });
  const auto answer = parse_memory_answer(*text, 0);
  REQUIRE(answer.has_value());
  return answer->head;
}

}  // namespace

TEST_CASE("the key of a memory's next process is never told with the port of its last one") {
  CallsHost host;
  host.take(lease_here);
  const MemoryReach before = host.leases.way_to(lease_here, carl.uid).value();
  CHECK_FALSE(before.address.empty());
  {
    const Told told = host.open(7);
  }
  std::optional<MemoryReach> now;
  host.run_until([&] {
    now = host.leases.way_to(lease_here, carl.uid);
    return !now || now->key != before.key;
  });
  REQUIRE(now.has_value());
  CHECK(now->address.empty());
  const auto held = host.leases.introduce(std::chrono::steady_clock::now());
  REQUIRE(held.size() == 1);
  CHECK(held.front().address.empty());
  // A call that comes now waits for the next port.
  const Told told = host.open(8);
  CHECK(host.add(told.socket.get()).before == 0);
  CHECK(host.leases.way_to(lease_here, carl.uid)->key == now->key);
  CHECK_FALSE(host.leases.way_to(lease_here, carl.uid)->address.empty());
}

TEST_CASE("a connection that has ended is told from a lease that has") {
  const MemoryAccess get{.ask = MemoryAsk::get, .sequence = 5, .bytes = 8};
  SUBCASE("it is served on with another key") {
    CallsHost host;
    const auto answer = after_a_cut(host, get, true, [](const auto& elsewhere, const auto& asked) {
      CHECK(asked.lease == LeaseId{9, 1});
      return elsewhere.found(asked.question, std::string(32, 'd'));
    });
    CHECK(answer.verdict == MemoryVerdict::refused);
    CHECK(answer.code == ErrorCode::unreachable);
    CHECK_MESSAGE(answer.message.find("open the memory again") != std::string::npos,
                  answer.message);
  }
  SUBCASE("it has ended, which the gateway hears a moment later") {
    CallsHost host;
    int asked_before = 0;
    const auto answer = after_a_cut(
        host, get, true,
        [&](const auto& elsewhere, const auto& asked) -> std::optional<ControlMessage> {
          if (++asked_before == 1) return elsewhere.found(asked.question);
          return MemoryNotFound{asked.question, ErrorCode::not_found, "there is no such lease"};
        });
    CHECK(asked_before == 2);
    CHECK(answer.verdict == MemoryVerdict::refused);
    CHECK(answer.code == ErrorCode::lease_ended);
  }
  SUBCASE("nobody knows") {
    CallsHost host(seconds(10), milliseconds(300));
    const auto answer = after_a_cut(
        host, get, true, [](const auto&, const auto&) { return std::optional<ControlMessage>(); });
    CHECK(answer.verdict == MemoryVerdict::refused);
    CHECK(answer.code == ErrorCode::unreachable);
  }
}

TEST_CASE("an atomic that was sent, and has no answer, is not known, whatever its lease does") {
  const MemoryAccess add{.ask = MemoryAsk::fetch_add, .sequence = 5, .operand = 1};
  CallsHost host;
  const auto lost = after_a_cut(host, add, false, [](const auto& elsewhere, const auto& asked) {
    return elsewhere.found(asked.question, std::string(32, 'd'));
  });
  CHECK(lost.verdict == MemoryVerdict::unknown);
  CHECK(lost.code == ErrorCode::unreachable);
  CallsHost other;
  const auto ended = after_a_cut(other, add, false, [](const auto&, const auto& asked) {
    return MemoryNotFound{asked.question, ErrorCode::not_found, "there is no such lease"};
  });
  CHECK(ended.verdict == MemoryVerdict::unknown);
  CHECK(ended.code == ErrorCode::lease_ended);
}

TEST_CASE("a tenant's calls have 16 memories open, also when all of them are found at once") {
  CallsHost host(milliseconds(300));
  host.calls.begin(true);
  const TcpListener silent = listen_tcp("127.0.0.1:0").value();
  std::vector<std::uint64_t> questions;
  for (std::uint64_t worker = 1; worker <= MemoryOfCalls::most_of_tenant + 1; ++worker) {
    host.ask(worker, to_string(LeaseId{5, worker}));
    questions.push_back(host.question().question);
  }
  for (const std::uint64_t question : questions)
    host.calls.obey(MemoryFound{.question = question,
                                .address = silent.address,
                                .key = std::string(32, 'c'),
                                .bytes = 1_MiB,
                                .host = "n17"});
  CHECK(host.children.watched() == MemoryOfCalls::most_of_tenant);
  host.check_refused(ErrorCode::quota, "no more are allowed");
}

TEST_CASE("whoever speaks for a worker has two memories looked for at once, and no more") {
  CallsHost host(milliseconds(500));
  host.calls.begin(true);
  for (std::uint32_t sequence = 1; sequence <= 100; ++sequence)
    host.ask(7, to_string(LeaseId{5, sequence}), sequence);
  CHECK(host.answers.size() == 98);
  for (int refused = 0; refused < 98; ++refused) host.check_refused(ErrorCode::quota, "already");
  host.ask(8, "l-5-1");
  CHECK(host.answers.empty());
  for (int silent = 0; silent < 3; ++silent)
    host.check_refused(ErrorCode::timed_out, "the gateway does not answer");
  host.ask(7, "l-5-3", 200);
  host.check_refused(ErrorCode::timed_out, "the gateway does not answer");
}

}  // namespace orchid::executor
