// Real depots, whose workers are the test.
#include "depots/depot_pool.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "event_loop.h"
#include "foundation/files.h"
#include "foundation/sockets.h"

namespace orchid::executor {
namespace {

const LeaseTenant first_tenant{1000, "ada"};
const LeaseTenant other_tenant{1001, "bob"};

struct Depots : test::EventLoop {
  explicit Depots(std::chrono::milliseconds idle_for = std::chrono::minutes(1),
                  const char* program = DEPOT_PROGRAM)
      : pool(io, children, {.program = program, .idle_for = idle_for}) {
    pool.set_handlers({.asked =
                           [this](Depot& depot, const DepotAsked& said) {
                             asked.push_back(said);
                             askers.push_back(depot.tenant().uid);
                           },
                       .nonsense = [this](std::uint64_t worker) { nonsense.push_back(worker); },
                       .unserved = [this](std::uint64_t worker) { unserved.push_back(worker); }});
  }
  ~Depots() {
    pool.stop();
    run_until([this] { return children.watched() == 0; });
  }
  Depots(const Depots&) = delete;
  Depots& operator=(const Depots&) = delete;

  /// The worker's end of its service socket.
  UniqueFd take(std::uint64_t worker, const LeaseTenant& tenant) {
    auto pair = make_packet_pair().value();
    pool.take(worker, std::move(pair.second), tenant);
    return std::move(pair.first);
  }
  static void ask(const UniqueFd& socket, std::uint32_t sequence, std::string name = "weather") {
    REQUIRE(send_packet(socket.get(),
                        encode(ServiceRequest{.sequence = sequence, .name = std::move(name)})));
  }
  DepotAsked next_asked() {
    run_until([this] { return !asked.empty(); });
    const DepotAsked first = asked.front();
    asked.erase(asked.begin());
    return first;
  }
  /// The next answer to a worker, and its descriptor.
  std::pair<ServiceAnswer, UniqueFd> answer_at(const UniqueFd& socket) {
    std::optional<Packet> packet;
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!packet) {
      REQUIRE(std::chrono::steady_clock::now() < give_up);
      io.poll();
      pollfd wait{.fd = socket.get(), .events = POLLIN, .revents = 0};
      ::poll(&wait, 1, 1);
      packet = receive_packet(socket.get(), false).value();
    }
    UniqueFd file;
    if (!packet->descriptors.empty()) file = std::move(packet->descriptors.front());
    return {parse_service_answer(packet->text).value(), std::move(file)};
  }
  void answer(std::uint64_t worker, std::uint32_t sequence) {
    pool.find(first_tenant.uid)->answer({.worker = worker, .answer = {.sequence = sequence}});
  }
  /// Ends the first tenant's depot, and waits until the next one is ready.
  void replace_depot() {
    const pid_t before = pid_of(first_tenant);
    REQUIRE(before > 0);
    REQUIRE(::kill(before, SIGKILL) == 0);
    run_until([&] {
      const Depot* depot = pool.find(first_tenant.uid);
      return depot->pid() != before && depot->ready();
    });
  }
  pid_t pid_of(const LeaseTenant& tenant) {
    const Depot* depot = pool.find(tenant.uid);
    return depot == nullptr ? -1 : depot->pid();
  }

  ChildWatch children{io};
  DepotPool pool;
  std::vector<DepotAsked> asked;
  std::vector<std::uint32_t> askers;
  std::vector<std::uint64_t> nonsense;
  std::vector<std::uint64_t> unserved;
};

}  // namespace

TEST_CASE("a depot is started when a worker of its tenant asks, and passes on what it is given") {
  Depots depots;
  const UniqueFd worker = depots.take(7, first_tenant);
  CHECK(depots.pool.size() == 0);
  Depots::ask(worker, 1);
  const DepotAsked asked = depots.next_asked();
  CHECK(asked.worker == 7);
  CHECK(asked.request.name == "weather");
  CHECK(depots.askers == std::vector<std::uint32_t>{1000});

  const UniqueFd file = make_sealed_memory("data", as_bytes("bytes")).value();
  depots.pool.find(first_tenant.uid)
      ->answer({.worker = 7, .answer = {.sequence = 1, .bytes = 5}}, file.get());
  const auto [answer, descriptor] = depots.answer_at(worker);
  CHECK(answer.verdict == ServiceVerdict::done);
  CHECK(answer.sequence == 1);
  CHECK(answer.bytes == 5);
  REQUIRE(descriptor);
  CHECK(as_text(MappedFile::map(descriptor.get(), {.limit = 1_KiB}).value().bytes()) == "bytes");
}

