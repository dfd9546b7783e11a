// benchmarks/remote_lane.cpp: what does the lane between hosts add to raw UCX?
//
// Echo between two network namespaces joined by a virtual cable, over TCP: the two ends of the lane
// alone, no executor and no sandbox, against an active message there and back with UCX's default
// settings. Both sides spin, each on its own core; in the last row both sleep, and a call comes
// after a millisecond of silence.
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "foundation/random.h"
#include "foundation/tick_clock.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "network_pair.h"
#include "raw_ucx.h"
#include "transport/ucx_lane.h"

namespace orchid::bench {
namespace {

using namespace transport;
using namespace std::chrono_literals;

constexpr const char* transports = "tcp,self";

struct Case {
  const char* name;
  std::size_t size;
  int calls;  // in one round
  double bound;
  bool sleeps = false;
};

LaneDeadline soon() { return std::chrono::steady_clock::now() + 10s; }

void wait_for(int descriptor) {
  pollfd entry{.fd = descriptor, .events = POLLIN, .revents = 0};
  ::poll(&entry, 1, -1);
}

/// An echo worker in a child process on the far side, and its client here. Owned by one thread.
class LaneEcho {
 public:
  [[nodiscard]] static Result<LaneEcho> start(const NetworkPair& network, int core, bool sleeps);
  LaneEcho(LaneEcho&& other) noexcept
      : context_(std::move(other.context_)),
        client_(std::move(other.client_)),
        server_(std::exchange(other.server_, -1)),
        sleeps_(other.sleeps_) {}
  ~LaneEcho() {
    client_.reset();
    if (server_ <= 0) return;
    ::kill(server_, SIGKILL);
    ::waitpid(server_, nullptr, 0);
  }
  [[nodiscard]] Result<void> round_trip(std::size_t size);

