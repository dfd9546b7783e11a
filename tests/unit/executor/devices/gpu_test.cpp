// GPUs with processes that do as their kernels say (tests/fakes/fake_device.py).
#include "devices/gpu.h"

#include <doctest/doctest.h>
#include <signal.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "device/lane_commands.h"
#include "foundation/files.h"
#include "scratch_folder.h"

namespace orchid::executor {
namespace {

/// A worker without a process, as far as a GPU looks at it.
std::shared_ptr<DeviceUser> make_user(DeviceOwner owner) {
  static std::uint64_t last_id = 0;
  auto lane = transport::make_lane({.request_bytes = 1_MiB, .response_bytes = 1_MiB});
  auto device_lane = transport::make_lane(device_lane_geometry);
  auto worker = std::make_shared<WorkerProcess>(
      ++last_id, std::move(StatusPageMapping::create().value()), std::move(lane.value()), 1_MiB);
  worker->set_device_lane(std::move(device_lane.value()));
  return std::make_shared<DeviceUser>(
      DeviceUser{.worker = std::move(worker), .owner = std::move(owner)});
}

void give_kernels(DeviceUser& user, std::uint32_t slot, std::string_view does) {
  user.kernels[slot] = {.generation = slot + 1,
                        .ptx = std::make_shared<const UniqueFd>(
                            make_sealed_memory("orchid-ptx", as_bytes(does)).value())};
}

/// Its call number 1 runs, and uses the GPU.
void use(DeviceUser& user) {
  user.worker->page().state.store(pack_state(1, RunState::running));
  user.worker->page().device_call.store(1);
}

struct OneGpu {
  explicit OneGpu(std::uint32_t index = 0) : gpu(io, children, options, {.index = index}, [] {}) {}
  ~OneGpu() {
    gpu.stop();
    run_until([this] { return children.watched() == 0; });
  }
  OneGpu(const OneGpu&) = delete;
  OneGpu& operator=(const OneGpu&) = delete;

  template <typename Condition>
  void run_until(Condition condition) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      REQUIRE(std::chrono::steady_clock::now() < give_up);
      io.run_one_for(std::chrono::milliseconds(100));
    }
  }
  [[nodiscard]] bool usable() const { return gpu.offered().fault.empty(); }
  void start() {
    gpu.start();
    run_until([this] { return usable(); });
  }
  Result<std::uint64_t> serve(const std::shared_ptr<DeviceUser>& user) {
    std::optional<Result<std::uint64_t>> served;
    gpu.serve(user, [&](const Result<std::uint64_t>& seat) { served = seat; });
    run_until([&] { return served.has_value(); });
    return *served;
  }

  tests::Scratch folder;
  boost::asio::io_context io{1};
  ChildWatch children{io};
  DeviceProcess::Options options{
      .program = FAKE_DEVICE,
      .environment = {"LD_LIBRARY_PATH=" + folder.path().string(), "PATH=/usr/bin:/bin"}};
  Gpu gpu;
};

const LeaseId first_lease{1, 1};
const LeaseId second_lease{1, 2};

}  // namespace

TEST_CASE("a GPU is usable when its process has run a kernel, and its fault is the driver's word") {
  OneGpu one;
  CHECK(one.gpu.offered().fault == "its device process is being started");
  const auto absent = one.folder.path() / "absent";
  REQUIRE(write_file_atomically(absent, {}).has_value());
  one.gpu.start();
  one.run_until([&] { return one.gpu.offered().fault == "there is no libcuda.so.1"; });
  CHECK(one.gpu.architecture().empty());
  std::filesystem::remove(absent);
  one.run_until([&] { return one.usable(); });
  CHECK(one.gpu.architecture() == "sm_80");
  CHECK(one.gpu.offered().model == "Fake");
}

TEST_CASE("a GPU without its program says so") {
  OneGpu one;
  one.options.program = "/nowhere/orchid-device";
  one.gpu.start();
  CHECK(one.gpu.offered().fault.find("/nowhere/orchid-device is not there") != std::string::npos);
}

TEST_CASE("workers of one owner share a process, and another owner gets a new one") {
  OneGpu one;
  one.start();
  const auto first = make_user({first_lease, ""});
  const auto same = make_user({first_lease, ""});
  const auto module = make_user({first_lease, "sha256:1"});
  give_kernels(*first, 3, "ok");
  const auto seat = one.serve(first);
  REQUIRE(seat.has_value());
  const pid_t process = one.gpu.pid();
  CHECK(one.gpu.serves(*first));
  const auto next = one.serve(same);
  REQUIRE(next.has_value());
  CHECK(*next != *seat);
  CHECK(one.gpu.pid() == process);
  CHECK_FALSE(one.gpu.serves(*first));
  REQUIRE(one.serve(module).has_value());
  CHECK(one.gpu.pid() != process);
}

