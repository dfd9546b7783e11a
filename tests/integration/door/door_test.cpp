// What clients do through the door, and what they are refused there.
#include <sys/utsname.h>

#include <atomic>
#include <thread>

#include "door_fixture.h"
#include "memory_calls.h"
#include "module/container.h"
#include "orchid/lease.h"
#include "protocol/limits.h"

namespace orchid::tests {
namespace {

using std::chrono::seconds;

/// An echo in a container that has exactly this size.
std::vector<std::byte> padded_module(std::size_t size) {
  const std::vector<std::byte> echo = DoorFixture::echo_module();
  utsname host{};
  ::uname(&host);
  const std::string triple = std::string(host.machine) + "-pc-linux-gnu";
  std::vector<std::byte> module;
  std::size_t padding = size - 2 * echo.size();
  for (int attempt = 0; attempt < 3 && module.size() != size; ++attempt) {
    std::vector<std::byte> other(padding, std::byte{0x5a});
    const module::Image images[] = {
        {.triple = triple, .arch = "", .kind = module::ImageKind::bitcode, .bytes = echo},
        {.triple = "nvptx64-nvidia-cuda",
         .arch = "sm_90",
         .kind = module::ImageKind::object,
         .bytes = other}};
    auto written = module::write_container(images);
    REQUIRE(written.has_value());
    module = std::move(*written);
    padding += size - module.size();
  }
  return module;
}

}  // namespace

TEST_CASE_FIXTURE(DoorFixture, "functions are deployed, called, listed and removed") {
  Client client = this->client();
  CHECK(client.address() == system().door());
  CHECK(client.deploy("echo", echo_module()).name == "echo");
  CHECK(client.functions().size() == 1);
  const Reply reply = client.invoke("echo", "through the door");
  CHECK(reply.text() == "through the door");
  CHECK_FALSE(reply.invocation.empty());
  CHECK(client.invoke("echo", "").output.empty());
  for (const std::size_t size : {1UL << 12, 1UL << 20, 40UL << 20}) {
    const std::vector<std::byte> large(size, std::byte{7});
    CHECK(client.invoke("echo", large).output == large);
  }
  const Invocation later = client.submit("echo", std::as_bytes(std::span("later", 5)));
  CHECK(later.output(seconds(20)).text() == "later");
  CHECK(later.status().outcome == "ok");
  client.remove("echo");
  CHECK(error_of([&] { (void)client.invoke("echo", ""); }).kind() == ErrorKind::not_found);
}

TEST_CASE_FIXTURE(DoorFixture, "a module of 64 MiB goes through, a larger one is too large") {
  Client client = this->client();
  const std::size_t limit = limits::module_size.value;
  const std::vector<std::byte> module = padded_module(limit);
  REQUIRE(module.size() == limit);
  CHECK(client.deploy("large", module).size == limit);
  CHECK(client.invoke("large", "x").text() == "x");
  std::vector<std::byte> larger(limit + 1);
  const Error gateways = error_of([&] { (void)client.deploy("larger", larger); });
  CHECK(gateways.kind() == ErrorKind::too_large);
  CHECK(gateways.http_status() == 413);
  larger.resize(limit + (2 << 20));
  const Error doors = error_of([&] { (void)client.deploy("larger", larger); });
  CHECK(doors.kind() == ErrorKind::too_large);
  CHECK(doors.http_status() == 413);
  CHECK(client.invoke("large", "still").text() == "still");
  // After such an answer the gateway hangs up; whoever comes next notices nothing.
  larger.resize(limit + 1);
  for (int again = 0; again < 3; ++again) {
    CHECK(error_of([&] { (void)client.deploy("larger", larger); }).http_status() == 413);
    CHECK(client.functions().size() == 1);
  }
}

TEST_CASE_FIXTURE(DoorFixture, "a lease is taken through the door, and its calls go directly") {
  Client client = this->client();
  client.deploy("echo", echo_module());
  Lease lease = client.lease({.workers = 2});
  CHECK(lease.workers() == 2);
  const LeasedFunction echo = lease.function("echo");
  for (int call = 0; call < 100; ++call) CHECK(echo.invoke("direct").text() == "direct");
  CHECK(client.get("/v1/leases").find(lease.id()) != std::string::npos);
  lease.release();
}

TEST_CASE_FIXTURE(DoorFixture, "many calls at a time share some connections") {
  Client client = this->client();
  client.deploy("echo", echo_module());
  constexpr int threads = 24;
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < threads; ++caller)
      callers.emplace_back([&, caller] {
        for (int call = 0; call < 20; ++call) {
          const std::string text = std::to_string(caller) + "/" + std::to_string(call);
          if (client.invoke("echo", text).text() == text) ++right;
        }
      });
  }
  CHECK(right == threads * 20);
  CHECK(eventually([&] { return guests().size() <= 8; }));
}

