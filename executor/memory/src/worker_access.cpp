#include "worker_access.h"

#include <poll.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

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
  /// False: it has hung up.
  [[nodiscard]] Result<bool> hear();

 private:
  [[nodiscard]] MemoryAnswer perform(const MemoryAccess& access, std::string_view bytes);
  [[nodiscard]] MemoryAnswer change(const MemoryAccess& access);
  void name_the_end(MemoryAnswer& answer);
  [[nodiscard]] static MemoryAnswer answer_of(const Result<void>& done) {
    return done ? MemoryAnswer{} : refusal_of(done.error());
  }

  MemoryClient& memory_;
  int worker_;
  const std::function<bool()>& lease_has_ended_;
  std::optional<bool> ended_;   // once it was asked
  std::vector<std::byte> got_;  // of the request's get
};

Result<bool> WorkerRequests::hear() {
  auto packet = receive_packet(worker_, /*wait=*/false);
  if (packet && !*packet) return true;
  if (!packet && has_hung_up(worker_)) return false;
  const auto access = packet && (*packet)->descriptors.empty()
                          ? parse_memory_access((*packet)->text)
                          : std::nullopt;
  if (!access) return fail(ErrorCode::bad_request, "a worker has sent what is no request");
  got_.clear();
  MemoryAnswer answer = perform(access->head, access->bytes);
  name_the_end(answer);
  answer.sequence = access->head.sequence;
  const bool brings_bytes = answer.verdict == MemoryVerdict::done;
  const std::string_view bytes{reinterpret_cast<const char*>(got_.data()), got_.size()};
  // One that asks without taking its answers is no worker of ours; one that has ended may do so.
  if (auto sent = send_packet(worker_, encode(answer, brings_bytes ? bytes : "")); !sent) {
    if (has_hung_up(worker_)) return false;
    return fail(std::move(sent.error()).while_doing("answering a worker"));
  }
  return true;
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

MemoryAnswer WorkerRequests::perform(const MemoryAccess& access, std::string_view bytes) {
  MemoryClient::Step step{.rows = {.offset = access.offset, .row = access.bytes}};
  switch (access.ask) {
    case MemoryAsk::put:
      step.source = std::as_bytes(std::span(bytes));
      return answer_of(memory_.run({&step, 1}));
    case MemoryAsk::get:
      got_.resize(access.bytes);
      step.target = got_;
      return answer_of(memory_.run({&step, 1}));
    case MemoryAsk::fence:
      return answer_of(memory_.fence());
    case MemoryAsk::fetch_add:
    case MemoryAsk::compare_swap:
      break;
  }
  return change(access);
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
  WorkerRequests requests(memory, sockets);
  while (true) {
    std::array waited{pollfd{.fd = sockets.worker, .events = POLLIN, .revents = 0},
                      pollfd{.fd = sockets.control, .events = POLLIN, .revents = 0}};
    const int ready = ::poll(waited.data(), waited.size(), static_cast<int>(longest_rest.count()));
    if (waited[1].revents != 0) return {};
    memory.look();
    if (ready <= 0 || waited[0].revents == 0) continue;
    const auto heard = requests.hear();
    if (!heard) return fail(heard.error());
    if (!*heard) return {};
  }
}

}  // namespace orchid::executor
