#include "workers/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

#include "foundation/log.h"
#include "protocol/digest.h"
#include "protocol/limits.h"

namespace orchid::executor {
namespace {

Outcome outcome_of(KillReason reason) {
  switch (reason) {
    case KillReason::deadline:
      return Outcome::deadline_exceeded;
    case KillReason::cancelled:
      return Outcome::cancelled;
    case KillReason::threads:
    case KillReason::memory:
      return Outcome::limit_exceeded;
    case KillReason::nonsense:
    case KillReason::together:
    case KillReason::restless:
    case KillReason::device_crashed:
      return Outcome::function_crashed;
    case KillReason::evicted:
      return Outcome::evicted;
    default:
      return Outcome::worker_lost;
  }
}

std::string_view message_of(KillReason reason) {
  switch (reason) {
    case KillReason::deadline:
      return "the deadline passed; the function was stopped";
    case KillReason::cancelled:
      return "cancelled by the caller";
    case KillReason::stopped:
      return "somebody stopped the worker process (SIGSTOP); it was replaced";
    case KillReason::unresponsive:
      return "the worker did not answer; it was replaced";
    case KillReason::no_client:
      return "the client did not connect to its worker; it was replaced";
    case KillReason::load:
      return "loading a module did not end; the worker was replaced";
    case KillReason::threads:
      return "the function has more than 256 threads";
    case KillReason::nonsense:
      return "the function broke the rules of its sandbox: it wrote to the worker's own socket";
    case KillReason::evicted:
      return "the owner of the worker's cores took them back";
    case KillReason::gave_way:
      return "the worker gave way: the functions of its place together need more memory than it "
             "has";
    case KillReason::together:
      return "the function broke the rules of its sandbox: its worker said that it runs a call "
             "beside another worker of its place";
    case KillReason::memory:
      return "the function keeps more memory than its worker's limit: let it use less, or raise "
             "its memory limit";
    case KillReason::device_lost:
      return "the worker's GPU, or the process that speaks with it, is gone; it was replaced";
    case KillReason::swapped:
      return made_way;
    case KillReason::crew:
      return "another member of the worker's crew was lost; the crew is formed anew";
    case KillReason::restless:
      return "the function used processor time while its worker had no call to run; the worker was "
             "replaced";
    default:
      return "the worker was taken back";
  }
}

constexpr const char* forged_page =
    "the function broke the rules of its sandbox: what the worker's status page says of its end is "
    "not true";

}  // namespace

bool has_own_counter(KillReason reason) {
  return reason == KillReason::gave_way || reason == KillReason::restless ||
         reason == KillReason::swapped;
}

Result<StatusPageMapping> StatusPageMapping::create() {
  UniqueFd file(::memfd_create("orchid-status", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || ::ftruncate(file.get(), status_page_bytes) != 0) return fail_errno("status page");
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return fail_errno("seal a status page");
  void* memory =
      ::mmap(nullptr, status_page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return fail_errno("mmap a status page");
  auto* page = static_cast<StatusPage*>(memory);
  page->stop.store(no_stop);
  return StatusPageMapping(std::move(file), page);
}

StatusPageMapping::StatusPageMapping(StatusPageMapping&& other) noexcept
    : file_(std::move(other.file_)), page_(std::exchange(other.page_, nullptr)) {}
StatusPageMapping& StatusPageMapping::operator=(StatusPageMapping&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(page_, other.page_);
  return *this;
}
StatusPageMapping::~StatusPageMapping() {
  if (page_ != nullptr) ::munmap(page_, status_page_bytes);
}

WorkerProcess::WorkerProcess(std::uint64_t id, StatusPageMapping page,
                             transport::LaneDescriptors lane, ByteCount data_limit)
    : id_(id), page_(std::move(page)), lane_(std::move(lane)), data_limit_(data_limit) {}

WorkerProcess::~WorkerProcess() { kill(KillReason::released); }

void WorkerProcess::born(pid_t pid, UniqueFd pidfd, std::unique_ptr<PacketChannel> control) {
  pid_ = pid;
  pidfd_ = std::move(pidfd);
  control_ = std::move(control);
}

bool WorkerProcess::tell(const WorkerMessage& message, const std::vector<int>& descriptors) {
  if (!control_ || !control_->send(encode(message), descriptors))
    return false;  // its end will be noticed
  page().attention.fetch_add(1, std::memory_order_release);
  return true;
}

/// Null: there is no room for it.
const transport::LaneMemory* WorkerProcess::lane_view() const {
  if (!lane_view_)
    if (auto mapped = transport::LaneMemory::map(lane_.memory.get(), lane_.geometry))
      lane_view_.emplace(std::move(*mapped));
  return lane_view_ ? &*lane_view_ : nullptr;
}

std::optional<std::uint64_t> WorkerProcess::progress_of(std::uint64_t request) const {
  const transport::LaneMemory* lane = lane_view();
  if (lane == nullptr) return std::nullopt;
  return transport::progress_of(request,
                                lane->control().progress.value.load(std::memory_order_relaxed));
}

RunningLog WorkerProcess::log_of(std::uint64_t request) const {
  auto descriptors = transport::duplicate(lane_);
  if (!descriptors) return {};
  const auto lane = transport::LocalLaneClient::attach(std::move(*descriptors));
  if (!lane) return {};
  RunningLog log = lane->running_log(request);
  if (log.text.size() > ended_log_bytes) {
    log.dropped += log.text.size() - ended_log_bytes;
    log.text.resize(ended_log_bytes);
  }
  return log;
}

std::optional<std::chrono::nanoseconds> WorkerProcess::processor_time() const {
  clockid_t clock{};
  timespec used{};
  if (pid_ <= 0 || ::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &used) != 0)
    return std::nullopt;
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

bool WorkerProcess::kill_if_running(std::uint64_t number, KillReason reason, std::string words) {
  auto expected = pack_state(number, RunState::running);
  if (!page().state.compare_exchange_strong(expected, pack_state(number, RunState::killed)))
    return false;
  kill_words_ = std::move(words);
  kill(reason);
  return true;
}

bool WorkerProcess::has_ended() const {
  siginfo_t info{};
  return ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd_.get()), &info,
                  WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid != 0;
}

void WorkerProcess::kill(KillReason reason) {
  if (!pidfd_) return;
  // Others are told of what it has died of: that the crew goes does not hide it.
  if (reason == KillReason::crew && has_ended()) return;
  if (kill_reason_ == KillReason::none) kill_reason_ = reason;
  make_sure_of_its_end();
}

void WorkerProcess::hold() {
  if (held_ || !pidfd_) return;
  held_ = ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGSTOP, nullptr, 0) == 0;
}

void WorkerProcess::go_on() {
  if (!held_) return;
  ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGCONT, nullptr, 0);
  held_ = false;
}

