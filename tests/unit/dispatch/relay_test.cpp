// A worker of another host that cannot be reached is replaced, and the relay goes on. Its gateway
// and its executor are this test; the connections, lanes and calls are real.
#include "relay.h"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstring>
#include <future>
#include <string>
#include <vector>

#include "foundation/files.h"
#include "foundation/random.h"
#include "foundation/tcp.h"

namespace orchid::dispatch {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
constexpr auto patience = 30s;

void wait_readable(int descriptor) {
  pollfd wait{.fd = descriptor, .events = POLLIN, .revents = 0};
  (void)::poll(&wait, 1, 100);
}

/// The next packet of `receive`, which is to be a `Message`; its descriptors go to `files`.
template <typename Message, typename Receive>
Message hear(int descriptor, Receive receive, std::vector<UniqueFd>* files = nullptr) {
  const auto give_up = Clock::now() + patience;
  while (Clock::now() < give_up) {
    std::optional<Packet> packet = receive();
    if (!packet) {
      wait_readable(descriptor);
      continue;
    }
    auto message = parse_lane_message(packet->text).value();
    REQUIRE_MESSAGE(std::holds_alternative<Message>(message), packet->text);
    if (files != nullptr) *files = std::move(packet->descriptors);
    return std::get<Message>(message);
  }
  FAIL("nothing came");
  return {};
}

struct RelayFixture {
  RelayFixture() {
    auto ends = make_packet_pair().value();
    gateway = std::move(ends.first);
    end = std::async(std::launch::async, [relay_end = std::move(ends.second)]() mutable {
      auto contexts = UcxContexts::create().value();
      const TickRate rate = TickRate::measure();
      return Relay(std::move(relay_end), contexts, rate).run();
    });
    auto listener = listen_tcp("127.0.0.1:0").value();
    const LaneClaim wanted{.lease = {1, 1}, .secret = secret, .address = listener.address};
    REQUIRE(send_packet(gateway.get(), encode(wanted)).has_value());
    pollfd connected{.fd = listener.socket.get(), .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&connected, 1, 10'000) == 1);
    UniqueFd socket(::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    executor.emplace(transport::SecureChannel::accept(std::move(socket), [this](auto) {
                       return secret;
                     }).value());
    claim = executor_hears<LaneClaim>();
  }

  void executor_says(const LaneMessage& message) {
    REQUIRE(executor->send(encode(message)).has_value());
  }
  template <typename Message>
  Message executor_hears() {
    return hear<Message>(executor->descriptor(), [&] { return executor->receive().value(); });
  }
  template <typename Message>
  Message gateway_hears(std::vector<UniqueFd>* files = nullptr) {
    return hear<Message>(
        gateway.get(), [&] { return receive_packet(gateway.get(), false).value(); }, files);
  }
  /// The executor's worker has ended, and the gateway learns of it.
  void end_worker() {
    executor_says(LaneEnded{.message = "it ended"});
    CHECK(gateway_hears<LaneEnded>().message == "it ended");
  }
  std::string reason_of_end() {
    REQUIRE(end.wait_for(patience) == std::future_status::ready);
    return end.get().message;
  }

  std::future<Failure> end;  // comes when the others have gone
  std::string secret = random_hex(32);
  UniqueFd gateway;
  std::optional<transport::SecureChannel> executor;
  LaneClaim claim;  // as the executor has heard it
};

/// At a port of which the kernel says that nobody listens, and which nobody else gets.
class DeadWorker {
 public:
  DeadWorker() {
    sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* name = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(socket_.get(), name, size) == 0);
    REQUIRE(::getsockname(socket_.get(), name, &size) == 0);
    port_ = ntohs(address.sin_port);
  }
  [[nodiscard]] LaneClaimed claimed() const {
    return {.worker = 1, .port = port_, .key = random_hex(16)};
  }

 private:
  UniqueFd socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port_ = 0;
};

class LiveWorker {
 public:
  [[nodiscard]] LaneClaimed claimed() const {
    return {.worker = 2,
            .request_bytes = geometry.request_bytes,
            .response_bytes = geometry.response_bytes,
            .port = static_cast<std::uint16_t>(listener_.port()),
            .key = key_};
  }
  /// Whom the relay has connected to.
  transport::UcxLaneWorker arrive() {
    REQUIRE(arriving_.wait_for(patience) == std::future_status::ready);
    return arriving_.get().value();
  }

  static constexpr transport::LaneGeometry geometry{1_MiB, 1_MiB};

