// Leases of memory by the real program, in an executor's books of this process.
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "event_loop.h"
#include "foundation/log.h"
#include "memory/memory_leases.h"
#include "memory_under_test.h"

namespace orchid::executor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace orchid::test;

const LeaseTenant ada{1000, "ada"};
const LeaseTenant bob{1001, "bob"};
const std::string key_text(32, 'a');

struct MemoryHost : executor::test::EventLoop {
  explicit MemoryHost(const std::string& program = MEMORY_PROGRAM)
      : data(io, {.budget = 64_MiB, .per_tenant = 48_MiB}),
        leases(io, children, data, {.program = program, .listen = "127.0.0.1"},
               [this](const ControlMessage& message) { said.push_back(message); }) {
    log::configure("unit_memory", LogLevel::error);
  }
  template <typename Message>
  Message await() {
    std::optional<Message> message;
    run_until([&] {
      for (auto at = said.begin(); at != said.end() && !message; ++at)
        if (const auto* one = std::get_if<Message>(&*at)) {
          message = *one;
          said.erase(at);
          break;
        }
      return message.has_value();
    });
    return *message;
  }
  MemoryLeased take(LeaseId lease, ByteCount bytes, const LeaseTenant& tenant = ada,
                    seconds life = seconds(60)) {
    ask(lease, bytes, tenant, life);
    return await<MemoryLeased>();
  }
  void ask(LeaseId lease, ByteCount bytes, const LeaseTenant& tenant = ada,
           seconds life = seconds(60)) {
    leases.obey(LeaseMemory{.lease = lease,
                            .tenant = tenant,
                            .bytes = bytes,
                            .key = key_text,
                            .wait = WaitMode::adaptive,
                            .expires_in = life});
  }
  static std::unique_ptr<MemoryClient> connect(const std::string& address, ByteCount bytes,
                                               const std::string& key = key_text) {
    auto connection = transport::UcxMemoryClient::connect(
        memory_context(), {.address = address,
                           .key = transport::parse_connection_key(key).value(),
                           .bytes = bytes,
                           .deadline = soon()});
    REQUIRE_MESSAGE(connection.has_value(), connection.error().message);
    return MemoryClient::create(std::move(*connection), {.host = "n0", .patience = 5s}).value();
  }

  ChildWatch children{io};
  DataService data;
  MemoryLeases leases;
  std::deque<ControlMessage> said;
};

std::vector<std::byte> read(MemoryClient& client, std::uint64_t offset, std::size_t size) {
  std::vector<std::byte> bytes(size);
  const MemoryClient::Step step{.rows = {offset, size}, .target = bytes};
  const auto done = client.run({&step, 1});
  REQUIRE_MESSAGE(done.has_value(), done.error().message);
  return bytes;
}

Result<void> write(MemoryClient& client, std::uint64_t offset, std::span<const std::byte> bytes) {
  const MemoryClient::Step step{.rows = {offset, bytes.size()}, .source = bytes};
  return client.run({&step, 1});
}

bool is_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{}; });
}

std::string status_field(pid_t pid, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name + ":")) return line.substr(name.size() + 2);
  return "";
}

constexpr LeaseId first{1, 1};
constexpr LeaseId second{1, 2};

}  // namespace

