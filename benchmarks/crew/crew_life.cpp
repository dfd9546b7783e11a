#include "crew/crew_life.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include "foundation/numbers.h"
#include "foundation/tick_clock.h"
#include "harness/machine.h"
#include "sandbox/confinement.h"

namespace orchid::bench {
namespace {

constexpr std::chrono::seconds round_patience{60};

Result<void> enter_host(const CrewPlan& plan, unsigned self) {
  if (plan.hosts == nullptr) return {};
  const auto keeper = parse_number<int>(plan.hosts->process(self)).value_or(-1);
  const UniqueFd host(static_cast<int>(::syscall(SYS_pidfd_open, keeper, 0)));
  if (!host || ::setns(host.get(), CLONE_NEWNET | CLONE_NEWNS) != 0)
    return fail_errno("enter a network namespace");
  return {};
}

Result<std::unique_ptr<ChaseEnd>> open_end(const ChaseSetting& setting, Board& board) {
  switch (setting.way) {
    case ChaseWay::raw:
    case ChaseWay::fetch:
      return open_raw_end(setting, board);
    case ChaseWay::judged:
    case ChaseWay::batched:
      return open_judged_end(setting, board);
    case ChaseWay::get:
    case ChaseWay::mailbox:
      return open_memory_end(setting, board);
    case ChaseWay::ring:
      return open_ring_end(setting);
    case ChaseWay::lanes:
      return open_lanes_end(setting);
  }
  return fail(ErrorCode::internal, "no such way");
}

/// Asleep until `control` or the end has something.
void sleep_once(ChaseEnd& end, int control) {
  if (end.prepare_to_sleep()) {
    std::array<pollfd, 2> entries{pollfd{.fd = end.wake_descriptor(), .events = POLLIN},
                                  pollfd{.fd = control, .events = POLLIN}};
    ::poll(entries.data(), entries.size(), 1000);
  }
  end.finish_sleep();
}

void wait(Waiting waiting, ChaseEnd& end, int control) {
  if (waiting == Waiting::yield) ::sched_yield();
  if (waiting == Waiting::sleep) sleep_once(end, control);
}

Result<void> follow(const CrewPlan& plan, ChaseEnd& end, const Board& board, unsigned round,
                    int control) {
  while (board.over() != round) {
    if (end.look()) continue;
    if (const auto failure = end.failure()) return fail(ErrorCode::internal, *failure);
    wait(plan.waiting, end, control);
  }
  return {};
}

/// What process 0 does in a round: begins chases, and takes their answers.
class Lead {
 public:
  Lead(const CrewPlan& plan, ChaseEnd& end, const Crew::Round& round)
      : plan_(plan), end_(end), round_(round), table_(plan.members, plan.order) {
    for (unsigned i = 0; i < round.chases; ++i) {
      const std::uint64_t start = std::uint64_t{i} * 7919 % table_.size();
      expected_.push_back({start, table_.walk(start, round.depth)});
    }
    began_.resize(round.chases);
  }

  Result<std::vector<double>> run(int control) {
    const auto give_up = std::chrono::steady_clock::now() + round_patience;
    const TickRate rate = TickRate::measure();
    const std::uint64_t start = ticks_now();
    for (unsigned i = 0; i < round_.in_flight && i < round_.chases; ++i) begin_next();
    while (done_ < round_.chases) {
      const bool worked = end_.look();
      if (auto taken = take_answers(rate); !taken) return fail(std::move(taken.error()));
      if (worked || done_ == round_.chases) continue;
      if (const auto failure = end_.failure()) return fail(ErrorCode::internal, *failure);
      if (std::chrono::steady_clock::now() > give_up)
        return fail(ErrorCode::timed_out, "a chase did not end");
      wait(plan_.beginner, end_, control);
    }
    if (round_.in_flight > 1)
      values_ = {static_cast<double>(rate.duration(ticks_now() - start).count()) / 1000 /
                 static_cast<double>(round_.chases * round_.depth)};
    return values_;
  }

 private:
  struct Walk {
    std::uint64_t start;
    std::uint64_t end;
  };
  void begin_next() {
    const unsigned number = begun_++;
    began_[number] = ticks_now();
    end_.begin({.left = round_.depth, .address = expected_[number].start, .number = number});
  }
  Result<void> take_answers(const TickRate& rate) {
    for (const ChaseAnswer& answer : end_.answers()) {
      if (answer.number >= begun_ || answer.address != expected_[answer.number].end)
        return fail(ErrorCode::internal, "a chase ended at a wrong place");
      const std::uint64_t took = ticks_now() - began_[answer.number];
      values_.push_back(static_cast<double>(rate.duration(took).count()) / 1000 /
                        static_cast<double>(round_.depth));
      ++done_;
    }
    for (std::size_t left = end_.answers().size(); left != 0 && begun_ < round_.chases; --left)
      begin_next();
    end_.answers().clear();
    return {};
  }

  const CrewPlan& plan_;
  ChaseEnd& end_;
  Crew::Round round_;
  ChaseTable table_;
  std::vector<Walk> expected_;
  std::vector<std::uint64_t> began_;
  std::vector<double> values_;
  unsigned begun_ = 0;
  unsigned done_ = 0;
};

Result<void> lead(const CrewPlan& plan, ChaseEnd& end, const Board& board, const Crew::Round& round,
                  int control) {
  auto values = Lead(plan, end, round).run(control);
  if (!values) return fail(std::move(values.error()));
  const std::size_t count = std::min(values->size(), Board::most_values - 1);
  board.values()[0] = static_cast<double>(count);
  std::copy_n(values->begin(), count, board.values().begin() + 1);
  return {};
}

ConfinementOptions confinement(int control) {
  return {.role = SandboxRole::remote_worker,
          .data_limit = 1_GiB,
          .parent_pid = ::getppid(),
          .keep_descriptors = {0, 1, 2, control},
          .readable_paths = {}};
}

/// So that UCX's descriptors are not among those with a worker's own numbers, which stage 2 keeps
/// from being closed.
void take_worker_descriptors() {
  while (const int fd = ::open("/dev/null", O_RDWR))
    if (fd >= worker_descriptor_count || fd < 0) {
      ::close(fd);
      return;
    }
}

}  // namespace

Result<void> live_in_crew(const CrewPlan& plan, const ChaseSetting& setting, Board& board,
                          int control) {
  const unsigned self = setting.self;
  const std::size_t cores = plan.cores.size();
  const int core = plan.cores[self < cores ? self : 1 + (self - 1) % (cores - 1)];
  if (auto pinned = pin_this_thread(core); !pinned) return pinned;
  if (auto entered = enter_host(plan, self); !entered) return entered;
  const bool confined = plan.confined && self != 0;
  if (confined) {
    if (auto done = confine(confinement(control)); !done) return done;
    take_worker_descriptors();
  }
  auto end = open_end(setting, board);
  if (!end) return fail(std::move(end.error()));
  if (confined)
    if (auto done = confine_further(confinement(control)); !done) return done;
  constexpr char done = 1;
  if (::write(control, &done, 1) != 1) return fail_errno("write");
  CrewOrder order;
  while (::recv(control, &order, sizeof(order), 0) == sizeof(order)) {
    if (order.round == 0) continue;  // a round is over; whoever slept has been woken
    auto ran = self == 0 ? lead(plan, **end, board, order.what, control)
                         : follow(plan, **end, board, order.round, control);
    if (!ran) return ran;
    if (::write(control, &done, 1) != 1) return fail_errno("write");
  }
  return {};
}

}  // namespace orchid::bench
