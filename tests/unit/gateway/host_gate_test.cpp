// The executor's control client and the gateway's gate in conversation, over real sockets, on one
// thread.
#include "hosts/executor_gate.h"

#include <doctest/doctest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>

#include "control_client.h"
#include "foundation/log.h"
#include "foundation/random.h"
#include "leases/broker_supply.h"
#include "leases/executor_service.h"
#include "reports/host_reports.h"

namespace orchid::gateway {
namespace {

using boost::system::error_code;
using executor::ControlClient;
using executor::GatewayAddress;
using std::chrono::milliseconds;
using std::chrono::seconds;
namespace asio = boost::asio;

constexpr seconds patience{20};

void run_until(asio::io_context& io, const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition() && std::chrono::steady_clock::now() < end) {
    io.restart();
    io.run_one_for(milliseconds(20));
  }
  REQUIRE(condition());
}

/// Accepts connections, reads the upgrade and hands both over, as the HTTP threads do.
template <typename Protocol>
class Door {
 public:
  using Handler = std::function<void(UniqueFd, UpgradeRequest)>;
  Door(asio::io_context& io, const typename Protocol::endpoint& endpoint, Handler handler)
      : acceptor_(io, endpoint), handler_(std::move(handler)) {
    next();
  }
  void break_all() {
    for (const int fd : copies_) ::shutdown(fd, SHUT_RDWR);
  }
  ~Door() {
    for (const int fd : copies_) ::close(fd);
  }
  [[nodiscard]] auto endpoint() { return acceptor_.local_endpoint(); }
  std::string authorization;
  unsigned accepted = 0;

 private:
  struct Session {
    typename Protocol::socket socket;
    boost::beast::flat_buffer buffer;
    UpgradeRequest request;
  };
  void next() {
    acceptor_.async_accept([this](error_code error, typename Protocol::socket socket) {
      if (error) return;
      ++accepted;
      copies_.push_back(::dup(socket.native_handle()));
      auto session = std::make_shared<Session>(Session{std::move(socket), {}, {}});
      boost::beast::http::async_read(
          session->socket, session->buffer, session->request,
          [this, session](error_code failure, std::size_t) {
            if (failure) return;
            authorization = std::string(session->request["Authorization"]);
            CHECK(session->request.target() == "/v1/executors/connect");
            handler_(UniqueFd(session->socket.release()), std::move(session->request));
          });
      next();
    });
  }
  typename Protocol::acceptor acceptor_;
  Handler handler_;
  std::vector<int> copies_;
};

struct RecordedEvents final : ExecutorEvents {
  void executor_joined(const ControlHello& hello, const PeerIdentity&) override {
    ++joined;
    hostname = hello.host.hostname;
    if (when_joined) when_joined(ExecutorId(hello.executor));
  }
  void executor_resumed(const ExecutorId&) override { ++resumed; }
  void executor_lost(const ExecutorId&) override { ++lost; }
  std::function<void(const ExecutorId&)> when_joined;
  int joined = 0;
  int resumed = 0;
  int lost = 0;
  std::string hostname;
  std::vector<std::uint64_t> heard;
};

ControlHello gate_hello(const std::string& id) {
  return {.version = "0.1",
          .executor = id,
          .host = {.boot_id = "here", .hostname = "node1", .cores = {0, 1}, .memory = 4_GiB},
          .lane_socket = "/run/lane"};
}

struct GateWorld {
  asio::io_context io;
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("orchid-gate-" + random_hex(8));
  RecordedEvents events;
  ExecutorMessages said;
  std::unique_ptr<ExecutorGate> gate = std::make_unique<ExecutorGate>(io, "f00d", 1, events, said);
  std::uint32_t uid = 7;
  Door<asio::local::stream_protocol> door{io, asio::local::stream_protocol::endpoint(path.string()),
                                          [this](auto socket, UpgradeRequest request) {
                                            if (gate)
                                              gate->accept(std::move(socket), std::move(request),
                                                           {.tenant = {uid, "u"}, .peer_uid = {}});
                                          }};
  int welcomes = 0;
  int resumes = 0;
  int losses = 0;
  std::string gateway;
  std::uint64_t epoch = 0;
  std::uint64_t least_epoch = 0;  // what the executor obeys
  int messages = 0;
  std::vector<std::uint64_t> commands;
  std::vector<DataDeclined> declined;