const std::string* WorkerProcess::module_at(std::uint32_t slot) const {
  const auto found =
      std::ranges::find_if(slots_, [slot](const auto& item) { return item.second.slot == slot; });
  return found == slots_.end() ? nullptr : &found->first;
}

void WorkerProcess::control_closed() {
  pollfd socket{control_ ? control_->descriptor() : -1, 0, 0};
  const bool closed = ::poll(&socket, 1, 0) > 0 && (socket.revents & POLLHUP) != 0;
  // No end without a hang-up: an empty packet, or more descriptors than a message may have.
  if (closed)
    make_sure_of_its_end();
  else
    kill(KillReason::nonsense);
}

void WorkerProcess::make_sure_of_its_end() {
  if (pidfd_) ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
}

/// As the worker's last words have it, which may be anything.
std::string WorkerProcess::last_place() const {
  char place[sizeof(StatusPage::place)] = {};
  std::memcpy(place, page().place, sizeof(place) - 1);
  return place;
}

std::string WorkerProcess::describe_signal(int number) const {
  const StatusPage& seen = page();
  const std::string place = last_place();
  std::string text =
      fmt::format("the function was ended by signal {} ({})", number, ::strsignal(number));
  if (seen.last_words.load() != static_cast<std::uint32_t>(LastWords::signal) ||
      seen.code.load() != number)
    return text;
  if (seen.sent.load() != 0)
    return text + (place.empty() ? ", which was sent to it" : ", which was sent to it in " + place);
  if (seen.stack_overflow.load() != 0)
    text = "the function overflowed its stack (8 MiB; 256 KiB in a kernel)";
  if (!place.empty()) text += fmt::format(" in {}", place);
  if (number == SIGSEGV && seen.stack_overflow.load() == 0)
    text += fmt::format(", at address {:#x}", seen.address.load());
  return text;
}

/// Seccomp lets no process send itself SIGKILL: whoever died of it was killed by somebody else. All
/// other ends are its own doing, whatever the page says.
void WorkerProcess::explain_end(LaneEnded& ended, const ChildEvent& event) const {
  const StatusPage& seen = page();
  const auto words = static_cast<LastWords>(seen.last_words.load());
  const std::int32_t code = seen.code.load();
  if (event.kind == ChildEvent::Kind::exited && words == LastWords::exited &&
      (code & 0xff) == event.value) {
    ended.outcome = Outcome::function_exited;
    ended.exit_status = code;
    ended.message = fmt::format("the function called exit({})", code);
  } else if (event.kind == ChildEvent::Kind::exited && words == LastWords::none) {
    ended.outcome = Outcome::function_exited;
    ended.exit_status = event.value;
    ended.message = fmt::format("the function ended its process with status {}", event.value);
  } else if (event.kind == ChildEvent::Kind::exited && words == LastWords::failed) {
    // Within a stream a lane between hosts may break; within a host only somebody's nonsense.
    if (remote_lane_.port == 0) ended.outcome = Outcome::function_crashed;
    ended.message = remote_lane_.port != 0
                        ? last_place()
                        : "the function broke the rules of its sandbox, or the caller those of its "
                          "stream: " +
                              last_place();
  } else if (was_killed_from_outside(event)) {
    ended.message = "the worker process was killed from outside";
  } else if (event.kind == ChildEvent::Kind::exited || event.value == SIGKILL) {
    ended.outcome = Outcome::function_crashed;
    ended.message = forged_page;
  } else {
    ended.outcome = Outcome::function_crashed;
    ended.signal = event.value;
    ended.message = describe_signal(event.value);
    explain_refusal(ended);
  }
}

