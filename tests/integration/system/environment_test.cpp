// Where Orchid runs: other users' Orchids, long paths, names that do not resolve, few cores.
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>

#include "system_fixture.h"

namespace orchid::tests {
namespace {

/// The programs where any user can run them: the build tree may lie in a private directory.
struct ProgramsForAll {
  ProgramsForAll() {
    std::string pattern = "/tmp/orchid-programs-XXXXXX";
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    directory = pattern;
    std::filesystem::permissions(directory, std::filesystem::perms(0755));
    for (const char* name :
         {"orchid", "orchid-gateway", "orchid-executor", "orchid-worker", "orchid-compiler"})
      std::filesystem::copy_file(std::filesystem::path(PROGRAMS) / name, directory / name);
  }
  ~ProgramsForAll() { std::filesystem::remove_all(directory); }
  ProgramsForAll(const ProgramsForAll&) = delete;
  ProgramsForAll& operator=(const ProgramsForAll&) = delete;
  std::filesystem::path directory;
};

/// `orchid up` of a user with that uid, whom the machine does not know.
std::vector<std::string> as_user(uid_t uid) {
  const std::string number = std::to_string(uid);
  return {"setpriv",
          "--reuid=" + number,
          "--regid=" + number,
          "--clear-groups",
          "--pdeathsig",
          "KILL",
          "env",
          "-u",
          "XDG_RUNTIME_DIR",
          "-u",
          "XDG_STATE_HOME",
          "-u",
          "HOME"};
}

/// A new uid for each run, so that what an earlier one left is in nobody's way.
uid_t fresh_uid(uid_t which) {
  return 1'000'000 + 10 * (static_cast<uid_t>(::getpid()) % 100'000) + which;
}

/// A cpuset with one core; nothing where control groups cannot be written.
class OneCoreSet {
 public:
  OneCoreSet() {
    const std::string name = "orchid-test-" + std::to_string(::getpid());
    for (const char* root : {"/sys/fs/cgroup/cpuset", "/sys/fs/cgroup"}) {
      const std::filesystem::path group = std::filesystem::path(root) / name;
      std::error_code error;
      if (!std::filesystem::create_directory(group, error)) continue;
      group_ = group;
      static_cast<void>(write("cpuset.mems", "0"));
      if (write("cpuset.cpus", "0")) return;
      close();
    }
  }
  ~OneCoreSet() { close(); }
  OneCoreSet(const OneCoreSet&) = delete;
  OneCoreSet& operator=(const OneCoreSet&) = delete;
  [[nodiscard]] bool exists() const { return !group_.empty(); }
  /// Words that put the program which follows them into it.
  [[nodiscard]] std::vector<std::string> wrapper() const {
    return {"sh", "-c", "echo $$ > " + (group_ / "cgroup.procs").string() + " && exec \"$@\"",
            "sh"};
  }

 private:
  [[nodiscard]] bool write(const std::string& file, const std::string& text) const {
    std::ofstream out(group_ / file);
    out << text << std::flush;
    return out.good();
  }
  void close() {
    if (group_.empty()) return;
    // It can be removed once its last process has been reaped.
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (::rmdir(group_.c_str()) != 0 && errno == EBUSY &&
           std::chrono::steady_clock::now() < give_up) {
    }
    group_.clear();
  }
  std::filesystem::path group_;
};

}  // namespace

TEST_CASE("two users run Orchid side by side, and neither gets at the other's") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can be two users");
    return;
  }
  if (are_workers_elsewhere()) {
    MESSAGE("left out: these users may not enter another host");
    return;
  }
  const ProgramsForAll programs;
  const auto start = [&](uid_t uid) {
    return LocalOrchid::Options{.programs = programs.directory,
                                .wrapper = as_user(uid),
                                .default_runtime = "/tmp/orchid-" + std::to_string(uid),
                                .uid = uid};
  };
  const uid_t alice = fresh_uid(0);
  const uid_t bob = fresh_uid(1);
  SystemFixture first(start(alice));
  SystemFixture second(start(bob));
  first.deploy("counts_calls");
  CHECK(second.orchid({"invoke", "counts_calls"}).status == 2);
  second.deploy("counts_calls");
  first.check_next_call();
  second.check_next_call();
  // Over the Unix socket the uid decides, over TCP the token.
  const auto list_as = [&](uid_t uid, const SystemFixture& whose) {
    auto words = as_user(uid);
    words.insert(words.end(),
                 {"ORCHID_GATEWAY=unix:" + (whose.system().runtime() / "gateway.sock").string(),
                  (programs.directory / "orchid").string(), "list"});
    return run({.words = words, .environment = {"ORCHID_TOKEN", "ORCHID_GATEWAY"}}).status;
  };
  CHECK(list_as(alice, first) == 0);
  CHECK(list_as(bob, first) == 3);
  CHECK(run({.words = {PROGRAMS "/orchid", "list"},
             .environment = {"ORCHID_GATEWAY=" + first.system().address(),
                             "ORCHID_TOKEN=" + second.system().token()}})
            .status == 6);
  std::filesystem::remove_all(first.system().runtime());
  std::filesystem::remove_all(second.system().runtime());
}

