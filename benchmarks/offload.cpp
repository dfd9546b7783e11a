// benchmarks/offload.cpp: what do workers add to a program's own threads, and what do they cost it
// when there is nothing to add?
//
// With a full machine, local threads fill all cores, and workers are there: how much slower than
// threads alone? With a core for the worker, the client has one and the worker the other: how many
// times faster than the client alone? Black-Scholes prices (PARSEC's formula) are 35 ns of
// arithmetic for 56 bytes, which the client's core has to move as well; the volatilities that
// explain given prices are some 40 times as much. In all rows the rival is the same kernel on
// std::threads, without Orchid.
#include <cstdio>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <thread>

#include "blackscholes/blackscholes.h"
#include "blackscholes/kernel.h"
#include "foundation/tick_clock.h"
#include "harness/bench.h"
#include "harness/machine.h"
#include "implied_volatility.h"
#include "local_lease.h"
#include "offload/offload_access.h"
#include "orchid/offload.h"

namespace orchid::bench {
namespace {

using blackscholes::Option;

/// Of the fixture's executor, each bound to one core when it is wanted so.
class BoundWorkers final : public sdk::WorkerSource {
 public:
  BoundWorkers(tests::LocalExecutor& executor, int core)
      : source_(std::make_shared<tests::ExecutorSource>(executor)), core_(core) {}

  [[nodiscard]] sdk::Recruits take() override {
    Lease lease = tests::take_lease(source_, {.workers = 1});
    if (core_ >= 0)
      for (const std::int64_t pid : sdk::LeaseAccess::core_of(lease).worker_pids())
        if (auto pinned = pin(pid, core_); !pinned)
          throw std::runtime_error(pinned.error().message);
    return {.lease = std::move(lease), .kind = sdk::ParticipantKind::sharing_worker};
  }

 private:
  std::shared_ptr<tests::ExecutorSource> source_;
  int core_;
};

std::vector<Option> made_options(std::size_t count) {
  std::vector<Option> options(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto spread = static_cast<double>(i % 1000) / 1000;
    options[i] = {
        .spot = 20 + 60 * spread,
        .strike = (20 + 60 * spread) * (0.8 + 0.4 * static_cast<double>(i % 7) / 7),
        .rate = 0.05,
        .volatility = 0.2 + 0.4 * spread,
        .time = 0.25 + 0.7 * static_cast<double>(i % 11) / 11,
        .type = i % 2 == 0 ? blackscholes::OptionType::call : blackscholes::OptionType::put,
        .reserved = 0};
  }
  return options;
}

struct Prices {
  const std::vector<Option>& options;
  std::vector<double> prices = std::vector<double>(options.size());

  /// Without Orchid: each thread its part.
  void compute_plainly(unsigned threads) {
    std::vector<std::jthread> others;
    for (unsigned i = 0; i < threads; ++i)
      others.emplace_back([this, i, threads] {
        const std::size_t first = options.size() * i / threads;
        const std::size_t last = options.size() * (i + 1) / threads;
        blackscholes::price_all(&options[first], last - first, &prices[first]);
      });
  }

