#include "site/grant_service.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pwd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "foundation/host_addresses.h"
#include "foundation/log.h"
#include "foundation/numbers.h"
#include "grant_connection.h"
#include "topology/host.h"

namespace orchid::site {
namespace {

/// While something is to be done without anybody's saying so.
constexpr std::chrono::milliseconds short_tick{5};
constexpr std::chrono::milliseconds long_tick{250};
/// Whoever connects again and again does not keep the others waiting.
constexpr unsigned most_at_once = 64;

MonotonicTime now() { return std::chrono::steady_clock::now(); }

/// Closing a descriptor may take as long as whoever sent it likes (SO_LINGER, FUSE), so root takes
/// none. Kernels before 6.16 do not know how to refuse them.
void take_no_descriptors(int socket) {
#ifndef SO_PASSRIGHTS
  constexpr int SO_PASSRIGHTS = 83;
#endif
  const int no = 0;
  (void)::setsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof(no));
}

/// "alice:100000:65536" gives alice these user ids in namespaces of hers.
Result<void> check_subordinate(const HostConfiguration& c, const char* file) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const auto first_colon = line.find(':');
    const auto second_colon = line.find(':', first_colon + 1);
    if (second_colon == std::string::npos) continue;
    const std::string_view ids = line;
    const auto first = leading_number<std::uint64_t>(ids.substr(first_colon + 1)).value_or(0);
    const auto count = leading_number<std::uint64_t>(ids.substr(second_colon + 1)).value_or(0);
    if (first < std::uint64_t{c.first_uid} + c.slots && c.first_uid < first + count)
      return fail(
          ErrorCode::denied,
          fmt::format("{} gives ids of --uids to {}: choose a range that belongs to nobody, "
                      "such as 2000000000-2000000255",
                      file, line.substr(0, first_colon)));
  }
  return {};
}

/// Grants are for people who are nobody else.
Result<void> check_uids(const HostConfiguration& c) {
  std::array<char, 16'384> space{};
  for (std::uint32_t i = 0; i < c.slots; ++i) {
    passwd entry{};
    passwd* found = nullptr;
    if (::getpwuid_r(c.first_uid + i, &entry, space.data(), space.size(), &found) == 0 &&
        found != nullptr)
      return fail(ErrorCode::denied, fmt::format("uid {} of --uids is {}'s: choose a range that "
                                                 "belongs to nobody",
                                                 c.first_uid + i, found->pw_name));
  }
  for (const char* file : {"/etc/subuid", "/etc/subgid"})
    if (auto free = check_subordinate(c, file); !free) return free;
  return {};
}

Result<UniqueFd> listen_for_everybody(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  auto socket = listen_packets(path);
  if (!socket) return socket;
  take_no_descriptors(socket->get());
  if (::chmod(path.c_str(), 0666) != 0) return fail_errno("chmod " + path.string());
  return socket;
}

Result<UniqueFd> end_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  UniqueFd descriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor) return fail_errno("signalfd");
  return descriptor;
}

std::string lanes_of(const HostConfiguration& c) {
  if (c.lane_listen == "none") return {};
  if (c.lane_listen != "auto") return c.lane_listen;
  const std::string address = address_towards(c.gateway);
  if (address.empty())
    log::warn(
        "event=no_lane_address reason=\"this host has no address by which it reaches {}; only "
        "clients on this host can reach its workers\"",
        c.gateway);
  return address;
}

class Service final : public GrantService, public GrantTable {
 public:
  Service(HostSurroundings host, UniqueFd listener, UniqueFd signals)
      : host_(std::move(host)), listener_(std::move(listener)), signals_(std::move(signals)) {}

  void run() override {
    log::info("event=serving socket={} node={} uids={}-{} gateway={}",
              host_.configuration.socket.string(), host_.configuration.node,
              host_.configuration.first_uid,
              host_.configuration.first_uid + host_.configuration.slots - 1,
              host_.configuration.gateway);
    while (!ending_ || !connections_.empty()) turn();
    ::unlink(host_.configuration.socket.c_str());
  }

 private:
  using Connection = GrantConnection;
  using Came = void (Connection::*)(MonotonicTime);
  struct Awaited {
    Connection* connection;
    int (Connection::*descriptor)() const;
    Came came;
  };

  [[nodiscard]] std::vector<StandingGrant> standing() const override {
    std::vector<StandingGrant> all;
    for (const auto& connection : connections_)
      if (auto one = connection->standing()) all.push_back(std::move(*one));
    return all;
  }

  [[nodiscard]] bool may_ask(uid_t uid) const override {
    std::size_t asking = 0;
    for (const auto& connection : connections_) {
      if (!connection->is_asking()) continue;
      if (connection->uid() == uid) return false;
      ++asking;
    }
    return asking < most_inquiries;
  }

