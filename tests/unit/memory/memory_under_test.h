// memory_under_test.h: a leased memory whose two ends are in this process.
#pragma once
#include <doctest/doctest.h>

#include <chrono>
#include <cstring>
#include <future>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "foundation/random.h"
#include "foundation/unique_fd.h"
#include "foundation/units.h"
#include "lane_client/memory_client.h"
#include "transport/ucx_memory.h"

namespace orchid::test {

using namespace std::chrono_literals;
using lane_client::MemoryClient;
using transport::MemoryRows;

inline transport::LaneDeadline soon() { return std::chrono::steady_clock::now() + 20s; }

inline transport::UcxContext& memory_context() {
  static auto shared = transport::UcxContext::create({.devices = "lo"}).value();
  return shared;
}

inline transport::ConnectionKey new_key() {
  transport::ConnectionKey key;
  fill_random(key);
  return key;
}

inline std::vector<std::byte> bytes_from(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(((i + seed) * 2'654'435'761U) >> 13U);
  return bytes;
}

inline bool are_same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

/// Serves until its client has gone.
class ServedMemory {
 public:
  explicit ServedMemory(std::size_t size, MemoryClient::Options options = {.host = "here"})
      : memory_(size) {
    const auto key = new_key();
    auto listener =
        transport::UcxMemoryListener::listen(
            memory_context(), {.address = "127.0.0.1", .key = key, .bytes = ByteCount{size}})
            .value();
    const std::string address = listener.address();
    served_ = std::async(std::launch::async, [this, listener = std::move(listener)]() mutable {
      auto server = listener.accept(soon());
      if (!server) return Result<void>(fail(server.error()));
      return server->serve(memory_, {});
    });
    auto connection = transport::UcxMemoryClient::connect(
        memory_context(),
        {.address = address, .key = key, .bytes = ByteCount{size}, .deadline = soon()});
    REQUIRE_MESSAGE(connection.has_value(), connection.error().message);
    client_ = MemoryClient::create(std::move(*connection), std::move(options)).value();
  }
  ServedMemory(const ServedMemory&) = delete;
  ServedMemory& operator=(const ServedMemory&) = delete;
  ~ServedMemory() { leave(); }
  /// The client leaves, and the server with it.
  void leave() {
    client_.reset();
    if (served_.valid()) CHECK(served_.get().has_value());
  }

  [[nodiscard]] MemoryClient& client() { return *client_; }
  /// Not while requests are under way.
  [[nodiscard]] std::span<std::byte> bytes() { return memory_; }

  void put(std::uint64_t offset, std::span<const std::byte> bytes) {
    const MemoryClient::Step step{.rows = {offset, bytes.size()}, .source = bytes};
    const auto done = client_->run({&step, 1});
    REQUIRE_MESSAGE(done.has_value(), done.error().message);
  }
  [[nodiscard]] std::vector<std::byte> get(std::uint64_t offset, std::size_t size) {
    std::vector<std::byte> bytes(size);
    const MemoryClient::Step step{.rows = {offset, size}, .target = bytes};
    const auto done = client_->run({&step, 1});
    REQUIRE_MESSAGE(done.has_value(), done.error().message);
    return bytes;
  }

 private:
  std::vector<std::byte> memory_;
  std::future<Result<void>> served_;
  std::unique_ptr<MemoryClient> client_;
};

}  // namespace orchid::test
