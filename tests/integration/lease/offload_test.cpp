// A range on local threads and on real workers.
#include <signal.h>

#include <atomic>
#include <cmath>
#include <numeric>
#include <thread>

#include "lease_fixture.h"
#include "offload/offload_access.h"
#include "offloaded_functions.h"
#include "orchid/offload.h"

namespace orchid::tests {
namespace {

/// Takes leases of the fixture's executor while it is allowed to.
class FixtureWorkers final : public sdk::WorkerSource {
 public:
  struct State {
    std::atomic<bool> open{true};
    std::atomic<unsigned> taken{0};
    sdk::ParticipantKind kind = sdk::ParticipantKind::worker;
    std::mutex mutex;
    std::vector<std::int64_t> pids;  // guarded by mutex; of the last lease
    [[nodiscard]] pid_t first_pid() {
      const std::lock_guard lock(mutex);
      return pids.empty() ? 0 : static_cast<pid_t>(pids.front());
    }
  };
  FixtureWorkers(std::shared_ptr<ExecutorSource> source, std::shared_ptr<State> state,
                 unsigned workers)
      : source_(std::move(source)), state_(std::move(state)), workers_(workers) {}

  [[nodiscard]] sdk::Recruits take() override {
    if (!state_->open) throw Error({.kind = ErrorKind::no_capacity, .message = "not now"});
    Lease lease = take_lease(source_, over_lane_under_test({.workers = workers_}));
    {
      const std::lock_guard lock(state_->mutex);
      state_->pids = sdk::LeaseAccess::core_of(lease).worker_pids();
    }
    ++state_->taken;
    return {.lease = std::move(lease), .kind = state_->kind};
  }