 private:
  static transport::UcxContext& context() {
    static auto shared = transport::UcxContext::create({}).value();
    return shared;
  }
  std::string key_ = random_hex(16);
  transport::UcxLaneListener listener_ =
      transport::UcxLaneListener::listen(context(),
                                         {.address = "127.0.0.1",
                                          .key = transport::parse_connection_key(key_).value(),
                                          .geometry = geometry})
          .value();
  std::future<Result<transport::UcxLaneWorker>> arriving_ =
      std::async(std::launch::async, [this] { return listener_.accept(Clock::now() + patience); });
};

/// The gateway's end of the lane that `relay` announces now.
transport::LocalLaneClient lane_of(RelayFixture& relay) {
  std::vector<UniqueFd> files;
  (void)relay.gateway_hears<LaneClaimed>(&files);
  REQUIRE(files.size() == 3);
  return transport::LocalLaneClient::attach(
             {std::move(files[0]), std::move(files[1]), std::move(files[2]), LiveWorker::geometry})
      .value();
}

void check_call(transport::LocalLaneClient& client, transport::UcxLaneWorker& worker) {
  (void)client.send({.deadline = 10s, .input = as_bytes("ping")}).value();
  const auto give_up = Clock::now() + patience;
  bool answered = false;
  while (Clock::now() < give_up) {
    if (const auto request = worker.receive().value()) {
      CHECK(as_text(request->input) == "ping");
      REQUIRE(worker.answer({.message = "pong"}));
      answered = true;
    }
    const auto response = client.receive().value();
    if (!response) continue;
    CHECK(answered);
    CHECK(as_text(response->payload) == "pong");
    client.release(*response);
    return;
  }
  FAIL("no answer came");
}

/// The executor has another worker, which takes a call and then leaves without a word.
void check_worker(RelayFixture& relay) {
  LiveWorker live;
  relay.executor_says(live.claimed());
  auto worker = live.arrive();
  auto client = lane_of(relay);
  check_call(client, worker);
}

}  // namespace

TEST_CASE("a worker that has died before the relay gets to it is followed by the next one") {
  RelayFixture relay;
  const DeadWorker dead;
  relay.executor_says(dead.claimed());
  relay.end_worker();
  check_worker(relay);
}

TEST_CASE("a worker that cannot be reached, of which the executor says nothing, is replaced") {
  RelayFixture relay;
  const DeadWorker dead;
  relay.executor_says(dead.claimed());
  CHECK(relay.executor_hears<LaneReplace>().reason.find("refused") != std::string::npos);
  relay.end_worker();
  check_worker(relay);
}

TEST_CASE("a worker whose lane has broken, of which the executor says nothing, is replaced") {
  RelayFixture relay;
  check_worker(relay);
  CHECK(relay.executor_hears<LaneReplace>().reason.find("has gone") != std::string::npos);
  relay.end_worker();
  check_worker(relay);
}

TEST_CASE("what a call of another host says of its progress is in the gateway's lane") {
  RelayFixture relay;
  CHECK(relay.claim.knows_progress);
  LiveWorker live;
  relay.executor_says(live.claimed());
  auto worker = live.arrive();
  auto client = lane_of(relay);
  const auto request = client.send({.deadline = 10s, .input = as_bytes("ping")}).value();
  const auto progress_is = [&](std::optional<double> wanted) {
    const auto give_up = Clock::now() + patience;
    while (client.running_progress(request) != wanted && Clock::now() < give_up) ::sched_yield();
    return client.running_progress(request) == wanted;
  };
  CHECK(progress_is(std::nullopt));
  relay.executor_says(LaneProgress{.request = request, .thousandths = 420});
  CHECK(progress_is(0.42));
  relay.executor_says(LaneProgress{.request = request, .thousandths = 1000});
  CHECK(progress_is(1.0));
  relay.executor_says(LaneProgress{.request = request + 1, .thousandths = 1});  // another call's
  CHECK(progress_is(std::nullopt));
  SUBCASE("an executor that says more than the whole is not believed any more") {
    REQUIRE(relay.executor->send(R"({"type":"progress","request":1,"thousandths":1001})"));
    const std::string reason = relay.reason_of_end();
    CHECK_MESSAGE(reason.find("thousandths") != std::string::npos, reason);
  }
}

namespace {

/// A worker, and the call that the relay passes to it.
struct RunningCall {
  explicit RunningCall(RelayFixture& relay) {
    relay.executor_says(live.claimed());
    worker.emplace(live.arrive());
    client.emplace(lane_of(relay));
  }
  void send() { request = client->send({.deadline = 10s, .input = as_bytes("ping")}).value(); }
  void take() {
    send();
    const auto give_up = Clock::now() + patience;
    while (!worker->receive().value()) REQUIRE(Clock::now() < give_up);
  }
  /// As an executor tells of a worker that went by itself and said that it was idle.
  [[nodiscard]] LaneEnded end_of_idle() const {
    return {.message = "it ended", .answered = request, .replaced_in = 7ms};
  }