TEST_CASE("each tenant has a depot of its own, and no answer crosses from one to the other") {
  Depots depots;
  const UniqueFd of_ada = depots.take(1, first_tenant);
  const UniqueFd of_bob = depots.take(2, other_tenant);
  Depots::ask(of_ada, 1);
  Depots::ask(of_bob, 1);
  (void)depots.next_asked();
  (void)depots.next_asked();
  CHECK(depots.pool.size() == 2);
  CHECK(depots.pid_of(first_tenant) != depots.pid_of(other_tenant));
  // The other tenant's worker is not known to that depot.
  depots.pool.find(first_tenant.uid)->answer({.worker = 2, .answer = {.sequence = 1, .bytes = 66}});
  depots.pool.find(other_tenant.uid)->answer({.worker = 2, .answer = {.sequence = 1, .bytes = 77}});
  CHECK(depots.answer_at(of_bob).first.bytes == 77);
}

TEST_CASE("a worker that breaks the rules is reported, and others are served on") {
  Depots depots;
  const UniqueFd bad = depots.take(1, first_tenant);
  const UniqueFd good = depots.take(2, first_tenant);
  const UniqueFd sends_files = depots.take(3, first_tenant);
  const UniqueFd asks_twice = depots.take(4, first_tenant);
  const UniqueFd empty = depots.take(5, first_tenant);
  REQUIRE(send_packet(bad.get(), "let me in"));
  depots.run_until([&] { return depots.nonsense == std::vector<std::uint64_t>{1}; });
  REQUIRE(send_packet(sends_files.get(), encode(ServiceRequest{.sequence = 1}), {bad.get()}));
  depots.run_until([&] { return depots.nonsense.size() == 2; });
  CHECK(depots.nonsense.back() == 3);
  Depots::ask(asks_twice, 1);
  Depots::ask(asks_twice, 2);
  depots.run_until([&] { return depots.nonsense.size() == 3; });
  CHECK(depots.nonsense.back() == 4);
  REQUIRE(send_packet(empty.get(), ""));
  depots.run_until([&] { return depots.nonsense.size() == 4; });
  CHECK(depots.nonsense.back() == 5);
  depots.asked.clear();
  Depots::ask(good, 1);
  CHECK(depots.next_asked().worker == 2);
}

TEST_CASE("the next depot goes on with the workers of one that was killed or stopped") {
  Depots depots;
  const UniqueFd worker = depots.take(1, first_tenant);
  std::uint32_t sequence = 0;
  for (const int signal : {SIGKILL, SIGSTOP}) {
    INFO(signal);
    Depots::ask(worker, ++sequence);
    CHECK(depots.next_asked().request.sequence == sequence);
    const pid_t killed = depots.pid_of(first_tenant);
    REQUIRE(::kill(killed, signal) == 0);
    // It had taken the request; the worker hears that it is to be asked again.
    CHECK(depots.answer_at(worker).first.verdict == ServiceVerdict::again);
    CHECK(depots.pid_of(first_tenant) != killed);
    Depots::ask(worker, sequence);
    CHECK(depots.next_asked().request.sequence == sequence);
    depots.pool.find(first_tenant.uid)
        ->answer({.worker = 1, .answer = {.sequence = sequence, .bytes = sequence}});
    CHECK(depots.answer_at(worker).first.bytes == sequence);
  }
  CHECK(depots.nonsense.empty());
}

TEST_CASE("depots that end while a worker asks nothing cost it nothing, however many") {
  Depots depots;
  const UniqueFd worker = depots.take(1, first_tenant);
  Depots::ask(worker, 1);
  (void)depots.next_asked();
  depots.answer(1, 1);
  CHECK(depots.answer_at(worker).first.sequence == 1);
  for (int depot = 0; depot < 3; ++depot) {
    depots.replace_depot();
    CHECK(depots.answer_at(worker).first.verdict == ServiceVerdict::again);
  }
  // A worker that looks only now repeats its request for each of them, and is believed.
  for (int depot = 0; depot < 4; ++depot) Depots::ask(worker, 2);
  CHECK(depots.next_asked().request.sequence == 2);
  depots.answer(1, 2);
  CHECK(depots.answer_at(worker).first.sequence == 2);
  Depots::ask(worker, 3);
  CHECK(depots.next_asked().request.sequence == 3);
  CHECK(depots.asked.empty());
  CHECK(depots.nonsense.empty());
}