/// A crash that follows from memory or output that was refused.
void WorkerProcess::explain_refusal(LaneEnded& ended) const {
  const std::uint32_t refused = page().refused.load();
  if ((refused & (refused_memory | refused_output | refused_device)) == 0) return;
  const std::string_view what = (refused & refused_memory) != 0   ? "memory"
                                : (refused & refused_output) != 0 ? "output"
                                                                  : "device memory";
  ended.outcome = Outcome::limit_exceeded;
  ended.message = "the " + std::string(what) +
                  " limit was reached and the function did not check for it: " + ended.message;
}

/// An idle worker has answered what it has taken. Not known of workers with clients of other hosts,
/// and of members of crews, whose answers come from others.
bool WorkerProcess::left_a_call() const {
  const std::uint64_t request = page().request_id.load();
  if (request == 0 || remote_lane_.port != 0 || crew_seat_) return false;
  const transport::LaneMemory* lane = lane_view();
  return lane != nullptr && !lane->is_answered(request);
}

bool WorkerProcess::was_taken_unawares() const {
  return kill_reason_ == KillReason::evicted || kill_reason_ == KillReason::nonsense ||
         kill_reason_ == KillReason::gave_way || kill_reason_ == KillReason::restless ||
         kill_reason_ == KillReason::swapped || kill_reason_ == KillReason::together;
}

bool WorkerProcess::was_killed_from_outside(const ChildEvent& event) const {
  return event.kind == ChildEvent::Kind::killed && event.value == SIGKILL && !hurried_;
}

/// It may have met what another member has written.
std::string WorkerProcess::end_of_idle_member(LastWords words, const ChildEvent& event) const {
  if (words == LastWords::spoiled || words == LastWords::failed) return last_place();
  return "the worker " + describe(event);
}

LaneEnded WorkerProcess::epitaph(const ChildEvent& event) const {
  const StatusPage& seen = page();
  LaneEnded ended;
  const bool from_outside = was_killed_from_outside(event);
  if (kill_reason_ != KillReason::none) {
    ended.outcome = outcome_of(kill_reason_);
    ended.message = kill_words_.empty() ? std::string(message_of(kill_reason_)) : kill_words_;
  }
  // Whatever it ran is no more to blame than what is on its way between others.
  if (kill_reason_ == KillReason::crew) {
    ended.message.clear();  // the one that ended first says why
    return ended;
  }
  if (run_state_of(seen.state.load()) != RunState::idle) {
    ended.request = seen.request_id.load();
    ended.started = true;
    if (kill_reason_ == KillReason::none) explain_end(ended, event);
    return ended;
  }
  const auto words = static_cast<LastWords>(seen.last_words.load());
  if (was_taken_unawares() || crew_seat_) {
    // It was not asked before, and may have been about to publish an answer, or says that it is
    // idle and is not. If the client has the answer, it does not look for this request.
    ended.request = seen.request_id.load();
    ended.started = ended.request != 0;
    if (kill_reason_ == KillReason::none) ended.message = end_of_idle_member(words, event);
  } else if (kill_reason_ == KillReason::none && !from_outside && left_a_call()) {
    ended.request = seen.request_id.load();
    ended.started = true;
    ended.outcome = Outcome::function_crashed;
    ended.message = forged_page;
  } else if (words == LastWords::spoiled || words == LastWords::failed) {
    ended.message = last_place();
  } else if (words == LastWords::signal && event.kind == ChildEvent::Kind::killed) {
    ended.message = describe_signal(
        event.value);  // between two calls: a thread that was left running, a static initialiser
  } else if (kill_reason_ == KillReason::none) {
    ended.message = "the worker " + describe(event);
  }
  // Its client knows whether that is true, unless the answer may not have been sent: the lane has
  // broken, or the code that was loaded meanwhile has ended the worker.
  if (remote_lane_.port != 0 && kill_reason_ == KillReason::none && !from_outside &&
      words != LastWords::failed && !is_loading())
    ended.answered = seen.request_id.load();
  return ended;
}

}  // namespace orchid::executor