TEST_CASE("leased memory is zero, keeps what is put there, and is charged until it has ended") {
  MemoryHost host;
  const auto leased = host.take(first, 32_MiB);
  CHECK(host.data.memory().used == 32_MiB);
  {
    const auto client = MemoryHost::connect(leased.address, 32_MiB);
    CHECK(is_zero(read(*client, 0, 32UL << 20)));
    const auto bytes = bytes_from(3UL << 20, 4);
    REQUIRE(write(*client, 12'345, bytes).has_value());
    CHECK(are_same(read(*client, 12'345, bytes.size()), bytes));
    REQUIRE(client->change({.offset = 8, .operand = 5}).value() == 0);
    host.leases.obey(EndMemory{first});
    const auto ended = host.await<MemoryEnded>();
    CHECK(ended.lease == first);
    CHECK(ended.reason == LeaseEnd::released);
    CHECK(host.data.memory().used == 0_MiB);
    const auto late = write(*client, 0, bytes);
    REQUIRE_FALSE(late.has_value());
    CHECK(late.error().code == ErrorCode::lease_ended);
  }
  const auto again = host.take(second, 32_MiB, bob);
  CHECK(is_zero(read(*MemoryHost::connect(again.address, 32_MiB), 0, 32UL << 20)));
}

TEST_CASE("a client that leaves can come again, to another process, and finds its bytes") {
  MemoryHost host;
  const auto leased = host.take(first, 1_MiB);
  const auto bytes = bytes_from(1UL << 20, 3);
  REQUIRE(write(*MemoryHost::connect(leased.address, 1_MiB), 0, bytes).has_value());
  const auto again = host.await<MemoryLeased>();
  CHECK(again.lease == first);
  CHECK(again.address != leased.address);
  // The old port may be anybody's: the key that somebody comes there with opens nothing any more.
  CHECK(leased.key == key_text);
  CHECK(again.key != key_text);
  const auto late = transport::UcxMemoryClient::connect(
      memory_context(), {.address = again.address,
                         .key = transport::parse_connection_key(key_text).value(),
                         .bytes = 1_MiB,
                         .deadline = soon()});
  REQUIRE_FALSE(late.has_value());
  CHECK(late.error().code == ErrorCode::unreachable);
  const auto client = MemoryHost::connect(again.address, 1_MiB, again.key);
  CHECK(are_same(read(*client, 0, bytes.size()), bytes));
}

TEST_CASE("one client is served at a time, and only one with the key") {
  MemoryHost host;
  const auto leased = host.take(first, 1_MiB);
  const auto client = MemoryHost::connect(leased.address, 1_MiB);
  const auto other = transport::UcxMemoryClient::connect(
      memory_context(), {.address = leased.address,
                         .key = transport::parse_connection_key(key_text).value(),
                         .bytes = 1_MiB,
                         .deadline = soon()});
  REQUIRE_FALSE(other.has_value());
  CHECK(other.error().code == ErrorCode::unreachable);
  CHECK(read(*client, 0, 8).size() == 8);
  const auto guarded = host.take(second, 1_MiB);
  const auto stranger = transport::UcxMemoryClient::connect(
      memory_context(),
      {.address = guarded.address, .key = new_key(), .bytes = 1_MiB, .deadline = soon()});
  REQUIRE_FALSE(stranger.has_value());
  CHECK(MemoryHost::connect(guarded.address, 1_MiB)->size() == 1_MiB);
}

TEST_CASE("what a killed or stopped process had is gone, and an atomic on its way is not known") {
  for (const int signal : {SIGKILL, SIGSTOP}) {
    MemoryHost host;
    const auto leased = host.take(first, 1_MiB);
    const auto client = MemoryHost::connect(leased.address, 1_MiB);
    REQUIRE(client->change({.operand = 1}).has_value());
    const auto processes = host.children.pids();
    REQUIRE(processes.size() == 1);
    ::kill(processes.front(), signal);
    CHECK(host.await<MemoryEnded>().reason == LeaseEnd::revoked);
    CHECK(host.data.memory().used == 0_MiB);
    const auto late = client->change({.operand = 1});
    REQUIRE_FALSE(late.has_value());
    CHECK(late.error().why.code == ErrorCode::lease_ended);
    CHECK_FALSE(client->fence().has_value());
  }
}

TEST_CASE("the process is confined, and runs where nobody else wants to") {
  MemoryHost host;
  const auto leased = host.take(first, 1_MiB);
  const auto client = MemoryHost::connect(leased.address, 1_MiB);
  CHECK(is_zero(read(*client, 0, 8)));
  const pid_t pid = host.children.pids().front();
  CHECK(status_field(pid, "Seccomp") == "2");
  CHECK(status_field(pid, "NoNewPrivs") == "1");
  CHECK(::sched_getscheduler(pid) == SCHED_IDLE);
}

TEST_CASE("a lease lasts as long as it is renewed") {
  MemoryHost host;
  (void)host.take(first, 1_MiB, ada, seconds(10));
  host.leases.obey(RenewMemory{first, seconds(1'000)});
  const auto now = std::chrono::steady_clock::now();
  host.leases.tick(now + seconds(500));
  const auto held = host.leases.introduce(now);
  REQUIRE(held.size() == 1);
  CHECK(held.front().lease == first);
  CHECK(held.front().bytes == 1_MiB);
  CHECK(held.front().expires_in > seconds(900));
  host.leases.tick(now + seconds(2'000));
  CHECK(host.leases.introduce(now).empty());
  CHECK(host.await<MemoryEnded>().reason == LeaseEnd::expired);
  host.leases.obey(RenewMemory{first, seconds(1)});
  CHECK(host.await<MemoryEnded>().reason == LeaseEnd::expired);
  host.leases.obey(EndMemory{first});
  CHECK(host.await<MemoryEnded>().lease == first);
}

TEST_CASE("what does not fit is refused with what would help") {
  MemoryHost host;
  (void)host.take(first, 40_MiB);
  host.ask(second, 40_MiB, bob);
  const auto full = host.await<MemoryRefused>();
  CHECK(full.lease == second);
  CHECK(full.code == ErrorCode::no_data_memory);
  CHECK(full.message.find("--data-memory") != std::string::npos);
  host.ask(second, 16_MiB, ada);
  CHECK(host.await<MemoryRefused>().code == ErrorCode::quota);
  CHECK(host.data.memory().used == 40_MiB);
}

TEST_CASE("a tenant has at most 16 leases of an executor, however small") {
  MemoryHost host;
  for (std::uint64_t i = 0; i < 16; ++i) (void)host.take(LeaseId{2, i}, 4096_B);
  host.ask(first, 4096_B);
  const auto refused = host.await<MemoryRefused>();
  CHECK(refused.lease == first);
  CHECK(refused.code == ErrorCode::quota);
  CHECK(refused.message.find("release some") != std::string::npos);
  CHECK(host.take(second, 4096_B, bob).lease == second);
  host.leases.obey(EndMemory{LeaseId{2, 3}});
  (void)host.await<MemoryEnded>();
  CHECK(host.take(first, 4096_B).lease == first);
}

TEST_CASE("a lease whose process cannot be is refused, and takes nothing") {
  for (const char* program : {"/nonexistent/orchid-memory", "/bin/false"}) {
    MemoryHost host(program);
    host.ask(first, 1_MiB);
    CHECK(host.await<MemoryRefused>().lease == first);
    CHECK(host.data.memory().used == 0_MiB);
  }
}

TEST_CASE("when the grant ends all leases of memory do") {
  MemoryHost host;
  const auto leased = host.take(first, 1_MiB);
  const auto client = MemoryHost::connect(leased.address, 1_MiB);
  host.leases.end_all();
  CHECK(host.await<MemoryEnded>().reason == LeaseEnd::reclaimed);
  CHECK(host.children.watched() == 0);
  CHECK(client->fence().has_value());  // nothing was asked for
  const auto late = write(*client, 0, bytes_from(8, 1));
  REQUIRE_FALSE(late.has_value());
  CHECK(late.error().code == ErrorCode::lease_ended);
}

}  // namespace orchid::executor
