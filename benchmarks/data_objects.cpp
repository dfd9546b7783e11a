// benchmarks/data_objects.cpp: what do data objects cost: to give one to a call, to read it there
// for the first time, and to put it and get it?
//
// One object of 1 GiB and one worker, all on one host. A call that is given it against the same
// call without, over a lease and over HTTP. A function that sums it, by a worker that has never
// seen it, against the same worker's next call. Put and get in place against memcpy between the
// same memory, new pages against new pages. PUT and GET by curl against nginx with one worker
// process, whose file is in /dev/shm too.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <span>
#include <vector>

#include "harness/bench.h"
#include "http_files.h"
#include "local_orchid.h"
#include "measured.h"
#include "nginx_files.h"
#include "orchid/client.h"
#include "orchid/function.hpp"
#include "timed_calls.h"

namespace orchid::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Values = Result<std::vector<double>>;

constexpr std::size_t size = 1 << 30;
constexpr const char* name = "object";

/// Pages that nobody has touched, given back at the end of its life.
class NewPages {
 public:
  NewPages()
      : start_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (start_ == MAP_FAILED) throw std::bad_alloc();
  }
  NewPages(const NewPages&) = delete;
  NewPages& operator=(const NewPages&) = delete;
  ~NewPages() { ::munmap(start_, size); }
  [[nodiscard]] std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(start_), size};
  }

 private:
  void* start_;
};

// ---- calls ----

Values leased_calls(const LeasedFunction& function, const CallOptions& options) {
  constexpr int calls = 2000;
  const std::uint64_t value = 7;
  std::vector<double> values;
  for (int i = 0; i < calls; ++i) {
    const auto start = Clock::now();
    (void)function.invoke(std::as_bytes(std::span(&value, 1)), options);
    values.push_back(1000 * milliseconds_since(start));
  }
  return values;
}

Values http_calls(Client& client, const InvokeOptions& options) {
  constexpr int calls = 200;
  const std::uint64_t value = 7;
  std::vector<double> values;
  for (int i = 0; i < calls; ++i) {
    const auto start = Clock::now();
    (void)client.invoke("data.nothing", std::as_bytes(std::span(&value, 1)), options);
    values.push_back(1000 * milliseconds_since(start));
  }
  return values;
}

void measure_calls(Bench& bench, Client& client) {
  Lease lease = client.lease({.workers = 1});
  const LeasedFunction nothing = lease.function("data.nothing");
  const CallOptions given{.data = {lease.data(name)}};
  const InvokeOptions named{.data = {name}};
  const Promise promise{Statistic::p50, {Target::Direction::at_most, 1.1}};
  bench.compare({.row = "call with 1 GiB, over a lease",
                 .unit = "us",
                 .round = [&] { return leased_calls(nothing, given); },
                 .baseline = {"the same call without", bench.command_line(), ""},
                 .baseline_round = [&] { return leased_calls(nothing, {}); },
                 .promises = {promise}});
  bench.compare({.row = "call with 1 GiB, over HTTP",
                 .unit = "us",
                 .round = [&] { return http_calls(client, named); },
                 .baseline = {"the same call without", bench.command_line(), ""},
                 .baseline_round = [&] { return http_calls(client, {}); },
                 .promises = {promise}});
}

/// A fresh worker each time. `calls`: the last of them is timed.
Values sum_by_new_worker(Client& client, int calls) {
  Lease lease = client.lease({.workers = 1});
  const auto sum = lease.function<double(Data<double>)>("data.sum");
  const CallOptions given{.data = {lease.data(name)}};
  double took = 0;
  for (int call = 0; call < calls; ++call) {
    const auto start = Clock::now();
    (void)sum.call(given);
    took = milliseconds_since(start);
  }
  return std::vector<double>{took};
}

void measure_sums(Bench& bench, Client& client) {
  bench.compare({.row = "sum of 1 GiB, first touch",
                 .unit = "ms",
                 .round = [&] { return sum_by_new_worker(client, 1); },
                 .baseline = {"the same worker's next call", bench.command_line(), ""},
                 .baseline_round = [&] { return sum_by_new_worker(client, 2); },
                 .promises = {{Statistic::p50, {Target::Direction::at_most, 1.3}}}});
}

// ---- in place ----

Values put_in_place(Client& client, std::span<const std::byte> source) {
  const auto start = Clock::now();
  client.write_data("put", size, [&](std::span<std::byte> room) {
    std::memcpy(room.data(), source.data(), size);
  });
  const double took = milliseconds_since(start);
  client.remove_data("put");
  return std::vector<double>{took};
}

Values copy_to_new_pages(std::span<const std::byte> source) {
  const NewPages pages;
  const auto start = Clock::now();
  std::memcpy(pages.bytes().data(), source.data(), size);
  return std::vector<double>{milliseconds_since(start)};
}

Values get_in_place(Client& client, std::span<std::byte> target) {
  const auto start = Clock::now();
  const MappedData mapped = client.map_data(name);
  if (!mapped.is_in_place()) return fail(ErrorCode::internal, "the object was not mapped");
  std::memcpy(target.data(), mapped.bytes().data(), size);
  return std::vector<double>{milliseconds_since(start)};
}

Values copy_touched(std::span<const std::byte> source, std::span<std::byte> target) {
  const auto start = Clock::now();
  std::memcpy(target.data(), source.data(), size);
  return std::vector<double>{milliseconds_since(start)};
}

void measure_in_place(Bench& bench, Client& client) {
  const std::vector<std::byte> source(size, std::byte{1});
  std::vector<std::byte> target(size, std::byte{2});
  const Promise promise{Statistic::p50, {Target::Direction::at_most, 1.2}};
  bench.compare({.row = "put of 1 GiB in place",
                 .unit = "ms",
                 .round = [&] { return put_in_place(client, source); },
                 .baseline = {"memcpy to new pages", bench.command_line(), ""},
                 .baseline_round = [&] { return copy_to_new_pages(source); },
                 .promises = {promise}});
  bench.compare({.row = "get of 1 GiB in place, copied out",
                 .unit = "ms",
                 .round = [&] { return get_in_place(client, target); },
                 .baseline = {"memcpy between touched pages", bench.command_line(), ""},
                 .baseline_round = [&] { return copy_touched(source, target); },
                 .promises = {promise}});
}

int run(Bench& bench) {
  const auto orchid =
      must(tests::LocalOrchid::start({.programs = PROGRAMS, .data_memory = "2100MiB"}));
  const NginxFiles nginx = must(NginxFiles::start());
  Client client({.gateway = orchid.address(), .token = orchid.token()});
  client.deploy_file("data", DATA_FUNCTIONS);
  client.write_data(name, size, [](std::span<std::byte> room) {
    std::ranges::fill(std::span(reinterpret_cast<double*>(room.data()), size / sizeof(double)),
                      1.0);
  });
  measure_calls(bench, client);
  measure_sums(bench, client);
  measure_in_place(bench, client);
  measure_http_files(bench, client, nginx,
                     {.what = "1 GiB over HTTP",
                      .size = size,
                      .token = orchid.token(),
                      .to_us = {"--unix-socket", orchid.runtime() / "gateway.sock"},
                      .to_nginx = {"--unix-socket", nginx.socket()},
                      .our_root = "http://orchid",
                      .nginx_root = "http://nginx",
                      .promises = {{Statistic::p50, {Target::Direction::at_most, 1.2}}}});
  return bench.report();
}

}  // namespace
}  // namespace orchid::bench

int main(int argc, char** argv) {
  orchid::bench::Bench bench("data_objects", argc, argv);
  return orchid::bench::run_benchmark(bench, orchid::bench::run);
}
