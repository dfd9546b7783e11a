// slurm_reclaim/calls.cpp: calls without a pause, over leases of both lanes and over HTTP, until
// standard input ends; then waits for what has begun, and prints what came of it all, as JSON. When
// all streams have what they need, it prints "ready".
//
//   reclaim_calls GATEWAY_SOCKET SLEEPS_MODULE PATIENT_MS
//
// Every call has an input of its own, which its result must repeat. Nothing is tried again here:
// whatever the SDK does not hide is counted as failed. Beside the streams of short calls, which
// last up to 20 ms each, there are patient ones of PATIENT_MS: longer than any pilot lives, so that
// each is evicted again and again.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <latch>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "orchid/client.h"
#include "orchid/lease.h"

namespace orchid::tests {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::ptrdiff_t leases_of_a_lane = 2;
constexpr std::size_t in_flight = 3;
constexpr seconds first_worker_within{60};
constexpr seconds short_deadline{120};
constexpr seconds patient_deadline{900};
constexpr milliseconds look_again{5};

/// Of one stream. Belongs to the stream's thread, but for `told`, which the lanes' thread counts.
struct Tally {
  std::string stream;
  std::uint64_t begun = 0;
  std::uint64_t answered = 0;
  std::uint64_t failed = 0;
  std::atomic<std::uint64_t> told{0};  // callbacks of calls over a lease
  milliseconds longest{0};
  unsigned most_evictions = 0;  // of one call that was answered; seen from here: at least so many
  std::string first_failure;

  void note_failure(const std::string& what) {
    ++failed;
    if (first_failure.empty()) first_failure = what;
  }
  /// `reply` gives the result or throws; true: it is the one of that input.
  bool settle(const std::string& input, steady_clock::time_point begun_at,
              const std::function<Reply()>& reply) {
    try {
      const Reply result = reply();
      const auto took = steady_clock::now() - begun_at;
      longest = std::max(longest, std::chrono::duration_cast<milliseconds>(took));
      if (result.text() != input)
        note_failure("'" + input + "' has the result '" + std::string(result.text()) + "'");
      else
        ++answered;
      return result.text() == input;
    } catch (const Error& error) {
      note_failure("'" + input + "': " + error.what());
      return false;
    }
  }
  [[nodiscard]] nlohmann::json document() const {
    return {{"stream", stream},
            {"begun", begun},
            {"answered", answered},
            {"failed", failed},
            {"told", told.load()},
            {"longest_ms", longest.count()},
            {"most_evictions", most_evictions},
            {"first_failure", first_failure}};
  }
};

/// What all streams share; immutable but for `over` and `calls`.
struct Surroundings {
  Client& client;
  const std::vector<std::byte>& module;
  milliseconds patient;
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> calls{0};
  // Each kind of stream takes its cores when those before it have theirs: the local leases first,
  // which can only have this host's two cores, then those over UCX, then the calls over HTTP.
  std::latch local_leased{leases_of_a_lane};
  std::latch all_leased{2 * leases_of_a_lane};

