// door/door_pool.h: HTTP requests through an orchid-door, over kept connections.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "door/door_connection.h"
#include "http/http_exchange.h"

namespace orchid::sdk {

/// Any thread. One connection carries one request at a time. A request that provably did not reach
/// the gateway is sent again; so is one that may be done twice (GET, or with an Idempotency-Key).
class DoorPool final : public HttpExchange {
 public:
  static constexpr std::size_t most_connections = 32;  // then requests wait for one
  static constexpr std::size_t most_idle = 8;

  explicit DoorPool(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}
  ~DoorPool() override = default;

  /// Also throws what `DoorConnection` throws.
  [[nodiscard]] HttpResponse perform(const HttpRequest& request) override;
  [[nodiscard]] const Endpoint& endpoint() const override { return endpoint_; }

 private:
  using Deadline = DoorConnection::Deadline;
  /// A place among the connections; given back with what it holds at the end of its life.
  class Place {
   public:
    Place(DoorPool& pool, Deadline deadline);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    std::unique_ptr<DoorConnection> connection;  // null: to be opened

   private:
    DoorPool& pool_;
  };
  [[nodiscard]] std::unique_ptr<DoorConnection> open(Deadline deadline);
  void forget_idle();

  Endpoint endpoint_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<DoorConnection>> idle_;  // guarded by mutex_; last used is last
  std::size_t in_use_ = 0;                             // guarded by mutex_
  std::size_t opening_ = 0;                            // guarded by mutex_
};

}  // namespace orchid::sdk