  LiveWorker live;
  std::optional<transport::UcxLaneWorker> worker;
  std::optional<transport::LocalLaneClient> client;
  std::uint64_t request = 0;
};

void check_forged(const LaneEnded& ended, const RunningCall& call) {
  CHECK(ended.outcome == Outcome::function_crashed);
  CHECK(ended.started);
  CHECK(ended.request == call.request);
  CHECK(ended.replaced_in == 7ms);
  CHECK(ended.message.find("broke the rules of its sandbox") != std::string::npos);
}

}  // namespace

TEST_CASE("what a worker sends that no worker sends is its function's doing, told once") {
  RelayFixture relay;
  RunningCall call(relay);
  call.take();
  REQUIRE(call.worker->answer({.outcome = Outcome::evicted}));
  (void)call.worker->flush();  // an error if the relay has left the lane already
  SUBCASE("with the executor's word on the worker that it has put away") {
    const auto replace = relay.executor_hears<LaneReplace>();
    CHECK(replace.reason.find("nonsense") != std::string::npos);
    CHECK(replace.worker == 2);
    relay.executor_says(LaneEnded{.message = "it was replaced", .replaced_in = 7ms});
    check_forged(relay.gateway_hears<LaneEnded>(), call);
    check_worker(relay);
  }
  SUBCASE("also by the relay alone, when the executor goes without a word") {
    (void)relay.executor_hears<LaneReplace>();
    relay.executor.reset();
    CHECK(relay.gateway_hears<LaneEnded>().outcome == Outcome::function_crashed);
  }
}

TEST_CASE("a worker that says it has answered, and has closed its lane without, has forged that") {
  RelayFixture relay;
  RunningCall call(relay);
  call.take();
  SUBCASE("the lane's end comes first") {
    call.worker.reset();
    relay.executor_says(call.end_of_idle());
  }
  SUBCASE("the executor's word comes first") {
    relay.executor_says(call.end_of_idle());
    call.worker.reset();
  }
  check_forged(relay.gateway_hears<LaneEnded>(), call);
  check_worker(relay);
}

TEST_CASE("of a lane that has broken, nobody knows what was on its way") {
  RelayFixture relay;
  RunningCall call(relay);
  const auto give_up = Clock::now() + patience;
  while (!call.worker->prepare_to_sleep()) REQUIRE(Clock::now() < give_up);
  call.send();
  pollfd passed{.fd = call.worker->wake_descriptor(), .events = POLLIN, .revents = 0};
  REQUIRE(::poll(&passed, 1, 10'000) == 1);
  call.worker.reset();  // it has not read the call, so the kernel sends a reset
  relay.executor_says(call.end_of_idle());
  const auto ended = relay.gateway_hears<LaneEnded>();
  CHECK(ended.outcome == Outcome::worker_lost);
  CHECK_FALSE(ended.started);
  CHECK(ended.answered == 0);
  check_worker(relay);
}

TEST_CASE("an answer that the executor's word on the worker's end has overtaken arrives") {
  RelayFixture relay;
  RunningCall call(relay);
  call.take();
  relay.executor_says(call.end_of_idle());
  constexpr std::size_t size = 900'000;
  std::byte* room = call.worker->output(size);
  REQUIRE(room != nullptr);
  std::memset(room, 'x', size);
  REQUIRE(call.worker->answer({}));
  REQUIRE(call.worker->flush());
  call.worker.reset();
  const auto ended = relay.gateway_hears<LaneEnded>();
  CHECK(ended.outcome == Outcome::worker_lost);
  CHECK_FALSE(ended.started);
  const auto response = call.client->receive().value();
  REQUIRE(response.has_value());
  CHECK(response->outcome == Outcome::ok);
  CHECK(response->payload.size() == size);
  check_worker(relay);
}

TEST_CASE("a call with data goes to the worker as it is, and its need of data back") {
  RelayFixture relay;
  LiveWorker live;
  relay.executor_says(live.claimed());
  auto worker = live.arrive();
  auto client = lane_of(relay);
  const auto id =
      client.send({.deadline = 10s, .input = as_bytes("table"), .flags = flag_data}).value();
  const auto give_up = Clock::now() + patience;
  std::optional<transport::LaneRequest> request;
  while (!request && Clock::now() < give_up) request = worker.receive().value();
  REQUIRE(request.has_value());
  CHECK(request->header.flags == flag_data);
  CHECK(as_text(request->input) == "table");
  REQUIRE(worker.answer({.kind = ResponseKind::need_data}));
  std::optional<transport::LaneResponse> response;
  while (!response && Clock::now() < give_up) response = client.receive().value();
  REQUIRE(response.has_value());
  CHECK(response->request_id == id);
  CHECK(response->kind == ResponseKind::need_data);
}

TEST_CASE("after three workers out of reach, or an executor that sends no other, the relay ends") {
  const DeadWorker dead;
  {
    RelayFixture relay;
    for (int i = 0; i < 2; ++i) {
      relay.executor_says(dead.claimed());
      relay.end_worker();
    }
    relay.executor_says(dead.claimed());
    CHECK(relay.reason_of_end().find("refused") != std::string::npos);
  }
  RelayFixture relay;
  relay.executor_says(dead.claimed());
  (void)relay.executor_hears<LaneReplace>();
  const std::string reason = relay.reason_of_end();
  CHECK_MESSAGE(reason.find("the executor has not replaced the worker") != std::string::npos,
                reason);
}

}  // namespace orchid::dispatch
