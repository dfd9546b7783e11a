// benchmarks/remote_memory.cpp: what does leased memory of another host cost, against raw UCX?
//
// Between two network namespaces joined by a virtual cable, over TCP: both ends as orchid-memory
// and the SDK drive them, but for the sandbox and the idle class. The rivals are active messages
// with UCX's default settings: for 8 bytes an echo; for puts, gets and pages one message of that
// size, answered by one byte, from and to ordinary memory that has been touched. Both sides spin,
// each on its own core; in the row "asleep" both sleep between messages. Each round starts both
// ends anew: a rival that spins beside ours would be measured with it.
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "forked_end.h"
#include "foundation/random.h"
#include "foundation/tick_clock.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "lane_client/memory_client.h"
#include "measured.h"
#include "network_pair.h"
#include "raw_round.h"
#include "timed_calls.h"
#include "transport/ucx_memory.h"

namespace orchid::bench {
namespace {

using namespace transport;
using namespace std::chrono_literals;
using lane_client::MemoryClient;

constexpr std::size_t memory_size = 128UL << 20;
constexpr std::size_t page = 4096;
constexpr int pages_under_way = 16;

enum class Work : std::uint8_t { get, put, random_pages };

struct Case {
  const char* name;
  Work work;
  std::size_t size;
  int times;     // in one round
  double bound;  // of our time to theirs; 0: reported
  bool sleeps = false;
};

LaneDeadline soon() { return std::chrono::steady_clock::now() + 60s; }

/// The memory in a process on the far side, and its client here. Owned by one thread.
class FarMemory {
 public:
  [[nodiscard]] static Result<FarMemory> start(const NetworkPair& network, int core, WaitMode wait);
  [[nodiscard]] MemoryClient& client() { return *client_; }

 private:
  FarMemory(ForkedEnd server, UcxContext context)
      : server_(std::move(server)), context_(std::move(context)) {}

  ForkedEnd server_;
  UcxContext context_;
  std::unique_ptr<MemoryClient> client_;
};

/// The server's life.
Result<void> serve(const NetworkPair& network, const ConnectionKey& key, int report,
                   WaitMode wait) {
  if (auto entered = network.enter_far_side(); !entered) return entered;
  auto context =
      UcxContext::create({.transports = transports_between_hosts, .devices = NetworkPair::device});
  if (!context) return fail(std::move(context.error()));
  auto listener = UcxMemoryListener::listen(
      *context, {.address = NetworkPair::there, .key = key, .bytes = {memory_size}});
  if (!listener) return fail(std::move(listener.error()));
  if (auto said = say(report, listener->address()); !said) return said;
  std::vector<std::byte> memory(memory_size, std::byte{1});
  auto server = listener->accept(soon());
  if (!server) return fail(std::move(server.error()));
  return server->serve(memory, {.wait = wait});
}

Result<FarMemory> FarMemory::start(const NetworkPair& network, int core, WaitMode wait) {
  ConnectionKey key;
  fill_random(key);
  auto server = ForkedEnd::start({.name = "memory", .core = core},
                                 [&](int report) { return serve(network, key, report, wait); });
  if (!server) return fail(std::move(server.error()));
  const auto address = server->hear();
  if (!address) return fail(address.error());
  auto context =
      UcxContext::create({.transports = transports_between_hosts, .devices = NetworkPair::device});
  if (!context) return fail(std::move(context.error()));
  FarMemory far(std::move(*server), std::move(*context));
  auto connection = UcxMemoryClient::connect(
      far.context_, {.address = *address, .key = key, .bytes = {memory_size}, .deadline = soon()});
  if (!connection) return fail(std::move(connection.error()));
  auto client = MemoryClient::create(std::move(*connection), {.host = "there", .wait = wait});
  if (!client) return fail(std::move(client.error()));
  far.client_ = std::move(*client);
  return far;
}

using Step = MemoryClient::Step;

/// So many pages, of which as many as may be are under way all the time.
Result<void> get_random_pages(MemoryClient& client, int count) {
  std::array<std::vector<std::byte>, pages_under_way> targets;
  std::array<MemoryClient::Range, pages_under_way> ranges{};
  for (auto& target : targets) target.resize(page);
  std::mt19937_64 random(7);
  for (int i = 0; i < count + pages_under_way; ++i) {
    const auto slot = static_cast<std::size_t>(i % pages_under_way);
    if (i >= pages_under_way)
      if (auto done = client.finish(ranges[slot]); !done) return done;
    if (i >= count) continue;
    const std::uint64_t offset = random() % (memory_size / page) * page;
    auto range = client.begin({.rows = {offset, page}, .target = targets[slot]});
    if (!range) return fail(std::move(range.error()));
    ranges[slot] = *range;
  }
  return {};
}

Result<std::vector<double>> round_of_memory(const NetworkPair& network, int core, const Case& what,
                                            const TickRate& rate) {
  auto far = FarMemory::start(network, core, what.sleeps ? WaitMode::blocking : WaitMode::hot);
  if (!far) return fail(std::move(far.error()));
  if (what.work == Work::random_pages)
    return timed_stream(what.times, rate,
                        [&](int count) { return get_random_pages(far->client(), count); });
  std::vector<std::byte> bytes(what.size, std::byte{2});
  const Step step = what.work == Work::put ? Step{.rows = {0, what.size}, .source = bytes}
                                           : Step{.rows = {0, what.size}, .target = bytes};
  return warm_calls(what.times, rate, [&] { return far->client().run({&step, 1}); });
}

int run(Bench& bench) {
  const auto [here, there] = two_cores();
  const NetworkPair network = must(NetworkPair::create());
  const TickRate rate = TickRate::measure();
  must(pin_this_thread(here));
  constexpr double bandwidth = 1 / 1.1;
  for (const Case& what :
       {Case{"get 8 B", Work::get, atomic_size, 2000, 1.10},
        Case{"get 8 B, asleep", Work::get, atomic_size, 500, 0, true},
        Case{"get 1 MiB", Work::get, 1 << 20, 50, bandwidth},
        Case{"put 1 MiB", Work::put, 1 << 20, 50, bandwidth},
        Case{"get 64 MiB", Work::get, 64 << 20, 3, bandwidth},
        Case{"put 64 MiB", Work::put, 64 << 20, 3, bandwidth},
        Case{"get random 4 KiB, 16 under way", Work::random_pages, page, 5000, 1 / 0.9}}) {
    std::vector<Promise> promises;
    if (what.bound > 0)
      promises.push_back({Statistic::p50, {Target::Direction::at_most, what.bound}});
    const RawRound raw{
        .size = what.size,
        .times = what.times,
        .server_core = there,
        .sleeps = what.sleeps,
        .is_echo = what.size == atomic_size,
        .window = what.work == Work::random_pages ? std::size_t{pages_under_way} : 1};
    bench.compare({.row = what.name,
                   .unit = "us",
                   .round = [&] { return round_of_memory(network, there, what, rate); },
                   .baseline = raw_messages(bench),
                   .baseline_round = [&] { return raw_round(network, raw, rate); },
                   .promises = promises});
  }
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("remote_memory", argc, argv);
  return orchid::bench::run_benchmark(bench, orchid::bench::run);
}