 private:
  std::shared_ptr<ExecutorSource> source_;
  std::shared_ptr<State> state_;
  unsigned workers_;
};

struct OffloadFixture {
  LocalExecutor executor{executor_options()};
  std::shared_ptr<ExecutorSource> source = std::make_shared<ExecutorSource>(executor);
  std::shared_ptr<FixtureWorkers::State> state = std::make_shared<FixtureWorkers::State>();
  std::vector<double> inputs = std::vector<double>(400'000);
  std::vector<double> outputs = std::vector<double>(inputs.size());

  OffloadFixture() { std::iota(inputs.begin(), inputs.end(), 0); }
  [[nodiscard]] OffloadPool pool(unsigned workers = 1, unsigned local_threads = 1) {
    return sdk::OffloadAccess::pool(local_threads,
                                    std::make_unique<FixtureWorkers>(source, state, workers));
  }
  [[nodiscard]] bool all_right() const {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (std::fabs(outputs[i] - slow_root(inputs[i])) > 1e-9) return false;
    return true;
  }
};

}  // namespace

TEST_CASE_FIXTURE(OffloadFixture, "workers compute a part of the range, and nobody deploys") {
  OffloadPool pool = this->pool(2);
  REQUIRE(eventually([&] { return pool.workers() == 4; }));
  OffloadReport report;
  // The first run may be over before the function is compiled.
  CHECK(eventually([&] {
    report = pool.map<slow_roots>(inputs, outputs);
    return report.worker_items > inputs.size() / 10;
  }));
  CHECK(report.local_items + report.worker_items == inputs.size());
  CHECK(report.failed == 0);
  CHECK(all_right());
}

TEST_CASE_FIXTURE(OffloadFixture, "a worker that is killed in the middle costs nothing but time") {
  for (int round = 0; round < 5; ++round) {
    OffloadPool pool = this->pool(1);
    REQUIRE(eventually([&] { return pool.map<slow_roots>(inputs, outputs).worker_items > 0; }));
    std::ranges::fill(outputs, -1);
    std::atomic<bool> killed{false};
    std::atomic<unsigned> twice{0};
    const OffloadReport report = pool.run<slow_roots>(
        inputs.size(),
        [&](OffloadRange range) {
          if (range.first > inputs.size() / 3 && !killed.exchange(true))
            ::kill(state->first_pid(), SIGKILL);
          return std::tuple(std::span<const double>(inputs).subspan(range.first, range.size()));
        },
        [&](OffloadRange range, std::span<const double> roots) {
          for (std::size_t i = 0; i < roots.size(); ++i) {
            if (outputs[range.first + i] != -1) ++twice;
            outputs[range.first + i] = roots[i];
          }
        });
    CHECK(killed);
    CHECK(twice == 0);
    CHECK(report.local_items + report.worker_items == inputs.size());
    CHECK(all_right());
  }
}

TEST_CASE_FIXTURE(OffloadFixture, "workers that come later are taken") {
  state->open = false;
  OffloadPool pool = this->pool(1);
  CHECK(pool.map<slow_roots>(inputs, outputs).worker_items == 0);
  CHECK(pool.workers() == 0);
  state->open = true;
  CHECK(eventually([&] { return pool.map<slow_roots>(inputs, outputs).worker_items > 0; }));
  CHECK(all_right());
}

TEST_CASE_FIXTURE(OffloadFixture, "workers that share this host begin when a processor is idle") {
  state->kind = sdk::ParticipantKind::sharing_worker;
  OffloadPool pool = this->pool(1);
  REQUIRE(eventually([&] { return pool.workers() == 2; }));
  // Runs are short, and a look lasts 50 ms: it goes on from run to run. Other tests may be busy.
  CHECK(eventually([&] { return pool.map<slow_roots>(inputs, outputs).worker_items > 0; },
                   std::chrono::seconds(100)));
  CHECK(all_right());
}

TEST_CASE_FIXTURE(OffloadFixture, "the end of all workers leaves the local threads") {
  auto own = std::make_unique<LocalExecutor>(executor_options());
  source = std::make_shared<ExecutorSource>(*own);
  OffloadPool pool = this->pool(1);
  REQUIRE(eventually([&] { return pool.map<slow_roots>(inputs, outputs).worker_items > 0; }));
  state->open = false;
  source->forgotten = true;
  own.reset();
  std::ranges::fill(outputs, -1);
  (void)pool.map<slow_roots>(inputs, outputs);
  CHECK(all_right());
  CHECK(eventually([&] {
    (void)pool.map<slow_roots>(inputs, outputs);
    return pool.workers() == 0;
  }));
  CHECK(all_right());
}

TEST_CASE_FIXTURE(OffloadFixture, "a stopped worker does not hold up the end") {
  OffloadPool pool = this->pool(1);
  REQUIRE(eventually([&] { return pool.map<slow_roots>(inputs, outputs).worker_items > 0; }));
  std::atomic<bool> stopped{false};
  const auto start = std::chrono::steady_clock::now();
  const OffloadReport report = pool.run<slow_roots>(
      inputs.size(),
      [&](OffloadRange range) {
        if (range.first > inputs.size() / 2 && !stopped.exchange(true))
          ::kill(state->first_pid(), SIGSTOP);
        return std::tuple(std::span<const double>(inputs).subspan(range.first, range.size()));
      },
      [&](OffloadRange range, std::span<const double> roots) {
        std::ranges::copy(roots, outputs.begin() + static_cast<std::ptrdiff_t>(range.first));
      });
  CHECK(std::chrono::steady_clock::now() - start < seconds(10));
  CHECK(report.local_items + report.worker_items == inputs.size());
  CHECK(all_right());
}

TEST_CASE_FIXTURE(OffloadFixture, "what fails or crashes on workers only is computed here") {
  OffloadPool pool = this->pool(1);
  REQUIRE(eventually([&] { return pool.workers() == 2; }));
  for (const bool crashes : {false, true}) {
    OffloadReport report;
    CHECK(eventually([&] {
      std::ranges::fill(outputs, -1);
      report = pool.map<fails_in_a_worker>(inputs, outputs, crashes, std::int32_t{::getpid()});
      return report.failed > 0;
    }));
    CHECK(report.worker_items == 0);
    CHECK(outputs == inputs);
  }
}

TEST_CASE_FIXTURE(LeaseFixture, "a lease calls a function by its symbol, and its twin here") {
  const auto roots = lease.function<slow_roots>();
  const std::vector<double> squares{4, 9};
  CHECK(roots(squares) == roots.local(squares));
  CHECK(roots.async(squares).get().size() == 2);
  CHECK(source->fetches == 0);
}

}  // namespace orchid::tests
