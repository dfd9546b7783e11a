// ucx_lane_fixture.h: both ends of a lane between hosts, in one process or in two.
#pragma once
#include <doctest/doctest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <future>
#include <random>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "foundation/random.h"
#include "foundation/unique_fd.h"
#include "foundation/units.h"
#include "transport/ucx_lane.h"

namespace orchid::transport::tests {

using namespace std::chrono_literals;

inline LaneDeadline in(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

inline ConnectionKey random_key() {
  ConnectionKey key;
  fill_random(key);
  return key;
}

inline std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (std::size_t i = 0; i < size; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    bytes[i] = static_cast<std::byte>(state >> 56);
  }
  return bytes;
}

inline bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

/// Both ends in this process; each is used by one thread at a time.
struct Lane {
  UcxLaneClient client;
  UcxLaneWorker worker;
};

inline UcxContext& context() {
  static UcxContext shared = UcxContext::create({.devices = "lo"}).value();
  return shared;
}

inline Lane make(const LaneGeometry& geometry = {1_MiB, 1_MiB}) {
  const ConnectionKey key = random_key();
  auto listener =
      UcxLaneListener::listen(context(), {.address = "127.0.0.1", .key = key, .geometry = geometry})
          .value();
  auto worker = std::async(std::launch::async, [&] { return listener.accept(in(10s)); });
  auto client = UcxLaneClient::connect(
      context(), {.address = listener.address(), .key = key, .deadline = in(10s)});
  auto accepted = worker.get();
  REQUIRE_MESSAGE(client.has_value(), client.error().message);
  REQUIRE_MESSAGE(accepted.has_value(), accepted.error().message);
  return {std::move(*client), std::move(*accepted)};
}

/// Only what hangs takes so long: a GiB passes in less on an emulated processor.
constexpr std::chrono::seconds patience{120};

/// Turns both ends until there is a call, an answer or the end of the time.
inline std::optional<LaneRequest> next_call(Lane& lane) {
  for (const auto end = in(patience); std::chrono::steady_clock::now() < end;) {
    auto request = lane.worker.receive();
    REQUIRE_MESSAGE(request.has_value(), request.error().message);
    if (*request) return **request;
    auto response = lane.client.receive();
    REQUIRE_MESSAGE(response.has_value(), response.error().message);
    REQUIRE_FALSE(response->has_value());
  }
  return std::nullopt;
}

inline std::optional<LaneResponse> next_answer(Lane& lane) {
  for (const auto end = in(patience); std::chrono::steady_clock::now() < end;) {
    auto response = lane.client.receive();
    REQUIRE_MESSAGE(response.has_value(), response.error().message);
    if (*response) return **response;
    (void)lane.worker.ready();
  }
  return std::nullopt;
}

inline std::uint64_t send(UcxLaneClient& client, std::span<const std::byte> input) {
  return client.send({.slot = 3, .generation = 7, .entry = 1, .deadline = 5s, .input = input})
      .value();
}

/// False: answers that the client has not given back lie in the way.
[[nodiscard]] inline bool try_to_answer_with_input(UcxLaneWorker& worker,
                                                   const LaneRequest& request) {
  std::byte* room = worker.output(request.input.size());
  if (room == nullptr) return false;
  if (!request.input.empty()) std::memcpy(room, request.input.data(), request.input.size());
  REQUIRE(worker.answer({}).has_value());
  return true;
}
inline void answer_with_input(UcxLaneWorker& worker, const LaneRequest& request) {
  REQUIRE(try_to_answer_with_input(worker, request));
}

inline std::string text_of(std::span<const std::byte> b) {
  return {reinterpret_cast<const char*>(b.data()), b.size()};
}

/// What this process uses now.
struct Usage {
  std::size_t descriptors = 0;
  std::size_t resident_kib = 0;
  static Usage now();
};
[[nodiscard]] bool has_memory(ByteCount size);

/// Waits in poll(2), as a caller that must not spin does.
[[nodiscard]] std::optional<LaneResponse> answer_asleep(UcxLaneClient& client);
/// Receives until the lane has ended, and says why.
[[nodiscard]] Failure end_of(UcxLaneClient& client);
/// Echoes until the client has gone.
void serve(UcxLaneWorker& worker, bool sleeps);

/// A process with one end of a lane. Killed at the end of its life.
class Child {
 public:
  struct Job {
    ConnectionKey key;
    std::string address;  // a client's; of a worker: where it is to live
    int report = -1;      // a worker sends its address there
  };
  using Life = void (*)(const Job&);
  [[nodiscard]] static Child start_worker(Life life, const std::string& place = {});
  /// `via`: the address to take in place of the worker's own.
  [[nodiscard]] static Child start_client(Life life, const Child& worker,
                                          const std::string& via = {});
  Child() = default;
  Child(Child&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), address_(other.address_), key_(other.key_) {}
  ~Child() { kill(); }
  /// `via`: as with a client.
  [[nodiscard]] UcxLaneClient connect(const std::string& via = {}) const;
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] const ConnectionKey& key() const { return key_; }
  [[nodiscard]] bool is_running() const { return ::waitpid(pid_, nullptr, WNOHANG) == 0; }
  void kill();
  /// Its wait status.
  [[nodiscard]] int wait();

 private:
  pid_t pid_ = -1;
  std::string address_;
  ConnectionKey key_{};
};

[[nodiscard]] UcxLaneListener listen_and_report(UcxContext& own, const Child::Job& job);
/// A worker's life: it echoes, and sleeps between calls.
void serve_asleep(const Child::Job& job);

/// A filter for all threads: who opens, makes or accepts a socket, or forks, is killed.
[[nodiscard]] bool forbid_new_things();
[[nodiscard]] std::vector<int> listening_ports(pid_t process);
/// Those that they are open at, over IPv4: "127.0.0.1"; "0.0.0.0" for all.
[[nodiscard]] std::set<std::string> listening_addresses(pid_t process);
[[nodiscard]] std::vector<void (*)(int)> handlers();
[[nodiscard]] std::vector<std::string> environment();

/// TCP connections that say nothing.
[[nodiscard]] std::vector<UniqueFd> silent_connections(int port, int count);
/// Sends a hello and returns what comes back until the peer hangs up.
[[nodiscard]] std::vector<std::byte> say_hello(int port, std::uint16_t version,
                                               const ConnectionKey& key);

}  // namespace orchid::transport::tests