  /// Waits for the next events, and passes them on.
  void turn() {
    std::vector<pollfd> wait{{listener_ ? listener_.get() : -1, POLLIN, 0},
                             {signals_.get(), POLLIN, 0}};
    std::vector<Awaited> awaited;
    for (const auto& connection : connections_)
      for (const auto& [descriptor, came] : {std::pair<int (Connection::*)() const, Came>{
                                                 &Connection::socket, &Connection::message_came},
                                             {&Connection::answer, &Connection::answer_came},
                                             {&Connection::starting, &Connection::start_came},
                                             {&Connection::executor, &Connection::executor_ended},
                                             {&Connection::peer, &Connection::peer_ended}}) {
        const int number = (connection.get()->*descriptor)();
        if (number < 0) continue;
        wait.push_back({number, POLLIN, 0});
        awaited.push_back({connection.get(), descriptor, came});
      }
    const auto time = needs_care() ? short_tick : long_tick;
    if (::poll(wait.data(), wait.size(), static_cast<int>(time.count())) < 0 && errno != EINTR)
      log::error("event=poll_failed reason=\"{}\"", fail_errno("poll").error().message);
    const MonotonicTime moment = now();
    for (std::size_t i = 0; i < awaited.size(); ++i) {
      // An event before this one may have closed what this one is about.
      const Awaited& one = awaited[i];
      if (wait[i + 2].revents != 0 && (one.connection->*one.descriptor)() == wait[i + 2].fd)
        (one.connection->*one.came)(moment);
    }
    for (const auto& connection : connections_) connection->tick(moment);
    std::erase_if(connections_, [](const auto& connection) { return connection->is_over(); });
    if (wait[0].revents != 0) accept_all(moment);
    if (wait[1].revents != 0) end(moment);
  }

  [[nodiscard]] bool needs_care() const {
    return std::ranges::any_of(connections_, [](const auto& connection) {
      return connection->socket() < 0 ||
             (connection->has_offered() && !connection->is_asking() && !connection->standing());
    });
  }

  void accept_all(MonotonicTime moment) {
    for (unsigned i = 0; i < most_at_once; ++i) {
      UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket) return;
      take_no_descriptors(socket.get());
      auto peer = peer_process(socket.get());
      if (!peer || !has_room_for(peer->uid)) continue;
      connections_.push_back(
          std::make_unique<Connection>(host_, *this, std::move(socket), std::move(*peer), moment));
    }
  }

  [[nodiscard]] bool has_room_for(uid_t uid) const {
    std::size_t all = 0;
    std::size_t own = 0;
    for (const auto& connection : connections_) {
      if (connection->has_offered() && !connection->is_asking()) continue;
      ++all;
      if (connection->uid() == uid) ++own;
    }
    return all < most_unproven && own < most_unproven_of_one;
  }

  void end(MonotonicTime moment) {
    signalfd_siginfo signal{};
    (void)!::read(signals_.get(), &signal, sizeof(signal));
    if (std::exchange(ending_, true)) return;
    log::info("event=ending grants={}", host_.slots.in_use());
    listener_.reset();
    for (const auto& connection : connections_) connection->stop(moment);
    std::erase_if(connections_, [](const auto& connection) { return connection->is_over(); });
  }

  HostSurroundings host_;
  UniqueFd listener_;
  UniqueFd signals_;
  std::vector<std::unique_ptr<Connection>> connections_;
  bool ending_ = false;
};

}  // namespace

Result<std::unique_ptr<GrantService>> GrantService::create(HostConfiguration configuration) {
  if (auto free = check_uids(configuration); !free) return fail(std::move(free.error()));
  const auto machine = executor::discover_host();
  if (!machine) return fail(machine.error());
  SlotFolders folders{.state = configuration.state,
                      .runtime = configuration.runtime,
                      .first_uid = configuration.first_uid};
  if (auto made = make_parents(folders); !made) return fail(std::move(made.error()));
  auto listener = listen_for_everybody(configuration.socket);
  if (!listener) return fail(std::move(listener.error()));
  auto signals = end_signals();
  if (!signals) return fail(std::move(signals.error()));
  // What an earlier service may have left.
  for (std::uint32_t slot = 0; slot < configuration.slots; ++slot)
    (void)end_all_of(folders.uid_of(slot));
  SlotBook slots(read_uses(folders, configuration.slots));
  std::string lanes = lanes_of(configuration);
  return std::make_unique<Service>(HostSurroundings{.configuration = std::move(configuration),
                                                    .folders = std::move(folders),
                                                    .slots = std::move(slots),
                                                    .thread_order = machine->thread_order,
                                                    .boot_id = machine->boot_id,
                                                    .lane_listen = std::move(lanes)},
                                   std::move(*listener), std::move(*signals));
}

}  // namespace orchid::site
