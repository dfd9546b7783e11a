// GPUs with processes that do as their kernels say (tests/fakes/fake_device.py).
#include "devices/gpu.h"

#include <doctest/doctest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include "devices/one_gpu.h"
#include "foundation/files.h"
#include "protocol/control_messages.h"

namespace orchid::executor {
namespace {

using namespace test;

void give_kernels(DeviceUser& user, std::uint32_t slot, std::string_view does) {
  user.kernels[slot] = {.generation = slot + 1, .ptx = make_kernels(does)};
}

}  // namespace

TEST_CASE("a GPU is usable when its process has run a kernel, and its fault is the driver's word") {
  OneGpu one;
  CHECK(one.gpu.offered().fault == "its device process is being started");
  const auto fault = one.folder.path() / "fault";
  REQUIRE(write_file_atomically(fault, as_bytes(std::string_view("refused"))).has_value());
  one.gpu.start();
  one.run_until([&] { return one.gpu.offered().fault == "there is no libcuda.so.1"; });
  CHECK(one.gpu.architecture().empty());
  std::filesystem::remove(fault);
  one.run_until([&] { return one.usable(); });
  CHECK(one.gpu.architecture() == "sm_80");
  CHECK(one.gpu.offered().model == "Fake");
}

TEST_CASE("where a person has to install a driver, it is not looked for all the time") {
  OneGpu one;
  REQUIRE(
      write_file_atomically(one.folder.path() / "fault", as_bytes(std::string_view("no_driver")))
          .has_value());
  one.gpu.start();
  one.run_until([&] { return one.gpu.counters().starts == 2 && one.children.watched() == 0; });
  one.io.run_for(std::chrono::milliseconds(500));  // a failing process would be there again
  CHECK(one.gpu.counters().starts == 2);
  CHECK(one.gpu.offered().fault == "there is no libcuda.so.1");
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
  use(*first->worker);
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
  use(*user->worker);
  give_kernels(*user, 0, "ok");
  std::optional<Result<std::uint64_t>> served;
  one.gpu.serve(user, [&](const Result<std::uint64_t>& told) { served = told; });
  one.io.run_one_for(std::chrono::seconds(30));  // it asks again whether that call is over
  CHECK_FALSE(served.has_value());
  CHECK(seat_of_worker.load() == *seat);
  user->worker->page().device_call.store(0);
  one.run_until([&] { return served.has_value(); });
  CHECK(**served == *seat);
  CHECK(seat_of_worker.load() == no_device_seat);  // for the caller to write
}

TEST_CASE("a call that waits for its seat does not keep a further module from being loaded") {
  OneGpu one;
  one.start();
  const auto user = make_user({first_lease, ""});
  REQUIRE(one.serve(user).has_value());
  give_kernels(*user, 0, "slow");
  std::optional<Result<std::uint64_t>> first;
  one.gpu.serve(user, [&](const Result<std::uint64_t>& told) { first = told; });
  use(*user->worker);  // its seat is taken until the kernels are there
  give_kernels(*user, 1, "ok");
  std::optional<Result<std::uint64_t>> second;
  one.gpu.serve(user, [&](const Result<std::uint64_t>& told) { second = told; });
  REQUIRE(write_file_atomically(one.folder.path() / "go", {}).has_value());
  one.run_until([&] { return first.has_value() && second.has_value(); });
  CHECK(first->has_value());
  CHECK(second->has_value());
  CHECK(one.gpu.counters().starts == 1);
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

TEST_CASE("a process of calls over HTTP serves the same module with the next lease, too") {
  OneGpu one;
  one.start();
  const auto of_http = [](LeaseId lease, std::string module, std::uint32_t tenant) {
    return make_user({.lease = lease, .module = std::move(module), .http_tenant = tenant});
  };
  const auto user = of_http(first_lease, "a", 1);
  REQUIRE(one.serve(user).has_value());
  const pid_t process = one.gpu.pid();
  bool vacated = false;
  const auto vacate = [&](const LeaseId& lease) {
    vacated = false;
    one.gpu.vacate(lease, [&] { vacated = true; });
    one.run_until([&] { return vacated; });
  };
  one.gpu.release(*user);
  vacate(first_lease);
  const auto next = of_http(second_lease, "a", 1);
  REQUIRE(one.serve(next).has_value());
  CHECK(one.gpu.pid() == process);
  one.gpu.release(*next);
  vacate(second_lease);
  SUBCASE("not another tenant") { REQUIRE(one.serve(of_http(first_lease, "a", 2)).has_value()); }
  SUBCASE("not another module") { REQUIRE(one.serve(of_http(first_lease, "b", 1)).has_value()); }
  SUBCASE("not a program's lease") { REQUIRE(one.serve(make_user({first_lease, ""})).has_value()); }
  SUBCASE("not for long") {
    one.run_until([&] { return one.gpu.pid() != process && one.gpu.pid() != -1; });
  }
  CHECK(one.gpu.pid() != process);
  CHECK(::kill(process, 0) != 0);
}

TEST_CASE("a process of calls over HTTP that does not come back from one ends with its lease") {
  OneGpu one(2);
  one.start();
  const auto user = make_user({.lease = first_lease, .module = "a", .http_tenant = 1});
  REQUIRE(one.serve(user).has_value());
  const pid_t process = one.gpu.pid();
  one.gpu.release(*user);
  bool vacated = false;
  one.gpu.vacate(first_lease, [&] { vacated = true; });
  CHECK_FALSE(vacated);
  one.run_until([&] { return vacated; });
  CHECK(::kill(process, 0) != 0);
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

  loss.reset();
  const auto seat = one.serve(user);
  REQUIRE(seat.has_value());
  user->worker->page().device_seat.store(*seat);
  ::kill(one.gpu.pid(), SIGSEGV);  // as a driver that a kernel has misled
  one.run_until([&] { return loss.has_value(); });
  CHECK(loss->kind == Kind::crashed);
  CHECK(loss->message.find("killed by signal 11") != std::string::npos);
  CHECK(one.usable());
}

TEST_CASE("kernels at which the driver's compiler crashes are refused, and nobody else pays") {
  OneGpu one;
  one.start();
  bool told = false;
  const auto user = make_user({first_lease, ""});
  user->lost = [&](const DeviceLoss&) { told = true; };
  use(*user->worker);  // a call of the other module waits for its seat
  give_kernels(*user, 1, "ok");
  SUBCASE("with the driver's words") {
    give_kernels(*user, 0, "crash unspecified launch failure");
    CHECK(one.serve(user).has_value());
    CHECK(user->kernels.at(0).refusal == "unspecified launch failure");
  }
  SUBCASE("without a word") {
    give_kernels(*user, 0, "slow");
    std::optional<Result<std::uint64_t>> served;
    one.gpu.serve(user, [&](const Result<std::uint64_t>& seat) { served = seat; });
    ::kill(one.gpu.pid(), SIGSEGV);
    one.run_until([&] { return served.has_value(); });
    CHECK(served->has_value());
    CHECK(user->kernels.at(0).refusal.find("killed by signal 11") != std::string::npos);
  }
  CHECK(user->kernels.at(1).refusal.empty());
  CHECK_FALSE(told);
  CHECK(one.gpu.counters().starts == 2);
  CHECK(one.gpu.counters().crashes == 1);
}

TEST_CASE("a lane that ends by itself is the worker's doing, or the system's") {
  OneGpu one;
  one.start();
  const auto loss_of = [&](std::string_view does) {
    std::optional<DeviceLoss> loss;
    const auto user = make_user({first_lease, ""});
    user->lost = [&](const DeviceLoss& told) { loss = told; };
    give_kernels(*user, 0, does);
    CHECK(one.serve(user).error().code == ErrorCode::unreachable);
    REQUIRE(loss.has_value());
    return *loss;
  };
  const auto system = loss_of("over system mmap: Cannot allocate memory");
  CHECK(system.kind == DeviceLoss::Kind::lost);
  CHECK(system.message == "mmap: Cannot allocate memory");
  CHECK(loss_of("over worker an unknown command").kind == DeviceLoss::Kind::nonsense);
  CHECK(one.gpu.counters().starts == 1);
}

TEST_CASE("a worker with a seat keeps the GPU until its further kernels are loaded") {
  OneGpu one;
  one.start();
  const auto first = make_user({first_lease, ""});
  const auto second = make_user({first_lease, ""});
  const auto seat = one.serve(first);
  REQUIRE(seat.has_value());
  first->worker->page().device_seat.store(*seat);
  use(*first->worker);
  give_kernels(*first, 0, "ok");
  std::optional<Result<std::uint64_t>> loaded;
  one.gpu.serve(first, [&](const Result<std::uint64_t>& told) { loaded = told; });
  first->worker->page().device_call.store(0);
  const auto refused = one.serve(second);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::no_capacity);
  CHECK_FALSE(loaded.has_value());
  one.run_until([&] { return loaded.has_value(); });
  CHECK(loaded->has_value());
  CHECK(one.serve(second).has_value());
}

TEST_CASE("a limit that has expired while its answer was on its way does nothing any more") {
  OneGpu one;
  one.start();
  const auto first = make_user({first_lease, ""});
  const auto second = make_user({first_lease, ""});
  REQUIRE(one.serve(first).has_value());
  const pid_t process = one.gpu.pid();
  one.gpu.release(*first);
  // The agent is held up: the answer and the limit's end wait for it together.
  const auto limit_ends = std::chrono::steady_clock::now() + Gpu::end_patience;
  const auto give_up = limit_ends + std::chrono::seconds(30);
  while (!std::filesystem::exists(one.folder.path() / "ended") ||
         std::chrono::steady_clock::now() <= limit_ends) {
    REQUIRE(std::chrono::steady_clock::now() < give_up);
    std::this_thread::yield();
  }
  const auto seat = one.serve(second);
  REQUIRE(seat.has_value());
  CHECK(one.gpu.pid() == process);
  give_kernels(*second, 0, "ok");
  CHECK(*one.serve(second) == *seat);  // it answers still
  CHECK(one.gpu.counters().starts == 1);
}

TEST_CASE("a call that uses the GPU is told when we have ended the process ourselves") {
  OneGpu one;
  one.start();
  std::optional<DeviceLoss> loss;
  const auto user = make_user({first_lease, ""});
  user->lost = [&](const DeviceLoss& told) { loss = told; };
  const auto seat = one.serve(user);
  REQUIRE(seat.has_value());
  user->worker->page().device_seat.store(*seat);
  use(*user->worker);
  bool vacated = false;
  one.gpu.vacate(first_lease, [&] { vacated = true; });
  one.run_until([&] { return vacated; });
  REQUIRE(loss.has_value());
  CHECK(loss->kind == DeviceLoss::Kind::lost);
  CHECK(user->worker->page().device_seat.load() == no_device_seat);
}

TEST_CASE("the driver's compiler is not cut short for the next worker of the same owner") {
  OneGpu one;
  one.start();
  const auto first = make_user({first_lease, ""});
  give_kernels(*first, 0, "slow");
  one.gpu.serve(first, [](const Result<std::uint64_t>&) {});
  const pid_t process = one.gpu.pid();
  one.gpu.release(*first);
  one.io.run_for(2 * Gpu::end_patience);
  CHECK(one.gpu.pid() == process);
  REQUIRE(write_file_atomically(one.folder.path() / "go", {}).has_value());
  REQUIRE(one.serve(make_user({first_lease, ""})).has_value());
  CHECK(one.gpu.pid() == process);
}

TEST_CASE("the driver's compiler is cut short for another owner, who gets a new process anyway") {
  OneGpu one;
  one.start();
  const auto first = make_user({first_lease, "a"});
  give_kernels(*first, 0, "slow");
  one.gpu.serve(first, [](const Result<std::uint64_t>&) {});
  const pid_t process = one.gpu.pid();
  one.gpu.release(*first);
  CHECK(one.serve(make_user({first_lease, "b"})).has_value());
  CHECK(one.gpu.pid() != process);
}

TEST_CASE("a GPU that has failed leaves the offer before its process has ended") {
  OneGpu one;
  one.start();
  std::optional<DeviceLoss> loss;
  const auto user = make_user({first_lease, ""});
  user->lost = [&](const DeviceLoss& told) { loss = told; };
  give_kernels(*user, 0, "dawdle Xid 79");
  one.gpu.serve(user, [](const Result<std::uint64_t>&) {});
  const pid_t process = one.gpu.pid();
  one.run_until([&] { return loss.has_value(); });
  CHECK(loss->kind == DeviceLoss::Kind::lost);
  CHECK(one.gpu.offered().fault == "Xid 79");
  CHECK(one.gpu.pid() == process);
  CHECK(one.gpu.counters().losses == 1);
  // That its lease ends meanwhile does not make it a process that we have ended.
  one.gpu.release(*user);
  bool vacated = false;
  one.gpu.vacate(first_lease, [&] {
    vacated = true;
    CHECK(one.gpu.offered().fault == "Xid 79");
  });
  CHECK_FALSE(vacated);
  one.run_until([&] { return vacated; });
  one.run_until([&] { return one.usable(); });
  CHECK(one.gpu.counters().losses == 1);
}

TEST_CASE("a process that says why it ends and does not end is killed") {
  OneGpu one;
  one.start();
  const auto user = make_user({first_lease, ""});
  give_kernels(*user, 0, "dawdle Xid 79");
  one.gpu.serve(user, [](const Result<std::uint64_t>&) {});
  one.run_until([&] { return one.gpu.offered().fault == "Xid 79"; });
  one.run_until([&] { return one.usable(); });
  CHECK(one.gpu.counters().starts == 2);
  CHECK(one.gpu.counters().losses == 1);
}

TEST_CASE("a process that was killed and does not end keeps its GPU out of the offer") {
  OneGpu one;
  one.options.linger_after = std::chrono::milliseconds(100);
  one.start();
  const auto user = make_user({first_lease, ""});
  give_kernels(*user, 0, "cling");
  REQUIRE(one.serve(user).has_value());
  REQUIRE(std::filesystem::exists(one.folder.path() / "clings"));
  const std::string process = std::to_string(one.gpu.pid());
  bool vacated = false;
  one.gpu.release(*user);
  one.gpu.vacate(first_lease, [&] { vacated = true; });
  one.run_until([&] { return !one.usable(); });
  CHECK(one.gpu.offered().fault ==
        "its device process " + process +
            " was killed and does not end: the driver holds it, see dmesg");
  CHECK(vacated);  // the lease's cores are free, and nobody gets this GPU
  bool again = false;
  one.gpu.vacate(first_lease, [&] { again = true; });
  CHECK(again);
  CHECK(one.gpu.counters().starts == 1);
  REQUIRE(write_file_atomically(one.folder.path() / "release", {}).has_value());
  one.run_until([&] { return one.usable(); });
  CHECK(one.gpu.counters().starts == 2);
}

TEST_CASE(
    "kernels that the driver's compiler is not done with in time are refused, and not again") {
  OneGpu one;
  one.options.load_limit = std::chrono::seconds(1);
  one.start();
  const auto user = make_user({first_lease, ""});
  give_kernels(*user, 0, "slow");
  give_kernels(*user, 1, "ok");
  CHECK(one.serve(user).has_value());  // in the next process, with its other kernels
  CHECK(user->kernels.at(0).refusal ==
        "the driver's compiler was not done with the kernels within 1 s");
  CHECK(user->kernels.at(1).refusal.empty());
  CHECK(one.gpu.counters().starts == 2);
  CHECK(one.serve(user).has_value());
  CHECK(one.gpu.counters().starts == 2);
}

TEST_CASE("of long words the gateway is told the first line, or the beginning of that") {
  const auto told_of = [](const OneGpu& one) {
    const GrantChanged told{.cores = {}, .gpus = std::vector{one.gpu.offered()}};
    const auto frame = parse_control_frame(
        orchid::encode(ControlFrame{.sequence = 1, .body = ControlMessage(told)}));
    REQUIRE_MESSAGE(frame.has_value(), frame.error().message);
    return std::get<GrantChanged>(std::get<ControlMessage>(frame->body)).gpus->front();
  };
  OneGpu one;
  one.start();
  std::string pairs;
  while (pairs.size() < 3000) pairs += "\u00e4";
  const auto fails_with = [&](const std::string& words) {
    bool lost = false;
    const auto user = make_user({first_lease, ""});
    user->lost = [&](const DeviceLoss&) { lost = true; };
    give_kernels(*user, 0, "lose " + words);
    one.gpu.serve(user, [](const Result<std::uint64_t>&) {});
    one.run_until([&] { return lost; });
    one.gpu.release(*user);
  };
  fails_with("x" + pairs);
  const auto cut = told_of(one);
  CHECK(cut.fault == "x" + pairs.substr(0, Gpu::longest_fault - 2));  // no half a character
  one.run_until([&] { return one.usable(); });
  fails_with("Xid 79\nlong log");
  CHECK(told_of(one).fault == "Xid 79");
}

}  // namespace orchid::executor
