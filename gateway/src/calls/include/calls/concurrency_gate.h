// calls/concurrency_gate.h: how many calls of one function may be with workers at once.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace orchid::gateway {

/// Shared by all versions of a function and all threads; its functions may be called on any. Who
/// waits is let in in the order of arrival, callers that wait for their answer before asynchronous
/// invocations.
class ConcurrencyGate : public std::enable_shared_from_this<ConcurrencyGate> {
 public:
  /// The right to be with a worker; given back at the end of its life. Shared by what a call is
  /// handed from one owner to the next in.
  using Place = std::shared_ptr<const void>;
  /// Called once, on the thread that made room: it must only hand the place to its own thread.
  using Admitted = std::function<void(Place)>;
  enum class Kind : std::uint8_t { synchronous, asynchronous };
  struct Entry {
    Place place;               // null: it has to wait
    std::uint64_t ticket = 0;  // to withdraw; a withdrawn one may still be admitted meanwhile
  };
  /// So many synchronous calls may wait for each that runs.
  static constexpr std::size_t waiting_per_place = 16;
  static constexpr unsigned most = 1'000'000;

  [[nodiscard]] static std::shared_ptr<ConcurrencyGate> create(unsigned limit);
  ConcurrencyGate(const ConcurrencyGate&) = delete;
  ConcurrencyGate& operator=(const ConcurrencyGate&) = delete;

  /// 0: no limit, and nobody is counted. A lower one takes effect as calls end.
  void set_limit(unsigned limit);
  [[nodiscard]] unsigned limit() const { return limit_.load(std::memory_order_relaxed); }
  [[nodiscard]] Entry enter(Kind kind, Admitted admitted);
  void withdraw(std::uint64_t ticket);
  /// More synchronous calls should not wait.
  [[nodiscard]] bool is_crowded() const;

 private:
  struct Waiting {
    std::uint64_t ticket;
    Admitted admitted;
  };
  explicit ConcurrencyGate(unsigned limit) : limit_(limit) {}
  [[nodiscard]] Place make_place();
  [[nodiscard]] bool has_room() const { return limit() == 0 || inside_ < limit(); }  // locked
  [[nodiscard]] std::optional<Admitted> next();                                      // locked
  void admit_waiting();
  void leave();

  std::atomic<unsigned> limit_;
  mutable std::mutex mutex_;  // guards what follows; no function of others is called under it
  unsigned inside_ = 0;
  std::uint64_t next_ticket_ = 1;
  std::deque<Waiting> synchronous_;
  std::deque<Waiting> asynchronous_;
};

}  // namespace orchid::gateway
