// benchmarks/remote_memory.cpp: what does leased memory of another host cost, against raw UCX?
//
// Between two network namespaces joined by a virtual cable, over TCP: both ends as orchid-memory
// and the SDK drive them, but for the sandbox and the idle class. The rivals are active messages
// with UCX's default settings: for 8 bytes an echo; for puts, gets and pages one message of that
// size, answered by one byte, from and to ordinary memory that has been touched. Both sides spin,
// each on its own core; in the row "asleep" both sleep between messages. Each round starts both
// ends anew: a rival that spins beside ours would be measured with it.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "foundation/random.h"
#include "foundation/tick_clock.h"
#include "foundation/unique_fd.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "lane_client/memory_client.h"
#include "network_pair.h"
#include "raw_ucx.h"
#include "transport/ucx_memory.h"

namespace orchid::bench {
namespace {

using namespace transport;
using namespace std::chrono_literals;
using lane_client::MemoryClient;

constexpr const char* transports = "tcp,self";
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

/// The memory in a child process on the far side, and its client here. Owned by one thread.
class FarMemory {
 public:
  [[nodiscard]] static Result<FarMemory> start(const NetworkPair& network, int core, WaitMode wait);
  FarMemory(FarMemory&& other) noexcept
      : context_(std::move(other.context_)),
        client_(std::move(other.client_)),
        process_(std::exchange(other.process_, -1)) {}
  FarMemory& operator=(FarMemory&&) = delete;
  ~FarMemory() {
    client_.reset();
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  [[nodiscard]] MemoryClient& client() { return *client_; }

 private:
  FarMemory(UcxContext context, std::unique_ptr<MemoryClient> client, pid_t process)
      : context_(std::move(context)), client_(std::move(client)), process_(process) {}
  static Result<void> serve(const NetworkPair& network, const ConnectionKey& key, int report,
                            WaitMode wait);

  UcxContext context_;
  std::unique_ptr<MemoryClient> client_;
  pid_t process_ = -1;
};

/// The child's life.
Result<void> FarMemory::serve(const NetworkPair& network, const ConnectionKey& key, int report,
                              WaitMode wait) {
  if (auto entered = network.enter_far_side(); !entered) return entered;
  auto context = UcxContext::create({.transports = transports, .devices = NetworkPair::device});
  if (!context) return fail(std::move(context.error()));
  auto listener = UcxMemoryListener::listen(
      *context, {.address = NetworkPair::there, .key = key, .bytes = {memory_size}});
  if (!listener) return fail(std::move(listener.error()));
  const std::string address = listener->address() + '\0';
  if (::write(report, address.data(), address.size()) < 0) return fail_errno("write");
  std::vector<std::byte> memory(memory_size, std::byte{1});
  auto server = listener->accept(soon());
  if (!server) return fail(std::move(server.error()));
  return server->serve(memory, {.wait = wait});
}

Result<FarMemory> FarMemory::start(const NetworkPair& network, int core, WaitMode wait) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno("socketpair");
  const UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  ConnectionKey key;
  fill_random(key);
  const pid_t process = ::fork();
  if (process < 0) return fail_errno("fork");
  if (process == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (core >= 0) (void)pin_this_thread(core);
    if (auto served = serve(network, key, theirs.get(), wait); !served)
      std::fprintf(stderr, "memory: %s\n", served.error().message.c_str());
    ::_exit(1);
  }
  auto context = UcxContext::create({.transports = transports, .devices = NetworkPair::device});
  if (!context) {
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
    return fail(std::move(context.error()));
  }
  FarMemory far(std::move(*context), nullptr, process);
  std::array<char, 64> address{};
  if (::read(ours.get(), address.data(), address.size() - 1) <= 0)
    return fail(ErrorCode::unreachable, "the memory's process did not start");
  auto connection = UcxMemoryClient::connect(
      far.context_,
      {.address = address.data(), .key = key, .bytes = {memory_size}, .deadline = soon()});
  if (!connection) return fail(std::move(connection.error()));
  auto client = MemoryClient::create(std::move(*connection), {.host = "there", .wait = wait});
  if (!client) return fail(std::move(client.error()));
  far.client_ = std::move(*client);
  return far;
}

using Step = MemoryClient::Step;

/// Microseconds for each page, with so many of them under way all the time.
Result<double> random_pages(MemoryClient& client, int count, const TickRate& rate) {
  std::array<std::vector<std::byte>, pages_under_way> targets;
  std::array<MemoryClient::Range, pages_under_way> ranges{};
  for (auto& target : targets) target.resize(page);
  std::mt19937_64 random(7);
  const std::uint64_t start = ticks_now();
  for (int i = 0; i < count + pages_under_way; ++i) {
    const auto slot = static_cast<std::size_t>(i % pages_under_way);
    if (i >= pages_under_way)
      if (auto done = client.finish(ranges[slot]); !done) return fail(std::move(done.error()));
    if (i >= count) continue;
    const std::uint64_t offset = random() % (memory_size / page) * page;
    auto range = client.begin({.rows = {offset, page}, .target = targets[slot]});
    if (!range) return fail(std::move(range.error()));
    ranges[slot] = *range;
  }
  return static_cast<double>(rate.duration(ticks_now() - start).count()) / 1000 / count;
}

Result<std::vector<double>> round_of_memory(const NetworkPair& network, int core, const Case& what,
                                            const TickRate& rate) {
  auto far = FarMemory::start(network, core, what.sleeps ? WaitMode::blocking : WaitMode::hot);
  if (!far) return fail(std::move(far.error()));
  if (what.work == Work::random_pages) {
    if (auto warm = random_pages(far->client(), what.times / 10, rate); !warm)
      return fail(std::move(warm.error()));
    auto each = random_pages(far->client(), what.times, rate);
    if (!each) return fail(std::move(each.error()));
    return std::vector{*each};
  }
  std::vector<std::byte> bytes(what.size, std::byte{2});
  const Step step = what.work == Work::put ? Step{.rows = {0, what.size}, .source = bytes}
                                           : Step{.rows = {0, what.size}, .target = bytes};
  std::vector<double> values;
  for (int i = -what.times / 10 - 1; i < what.times; ++i) {  // the first ones warm up
    const std::uint64_t start = ticks_now();
    if (auto done = far->client().run({&step, 1}); !done) return fail(std::move(done.error()));
    if (i >= 0)
      values.push_back(static_cast<double>(rate.duration(ticks_now() - start).count()) / 1000);
  }
  return values;
}

Result<std::vector<double>> round_of_messages(const NetworkPair& network, int core,
                                              const Case& what, const TickRate& rate) {
  const bool echoes = what.size == atomic_size;
  auto raw = RawUcxEcho::start({.transports = transports,
                                .server_core = core,
                                .largest = what.size,
                                .devices = NetworkPair::device,
                                .server_namespace = network.far_namespace(),
                                .sleeps = what.sleeps,
                                .one_way = !echoes});
  if (!raw) return fail(std::move(raw.error()));
  if (what.work == Work::random_pages) {
    if (auto warm = raw->stream(what.times / 10, pages_under_way, page); !warm)
      return fail(std::move(warm.error()));
    const std::uint64_t start = ticks_now();
    if (auto done = raw->stream(what.times, pages_under_way, page); !done)
      return fail(std::move(done.error()));
    return std::vector{static_cast<double>(rate.duration(ticks_now() - start).count()) / 1000 /
                       what.times};
  }
  std::vector<double> values;
  for (int i = -what.times / 10 - 1; i < what.times; ++i) {
    const std::uint64_t start = ticks_now();
    if (auto done = raw->round_trip(what.size); !done) return fail(std::move(done.error()));
    if (i >= 0)
      values.push_back(static_cast<double>(rate.duration(ticks_now() - start).count()) / 1000);
  }
  return values;
}

int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) {
    std::fputs("remote_memory needs two cores\n", stderr);
    return 3;
  }
  auto network = NetworkPair::create();
  if (!network) {
    std::fprintf(stderr, "remote_memory: %s\n", network.error().message.c_str());
    return 3;
  }
  const TickRate rate = TickRate::measure();
  if (auto pinned = pin_this_thread(cores[0]); !pinned) return 3;
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
    bench.compare(
        {.row = what.name,
         .unit = "us",
         .round = [&] { return round_of_memory(*network, cores[1], what, rate); },
         .baseline = {"raw UCX active messages", bench.command_line(),
                      std::string("UCX_TLS=") + transports},
         .baseline_round = [&] { return round_of_messages(*network, cores[1], what, rate); },
         .promises = promises});
  }
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("remote_memory", argc, argv);
  return orchid::bench::run(bench);
}
