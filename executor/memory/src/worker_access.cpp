#include "worker_access.h"

#include <poll.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/packet_room.h"
#include "foundation/sockets.h"
#include "protocol/memory_access.h"

namespace orchid::executor {
namespace {

using lane_client::MemoryClient;

/// UCX has things to do that wake nobody: so the end of a memory that nobody asks of is seen, too.
constexpr std::chrono::milliseconds longest_rest{100};

bool has_hung_up(int socket) {
  pollfd look{.fd = socket, .events = 0, .revents = 0};
  return ::poll(&look, 1, 0) > 0 && (look.revents & POLLHUP) != 0;
}

MemoryAnswer refusal_of(const Failure& why) {
  return {.verdict = MemoryVerdict::refused, .code = why.code, .message = why.message};
}

class WorkerRequests {
 public:
  WorkerRequests(MemoryClient& memory, const WorkerAccess& sockets)
      : memory_(memory), worker_(sockets.worker), lease_has_ended_(sockets.lease_has_ended) {}
  /// What of the worker's socket is waited for.
  [[nodiscard]] short events() const;
  /// There is nothing to wait for, but only to do.
  [[nodiscard]] bool has_work() const {
    return !asked_.empty() && (!is_held_up_ || !asked_.back().is_answered);
  }
  /// Begins what has come, up to a window. False: it has hung up.
  [[nodiscard]] Result<bool> hear();
  /// Finishes the oldest request, and sends what answers there are while there is room. False: as
  /// of `hear`.
  [[nodiscard]] Result<bool> answer();

 private:
  struct Asked {
    MemoryAnswer answer;
    std::vector<std::byte> bytes;  // to be put, or of a get
    bool is_get = false;
    MemoryClient::Range range{};
    bool is_answered = false;  // there is nothing to wait for
  };
  void begin(const MemoryAccess& access, std::string_view bytes);
  void finish(Asked& asked);
  [[nodiscard]] Result<bool> send(const Asked& asked);
  [[nodiscard]] MemoryAnswer change(const MemoryAccess& access);
  void name_the_end(MemoryAnswer& answer);

