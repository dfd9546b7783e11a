// benchmarks/memory_redis.cpp: is leased memory of another host as fast as Redis there?
//
// Two hosts: network namespaces that a bridge joins, each with a core. Ours is all that a user has:
// gateway, executor, sandboxed orchid-memory in the idle class, orchid::RemoteMemory, which waits
// as it does by default. Redis keeps values of the same size under short keys, on the same core of
// the same host, and is asked over a plain socket; its values go from and to where they lie. One at
// a time, and in batches of 16: puts and gets that are sent one behind the other. Left out where
// Redis is not installed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "far_site.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "measured.h"
#include "orchid/memory.h"
#include "redis_server.h"
#include "timed_calls.h"

namespace orchid::bench {
namespace {

using tests::HostNamespaces;

constexpr std::size_t memory_size = 64 << 20;
constexpr std::size_t most_places = 4096;
constexpr std::size_t next_place = 1031;  // no neighbours, and all of them in turn

enum class Work : std::uint8_t { put, get };

struct Case {
  const char* name;
  Work work;
  std::size_t size;
  std::size_t batch;  // requests that are sent one behind the other
  int times;          // in one round
  double bound;       // of our time to theirs
};

/// Which of the values of a case a batch touches; the same ones for both.
class Places {
 public:
  explicit Places(const Case& what)
      : count_(std::min(most_places, memory_size / what.size)), places_(what.batch) {}
  [[nodiscard]] std::span<const std::size_t> next() {
    for (std::size_t& place : places_) place = last_ = (last_ + next_place) % count_;
    return places_;
  }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  std::size_t count_;
  std::size_t last_ = 0;
  std::vector<std::size_t> places_;
};

/// Microseconds for each request of a batch, of so many batches.
template <typename Call>
Result<std::vector<double>> timed_batches(const Case& what, const TickRate& rate, Call call) {
  auto values = warm_calls(what.times, rate, call);
  if (values)
    for (double& value : *values) value /= static_cast<double>(what.batch);
  return values;
}

// ---- ours ----

void do_batch(RemoteMemory& memory, const Case& what, std::span<const std::size_t> places,
              std::span<std::byte> bytes) {
  if (what.batch == 1) {
    if (what.work == Work::put)
      memory.put(places[0] * what.size, bytes);
    else
      memory.get(places[0] * what.size, bytes);
    return;
  }
  MemoryBatch batch = memory.batch();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto part = bytes.subspan(i * what.size, what.size);
    if (what.work == Work::put)
      batch.put(places[i] * what.size, part);
    else
      batch.get(places[i] * what.size, part);
  }
  batch.run();
}

Result<std::vector<double>> memory_round(RemoteMemory& memory, const Case& what,
                                         const TickRate& rate) {
  std::vector<std::byte> bytes(what.size * what.batch, std::byte{1});
  Places places(what);
  return timed_batches(what, rate, [&]() -> Result<void> {
    do_batch(memory, what, places.next(), bytes);
    return {};
  });
}

// ---- Redis ----

std::vector<std::string> keys() {
  std::vector<std::string> made;
  for (std::size_t place = 0; place < most_places; ++place)
    made.push_back("k" + std::to_string(place));
  return made;
}

/// Every value of the case is there afterwards.
Result<void> fill(RedisConnection& redis, const Case& what, const std::vector<std::string>& keys) {
  const std::vector<std::byte> bytes(what.size, std::byte{1});
  for (std::size_t place = 0; place < Places(what).count(); ++place) {
    const RedisConnection::Set set{.key = keys[place], .value = bytes};
    if (auto done = redis.set({&set, 1}); !done) return done;
  }
  return {};
}

Result<std::vector<double>> redis_round(RedisConnection& redis, const Case& what,
                                        const std::vector<std::string>& keys,
                                        const TickRate& rate) {
  std::vector<std::byte> bytes(what.size * what.batch, std::byte{1});
  const auto part = [&](std::size_t i) {
    return std::span(bytes).subspan(i * what.size, what.size);
  };
  Places places(what);
  std::vector<RedisConnection::Set> sets(what.batch);
  std::vector<RedisConnection::Get> gets(what.batch);
  return timed_batches(what, rate, [&] {
    const auto now = places.next();
    for (std::size_t i = 0; i < now.size(); ++i) {
      sets[i] = {.key = keys[now[i]], .value = part(i)};
      gets[i] = {.key = keys[now[i]], .value = part(i)};
    }
    return what.work == Work::put ? redis.set(sets) : redis.get(gets);
  });
}

// ---- both ----

/// What was put comes back, however it was sent.
void check(RemoteMemory& memory) {
  std::vector<std::byte> sent(1 << 20);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i % 251);
  std::vector<std::byte> got(sent.size());
  memory.put(4096, sent);
  memory.batch()
      .get(4096, std::span(got).first(8192))
      .get(12288, std::span(got).subspan(8192))
      .run();
  if (sent != got) throw std::runtime_error("the memory gives other bytes than it was given");
}

constexpr Case cases[] = {{"put 4 KiB", Work::put, 4096, 1, 1000, 1},
                          {"get 4 KiB", Work::get, 4096, 1, 1000, 1},
                          {"put 4 KiB in batches of 16", Work::put, 4096, 16, 200, 0.5},
                          {"get 4 KiB in batches of 16", Work::get, 4096, 16, 200, 0.5},
                          {"put 1 MiB", Work::put, 1 << 20, 1, 50, 1 / 1.5},
                          {"get 1 MiB", Work::get, 1 << 20, 1, 50, 1 / 1.5}};

void measure(Bench& bench, RemoteMemory& memory, RedisConnection& redis) {
  const TickRate rate = TickRate::measure();
  const std::vector<std::string> names = keys();
  for (const Case& what : cases) {
    must(fill(redis, what, names));
    bench.compare({.row = what.name,
                   .unit = "us",
                   .round = [&] { return memory_round(memory, what, rate); },
                   .baseline = {"Redis, GET and SET over TCP", "redis-server --save ''", ""},
                   .baseline_round = [&] { return redis_round(redis, what, names, rate); },
                   .promises = {{Statistic::p50, {Target::Direction::at_most, what.bound}}}});
  }
}

int run(Bench& bench) {
  if (!RedisServer::is_installed()) {
    std::puts("memory_redis: left out: no package redis-server");
    return 0;
  }
  const auto [here, there] = two_cores();
  const auto hosts = must(HostNamespaces::create(1));
  const auto site = must(FarSite::start(hosts, {.flags = {"--data-memory", "128MiB"}}));
  const auto server = must(RedisServer::start(
      {.address = HostNamespaces::address(0), .entry = hosts.entry(0), .core = there}));
  auto redis = must(RedisConnection::open(HostNamespaces::address(0), RedisServer::port));
  Client client = site->client();
  must(pin_this_thread(here));
  RemoteMemory memory = client.memory({.bytes = memory_size});
  for (const pid_t process : site->processes()) (void)pin(process, there);
  check(memory);
  measure(bench, memory, redis);
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  ::setenv("UCX_LOG_LEVEL", "error", 0);  // each end names the other's device, which it has not
  orchid::bench::Bench bench("memory_redis", argc, argv);
  return orchid::bench::run_benchmark(bench, orchid::bench::run);
}