 private:
  LaneEcho(UcxContext context, std::optional<UcxLaneClient> client, pid_t server, bool sleeps)
      : context_(std::move(context)),
        client_(std::move(client)),
        server_(server),
        sleeps_(sleeps) {}
  UcxContext context_;
  std::optional<UcxLaneClient> client_;
  pid_t server_ = -1;
  bool sleeps_ = false;
  std::size_t written_ = 0;  // size of the input that its memory was filled for
};

/// The child's life.
Result<void> serve(const NetworkPair& network, const ConnectionKey& key, int exchange,
                   bool sleeps) {
  if (auto entered = network.enter_far_side(); !entered) return entered;
  auto context = UcxContext::create({.transports = transports, .devices = NetworkPair::device});
  if (!context) return fail(std::move(context.error()));
  auto listener = UcxLaneListener::listen(*context, {.address = NetworkPair::there, .key = key});
  if (!listener) return fail(std::move(listener.error()));
  const std::string address = listener->address() + '\0';
  if (::write(exchange, address.data(), address.size()) < 0) return fail_errno("write");
  auto worker = listener->accept(soon());
  if (!worker) return fail(std::move(worker.error()));
  std::size_t written = 0;
  for (;;) {
    auto request = worker->receive();
    if (!request) return fail(std::move(request.error()));
    if (!*request) {
      if (sleeps && worker->prepare_to_sleep()) wait_for(worker->wake_descriptor());
      continue;
    }
    const auto input = (*request)->input;
    std::byte* room = worker->output(input.size());
    if (room == nullptr) return fail(ErrorCode::internal, "no room for the output");
    if (input.size() <= 4096)
      std::memcpy(room, input.data(), input.size());
    else if (std::exchange(written, input.size()) != input.size())
      std::memset(room, 1, input.size());  // pages of its own; raw UCX does not copy either
    if (auto answered = worker->answer({}); !answered) return answered;
  }
}

Result<LaneEcho> LaneEcho::start(const NetworkPair& network, int core, bool sleeps) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail_errno("socketpair");
  const UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  ConnectionKey key;
  fill_random(key);
  const pid_t server = ::fork();
  if (server < 0) return fail_errno("fork");
  if (server == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (core >= 0) (void)pin_this_thread(core);
    if (auto served = serve(network, key, theirs.get(), sleeps); !served)
      if (served.error().code != ErrorCode::unreachable)
        std::fprintf(stderr, "worker: %s\n", served.error().message.c_str());
    ::_exit(1);
  }
  auto context = UcxContext::create({.transports = transports, .devices = NetworkPair::device});
  if (!context) return fail(std::move(context.error()));
  LaneEcho echo(std::move(*context), std::nullopt, server, sleeps);
  char address[64] = {};
  if (::read(ours.get(), address, sizeof(address) - 1) <= 0)
    return fail(ErrorCode::unreachable, "the worker did not start");
  auto client =
      UcxLaneClient::connect(echo.context_, {.address = address, .key = key, .deadline = soon()});
  if (!client) return fail(std::move(client.error()));
  echo.client_.emplace(std::move(*client));
  return echo;
}

Result<void> LaneEcho::round_trip(std::size_t size) {
  static const std::vector<std::byte> small(4096, std::byte{1});
  std::span<const std::byte> input = std::span(small).first(std::min(size, small.size()));
  if (size > small.size()) {
    auto room = client_->allocate(size);
    if (!room) return fail(std::move(room.error()));
    input = *room;  // the program computes its input there
    if (std::exchange(written_, size) != size) std::memset(room->data(), 1, size);
  }
  if (auto sent = client_->send({.deadline = 10s, .input = input}); !sent)
    return fail(std::move(sent.error()));
  for (;;) {
    auto response = client_->receive();
    if (!response) return fail(std::move(response.error()));
    if (*response) {
      if ((*response)->payload.size() != size) return fail(ErrorCode::internal, "not an echo");
      client_->release(**response);
      return {};
    }
    if (sleeps_ && client_->prepare_to_sleep()) wait_for(client_->wake_descriptor());
  }
}

template <typename Echo>
Result<std::vector<double>> round_of(Echo echo, const Case& what, const TickRate& rate) {
  for (int warm = 0; warm < std::max(3, what.calls / 10); ++warm)
    if (auto done = echo->round_trip(what.size); !done) return fail(std::move(done.error()));
  std::vector<double> values;
  for (int call = 0; call < what.calls; ++call) {
    if (what.sleeps) std::this_thread::sleep_for(1ms);
    const std::uint64_t start = ticks_now();
    if (auto done = echo->round_trip(what.size); !done) return fail(std::move(done.error()));
    values.push_back(static_cast<double>(rate.duration(ticks_now() - start).count()) / 1000);
  }
  return values;
}

/// Each round starts both of its processes' ends anew: a rival that spins beside ours would be
/// measured with it.
int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) {
    std::fputs("remote_lane needs two cores\n", stderr);
    return 3;
  }
  auto network = NetworkPair::create();
  if (!network) {
    std::fprintf(stderr, "remote_lane: %s\n", network.error().message.c_str());
    return 3;
  }
  const TickRate rate = TickRate::measure();
  if (auto pinned = pin_this_thread(cores[0]); !pinned) return 3;
  for (const Case& what :
       {Case{"echo 8 B", 8, 3000, 1.05}, Case{"echo 1 KiB", 1024, 3000, 1.05},
        Case{"echo 4 KiB", 4096, 3000, 1.05}, Case{"echo 1 MiB", 1 << 20, 60, 1 / 0.9},
        Case{"echo 64 MiB", 64 << 20, 3, 1 / 0.9},
        Case{"echo 8 B, asleep for 1 ms", 8, 200, 1.05, true}}) {
    bench.compare({.row = what.name,
                   .unit = "us",
                   .round = [&]() -> Result<std::vector<double>> {
                     auto echo = LaneEcho::start(*network, cores[1], what.sleeps);
                     if (!echo) return fail(std::move(echo.error()));
                     return round_of(&*echo, what, rate);
                   },
                   .baseline = {"raw UCX active messages", bench.command_line(),
                                std::string("UCX_TLS=") + transports},
                   .baseline_round = [&]() -> Result<std::vector<double>> {
                     auto echo =
                         RawUcxEcho::start({.transports = transports,
                                            .server_core = cores[1],
                                            .largest = std::max<std::size_t>(what.size, 1 << 20),
                                            .devices = NetworkPair::device,
                                            .server_namespace = network->far_namespace(),
                                            .sleeps = what.sleeps});
                     if (!echo) return fail(std::move(echo.error()));
                     return round_of(&*echo, what, rate);
                   },
                   .promises = {{Statistic::p50, {Target::Direction::at_most, what.bound}}}});
  }
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("remote_lane", argc, argv);
  return orchid::bench::run(bench);
}