  MemoryClient& memory_;
  int worker_;
  const std::function<bool()>& lease_has_ended_;
  std::optional<bool> ended_;  // once it was asked
  std::deque<Asked> asked_;    // in order; a window of them at most
  bool is_held_up_ = false;    // the worker has not taken its last answers yet
};

short WorkerRequests::events() const {
  const bool hears = asked_.size() < memory_access_window;
  return static_cast<short>((hears ? POLLIN : 0) | (is_held_up_ ? POLLOUT : 0));
}

Result<bool> WorkerRequests::hear() {
  if (asked_.size() == memory_access_window) return !has_hung_up(worker_);
  while (asked_.size() < memory_access_window) {
    auto packet = receive_packet(worker_, /*wait=*/false);
    if (packet && !*packet) break;
    if (!packet && has_hung_up(worker_)) return false;
    const auto access = packet && (*packet)->descriptors.empty()
                            ? parse_memory_access((*packet)->text)
                            : std::nullopt;
    if (!access) return fail(ErrorCode::bad_request, "a worker has sent what is no request");
    begin(access->head, access->bytes);
  }
  return true;
}

void WorkerRequests::begin(const MemoryAccess& access, std::string_view bytes) {
  Asked& asked = asked_.emplace_back();
  asked.answer.sequence = access.sequence;
  const auto refuse = [&](const Failure& why) {
    asked.answer = refusal_of(why);
    asked.answer.sequence = access.sequence;
    asked.is_answered = true;
  };
  const std::uint64_t row = access.row == 0 ? access.bytes : access.row;
  MemoryClient::Step step{.rows = {.offset = access.offset, .row = row, .stride = access.stride}};
  switch (access.ask) {
    case MemoryAsk::put:
    case MemoryAsk::get: {
      asked.is_get = access.ask == MemoryAsk::get;
      step.rows.count = access.bytes / row;
      const auto put = std::as_bytes(std::span(bytes));
      asked.bytes.assign(put.begin(), put.end());
      asked.bytes.resize(access.bytes);
      if (asked.is_get)
        step.target = asked.bytes;
      else
        step.source = asked.bytes;
      // More may have come: it goes along.
      const auto range = memory_.begin(step, /*together=*/true);
      if (!range) return refuse(range.error());
      asked.range = *range;
      return;
    }
    case MemoryAsk::fence:
      if (auto done = memory_.fence(); !done) return refuse(done.error());
      break;
    case MemoryAsk::fetch_add:
    case MemoryAsk::compare_swap:
      asked.answer = change(access);
      asked.answer.sequence = access.sequence;
      break;
  }
  asked.is_answered = true;
}

void WorkerRequests::finish(Asked& asked) {
  if (asked.is_answered) return;
  asked.is_answered = true;
  if (auto done = memory_.finish(asked.range); !done) {
    const std::uint32_t sequence = asked.answer.sequence;
    asked.answer = refusal_of(done.error());
    asked.answer.sequence = sequence;
  }
}

Result<bool> WorkerRequests::answer() {
  is_held_up_ = false;
  while (!asked_.empty()) {
    Asked& asked = asked_.front();
    finish(asked);
    name_the_end(asked.answer);
    const auto sent = send(asked);
    if (!sent && has_hung_up(worker_)) return false;
    if (!sent) return fail(Failure(sent.error()).while_doing("answering a worker"));
    is_held_up_ = !*sent;
    if (is_held_up_) break;
    asked_.pop_front();
    if (asked_.empty()) break;
    // Others have been asked for meanwhile, perhaps: they are begun before the next one is waited
    // for.
    if (!asked_.front().is_answered && !memory_.is_finished(asked_.front().range)) break;
  }
  // Whoever computes meanwhile finds all of it here.
  if (is_held_up_)
    for (Asked& asked : asked_) finish(asked);
  return true;
}

Result<bool> WorkerRequests::send(const Asked& asked) {
  const bool brings_bytes = asked.is_get && asked.answer.verdict == MemoryVerdict::done;
  const std::string_view bytes{reinterpret_cast<const char*>(asked.bytes.data()),
                               asked.bytes.size()};
  return try_send_packet(worker_, encode(asked.answer), brings_bytes ? bytes : "");
}

/// A client cannot tell the end of the memory from that of its connection, and gives up a host that
/// does not get on.
void WorkerRequests::name_the_end(MemoryAnswer& answer) {
  const bool ends = answer.code == ErrorCode::lease_ended || answer.code == ErrorCode::unreachable;
  if (answer.verdict == MemoryVerdict::done || !ends) return;
  if (answer.code == ErrorCode::lease_ended && !ended_) ended_ = lease_has_ended_();
  if (ended_.value_or(false)) return;
  answer.code = ErrorCode::unreachable;
  answer.message = "the connection to the memory on host " + memory_.host() +
                   " has ended, and what was asked of it may be done or not: open the memory again";
}

MemoryAnswer WorkerRequests::change(const MemoryAccess& access) {
  const bool adds = access.ask == MemoryAsk::fetch_add;
  const auto before = memory_.change(
      {.op = adds ? transport::MemoryOp::fetch_add : transport::MemoryOp::compare_swap,
       .offset = access.offset,
       .operand = access.operand,
       .expected = access.expected});
  if (before) return {.before = *before};
  MemoryAnswer answer = refusal_of(before.error().why);
  if (before.error().may_have_happened) answer.verdict = MemoryVerdict::unknown;
  return answer;
}

}  // namespace

Result<void> serve_worker(MemoryClient& memory, const WorkerAccess& sockets) {
  // Never freed: UCX may be at what is in it, and the process ends when this has returned.
  WorkerRequests& requests = *std::make_unique<WorkerRequests>(memory, sockets).release();
  while (true) {
    std::array waited{pollfd{.fd = sockets.worker, .events = requests.events(), .revents = 0},
                      pollfd{.fd = sockets.control, .events = POLLIN, .revents = 0}};
    const auto rest = requests.has_work() ? std::chrono::milliseconds(0) : longest_rest;
    ::poll(waited.data(), waited.size(), static_cast<int>(rest.count()));
    if (waited[1].revents != 0) return {};
    memory.look();
    const short events = waited[0].revents;
    Result<bool> goes_on = true;
    if ((events & ~POLLOUT) != 0) goes_on = requests.hear();
    if (goes_on && *goes_on && (requests.has_work() || (events & POLLOUT) != 0))
      goes_on = requests.answer();
    if (!goes_on) return fail(std::move(goes_on.error()));
    if (!*goes_on) return {};
  }
}

}  // namespace orchid::executor
