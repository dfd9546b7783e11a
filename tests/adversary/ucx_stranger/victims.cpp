#include "victims.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdio>
#include <fstream>

#include "ucx/link.h"

namespace orchid::transport::tests {

std::array<char, 64> canary{"untouched"};

namespace {

/// Of call_for_ever, in its process.
std::atomic<std::uint64_t> answered{0};

/// What lies at `ours` there; nothing when that process has ended.
template <typename Content>
Content content_of(pid_t process, const void* ours) {
  std::ifstream memory("/proc/" + std::to_string(process) + "/mem", std::ios::binary);
  memory.seekg(static_cast<std::streamoff>(reinterpret_cast<std::uintptr_t>(ours)));
  Content content{};
  memory.read(reinterpret_cast<char*>(&content), sizeof(content));
  return content;
}

}  // namespace

std::string canary_of(pid_t process) {
  return content_of<std::array<char, 64>>(process, canary.data()).data();
}

bool has_left(const Child& process) {
  siginfo_t how{};
  for (const auto end = in(30s); how.si_pid == 0 && std::chrono::steady_clock::now() < end;
       std::this_thread::yield())
    (void)::waitid(P_PID, static_cast<id_t>(process.pid()), &how, WEXITED | WNOHANG | WNOWAIT);
  return how.si_pid == process.pid() && how.si_code == CLD_EXITED;
}

bool goes_on(const Child& client) {
  const auto count = [&] { return content_of<std::uint64_t>(client.pid(), &answered); };
  const std::uint64_t before = count();
  for (const auto end = in(10s); std::chrono::steady_clock::now() < end; std::this_thread::yield())
    if (count() > before) return true;
  return false;
}

int port_of(const Child& worker) {
  return std::stoi(worker.address().substr(worker.address().rfind(':') + 1));
}

int ucx_port_of(pid_t process, int door) {
  for (const auto end = in(10s); std::chrono::steady_clock::now() < end;)
    for (const int port : listening_ports(process))
      if (port != door) return port;
  return 0;
}

void check_lane(UcxLaneClient& client) {
  for (const std::size_t size : {8UL, 100'000UL, 3UL << 20}) {
    const auto input = pattern(size, 9);
    send(client, input);
    const auto response = answer_asleep(client);
    REQUIRE(response.has_value());
    CHECK(same(response->payload, input));
    client.release(*response);
  }
}

// Without doctest, which starts in main.
void call_for_ever(const Child::Job& job) {
  UcxContext own = UcxContext::create({.devices = "lo"}).value();
  auto client =
      UcxLaneClient::connect(own, {.address = job.address, .key = job.key, .deadline = in(10s)});
  if (!client) std::fprintf(stderr, "the client: %s\n", client.error().message.c_str());
  const auto input = pattern(1000, 1);
  while (client && client->send({.input = input})) {
    Result<std::optional<LaneResponse>> response = std::nullopt;
    do response = client->receive();
    while (response && !*response);
    if (!response || !same((*response)->payload, input)) return;
    client->release(**response);
    ++answered;
  }
}

void read_everything(const Child::Job& job) {
  UcxContext own = UcxContext::create({.devices = "lo"}).value();
  const auto link = UcxLink::create(own, job.key).value();
  if (::send(job.report, "ready", 5, 0) < 0) return;
  for (;;) link->progress_or_yield();
}

UniqueFd connect_quietly(int port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 &&
      errno != EINPROGRESS)
    return UniqueFd();
  return socket;
}

bool is_cut(int socket) {
  pollfd entry{.fd = socket, .events = POLLIN, .revents = 0};
  char byte = 0;
  return ::poll(&entry, 1, 10'000) > 0 && ::recv(socket, &byte, 1, 0) <= 0;
}

std::array<std::uint64_t, 5> forged_words() {
  const auto address = reinterpret_cast<std::uint64_t>(canary.data());
  return {3, 0, address, address | 1, ~std::uint64_t{0}};
}

namespace {

std::size_t carry(pollfd& from, const UniqueFd& to, std::size_t most) {
  std::array<std::byte, 4096> bytes;
  const ssize_t got = ::recv(from.fd, bytes.data(), std::min(most, bytes.size()), 0);
  if (got <= 0) {
    ::shutdown(to.get(), SHUT_WR);
    from.fd = -1;
    return 0;
  }
  (void)::send(to.get(), bytes.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL);
  return static_cast<std::size_t>(got);
}

}  // namespace

SlowRelay::SlowRelay(int door, std::size_t at_once)
    : listener_(listen_tcp("127.0.0.1:0").value()),
      thread_([this, door, at_once](const std::stop_token& stop) { run(stop, door, at_once); }) {}

void SlowRelay::run(const std::stop_token& stop, int door, std::size_t at_once) {
  std::array<pollfd, 2> ends{pollfd{.fd = -1, .events = POLLIN, .revents = 0},
                             pollfd{.fd = -1, .events = POLLIN, .revents = 0}};
  pollfd waiting{.fd = listener_.socket.get(), .events = POLLIN, .revents = 0};
  while (!stop.stop_requested() && ::poll(&waiting, 1, 10) <= 0) {
  }
  const UniqueFd client(::accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const UniqueFd worker = connect_quietly(door);
  ends[0].fd = client.get();
  ends[1].fd = worker.get();
  for (std::size_t brought = 0; !stop.stop_requested();) {
    ends[0].events = held_ && brought == at_once ? 0 : POLLIN;
    if (::poll(ends.data(), ends.size(), 10) <= 0) continue;
    if ((ends[0].revents & POLLIN) != 0)
      brought += carry(ends[0], worker, held_ ? at_once - brought : 4096);
    if ((ends[1].revents & POLLIN) != 0) (void)carry(ends[1], client, 4096);
  }
}

}  // namespace orchid::transport::tests
