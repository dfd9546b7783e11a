#include "supervisor/supervisor.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <thread>

#include "scratch_folder.h"

namespace orchid::cli {
namespace {

/// What the scripts of a test share: they leave their pids, and can say that they are ready.
constexpr auto script_head = R"py(#!/usr/bin/python3
import os, signal, socket, sys
here = os.path.dirname(os.path.abspath(sys.argv[0]))
name = os.path.basename(sys.argv[0])
with open(os.path.join(here, name + ".pids"), "a") as file:
    file.write(f"{os.getpid()}\n")
with open(os.path.join(here, name + ".words"), "w") as file:
    file.write("".join(word + "\n" for word in sys.argv[1:]))
def starts():
    return len(open(os.path.join(here, name + ".pids")).readlines())
def announce():
    os.write(int(sys.argv[sys.argv.index("--ready-fd") + 1]),
             b'{"urls":["http://127.0.0.1:7"],"token_file":"/t"}\n')
def notify():
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
def rest():
    while True:
        signal.pause()
)py";

/// Scripts in the place of the two programs, and a supervisor over them, in a process of its own.
class Stage {
 public:
  Stage() {
    play("orchid-gateway", "announce(); rest()");
    play("orchid-executor", "notify(); rest()");
  }
  void play(const std::string& program, const std::string& part) const {
    std::ofstream(scratch_ / program) << script_head << part << "\n";
    ::chmod((scratch_ / program).c_str(), 0700);
  }
  void remove(const std::string& program) const { std::filesystem::remove(scratch_ / program); }
  /// Until it ends: its exit status, 0 when it was stopped in order, 1 when it gave up.
  int run() {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(supervise());
    int status = 0;
    ::waitpid(pid, &status, 0);
    std::ifstream file(scratch_ / "told");
    told.assign(std::istreambuf_iterator<char>(file), {});
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  [[nodiscard]] std::vector<pid_t> pids(const std::string& program) const {
    std::ifstream file(scratch_ / (program + ".pids"));
    return {std::istream_iterator<pid_t>(file), {}};
  }
  [[nodiscard]] bool exists(const std::string& name) const {
    return std::filesystem::exists(scratch_ / name);
  }
  /// The words that a program was started with, one a line.
  [[nodiscard]] std::string words_of(const std::string& program) const {
    std::ifstream file(scratch_ / (program + ".words"));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool stop_when_ready = false;
  std::string lane_listen;
  std::string lane_fabric;
  std::string told;

 private:
  [[nodiscard]] int supervise() const {
    std::ofstream log(scratch_ / "told");
    const auto tell = [&log](const std::string& line) { log << line << std::endl; };
    auto supervisor = Supervisor::create(
        {.programs = scratch_.path(),
         .runtime = scratch_.path(),
         .state = scratch_.path(),
         .listen = {"127.0.0.1:0"},
         .lane_listen = lane_listen,
         .lane_fabric = lane_fabric},
        {.ready =
             [&](const GatewayFile& file) {
               tell("ready " + file.addresses.at(0) + (exists("gateway.json") ? " written" : ""));
               if (stop_when_ready) ::kill(::getpid(), SIGTERM);
             },
         .trouble = tell});
    if (!supervisor) return 100;
    const auto ended = supervisor->run();
    if (!ended) tell(ended.error().message);
    return ended ? 0 : 1;
  }
  tests::Scratch scratch_;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Gone, or ended and only not asked for by whoever inherited it.
bool has_ended(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(file, stat);
  return stat.empty() || contains(stat, ") Z ");
}

bool soon_ended(pid_t pid) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!has_ended(pid) && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return has_ended(pid);
}

}  // namespace

TEST_CASE("the gateway's line is read, and what is none is not") {
  const auto ready = parse_gateway_ready(
      R"({"urls":["http://127.0.0.1:1","unix:/s"],"token_file":"/t","more":1})");
  REQUIRE(ready.has_value());
  CHECK(ready->urls == std::vector<std::string>{"http://127.0.0.1:1"});
  CHECK(ready->token_file == "/t");
  CHECK(ready->door.empty());
  const auto with_door = parse_gateway_ready(
      R"({"urls":["http://127.0.0.1:1"],"door":"ucx://127.0.0.1:2","token_file":"/t"})");
  REQUIRE(with_door.has_value());
  CHECK(with_door->door == "ucx://127.0.0.1:2");
  for (const char* text :
       {"", "x", "{}", R"({"urls":[],"token_file":"/t"})", R"({"urls":["http://a:1"]})"})
    CHECK_FALSE(parse_gateway_ready(text).has_value());
}

TEST_CASE("an address is listened on again as it was announced") {
  CHECK(listen_address_of("http://127.0.0.1:41523") == "127.0.0.1:41523");
  CHECK(listen_address_of("http://[::1]:80/") == "[::1]:80");
  CHECK(listen_address_of("ucx://192.0.2.7:4711") == "192.0.2.7:4711");
}

TEST_CASE(
    "when both programs are ready the file for clients is there; when it is stopped, nothing is "
    "left") {
  Stage stage;
  stage.stop_when_ready = true;
  CHECK(stage.run() == 0);
  CHECK(stage.told == "ready http://127.0.0.1:7 written\n");
  CHECK_FALSE(stage.exists("gateway.json"));
  for (const char* program : {"orchid-gateway", "orchid-executor"}) {
    REQUIRE(stage.pids(program).size() == 1);
    CHECK(has_ended(stage.pids(program)[0]));
  }
}

TEST_CASE(
    "the executor is told where clients of other hosts reach it, and only when it is wanted") {
  Stage stage;
  stage.stop_when_ready = true;
  CHECK(stage.run() == 0);
  CHECK(contains(stage.words_of("orchid-executor"), "--gateway\n"));
  CHECK_FALSE(contains(stage.words_of("orchid-executor"), "--lane-listen"));
  Stage open;
  open.stop_when_ready = true;
  open.lane_listen = "192.0.2.7:0";
  open.lane_fabric = "auto";
  CHECK(open.run() == 0);
  CHECK(contains(open.words_of("orchid-executor"), "--lane-listen\n192.0.2.7:0\n"));
  CHECK(contains(open.words_of("orchid-executor"), "--lane-fabric\nauto\n"));
  CHECK_FALSE(contains(stage.words_of("orchid-executor"), "--lane-fabric"));
  CHECK_FALSE(contains(open.words_of("orchid-gateway"), "--lane-listen"));
}

TEST_CASE("no socket is left of a program that is killed while all of them end") {
  Stage stage;
  stage.stop_when_ready = true;
  // It leaves by SIGKILL when it is to end.
  constexpr auto dies_with_a_socket =
      "socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).bind(os.path.join(here, 'lanes.sock'))\n"
      "signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))\n"
      "open(os.path.join(here, 'was_there'), 'w').close()\n"
      "notify(); rest()";
  stage.play("orchid-executor", dies_with_a_socket);
  CHECK(stage.run() == 0);
  CHECK(stage.exists("was_there"));
  CHECK_FALSE(stage.exists("lanes.sock"));
}

TEST_CASE("a program that ends is started again, and the other one stays") {
  Stage stage;
  stage.play("orchid-executor",
             "notify()\nif starts() == 2: os.kill(os.getppid(), signal.SIGTERM)\nif starts() == 2: "
             "rest()");
  CHECK(stage.run() == 0);
  CHECK(contains(stage.told, "orchid-executor ended (exit status 0); starting it again"));
  CHECK(stage.pids("orchid-executor").size() == 2);
  CHECK(stage.pids("orchid-gateway").size() == 1);
}

TEST_CASE("a program that a signal has stopped is killed and started again") {
  Stage stage;
  stage.play("orchid-executor",
             "notify()\nos.kill(os.getpid() if starts() == 1 else os.getppid(), signal.SIGSTOP if "
             "starts() == 1 else signal.SIGTERM)\nrest()");
  CHECK(stage.run() == 0);
  CHECK(contains(stage.told, "was stopped by a signal; killing it"));
  CHECK(stage.pids("orchid-executor").size() == 2);
}

TEST_CASE("a program that ends again and again is given up") {
  Stage stage;
  stage.play("orchid-executor", "notify()");
  CHECK(stage.run() == 1);
  CHECK(stage.pids("orchid-executor").size() == 5);
  CHECK(contains(stage.told, "ended 5 times within 10 s"));
  CHECK(has_ended(stage.pids("orchid-gateway").at(0)));
}

TEST_CASE("a program that cannot start is not started again") {
  Stage stage;
  stage.play("orchid-gateway", "sys.exit(3)");
  CHECK(stage.run() == 1);
  CHECK(contains(stage.told, "orchid-gateway could not start (exit status 3)"));
  Stage without;
  without.remove("orchid-gateway");
  CHECK(without.run() == 1);
  CHECK(contains(without.told, "orchid-gateway could not start (start "));
  CHECK(contains(without.told, "orchid-gateway: No such file or directory)"));
}

TEST_CASE("when the supervisor is killed its programs are killed with it") {
  Stage stage;
  stage.play("orchid-executor", "notify()\nos.kill(os.getppid(), signal.SIGKILL)\nrest()");
  CHECK(stage.run() == 128 + SIGKILL);
  for (const char* program : {"orchid-gateway", "orchid-executor"}) {
    REQUIRE(stage.pids(program).size() == 1);
    CHECK(soon_ended(stage.pids(program)[0]));
  }
}

}  // namespace orchid::cli
