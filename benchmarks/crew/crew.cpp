#include "crew/crew.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>

#include "crew/crew_life.h"
#include "crew/ring_memory.h"
#include "hosts/host_namespaces.h"
#include "transport/local_lane.h"

namespace orchid::bench {
namespace {

constexpr int patience_ms = 90'000;

/// Memory and descriptors that the processes inherit.
Result<void> prepare_rings(ChaseSetting& setting, std::vector<UniqueFd>& kept) {
  if (setting.way != ChaseWay::ring && setting.way != ChaseWay::lanes) return {};
  for (unsigned process = 0; process < setting.processes; ++process) {
    kept.emplace_back(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!kept.back()) return fail_errno("eventfd");
    setting.wake_descriptors.push_back(kept.back().get());
  }
  if (setting.way == ChaseWay::ring) {
    void* memory = ::mmap(nullptr, ring_memory_bytes(setting.processes), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);  // stays as long as the program
    if (memory == MAP_FAILED) return fail_errno("mmap");
    setting.rings = static_cast<std::byte*>(memory);
    return {};
  }
  for (unsigned pair = 0; pair < setting.processes * setting.processes; ++pair) {
    auto lane = transport::make_lane(lanes_geometry);
    if (!lane) return fail(std::move(lane.error()));
    setting.lane_memories.push_back(lane->memory.get());
    kept.push_back(std::move(lane->memory));
  }
  return {};
}

}  // namespace

Result<Crew> Crew::start(const CrewPlan& plan) {
  auto board = Board::create();
  if (!board) return fail(std::move(board.error()));
  Crew crew(std::move(*board));
  ChaseSetting setting{.way = plan.way,
                       .order = plan.order,
                       .processes = plan.members + 1,
                       .transports = plan.transports,
                       .devices = plan.hosts != nullptr ? "link0" : ""};
  if (auto prepared = prepare_rings(setting, crew.kept_); !prepared)
    return fail(std::move(prepared.error()));
  for (unsigned self = 0; self < setting.processes; ++self) {
    setting.self = self;
    setting.wakes = (self == 0 ? plan.beginner : plan.waiting) == Waiting::sleep;
    if (auto started = crew.start_process(plan, setting); !started)
      return fail(std::move(started.error()));
  }
  for (const Process& process : crew.processes_)
    if (auto heard = crew.hear(process); !heard) return fail(std::move(heard.error()));
  return crew;
}

Result<void> Crew::start_process(const CrewPlan& plan, const ChaseSetting& setting) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno("socketpair");
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("fork");
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ours.reset();
    if (auto lived = live_in_crew(plan, setting, board_, theirs.get()); !lived)
      std::fprintf(stderr, "member %u: %s\n", setting.self, lived.error().message.c_str());
    ::_exit(1);
  }
  processes_.push_back({pid, std::move(ours)});
  return {};
}

Result<void> Crew::hear(const Process& process) const {
  pollfd entry{.fd = process.control.get(), .events = POLLIN, .revents = 0};
  char done = 0;
  if (::poll(&entry, 1, patience_ms) != 1)
    return fail(ErrorCode::timed_out, "a process of a crew does not answer");
  if (::recv(process.control.get(), &done, 1, 0) != 1)
    return fail(ErrorCode::unreachable, "a process of a crew has ended");
  return {};
}

Result<std::vector<double>> Crew::chase(const Round& round) {
  const CrewOrder order{.round = ++round_, .what = round};
  for (auto process = processes_.rbegin(); process != processes_.rend(); ++process)
    if (::send(process->control.get(), &order, sizeof(order), MSG_NOSIGNAL) != sizeof(order))
      return fail_errno("send");
  if (auto heard = hear(processes_.front()); !heard) return fail(std::move(heard.error()));
  board_.end_round(round_);
  const CrewOrder over{};
  for (std::size_t member = 1; member < processes_.size(); ++member)
    ::send(processes_[member].control.get(), &over, sizeof(over), MSG_NOSIGNAL);
  for (std::size_t member = 1; member < processes_.size(); ++member)
    if (auto heard = hear(processes_[member]); !heard) return fail(std::move(heard.error()));
  const auto values = board_.values();
  const auto count = static_cast<std::ptrdiff_t>(values[0]);
  return std::vector<double>(values.begin() + 1, values.begin() + 1 + count);
}

Crew::~Crew() {
  for (const Process& process : processes_) ::kill(process.pid, SIGKILL);
  for (const Process& process : processes_) ::waitpid(process.pid, nullptr, 0);
}

}  // namespace orchid::bench