  [[nodiscard]] OffloadWork work() {
    return {.count = options.size(),
            .function = &orchid_embedded_blackscholes,
            .input_size = [](OffloadRange range) { return 8 + range.size() * sizeof(Option); },
            .write_input =
                [this](OffloadRange range, std::span<std::byte> room) {
                  const std::uint64_t count = range.size();
                  std::memcpy(room.data(), &count, sizeof count);
                  std::memcpy(room.data() + 8, &options[range.first], count * sizeof(Option));
                },
            .receive = [this](OffloadRange range, Output output) -> OffloadWork::Apply {
              auto held = std::make_shared<Output>(std::move(output));
              return [this, range, held] {
                std::memcpy(&prices[range.first], held->bytes().data() + 8,
                            range.size() * sizeof(double));
              };
            },
            .compute = [this](OffloadRange range) -> OffloadWork::Apply {
              std::shared_ptr<double[]> own(new double[range.size()]);
              blackscholes::price_all(&options[range.first], range.size(), own.get());
              return [this, range, own] {
                std::memcpy(&prices[range.first], own.get(), range.size() * sizeof(double));
              };
            }};
  }
};

/// In milliseconds.
template <typename Work>
Result<std::vector<double>> timed(const TickRate& rate, Work work) {
  const std::uint64_t start = ticks_now();
  work();
  return std::vector<double>{static_cast<double>(rate.duration(ticks_now() - start).count()) / 1e6};
}

/// They are there; on a full machine they have nothing to do.
Result<void> expect_workers(OffloadPool& pool, Prices& prices) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (pool.run(prices.work()).workers == 0)
    if (std::chrono::steady_clock::now() > give_up)
      return fail(ErrorCode::timed_out, "no worker has joined within 30 s");
  return {};
}

/// In both ways.
struct Task {
  std::function<void(OffloadPool&)> offloaded;
  std::function<void(unsigned threads)> plain;
};

void compare(Bench& bench, const char* row, OffloadPool& pool, const Task& task, unsigned threads,
             std::vector<Promise> promises) {
  const TickRate rate = TickRate::measure();
  bench.compare({.row = row,
                 .unit = "ms",
                 .round = [&] { return timed(rate, [&] { task.offloaded(pool); }); },
                 .baseline = {std::to_string(threads) + " std::thread, same kernel",
                              bench.command_line(), ""},
                 .baseline_round = [&] { return timed(rate, [&] { task.plain(threads); }); },
                 .promises = std::move(promises)});
}

std::vector<Quote> made_quotes(const std::vector<Option>& options) {
  std::vector<Quote> quotes;
  for (const Option& option : options)
    quotes.push_back({.spot = option.spot,
                      .strike = option.strike,
                      .rate = option.rate,
                      .time = option.time,
                      .price = blackscholes::price(option),
                      .type = static_cast<std::int32_t>(option.type),
                      .reserved = 0});
  return quotes;
}

int run(Bench& bench) {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) {
    std::fputs("offload needs two cores\n", stderr);
    return 3;
  }
  const auto all = static_cast<unsigned>(cores.size());
  const std::vector<Option> options = made_options(8'000'000);
  Prices prices{.options = options};
  const Task pricing{.offloaded = [&](OffloadPool& pool) { (void)pool.run(prices.work()); },
                     .plain = [&](unsigned threads) { prices.compute_plainly(threads); }};
  const std::vector<Quote> quotes = made_quotes(made_options(200'000));
  std::vector<double> volatilities(quotes.size());
  const Task solving{
      .offloaded =
          [&](OffloadPool& pool) { (void)pool.map<implied_volatilities>(quotes, volatilities); },
      .plain = [&](unsigned) { volatilities = implied_volatilities(quotes); }};
  tests::LocalExecutor executor({.programs = PROGRAMS});
  {
    OffloadPool pool = sdk::OffloadAccess::pool(all, std::make_unique<BoundWorkers>(executor, -1));
    if (auto joined = expect_workers(pool, prices); !joined) return 3;
    compare(bench, "prices, machine full, time against local threads alone", pool, pricing, all,
            {{Statistic::p50, {Target::Direction::at_most, 1.01}}});
  }
  if (auto pinned = pin_this_thread(cores[0]); !pinned) return 3;
  OffloadPool pool =
      sdk::OffloadAccess::pool(1, std::make_unique<BoundWorkers>(executor, cores[1]));
  if (auto joined = expect_workers(pool, prices); !joined) return 3;
  // 1.8 times as fast.
  compare(bench, "volatilities, one core here, a worker on the other, time against here alone",
          pool, solving, 1, {{Statistic::p50, {Target::Direction::at_most, 1 / 1.8}}});
  compare(bench, "prices, the same", pool, pricing, 1, {});
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("offload", argc, argv);
  return orchid::bench::run(bench);
}