TEST_CASE("a worker whose call uses the GPU keeps it") {
  OneGpu one;
  one.start();
  const auto first = make_user({first_lease, "a"});
  const auto second = make_user({first_lease, "b"});
  const auto seat = one.serve(first);
  REQUIRE(seat.has_value());
  first->worker->page().device_seat.store(*seat);
  use(*first);
  const auto refused = one.serve(second);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::no_capacity);
  CHECK(first->worker->page().device_seat.load() == *seat);
  first->worker->page().device_call.store(0);
  CHECK(one.serve(second).has_value());
  CHECK(first->worker->page().device_seat.load() == no_device_seat);
}

TEST_CASE("kernels of a further module are loaded when no call uses the GPU") {
  OneGpu one;
  one.start();
  const auto user = make_user({first_lease, ""});
  const auto seat = one.serve(user);
  REQUIRE(seat.has_value());
  std::atomic<std::uint64_t>& seat_of_worker = user->worker->page().device_seat;
  seat_of_worker.store(*seat);
  use(*user);
  give_kernels(*user, 0, "ok");
  std::optional<Result<std::uint64_t>> served;
  one.gpu.serve(user, [&](const Result<std::uint64_t>& told) { served = told; });
  one.io.run_for(std::chrono::milliseconds(50));
  CHECK_FALSE(served.has_value());
  CHECK(seat_of_worker.load() == *seat);
  user->worker->page().device_call.store(0);
  one.run_until([&] { return served.has_value(); });
  CHECK(**served == *seat);
  CHECK(seat_of_worker.load() == no_device_seat);  // for the caller to write
}

TEST_CASE("a lease is vacated when its process is reaped, and at once if it has used none") {
  OneGpu one;
  one.start();
  const auto user = make_user({first_lease, ""});
  REQUIRE(one.serve(user).has_value());
  const pid_t process = one.gpu.pid();
  bool vacated = false;
  one.gpu.vacate(second_lease, [&] { vacated = true; });
  CHECK(vacated);
  vacated = false;
  one.gpu.release(*user);
  one.gpu.vacate(first_lease, [&] { vacated = true; });
  CHECK_FALSE(vacated);
  one.run_until([&] { return vacated; });
  CHECK(::kill(process, 0) != 0);
  CHECK(one.usable());  // the next lease may come: a new process is on its way
  CHECK(one.serve(make_user({second_lease, ""})).has_value());
}

TEST_CASE("a process that does not come back from a lane is ended") {
  OneGpu one(2);
  one.start();
  const auto user = make_user({first_lease, ""});
  REQUIRE(one.serve(user).has_value());
  const pid_t process = one.gpu.pid();
  one.gpu.release(*user);
  one.run_until([&] { return one.gpu.pid() > 0 && one.gpu.pid() != process; });
  CHECK(one.gpu.counters().starts == 2);
}

TEST_CASE("kernels that the driver refuses are marked with its words, and the GPU stays") {
  OneGpu one;
  one.start();
  const auto user = make_user({first_lease, ""});
  give_kernels(*user, 0, "refuse ptxas fatal: unresolved extern");
  give_kernels(*user, 1, "ok");
  REQUIRE(one.serve(user).has_value());
  CHECK(user->kernels.at(0).refusal == "ptxas fatal: unresolved extern");
  CHECK(user->kernels.at(1).refusal.empty());
  CHECK(one.gpu.counters().starts == 1);
}

TEST_CASE("who is served is told what has become of the process") {
  using Kind = DeviceLoss::Kind;
  OneGpu one;
  one.start();
  std::optional<DeviceLoss> loss;
  const auto serve = [&](std::string_view does) {
    loss.reset();
    const auto user = make_user({first_lease, ""});
    user->lost = [&](const DeviceLoss& told) { loss = told; };
    give_kernels(*user, 0, does);
    one.gpu.serve(user, [](const Result<std::uint64_t>&) {});
    one.run_until([&] { return loss.has_value(); });
    one.gpu.release(*user);
  };
  serve("crash an illegal memory access was encountered");
  CHECK(loss->kind == Kind::crashed);
  CHECK(loss->message == "an illegal memory access was encountered");
  CHECK(one.usable());
  serve("lose uncorrectable ECC error encountered");
  CHECK(loss->kind == Kind::lost);
  CHECK(one.gpu.offered().fault == "uncorrectable ECC error encountered");
  CHECK(one.gpu.counters().losses == 1);
  one.run_until([&] { return one.usable(); });

  loss.reset();
  const auto user = make_user({first_lease, ""});
  user->lost = [&](const DeviceLoss& told) { loss = told; };
  REQUIRE(one.serve(user).has_value());
  ::kill(one.gpu.pid(), SIGKILL);
  one.run_until([&] { return loss.has_value(); });
  CHECK(loss->kind == Kind::lost);
  CHECK(loss->message.find("killed by signal 9") != std::string::npos);
  CHECK(one.usable());
}

}  // namespace orchid::executor
