// dispatch_fakes.h: what a dispatcher meets, without processes or threads: a clock, a supply of
// workers, and an executor whose workers run only when the test says so. All of it on the test's
// one thread.
#pragma once
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dispatcher/dispatcher.h"
#include "foundation/sockets.h"
#include "leases/worker_supply.h"
#include "protocol/lane_messages.h"
#include "protocol/lane_protocol.h"
#include "transport/local_lane.h"

namespace orchid::gateway::test {

class FakeClock final : public Clock {
 public:
  [[nodiscard]] MonotonicTime now() const override { return now_; }
  [[nodiscard]] WallTime wall_now() const override { return {}; }
  void advance(std::chrono::nanoseconds time) {
    now_ += std::chrono::duration_cast<MonotonicTime::duration>(time);
  }

 private:
  MonotonicTime now_ = MonotonicTime{} + std::chrono::hours(1);
};

class FakeSupply final : public WorkerSupply {
 public:
  void want_workers(HolderId, unsigned total) override { wanted = total; }
  void give_back(HolderId, LeaseId lease) override { returned.push_back(lease); }
  void spare_worker(HolderId) override { ++spares; }
  unsigned wanted = 0;
  unsigned spares = 0;  // so often one was asked for
  std::vector<LeaseId> returned;
};

/// The executor's end of one lane socket, and the worker behind it.
struct FakeWorker {
  explicit FakeWorker(UniqueFd connection) : socket(std::move(connection)) {}
  UniqueFd socket;
  std::optional<transport::LocalLaneWorker> lane;
  std::vector<LaneMessage> heard;
  std::uint32_t generation = 0;
  bool closed = false;  // by the client

  void say(const LaneMessage& message) {
    static_cast<void>(send_packet(socket.get(), encode(message)));
  }
  /// A new lane, as at first or after `ended`.
  void claim();
  template <typename T>
  [[nodiscard]] std::size_t count() const {
    std::size_t n = 0;
    for (const LaneMessage& message : heard) n += std::holds_alternative<T>(message) ? 1 : 0;
    return n;
  }
  /// Takes the next call; its input as text. Empty when there is none.
  [[nodiscard]] std::optional<std::string> take();
  struct Reply {
    std::string output;
    Outcome outcome = Outcome::ok;
    std::chrono::nanoseconds run_time{1'000};
    ResponseKind kind = ResponseKind::reply;
    std::string message;
    std::string log;
  };
  void answer(const Reply& reply);
  /// Runs all calls that are there; each returns its input. How many.
  unsigned run_all(std::chrono::nanoseconds run_time = std::chrono::nanoseconds{1'000});
  std::uint64_t taken_request = 0;
};

class FakeExecutor {
 public:
  FakeExecutor();
  ~FakeExecutor();
  /// Accepts, answers claims, and loads modules.
  void step();
  /// As a kill -9 of it and its workers looks to clients.
  void die();
  [[nodiscard]] std::string path() const { return directory_ / "lane"; }

  bool answers_claims = true;
  bool has_code = false;  // does not ask for the module
  bool loads = true;      // answers announcements
  std::optional<LaneRejected> rejects;
  bool attaches = true;  // answers what a worker is to be given
  std::optional<LaneNotAttached> refuses_data;
  std::vector<std::unique_ptr<FakeWorker>> workers;

 private:
  void obey(FakeWorker& worker, const LaneMessage& message);
  void load(FakeWorker& worker, const std::string& digest);
  void attach(FakeWorker& worker, const LaneAttach& wanted);
  std::filesystem::path directory_;
  UniqueFd listener_;
};

struct Answer {
  bool done = false;
  CallResult result;
  [[nodiscard]] std::string output() const;
};

/// A dispatcher and its world.
class Bench {
 public:
  explicit Bench(Dispatcher::Options options = {.id = HolderId(1)});
  /// A module, the same for the same name.
  [[nodiscard]] std::shared_ptr<const FunctionVersion> function(const std::string& name);
  struct CallOptions {
    std::chrono::milliseconds deadline{60'000};
    bool at_most_once = false;
    std::shared_ptr<const CallData> data = nullptr;
  };
  std::shared_ptr<Answer> call(const std::string& name, const std::string& input,
                               CallOptions options);
  std::shared_ptr<Answer> call(const std::string& name, const std::string& input) {
    return call(name, input, {});
  }
  /// Grants a worker at the executor, which may be called as one likes.
  LeaseId grant(const std::string& name = "e");
  /// The same at one that keeps a worker for each module.
  LeaseId grant_apart(const std::string& name = "e") { return grant(name, apart_lane_protocol); }
  /// Lets everybody do what there is to do.
  void settle();
  /// Moves the clock and lets what is due happen.
  void advance(std::chrono::milliseconds time);
  /// Grants a worker that has run `name` often enough to know it as short.
  FakeWorker& worker_with_short_function(const std::string& name);
  [[nodiscard]] std::string last_invocation() const {
    return "i-" + std::to_string(next_call_ - 1);
  }

  boost::asio::io_context io;
  FakeClock clock;
  FakeSupply supply;
  FakeExecutor executor;
  std::unique_ptr<Dispatcher> dispatcher;

  /// The worker that is `name`'s and whose client is still there; null: there is none.
  [[nodiscard]] FakeWorker* worker_of(const std::string& name);

 private:
  LeaseId grant(const std::string& name, std::uint32_t protocol);
  std::map<std::string, std::shared_ptr<const FunctionVersion>> functions_;
  std::uint64_t next_call_ = 1;
  std::uint64_t next_lease_ = 1;
};

}  // namespace orchid::gateway::test