  GateWorld() {
    said.on<LeaseOpened>([this](const ExecutorId&, const LeaseOpened& opened) {
      events.heard.push_back(opened.lease.number);
    });
  }
  ~GateWorld() { std::filesystem::remove(path); }
  std::unique_ptr<ControlClient> client(const std::string& id, GatewayAddress address) {
    return std::make_unique<ControlClient>(
        io,
        ControlClient::Options{.gateway = std::move(address),
                               .token = "secret",
                               .hello = gate_hello(id),
                               .first_retry = milliseconds(1),
                               .longest_retry = milliseconds(20)},
        ControlClient::Handlers{
            .on_welcome = [this](const ControlWelcome& welcome) -> Result<void> {
              if (welcome.epoch < least_epoch) return fail(ErrorCode::denied, "an older gateway");
              gateway = welcome.gateway;
              epoch = welcome.epoch;
              ++(welcome.resumed ? resumes : welcomes);
              return {};
            },
            .on_message =
                [this](const ControlMessage& message) {
                  ++messages;
                  if (const auto* open = std::get_if<OpenLease>(&message))
                    commands.push_back(open->lease.number);
                  if (const auto* no = std::get_if<DataDeclined>(&message)) declined.push_back(*no);
                },
            .on_lost = [this] { ++losses; }});
  }
  std::unique_ptr<ControlClient> client(const std::string& id) {
    return client(id, {.socket = path, .host = {}, .port = {}});
  }
};

TEST_CASE("an executor joins, and messages go both ways") {
  GateWorld world;
  const auto client = world.client("e1");
  client->start();
  run_until(world.io, [&] { return world.welcomes == 1; });
  CHECK(world.epoch == 1);
  CHECK(world.gateway == "f00d");
  CHECK(world.events.joined == 1);
  CHECK(world.events.hostname == "node1");
  CHECK(world.door.authorization == "Bearer secret");
  world.gate->send(ExecutorId("e1"), OpenLease{.lease = {1, 5}, .core_ids = {0}});
  client->send(LeaseOpened{{1, 5}, 1});
  run_until(world.io, [&] { return world.commands.size() == 1 && world.events.heard.size() == 1; });
  CHECK(world.commands[0] == 5);
}

TEST_CASE("the same over TCP, IPv6 where there is one") {
  GateWorld world;
  error_code no_ipv6;
  asio::ip::tcp::acceptor probe(world.io);
  probe.open(asio::ip::tcp::v6(), no_ipv6);
  if (!no_ipv6) probe.bind({asio::ip::address_v6::loopback(), 0}, no_ipv6);
  const auto address = no_ipv6 ? asio::ip::address(asio::ip::address_v4::loopback())
                               : asio::ip::address(asio::ip::address_v6::loopback());
  Door<asio::ip::tcp> door(world.io, {address, 0}, [&](auto socket, UpgradeRequest request) {
    world.gate->accept(std::move(socket), std::move(request), {.tenant = {7, "u"}, .peer_uid = {}});
  });
  const auto client = world.client(
      "e1",
      {.socket = {}, .host = address.to_string(), .port = std::to_string(door.endpoint().port())});
  client->start();
  run_until(world.io, [&] { return world.welcomes == 1; });
}

TEST_CASE("a broken connection is dialled again, and no message is lost or doubled") {
  GateWorld world;
  const auto client = world.client("e1");
  client->start();
  run_until(world.io, [&] { return world.welcomes == 1; });
  std::vector<std::uint64_t> expected;
  for (int round = 0; round < 10; ++round) {
    for (std::uint64_t i = 0; i < 200; ++i) {
      const std::uint64_t number = static_cast<std::uint64_t>(round) * 1000 + i;
      expected.push_back(number);
      client->send(LeaseOpened{{1, number}, 1});
      world.gate->send(ExecutorId("e1"), OpenLease{.lease = {1, number}, .core_ids = {0}});
      if (i == 100) world.io.poll();
    }
    world.door.break_all();
    run_until(world.io, [&] { return world.resumes == round + 1; });
  }
  run_until(world.io, [&] {
    return world.commands.size() >= expected.size() && world.events.heard.size() >= expected.size();
  });
  CHECK(world.commands == expected);
  CHECK(world.events.heard == expected);
  CHECK(world.events.lost == world.events.resumed);
  CHECK(world.losses == 10);
  CHECK(world.welcomes == 1);
}

TEST_CASE("what an executor cannot read is refused, once, and does not cut it off") {
  GateWorld world;
  std::vector<DataRefused> refusals;
  world.said.on<DataRefused>(
      [&](const ExecutorId&, const DataRefused& refused) { refusals.push_back(refused); });
  const auto client = world.client("e1");
  client->start();
  run_until(world.io, [&] { return world.welcomes == 1; });
  MakeData overdue{.data = make_data_id(),
                   .terms = {.tenant = {7, "u"}, .name = {}, .secret = std::string(64, 'a')},
                   .write_within = seconds(1)};
  overdue.terms.expires_in = milliseconds(-5);
  world.gate->send(ExecutorId("e1"), overdue);
  world.gate->send(ExecutorId("e1"), OpenLease{.lease = {1, 5}, .core_ids = {0}});
  run_until(world.io, [&] { return world.commands.size() == 1 && refusals.size() == 1; });
  CHECK(refusals.front().data == overdue.data);
  CHECK(refusals.front().code == ErrorCode::unsupported);
  CHECK(refusals.front().message.find("'expires_in_ms'") != std::string::npos);
  // It has been taken, so that it does not come again.
  world.door.break_all();
  run_until(world.io, [&] { return world.resumes == 1; });
  world.gate->send(ExecutorId("e1"), OpenLease{.lease = {1, 6}, .core_ids = {0}});
  run_until(world.io, [&] { return world.commands.size() == 2; });
  CHECK(client->unreadable() == 1);
  CHECK(refusals.size() == 1);
  CHECK(world.losses == 1);
}

TEST_CASE("what a gateway cannot read is refused, once, and does not cut the executor off") {
  GateWorld world;
  const auto client = world.client("e1");
  client->start();
  run_until(world.io, [&] { return world.welcomes == 1; });
  client->send(DataSealed{make_data_id(), ByteCount{1ULL << 60U}});  // nobody waits for an answer
  client->send(FindData{9, {7, "u"}, std::string(200, 'n')});
  client->send(LeaseOpened{{1, 5}, 1});
  run_until(world.io, [&] { return world.events.heard.size() == 1 && world.declined.size() == 1; });
  CHECK(world.declined.front().question == 9);
  CHECK(world.declined.front().code == ErrorCode::unsupported);
  world.door.break_all();
  run_until(world.io, [&] { return world.resumes == 1; });
  client->send(LeaseOpened{{1, 6}, 1});
  run_until(world.io, [&] { return world.events.heard.size() == 2; });
  CHECK(world.gate->unreadable() == 2);
  CHECK(world.declined.size() == 1);
  CHECK(world.losses == 1);
}

TEST_CASE("after a restart of the gateway the stream begins afresh") {
  GateWorld world;
  const auto client = world.client("e1");
  client->start();
  run_until(world.io, [&] { return world.welcomes == 1; });
  world.gate = nullptr;
  world.door.break_all();  // the test's own copies of the sockets
  run_until(world.io, [&] { return world.losses == 1; });
  world.gate = std::make_unique<ExecutorGate>(world.io, "f00d", 2, world.events, world.said);
  run_until(world.io, [&] { return world.welcomes == 2; });
  CHECK(world.epoch == 2);
  CHECK(world.resumes == 0);
  world.gate->send(ExecutorId("e1"), OpenLease{.lease = {2, 1}, .core_ids = {0}});
  run_until(world.io, [&] { return world.commands.size() == 1; });
}

TEST_CASE("what a gateway commands whose welcome is refused is not obeyed") {
  GateWorld world;
  world.least_epoch = 2;
  world.events.when_joined = [&](const ExecutorId& executor) {
    world.gate->send(executor, OpenLease{.lease = {1, 1}, .core_ids = {0}});
    world.gate->send(executor, RenewLease{{1, 2}, seconds(60)});
    world.gate->send(executor, CloseLease{{1, 3}});
  };
  const auto client = world.client("e1");
  client->start();
  run_until(world.io, [&] { return world.losses >= 3; });
  CHECK(world.events.joined >= 1);
  CHECK(world.messages == 0);
  world.least_epoch = 1;
  run_until(world.io, [&] { return world.messages >= 3; });
}

TEST_CASE("after a restart of the executor the stream begins afresh") {
  GateWorld world;
  auto client = world.client("e1");
  client->start();
  run_until(world.io, [&] { return world.welcomes == 1; });
  client = nullptr;
  world.door.break_all();
  run_until(world.io, [&] { return world.events.lost == 1; });
  client = world.client("e2");
  client->start();
  run_until(world.io, [&] { return world.welcomes == 2; });
  CHECK(world.events.joined == 2);
}

TEST_CASE("a client may go at any moment of its connecting") {
  for (int steps = 0; steps < 12; ++steps) {
    GateWorld world;
    auto client = world.client("e1");
    client->start();
    for (int i = 0; i < steps; ++i) {
      world.io.restart();
      world.io.poll_one();
    }
    client->send(LeaseOpened{{1, 1}, 1});
    client = nullptr;
    world.io.restart();
    world.io.poll();
  }
}

TEST_CASE("another user's executor cannot take a stream over") {
  GateWorld world;
  const auto first = world.client("e1");
  first->start();
  run_until(world.io, [&] { return world.welcomes == 1; });
  world.uid = 8;
  const auto second = world.client("e1");
  second->start();
  run_until(world.io, [&] { return world.door.accepted >= 3; });  // refused, and tried again
  CHECK(world.welcomes == 1);
  CHECK(first->connected());
  CHECK_FALSE(second->connected());
}

TEST_CASE("a gateway that is not there is tried until it is") {
  GateWorld world;
  asio::io_context& io = world.io;
  const auto path = std::filesystem::temp_directory_path() / ("orchid-later-" + random_hex(8));
  const auto client = world.client("e1", {.socket = path, .host = {}, .port = {}});
  client->start();
  run_until(io, [&, until = std::chrono::steady_clock::now() + milliseconds(30)] {
    return std::chrono::steady_clock::now() >= until;
  });
  CHECK(world.losses == 0);
  Door<asio::local::stream_protocol> door(io, asio::local::stream_protocol::endpoint(path.string()),
                                          [&](auto socket, UpgradeRequest request) {
                                            world.gate->accept(std::move(socket),
                                                               std::move(request), {});
                                          });
  run_until(io, [&] { return world.welcomes == 1; });
  std::filesystem::remove(path);
}

TEST_CASE("a gateway's address is read in each of its forms") {
  CHECK(GatewayAddress::parse("unix:/run/g")->socket == "/run/g");
  CHECK(GatewayAddress::parse("/run/g")->socket == "/run/g");
  CHECK(GatewayAddress::parse("127.0.0.1:80")->port == "80");
  CHECK(GatewayAddress::parse("http://[::1]:8080/")->host == "::1");
  CHECK(GatewayAddress::parse("[::1]:8080")->to_text() == "[::1]:8080");
  CHECK(GatewayAddress::parse("host:65535")->port == "65535");
  for (const char* bad : {"", "host", "host:", ":80", "host:port", "host:65536", "host:123456"})
    CHECK(GatewayAddress::parse(bad).error().code == ErrorCode::bad_configuration);
}

/// A dispatcher on its own thread's event loop, as far as the supply can tell.
struct RecordingTaker final : WorkerTaker {
  void worker_granted(WorkerGrant grant) override { grants.push_back(std::move(grant)); }
  void worker_refused(LeaseId lease) override { refused.push_back(lease); }
  void workers_asked_back(unsigned, const std::vector<ExecutorId>&) override {}
  void lease_ended(LeaseId lease) override { ended.push_back(lease); }
  void executor_answers(const ExecutorId&, bool) override {}
  void supply_is(const Supply& told) override { supply = told.exists; }
  std::vector<WorkerGrant> grants;
  std::vector<LeaseId> ended;
  std::vector<LeaseId> refused;
  bool supply = false;
};

TEST_CASE(
    "a dispatcher's wish for a worker goes over the control connection and comes back as a grant") {
  GateWorld world;
  SystemClock clock;
  WorkerBroker broker({.epoch = 3, .boot_id = "here"});
  BrokerLoop loop(world.io, clock, broker);
  LeaseService leases(loop, broker, 0);
  BrokerSupply supply(world.io, loop, {.boot_id = "here"});
  ExecutorMessages messages;
  ExecutorService executors(
      {world.io, loop, messages, leases, [](const Executor&, const ControlHello&) {}},
      {.epoch = 3});
  const Clusters clusters(world.io, clock, {}, [](const TouchedNodes&) {});
  HostReports reports(loop, clusters, std::nullopt);
  Door<asio::local::stream_protocol> door(
      world.io, asio::local::stream_protocol::endpoint(world.path.string() + "-c"),
      [&](auto socket, UpgradeRequest request) {
        executors.gate().accept(std::move(socket), std::move(request),
                                {.tenant = {7, "u"}, .peer_uid = {}});
      });
  asio::io_context home;
  RecordingTaker taker;
  const auto alive = std::make_shared<int>();
  const Poster at_home = [&home](Task task) { asio::post(home, std::move(task)); };
  supply.add_dispatcher(HolderId(1), {7, "u"}, at_home, taker, alive);
  supply.want_workers(HolderId(1), 1);
  const auto client =
      world.client("e1", {.socket = world.path.string() + "-c", .host = {}, .port = {}});
  client->start();
  run_until(world.io, [&] { return world.commands.size() == 1; });
  client->send(LeaseOpened{{3, world.commands[0]}, 1});
  run_until(world.io, [&] {
    home.restart();
    home.poll();
    return taker.grants.size() == 1;
  });
  CHECK(taker.supply);
  CHECK(taker.refused.size() == 1);  // before the executor came
  CHECK(taker.grants[0].lane_socket == "/run/lane");
  CHECK(taker.grants[0].node == "node1");
  std::string report;
  reports.report({.viewer = 7}, at_home, [&](std::string text) { report = std::move(text); });
  run_until(world.io, [&] {
    home.restart();
    home.poll();
    return !report.empty();
  });
  CHECK(report.find("\"cores_leased\":1") != std::string::npos);
  client->send(LeaseClosed{taker.grants[0].lease, LeaseEnd::revoked});
  run_until(world.io, [&] {
    home.restart();
    home.poll();
    return taker.ended.size() == 1;
  });
  loop.stop();
  executors.stop();
  std::filesystem::remove(world.path.string() + "-c");
}

}  // namespace
}  // namespace orchid::gateway