TEST_CASE("no socket is left where Orchid was") {
  if (::geteuid() != 0 || are_workers_elsewhere()) {
    MESSAGE("left out: another user's runtime directory outlives the fixture, and needs root");
    return;
  }
  const ProgramsForAll programs;
  const uid_t uid = fresh_uid(2);
  const std::filesystem::path runtime = "/tmp/orchid-" + std::to_string(uid);
  {
    const SystemFixture system({.programs = programs.directory,
                                .wrapper = as_user(uid),
                                .default_runtime = runtime,
                                .uid = uid});
    CHECK(std::filesystem::exists(runtime / "lanes.sock"));
  }
  for (const auto& entry : std::filesystem::directory_iterator(runtime))
    CHECK_MESSAGE(!std::filesystem::is_socket(entry.status()), entry.path().string());
  std::filesystem::remove_all(runtime);
}

TEST_CASE(
    "a directory whose socket paths would be too long, and a host name that resolves nowhere") {
  if (are_workers_elsewhere()) {
    MESSAGE(
        "left out: a host has a name of its own, and a socket with a long path is an abstract "
        "one, which ends at the host");
    return;
  }
  const std::string name(90, 'd');
  LocalOrchid::Options options{.programs = programs_under_test(),
                               .directory_name = name + "/" + name};
  if (::geteuid() == 0)
    options.wrapper = {"unshare", "--uts", "sh", "-c", "hostname nowhere.invalid && exec \"$@\"",
                       "sh"};
  SystemFixture system(options);
  const auto hosts = Json::parse(system.client().get("/v1/hosts"));
  if (::geteuid() == 0) CHECK(hosts.at("hosts").at(0).at("hostname") == "nowhere.invalid");
  system.deploy("counts_calls");
  system.check_next_call();
  const auto socket = "unix:" + (system.system().runtime() / "gateway.sock").string();
  CHECK(run({.words = {PROGRAMS "/orchid", "list"},
             .environment = {"ORCHID_GATEWAY=" + socket, "ORCHID_TOKEN"}})
            .status == 0);
}

TEST_CASE("Orchid offers the cores of its cpuset") {
  const OneCoreSet set;
  if (!set.exists()) {
    MESSAGE("skipped: control groups cannot be written here");
    return;
  }
  SystemFixture system({.programs = programs_under_test(), .wrapper = set.wrapper()});
  const auto hosts = Json::parse(system.client().get("/v1/hosts"));
  CHECK(hosts.at("hosts").at(0).at("cores") == 1);
  system.deploy("counts_calls");
  system.check_next_call();
}

TEST_CASE("two Orchids of one user run side by side") {
  SystemFixture first;
  SystemFixture second;
  CHECK(first.system().address() != second.system().address());
  first.deploy("counts_calls");
  CHECK(second.orchid({"invoke", "counts_calls"}).status == 2);
  second.deploy("counts_calls");
  first.check_next_call();
  second.check_next_call();
}

TEST_CASE("Orchid offers the cores of its affinity mask, not those of the machine") {
  cpu_set_t all;
  REQUIRE(::sched_getaffinity(0, sizeof(all), &all) == 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (unsigned core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &all)) {
      CPU_SET(core, &one);
      break;
    }
  REQUIRE(::sched_setaffinity(0, sizeof(one), &one) == 0);
  {
    SystemFixture system;
    ::sched_setaffinity(0, sizeof(all), &all);
    const auto hosts = Json::parse(system.client().get("/v1/hosts"));
    CHECK(hosts.at("hosts").at(0).at("cores") == 1);
    system.deploy("counts_calls");
    system.check_next_call();
  }
}

TEST_CASE("nothing is left running, whichever way Orchid ends") {
  std::vector<pid_t> family;
  {
    SystemFixture system;
    family = system.system().processes();
    CHECK(family.size() >= 6);
  }
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (const pid_t process : family) {
    while (is_running(process) && std::chrono::steady_clock::now() < give_up) {
    }
    CHECK_FALSE(is_running(process));
  }
}

TEST_CASE("nothing lies in /dev/shm while Orchid works, nor when all of it was killed at once") {
  const auto listed = [] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
      names.insert(entry.path().filename());
    return names;
  };
  const auto before = listed();
  std::vector<pid_t> family;
  {
    SystemFixture system;
    system.deploy("counts_calls");
    system.check_next_call();
    Client client = system.client();
    Lease lease = client.lease({.workers = 1});
    CHECK(lease.function("counts_calls").invoke("").text() == "1");
    CHECK(listed() == before);
    family = system.system().processes();
    for (const pid_t process : family) ::kill(process, SIGSTOP);  // nobody starts anything anew
    for (const pid_t process : family) ::kill(process, SIGKILL);
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    for (const pid_t process : family)
      while (is_running(process) && std::chrono::steady_clock::now() < give_up) {
      }
    CHECK(listed() == before);
  }
  CHECK(listed() == before);
}

TEST_CASE("what cannot be printed is an error") {
  const auto shell = [](const std::string& redirection) {
    return run({.words = {"sh", "-c", PROGRAMS "/orchid --version " + redirection}});
  };
  CHECK(shell("").status == 0);
  for (const char* redirection : {">/dev/full", ">&-"}) {
    CAPTURE(redirection);
    const auto result = shell(redirection);
    CHECK(result.status == 3);
    CHECK(contains(result.err, "standard output"));
  }
}

TEST_CASE("Orchid runs without standard input and output") {
  SystemFixture system({.programs = programs_under_test(),
                        .wrapper = {"sh", "-c", "exec \"$@\" <&- >&- 2>&-", "sh"}});
  system.deploy("counts_calls");
  system.check_next_call();
}

}  // namespace orchid::tests
