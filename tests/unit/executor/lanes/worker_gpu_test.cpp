// Workers at a GPU whose process does as their kernels say (tests/fakes/fake_device.py).
#include "lanes/worker_gpu.h"

#include <doctest/doctest.h>

#include <memory>

#include "devices/one_gpu.h"

namespace orchid::executor {
namespace {

using namespace test;

/// As its session loads a module into its slot 0.
void load_into(WorkerGpu& gpu, const std::string& module, WorkerGpu::Loaded done) {
  gpu.load({first_lease, module}, {.slot = 0, .generation = 1, .entries = {}}, make_kernels("ok"),
           std::move(done));
}

}  // namespace

TEST_CASE("a call gets its seat although another worker wanted the GPU while kernels were loaded") {
  OneGpu one;
  one.start();
  WorkerGpu first(one.gpu);
  WorkerGpu second(one.gpu);
  const auto worker = make_worker();
  first.took(worker, {first_lease, "a"}, false);
  second.took(make_worker(), {first_lease, "b"}, false);
  bool first_loaded = false;
  bool second_loaded = false;
  // Its client calls at once.
  load_into(first, "a", [&](const Result<void>& loaded) {
    first_loaded = loaded.has_value();
    use(*worker);
  });
  CHECK_FALSE(first_loaded);
  load_into(second, "b", [&](const Result<void>& loaded) { second_loaded = loaded.has_value(); });
  CHECK(first_loaded);
  CHECK(second_loaded);  // its own call will ask
  CHECK(worker->page().device_seat.load() == no_device_seat);
  one.run_until([&] {
    first.watch();
    return worker->page().device_seat.load() != no_device_seat;
  });
  CHECK(one.gpu.counters().starts == 1);
}

TEST_CASE("of a module whose kernels cannot be had no code is kept") {
  OneGpu one;
  WorkerGpu gpu(one.gpu);
  const CodeService::Code cores{.file = make_kernels("code")};
  CHECK_FALSE(gpu.add_code("a", cores).has_value());  // nobody has asked for it
  REQUIRE(gpu.expect("a"));
  CHECK_FALSE(gpu.add_code("a", cores).has_value());
  CHECK(cores.file.use_count() == 2);
  gpu.forget("a");
  CHECK(cores.file.use_count() == 1);
  CHECK_FALSE(gpu.add_code("a", cores).has_value());
  CHECK(cores.file.use_count() == 1);
  REQUIRE(gpu.expect("a"));
  CHECK_FALSE(gpu.add_kernels("a", nullptr).has_value());
  CHECK(gpu.add_code("a", cores).has_value());
}

TEST_CASE("a worker's modules that wait for one kind of code have a limit") {
  OneGpu one;
  WorkerGpu gpu(one.gpu);
  std::size_t expected = 0;
  while (expected < 10'000 && gpu.expect(std::to_string(expected))) ++expected;
  CHECK(expected == 256);
  CHECK(gpu.expect("0"));  // again
  gpu.forget("7");
  CHECK(gpu.expect("one more"));
  CHECK_FALSE(gpu.expect("and one more"));
  gpu.forget_all();
  CHECK(gpu.expect("and one more"));
}

TEST_CASE("a worker without kernels that writes into its page that it wants the GPU gets none") {
  OneGpu one;
  one.start();
  WorkerGpu gpu(one.gpu);
  const auto worker = make_worker();
  gpu.took(worker, {first_lease, ""}, false);
  use(*worker);
  gpu.watch();
  const auto other = make_user({second_lease, ""});
  CHECK(one.serve(other).has_value());
  gpu.watch();
  CHECK(one.gpu.serves(*other));
  CHECK(worker->page().device_seat.load() == no_device_seat);
}

TEST_CASE("who asks again at once is not answered with another worker's seat") {
  OneGpu one;
  one.start();
  const auto first = make_user({first_lease, "a"});
  const auto second = make_user({first_lease, "b"});
  first->kernels[0] = {.generation = 1, .ptx = make_kernels("ok")};
  std::optional<Result<std::uint64_t>> again;
  one.gpu.serve(first, [&](const Result<std::uint64_t>& seat) {
    CHECK_FALSE(seat.has_value());
    one.gpu.serve(first, [&](const Result<std::uint64_t>& told) { again = told; });
  });
  std::optional<Result<std::uint64_t>> other;
  one.gpu.serve(second, [&](const Result<std::uint64_t>& seat) { other = seat; });
  REQUIRE(other.has_value());
  CHECK(other->error().code == ErrorCode::no_capacity);
  one.run_until([&] { return again.has_value(); });
  CHECK(again->has_value());
  CHECK(one.gpu.serves(*first));
}

TEST_CASE("a session that ends in the answer to one request hears no other") {
  OneGpu one;
  one.start();
  auto gpu = std::make_unique<WorkerGpu>(one.gpu);
  const auto worker = make_worker();
  gpu->took(worker, {first_lease, "a"}, false);
  bool ended = false;
  load_into(*gpu, "a", [&](const Result<void>&) {
    gpu.reset();
    ended = true;
  });
  use(*worker);
  gpu->watch();
  one.run_until([&] { return ended; });
  CHECK(worker->page().device_seat.load() == no_device_seat);
}

}  // namespace orchid::executor