  /// A stream that has lost a call says why, and no more.
  [[nodiscard]] bool go_on(const Tally& tally) const { return !over && tally.failed == 0; }
  /// Of the next call of that stream; no other has the same. `sleeps` takes up to 23 bytes.
  [[nodiscard]] std::string next_input(Tally& tally, milliseconds time) {
    ++tally.begun;
    return std::to_string(time.count()) + " " + std::to_string(++calls);
  }
  [[nodiscard]] std::string next_short_input(Tally& tally) {
    return next_input(tally, milliseconds(tally.begun % 20));
  }
};

struct Pending {
  std::string input;
  steady_clock::time_point begun_at;
  ReplyFuture reply;
};

Pending begin(const LeasedFunction& sleeps, Tally& tally, std::string input, seconds deadline) {
  const auto now = steady_clock::now();
  ReplyFuture reply = sleeps.async(input, {.deadline = deadline});
  reply.then([&tally](const ReplyFuture&) { ++tally.told; });
  return {std::move(input), now, std::move(reply)};
}

Lease one_worker(Surroundings& around, const std::string& lane) {
  const bool local = lane == "local";
  if (!local) around.local_leased.wait();
  Lease lease = around.client.lease({.workers = 1, .within = first_worker_within, .lane = lane});
  if (local) around.local_leased.count_down();
  around.all_leased.count_down();
  return lease;
}

void call_over_lease(Surroundings& around, const std::string& lane, Tally& tally) {
  Lease lease = one_worker(around, lane);
  const LeasedFunction sleeps = lease.module(around.module).function();
  std::deque<Pending> pending;
  while (around.go_on(tally) || !pending.empty()) {
    if (around.go_on(tally) && pending.size() < in_flight) {
      pending.push_back(begin(sleeps, tally, around.next_short_input(tally), short_deadline));
      continue;
    }
    const Pending& oldest = pending.front();
    (void)tally.settle(oldest.input, oldest.begun_at, [&] { return oldest.reply.get(); });
    pending.pop_front();
  }
}

/// One call at a time, on a lease of its own: as long as it runs, whenever the lease has lost its
/// worker, the call was evicted.
void call_patiently_over_lease(Surroundings& around, const std::string& lane, Tally& tally) {
  Lease lease = one_worker(around, lane);
  const LeasedFunction sleeps = lease.module(around.module).function();
  while (around.go_on(tally)) {
    const Pending call =
        begin(sleeps, tally, around.next_input(tally, around.patient), patient_deadline);
    unsigned evictions = 0;
    for (bool had_worker = true; !call.reply.wait_for(look_again);) {
      const bool has_worker = lease.workers() > 0;
      if (had_worker && !has_worker) ++evictions;
      had_worker = has_worker;
    }
    if (tally.settle(call.input, call.begun_at, [&] { return call.reply.get(); }))
      tally.most_evictions = std::max(tally.most_evictions, evictions);
  }
}

void call_over_http(Surroundings& around, Tally& tally) {
  around.all_leased.wait();
  while (around.go_on(tally)) {
    const std::string input = around.next_short_input(tally);
    (void)tally.settle(input, steady_clock::now(), [&] {
      return around.client.invoke("sleeps", input, {.deadline = short_deadline});
    });
  }
}

/// Invocations that the gateway keeps: it says how often each was started.
void call_patiently_over_http(Surroundings& around, Tally& tally) {
  around.all_leased.wait();
  while (around.go_on(tally)) {
    const std::string input = around.next_input(tally, around.patient);
    unsigned attempts = 1;
    const bool answered = tally.settle(input, steady_clock::now(), [&] {
      const Invocation call = around.client.submit("sleeps", std::as_bytes(std::span(input)),
                                                   {.deadline = patient_deadline});
      Reply reply = call.output(patient_deadline);
      attempts = call.status().attempt;
      return reply;
    });
    if (answered) tally.most_evictions = std::max(tally.most_evictions, attempts - 1);
  }
}

std::vector<std::byte> bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void wait_for_end_of_input() {
  char ignored[64];
  while (::read(STDIN_FILENO, ignored, sizeof(ignored)) > 0) {
  }
}

int run(const std::string& socket, const std::filesystem::path& module, milliseconds patient) {
  const std::vector<std::byte> bytes = bytes_of(module);
  std::deque<Tally> tallies;
  {
    Client client({.gateway = "unix:" + socket});
    client.deploy("sleeps", bytes);
    Surroundings around{.client = client, .module = bytes, .patient = patient};
    std::deque<std::jthread> threads;
    const auto start = [&](const std::string& name, const std::function<void(Tally&)>& stream) {
      Tally& tally = tallies.emplace_back();
      tally.stream = name;
      threads.emplace_back([&tally, stream] {
        try {
          stream(tally);
        } catch (const Error& error) {
          tally.note_failure(error.what());
          std::fprintf(stderr, "reclaim_calls: %s: %s\n", tally.stream.c_str(), error.what());
        }
      });
    };
    for (const char* lane : {"local", "ucx"}) {
      start(std::string("lease-") + lane,
            [&, lane](Tally& tally) { call_over_lease(around, lane, tally); });
      start(std::string("patient-lease-") + lane,
            [&, lane](Tally& tally) { call_patiently_over_lease(around, lane, tally); });
    }
    start("http", [&](Tally& tally) { call_over_http(around, tally); });
    start("patient-http", [&](Tally& tally) { call_patiently_over_http(around, tally); });
    around.all_leased.wait();
    std::puts("ready");
    std::fflush(stdout);
    wait_for_end_of_input();
    around.over = true;
  }  // threads first, then the client with the thread that runs callbacks
  nlohmann::json all = nlohmann::json::array();
  for (const Tally& tally : tallies) all.push_back(tally.document());
  std::printf("%s\n", all.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace orchid::tests

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s GATEWAY_SOCKET SLEEPS_MODULE PATIENT_MS\n", argv[0]);
    return 64;
  }
  try {
    return orchid::tests::run(argv[1], argv[2], std::chrono::milliseconds(std::atoi(argv[3])));
  } catch (const orchid::Error& error) {
    std::fprintf(stderr, "reclaim_calls: %s\n", error.what());
    return 1;
  }
}
