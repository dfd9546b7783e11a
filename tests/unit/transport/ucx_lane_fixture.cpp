#include "ucx_lane_fixture.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace orchid::transport::tests {
namespace {

bool wait_for(int descriptor) {
  pollfd entry{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, 20'000) > 0;
}

UniqueFd connect_to(int port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  return socket;
}

std::size_t kib_of(const char* file, const std::string& field) {
  std::ifstream status(file);
  for (std::string word; status >> word;)
    if (word == field) {
      std::size_t value = 0;
      status >> value;
      return value;
    }
  return 0;
}

}  // namespace

Usage Usage::now() {
  Usage usage;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++usage.descriptors;
  usage.resident_kib = kib_of("/proc/self/status", "VmRSS:");
  return usage;
}

bool has_memory(ByteCount size) {
  return kib_of("/proc/meminfo", "MemAvailable:") * 1024 > size.value;
}

std::optional<LaneResponse> answer_asleep(UcxLaneClient& client) {
  for (const auto end = in(20s); std::chrono::steady_clock::now() < end;) {
    auto response = client.receive();
    REQUIRE_MESSAGE(response.has_value(), response.error().message);
    if (*response) return **response;
    if (client.prepare_to_sleep()) REQUIRE(wait_for(client.wake_descriptor()));
    client.finish_sleep();
  }
  return std::nullopt;
}

Failure end_of(UcxLaneClient& client) {
  for (const auto end = in(20s); std::chrono::steady_clock::now() < end;) {
    auto response = client.receive();
    if (!response) return response.error();
    if (client.prepare_to_sleep()) REQUIRE(wait_for(client.wake_descriptor()));
    client.finish_sleep();
  }
  return {ErrorCode::timed_out, "the lane did not end"};
}

void serve(UcxLaneWorker& worker, bool sleeps) {
  for (;;) {
    auto request = worker.receive();
    if (!request) return;
    if (*request) {
      const auto input = (*request)->input;
      std::byte* room = worker.output(input.size());
      if (room == nullptr) return;
      if (!input.empty()) std::memcpy(room, input.data(), input.size());
      if (!worker.answer({})) return;
    } else if (sleeps && worker.prepare_to_sleep()) {
      pollfd entry{.fd = worker.wake_descriptor(), .events = POLLIN, .revents = 0};
      ::poll(&entry, 1, -1);
      worker.finish_sleep();
    }
  }
}

namespace {

/// What a new process is to do. Plain bytes: the fork server has our program at our addresses.
struct Order {
  Child::Life life = nullptr;
  ConnectionKey key{};
  char address[64] = {};
};

/// UCX does not survive a fork: whoever forks must not have initialised it. So one process is
/// forked before main, and makes all others, as children of ours.
class ForkServer {
 public:
  ForkServer() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    socket_.reset(ends[0]);
    const UniqueFd theirs(ends[1]);
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    reports_.reset(ends[0]);
    const UniqueFd their_reports(ends[1]);
    if (::fork() != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    socket_.reset();
    for (Order order; ::recv(theirs.get(), &order, sizeof(order), 0) == sizeof(order);) {
      const auto pid = static_cast<pid_t>(
          ::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
      if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        order.life({.key = order.key, .address = order.address, .report = their_reports.get()});
        ::_exit(0);
      }
      (void)::send(theirs.get(), &pid, sizeof(pid), 0);
    }
    ::_exit(0);
  }
  [[nodiscard]] pid_t start(const Order& order) const {
    pid_t pid = -1;
    REQUIRE(::send(socket_.get(), &order, sizeof(order), 0) == sizeof(order));
    REQUIRE(::recv(socket_.get(), &pid, sizeof(pid), 0) == sizeof(pid));
    return pid;
  }
  [[nodiscard]] std::string next_report() const {
    char text[64] = {};
    REQUIRE(::recv(reports_.get(), text, sizeof(text) - 1, 0) > 0);
    return text;
  }