TEST_CASE("a depot that follows another one is given more workers than a socket has room for") {
  constexpr std::uint64_t count = 350;
  Depots depots;
  std::vector<UniqueFd> workers;
  for (std::uint64_t id = 0; id < count; ++id) {
    workers.push_back(depots.take(id, first_tenant));
    Depots::ask(workers.back(), 1);
  }
  // All ask before the agent has a turn.
  depots.run_until([&] { return depots.asked.size() == count; });
  depots.asked.clear();
  depots.replace_depot();
  const pid_t second = depots.pid_of(first_tenant);
  for (const UniqueFd& worker : workers) {
    CHECK(depots.answer_at(worker).first.verdict == ServiceVerdict::again);
    Depots::ask(worker, 1);
  }
  depots.run_until([&] { return depots.asked.size() == count; });
  for (std::uint64_t id = 0; id < count; ++id) depots.answer(id, 1);
  for (const UniqueFd& worker : workers) CHECK(depots.answer_at(worker).first.sequence == 1);
  CHECK(depots.pid_of(first_tenant) == second);
  CHECK(depots.nonsense.empty());
  CHECK(depots.unserved.empty());
}

TEST_CASE("a worker that asks without end is heard no more often than it may") {
  using Clock = std::chrono::steady_clock;
  Depots depots;
  const UniqueFd worker = depots.take(1, first_tenant);
  constexpr std::uint32_t count = 600;
  const auto start = Clock::now();
  for (std::uint32_t sequence = 1; sequence <= count; ++sequence) {
    Depots::ask(worker, sequence);
    CHECK(depots.next_asked().request.sequence == sequence);
    depots.answer(1, sequence);
    CHECK(depots.answer_at(worker).first.sequence == sequence);
  }
  // 256 at once, then one in each millisecond.
  CHECK(Clock::now() - start >= std::chrono::milliseconds(count - 256 - 1));
  CHECK(depots.nonsense.empty());
}

TEST_CASE("a depot that asks for more than a worker can have asked is refused, and hears why") {
  Depots depots(std::chrono::minutes(1), FAKE_DEPOT);
  const UniqueFd worker = depots.take(1, first_tenant);
  Depots::ask(worker, 1);
  depots.run_until([&] { return depots.nonsense == std::vector<std::uint64_t>{1}; });
  REQUIRE(depots.asked.size() == 2);
  CHECK(depots.asked[0].request.sequence == 1);
  CHECK(depots.asked[1].request.sequence == 2);
}

TEST_CASE("a worker that cannot be sent its answer is named, and not blamed") {
  Depots depots;
  auto pair = make_packet_pair().value();
  const UniqueFd same(::fcntl(pair.second.get(), F_DUPFD_CLOEXEC, 0));
  depots.pool.take(1, std::move(pair.second), first_tenant);
  Depots::ask(pair.first, 1);
  (void)depots.next_asked();
  while (send_packet(same.get(), std::string(4096, 'x'))) {
  }
  depots.answer(1, 1);
  depots.run_until([&] { return depots.unserved == std::vector<std::uint64_t>{1}; });
  CHECK(depots.nonsense.empty());
}

TEST_CASE("a depot ends when its tenant has no workers and no business") {
  Depots depots(std::chrono::milliseconds(1));
  UniqueFd worker = depots.take(1, first_tenant);
  Depots::ask(worker, 1);
  (void)depots.next_asked();
  depots.pool.find(first_tenant.uid)->begin_business();
  depots.pool.leave(1);
  const pid_t first = depots.pid_of(first_tenant);
  CHECK(first > 0);
  depots.pool.find(first_tenant.uid)->end_business();
  depots.run_until([&] { return depots.pool.size() == 0; });
  CHECK(depots.children.watched() == 0);
  // Another one is started for the next worker.
  worker = depots.take(2, first_tenant);
  Depots::ask(worker, 1);
  CHECK(depots.next_asked().worker == 2);
}

TEST_CASE("a worker that ends without a word starts no depot") {
  Depots depots;
  UniqueFd silent = depots.take(1, first_tenant);
  const UniqueFd other = depots.take(2, other_tenant);
  silent.reset();
  Depots::ask(other, 1);
  (void)depots.next_asked();
  CHECK(depots.pool.find(first_tenant.uid) == nullptr);
}

TEST_CASE("a depot that cannot be started is tried again, and its workers wait") {
  Depots depots;
  DepotPool broken(depots.io, depots.children, {.program = "/nonexistent/orchid-depot"});
  auto pair = make_packet_pair().value();
  broken.take(1, std::move(pair.second), first_tenant);
  Depots::ask(pair.first, 1);
  depots.run_until([&] { return broken.find(first_tenant.uid) != nullptr; });
  CHECK(broken.find(first_tenant.uid)->pid() == -1);
  broken.stop();
}

}  // namespace orchid::executor