TEST_CASE_FIXTURE(DoorFixture, "nobody comes in without the gateway's token, not even its user") {
  const Error wrong = error_of([&] { (void)client("orc_wrong").functions(); });
  CHECK(wrong.kind() == ErrorKind::unauthenticated);
  CHECK(wrong.http_status() == 401);
  // The same process, with the same uid as the gateway's, is known there without a token.
  const auto gateway = system().runtime() / "gateway.sock";
  CHECK_NOTHROW((void)Client({.gateway = "unix:" + gateway.string()}).functions());
  const auto door = system().runtime().parent_path() / "state" / "gateway" / "door.sock";
  const Error unknown =
      error_of([&] { (void)Client({.gateway = "unix:" + door.string()}).functions(); });
  CHECK(unknown.kind() == ErrorKind::unauthenticated);
  CHECK(unknown.http_status() == 401);
  const auto none = run({.words = {PROGRAMS "/orchid", "list", "--gateway", system().door()},
                         .environment = {"ORCHID_TOKEN", "XDG_RUNTIME_DIR=/nonexistent"}});
  CHECK(none.status == 6);
  CHECK(eventually([&] { return guests().empty(); }));
}

TEST_CASE_FIXTURE(DoorFixture, "a client's process at the door has nothing but its sockets") {
  Client client = this->client();
  (void)client.functions();
  const auto found = guests();
  REQUIRE(found.size() == 1);
  const std::string proc = "/proc/" + std::to_string(found.front());
  std::ifstream file(proc + "/status");
  std::string status(std::istreambuf_iterator<char>(file), {});
  CHECK(status.find("NoNewPrivs:\t1") != std::string::npos);
  CHECK(status.find("Seccomp:\t2") != std::string::npos);
  CHECK(status.find("CapEff:\t0000000000000000") != std::string::npos);
  for (const auto& entry : std::filesystem::directory_iterator(proc + "/fd")) {
    const std::string target = std::filesystem::read_symlink(entry.path()).string();
    CAPTURE(target);
    const bool is_file = target.starts_with("/") && target != "/dev/null";
    CHECK_FALSE(is_file);
  }
  // No socket of its listens any more.
  const auto sockets = run({.words = {"ss", "-Htlnp"}});
  CHECK(sockets.out.find("pid=" + std::to_string(found.front()) + ",") == std::string::npos);
}

TEST_CASE_FIXTURE(DoorFixture, "UCX leaves mmap and its kin as they are in the door's processes") {
  Client client = this->client();
  (void)client.functions();
  auto processes = guests();
  REQUIRE(processes.size() == 1);
  for (const pid_t door : named("orchid-door")) processes.push_back(door);
  REQUIRE(processes.size() == 2);
  for (const pid_t process : processes) {
    const auto calls = memory_calls_of(process);
    if (!calls) {
      MESSAGE("skipped: only root may read the memory of these processes");
      return;
    }
    CHECK(calls->has_ucx);
    CHECK(calls->changed.empty());
  }
}

TEST_CASE_FIXTURE(DoorFixture, "the command line works through the door") {
  const auto orchid = [&](std::vector<std::string> words, std::string input = {}) {
    words.insert(words.begin(), PROGRAMS "/orchid");
    return run({.words = words, .environment = environment(), .input = std::move(input)});
  };
  CHECK(orchid({"deploy", EXAMPLES "/echo.bc"}).status == 0);
  const auto echoed = orchid({"invoke", "echo"}, "typed");
  CHECK(echoed.status == 0);
  CHECK(echoed.out == "typed");
  const auto started = orchid({"invoke", "echo", "--async"}, "later");
  REQUIRE(started.status == 0);
  const std::string id = started.out.substr(0, started.out.find_last_not_of('\n') + 1);
  CHECK(orchid({"wait", id}).status == 0);
  CHECK(orchid({"result", id}).out == "later");
  for (const char* command : {"list", "hosts", "leases"}) CHECK(orchid({command}).status == 0);
  CHECK(orchid({"describe", "echo"}).status == 0);
  CHECK(orchid({"logs", id}).status == 0);
  CHECK(orchid({"delete", "echo"}).status == 0);
}

TEST_CASE_FIXTURE(DoorFixture, "without UCX a client is told what to install") {
  // As on a machine without the package: the library is a file that is none.
  const auto hidden =
      run({.words = {"unshare", "-m", "sh", "-c",
                     "for file in /usr/lib/*/libucp.so.0; do mount --bind /dev/null $file || exit "
                     "77; done; exec " PROGRAMS "/orchid list"},
           .environment = environment()});
  if (hidden.status == 77 || hidden.err.find("unshare") != std::string::npos) {
    MESSAGE("not tested: this user may not mount");
    return;
  }
  CHECK(hidden.status == 3);
  CHECK_MESSAGE(hidden.err.find("libucx0") != std::string::npos, hidden.err);
}

}  // namespace orchid::tests