 private:
  UniqueFd socket_;
  UniqueFd reports_;  // from the processes themselves
};
const ForkServer fork_server;

}  // namespace

UcxLaneListener listen_and_report(UcxContext& own, const Child::Job& job) {
  auto listener = UcxLaneListener::listen(
                      own, {.address = "127.0.0.1", .key = job.key, .geometry = {80_MiB, 80_MiB}})
                      .value();
  const std::string address = listener.address();
  if (::send(job.report, address.data(), address.size(), 0) < 0) ::_exit(1);
  return listener;
}

void serve_asleep(const Child::Job& job) {
  UcxContext own = UcxContext::create({.devices = "lo"}).value();
  auto worker = listen_and_report(own, job).accept(in(20s));
  if (!worker) ::_exit(1);
  serve(*worker, true);
}

Child Child::start_worker(Life life, const std::string& place) {
  Child child;
  child.key_ = random_key();
  Order order{.life = life, .key = child.key_};
  place.copy(order.address, sizeof(order.address) - 1);
  child.pid_ = fork_server.start(order);
  child.address_ = fork_server.next_report();
  return child;
}

Child Child::start_client(Life life, const Child& worker, const std::string& via) {
  Child child;
  Order order{.life = life, .key = worker.key_};
  (via.empty() ? worker.address_ : via).copy(order.address, sizeof(order.address) - 1);
  child.pid_ = fork_server.start(order);
  return child;
}

UcxLaneClient Child::connect(const std::string& via) const {
  auto client = UcxLaneClient::connect(
      context(), {.address = via.empty() ? address_ : via, .key = key_, .deadline = in(10s)});
  REQUIRE_MESSAGE(client.has_value(), client.error().message);
  return std::move(*client);
}

void Child::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(std::exchange(pid_, -1), nullptr, 0);
}

int Child::wait() {
  int status = 0;
  ::waitpid(std::exchange(pid_, -1), &status, 0);
  return status;
}

bool forbid_new_things() {
  constexpr std::array forbidden{
#ifdef SYS_open  // newer architectures have their successors alone
      SYS_fork,   SYS_vfork,   SYS_open,
#endif
      SYS_socket, SYS_connect, SYS_accept, SYS_accept4, SYS_bind,  SYS_listen,
      SYS_clone,  SYS_clone3,  SYS_openat, SYS_openat2, SYS_execve};
  std::vector<sock_filter> program{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const long call : forbidden) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

namespace {

struct Listening {
  std::string address;
  int port = 0;
};

std::vector<Listening> listening_sockets(pid_t process) {
  std::vector<std::string> sockets;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.starts_with("socket:[")) sockets.push_back(target.substr(8, target.size() - 9));
  }
  std::vector<Listening> found;
  std::ifstream table("/proc/net/tcp");
  for (std::string line; std::getline(table, line);) {
    unsigned address = 0;
    unsigned port = 0;
    char state[8] = {};
    char inode[32] = {};
    if (std::sscanf(line.c_str(), "%*s %8x:%4x %*s %7s %*s %*s %*s %*s %*s %31s", &address, &port,
                    state, inode) != 4 ||
        std::string(state) != "0A" || std::ranges::find(sockets, inode) == sockets.end())
      continue;
    char text[INET_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET, &address, text, sizeof(text));
    found.push_back({text, static_cast<int>(port)});
  }
  return found;
}

}  // namespace

std::vector<int> listening_ports(pid_t process) {
  std::vector<int> ports;
  for (const Listening& socket : listening_sockets(process)) ports.push_back(socket.port);
  return ports;
}

std::set<std::string> listening_addresses(pid_t process) {
  std::set<std::string> addresses;
  for (const Listening& socket : listening_sockets(process)) addresses.insert(socket.address);
  return addresses;
}

std::vector<void (*)(int)> handlers() {
  std::vector<void (*)(int)> all;
  for (int signal = 1; signal < 32; ++signal) {
    struct sigaction now{};
    ::sigaction(signal, nullptr, &now);
    all.push_back(now.sa_handler);
  }
  return all;
}

std::vector<std::string> environment() {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  return all;
}

std::vector<UniqueFd> silent_connections(int port, int count) {
  std::vector<UniqueFd> sockets;
  for (int i = 0; i < count; ++i) sockets.push_back(connect_to(port));
  return sockets;
}

std::vector<std::byte> say_hello(int port, std::uint16_t version, const ConnectionKey& key) {
  const UniqueFd socket = connect_to(port);
  std::vector<std::byte> hello(32);
  std::memcpy(hello.data(), "ORCHLANE", 8);
  std::memcpy(&hello[8], &version, sizeof(version));
  std::memcpy(&hello[16], key.data(), key.size());
  REQUIRE(::send(socket.get(), hello.data(), hello.size(), MSG_NOSIGNAL) == 32);
  std::vector<std::byte> answer(256);
  std::size_t got = 0;
  while (wait_for(socket.get())) {
    const ssize_t n = ::recv(socket.get(), &answer[got], answer.size() - got, 0);
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  answer.resize(got);
  return answer;
}

}  // namespace orchid::transport::tests
