#include "processes/child_process.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>

#include "foundation/pipe.h"

namespace orchid::processes {
namespace {

constexpr std::chrono::seconds patience{10};

ProgramStart shell(const std::string& script) {
  return {.program = "/bin/sh", .arguments = {"-c", script}};
}

ChildProcess started(const ProgramStart& program) {
  auto child = ChildProcess::start(program);
  REQUIRE_MESSAGE(child.has_value(), (child ? "" : child.error().message));
  return std::move(*child);
}

ProcessEnd end_of(ChildProcess& child) {
  const auto end = child.wait(patience);
  REQUIRE(end.has_value());
  return *end;
}

template <typename Condition>
bool eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

/// What the program writes to its descriptor `as`, until it has ended.
std::string written_by(ProgramStart program, int as = STDOUT_FILENO) {
  auto pipe = make_pipe().value();
  program.descriptors.push_back({.from = pipe.writer.get(), .as = as});
  ChildProcess child = started(program);
  pipe.writer.reset();
  std::string text;
  std::array<char, 256> part{};
  while (true) {
    const ssize_t got = ::read(pipe.reader.get(), part.data(), part.size());
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  CHECK(end_of(child).ok());
  return text;
}

const char* refuse(const void* context) noexcept {
  errno = *static_cast<const int*>(context);
  return "becoming somebody else";
}

const char* write_a_word(const void* context) noexcept {
  (void)!::write(STDOUT_FILENO, static_cast<const char*>(context), 5);
  return nullptr;
}

}  // namespace

TEST_CASE("how a child ended is told once") {
  ChildProcess child = started(shell("exit 5"));
  CHECK(describe(end_of(child)) == "exit status 5");
  CHECK_FALSE(child.reap().has_value());

  ChildProcess killed = started(shell("kill -9 $$"));
  const ProcessEnd end = end_of(killed);
  CHECK(describe(end).starts_with("signal 9"));
  CHECK(end.shell_status() == 137);
  CHECK_FALSE(end.ok());
}

TEST_CASE("a program that cannot be started is named, with the reason") {
  const auto child = ChildProcess::start({.program = "/nonexistent", .arguments = {}});
  REQUIRE_FALSE(child.has_value());
  CHECK(child.error().code == ErrorCode::system);
  CHECK(child.error().message == "start /nonexistent: No such file or directory");
}

TEST_CASE("a child that nobody waits for reports later, and ends with status 127") {
  auto starting = ChildProcess::begin({.program = "/nonexistent", .arguments = {}});
  REQUIRE(starting.has_value());
  pollfd report{.fd = starting->report.descriptor(), .events = POLLIN, .revents = 0};
  REQUIRE(::poll(&report, 1, 10'000) == 1);
  const auto outcome = starting->report.outcome();
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().message == "starting the program: No such file or directory");
  CHECK(starting->report.descriptor() < 0);
  CHECK(end_of(starting->process).status == 127);
}

TEST_CASE("the last step runs in the child, and its failure is told with its name") {
  ProgramStart program = shell("echo program");
  program.last_step = {.run = write_a_word, .context = "step "};
  CHECK(written_by(program) == "step program\n");

  const int reason = EPERM;
  program.last_step = {.run = refuse, .context = &reason};
  const auto child = ChildProcess::start(program);
  REQUIRE_FALSE(child.has_value());
  CHECK(child.error().message == "start /bin/sh: becoming somebody else: Operation not permitted");
}

TEST_CASE("a child has our environment, or the one that it is given") {
  ProgramStart program = shell("echo \"$GREETING $HOME\"");
  program.environment = {"GREETING=hello"};
  CHECK(written_by(program) == "hello \n");
  ::setenv("ORCHID_TEST_TAKEN", "away", 1);
  program = shell("echo \"$GREETING${ORCHID_TEST_TAKEN}${PATH:+ and a path}\"");
  program.environment = environment_with({"GREETING=hello", "ORCHID_TEST_TAKEN"});
  CHECK(written_by(program) == "hello and a path\n");
  program = shell("echo \"$ORCHID_TEST_TAKEN\"");
  CHECK(written_by(program) == "away\n");
  ::unsetenv("ORCHID_TEST_TAKEN");
}

TEST_CASE("a program is run under its path, or under another name") {
  ProgramStart program = shell("tr '\\0' ' ' < /proc/$$/cmdline");
  CHECK(written_by(program).starts_with("/bin/sh -c "));
  program.name = "somebody";
  CHECK(written_by(program).starts_with("somebody -c "));
}

TEST_CASE("descriptors that change places arrive, and no other does") {
  const UniqueFd open(::open("/dev/null", O_RDONLY));  // without O_CLOEXEC
  auto first = make_pipe().value();
  auto second = make_pipe().value();
  const auto put = [](const Pipe& pipe, const char* text) {
    REQUIRE(::write(pipe.writer.get(), text, 2) == 2);
  };
  put(first, "1\n");
  put(second, "2\n");
  const auto number = [](const UniqueFd& fd) { return std::to_string(fd.get()); };
  ProgramStart program =
      shell("read one <&" + number(second.reader) + "; read two <&" + number(first.reader) +
            "; echo $one $two; for other in " + number(open) + " " + number(first.writer) +
            "; do test ! -e /proc/$$/fd/$other || echo $other; done");
  program.descriptors = {{.from = first.reader.get(), .as = second.reader.get()},
                         {.from = second.reader.get(), .as = first.reader.get()}};
  CHECK(written_by(program) == "1 2\n");

  program = shell("echo same >&" + std::to_string(first.reader.get()));
  CHECK(written_by(program, first.reader.get()) == "same\n");
}

TEST_CASE("a child has nothing to read unless it is given something") {
  CHECK(written_by(shell("readlink /proc/$$/fd/0")) == "/dev/null\n");
  auto input = make_pipe().value();
  REQUIRE(::write(input.writer.get(), "word\n", 5) == 5);
  ProgramStart program = shell("read word; echo $word");
  program.descriptors = {{.from = input.reader.get(), .as = STDIN_FILENO}};
  CHECK(written_by(program) == "word\n");
}

TEST_CASE("no signal is blocked in a child, and those that we ignore only if it is to be so") {
  sigset_t blocked;
  sigset_t before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto pipe_was = std::signal(SIGPIPE, SIG_IGN);
  const auto hang_up_was = std::signal(SIGHUP, SIG_IGN);
  ProgramStart program;
  program.program = "/bin/grep";
  program.arguments = {"-E", "Sig(Blk|Ign)", "/proc/self/status"};
  CHECK(written_by(program) == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000001\n");
  program.default_signals = true;
  CHECK(written_by(program) == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  std::signal(SIGHUP, hang_up_was);
  std::signal(SIGPIPE, pipe_was);
  sigset_t now;
  ::pthread_sigmask(SIG_SETMASK, &before, &now);
  CHECK(::sigismember(&now, SIGTERM) == 1);  // ours are as they were
  CHECK(::sigismember(&now, SIGINT) == 0);
}

TEST_CASE("a child that a signal stops is seen as stopped until it goes on") {
  ChildProcess child = started(shell("exec tail -f /dev/null"));
  CHECK_FALSE(child.is_stopped());
  child.send_signal(SIGSTOP);
  CHECK(eventually([&] { return child.is_stopped(); }));
  CHECK(child.is_stopped());
  child.send_signal(SIGCONT);
  CHECK(eventually([&] { return !child.is_stopped(); }));
  CHECK_FALSE(child.reap().has_value());
  child.send_signal(SIGKILL);
  CHECK(describe(end_of(child)).starts_with("signal 9"));
}

TEST_CASE("the end of the object is the end of the child, and of its group if that is its own") {
  auto held = make_pipe().value();
  pid_t pid = 0;
  {
    ProgramStart program = shell("tail -f /dev/null & exec tail -f /dev/null");
    program.group = ProcessGroup::own;
    program.descriptors = {{.from = held.writer.get(), .as = 3}};
    const ChildProcess child = started(program);
    pid = child.pid();
    CHECK(::getpgid(pid) == pid);
    held.writer.reset();
  }
  CHECK(::kill(pid, 0) != 0);
  pollfd group{.fd = held.reader.get(), .events = POLLIN, .revents = 0};
  CHECK(::poll(&group, 1, 10'000) == 1);  // the last of them has closed it
}

TEST_CASE("a child that is released goes on, and somebody else reaps it") {
  pid_t pid = 0;
  {
    ProgramStart program = shell("exec tail -f /dev/null");
    program.group = ProcessGroup::own_session;
    ChildProcess child = started(program);
    pid = child.release();
    CHECK(child.pid() < 0);
  }
  CHECK(::getsid(pid) == pid);
  CHECK(::kill(pid, SIGKILL) == 0);
  int status = 0;
  CHECK(::waitpid(pid, &status, 0) == pid);
  CHECK(end_from_wait_status(status).signal == SIGKILL);
}

TEST_CASE("a child that shall die with us does so when the thread that started it ends") {
  auto child = started(shell("exit 0"));
  std::thread([&] {
    ProgramStart program = shell("exec tail -f /dev/null");
    program.dies_with_us = true;
    child = started(program);
  }).join();
  CHECK(end_of(child).signal == SIGKILL);
}

}  // namespace orchid::processes
