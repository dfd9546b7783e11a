#include "orchid/invocation.h"

#include <algorithm>
#include <thread>

#include "api/documents.h"
#include "api/session.h"
#include "foundation/percent_encoding.h"
#include "http/problem.h"

namespace orchid {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds longest_poll{30'000};
constexpr milliseconds restart_patience = sdk::Session::restart_patience;
constexpr milliseconds restart_pause = sdk::Session::restart_pause;

std::string invocation_path(const std::string& id) {
  return "/v1/invocations/" + percent_encode(id);
}

}  // namespace

InvocationStatus Invocation::status() const {
  return sdk::parse_invocation(session_->get(invocation_path(id_)).text());
}

InvocationStatus Invocation::wait(milliseconds timeout) const {
  const auto start = std::chrono::steady_clock::now();
  auto last_answer = start;
  while (true) {
    const auto now = std::chrono::steady_clock::now();
    const auto left = std::chrono::ceil<milliseconds>(start + timeout - now);
    const auto poll = std::clamp(left, milliseconds(0), longest_poll);
    const std::string target =
        invocation_path(id_) + "?wait=" + std::to_string(poll.count()) + "ms";
    try {
      auto status =
          sdk::parse_invocation(session_->get(target, poll + sdk::Session::answer_grace).text());
      if (status.finished() || poll >= left) return status;
      last_answer = std::chrono::steady_clock::now();
    } catch (const Error& error) {
      // The invocation outlives a restart of the gateway, and so does whoever waits for it.
      const bool may_come_back = error.http_status() == 0 && error.kind() == ErrorKind::unreachable;
      if (!may_come_back || now - last_answer > restart_patience || left <= restart_pause) throw;
      std::this_thread::sleep_for(restart_pause);
    }
  }
}

Reply Invocation::output(milliseconds timeout) const {
  const InvocationStatus status = wait(timeout);
  if (!status.finished())
    throw Error({.kind = ErrorKind::timed_out,
                 .message = "the invocation is still " + status.state,
                 .hint = "wait longer, or cancel it",
                 .function = status.function,
                 .invocation = id_});
  if (status.outcome != "ok") throw sdk::error_from_status(status);
  return sdk::make_reply(
      session_->get(invocation_path(id_) + "/output", sdk::Session::longest_answer), id_);
}

InvocationLog Invocation::log() const {
  return sdk::make_log(session_->get(invocation_path(id_) + "/logs"));
}

void Invocation::cancel() const {
  (void)session_->request({.method = "DELETE", .target = invocation_path(id_)});
}

}  // namespace orchid
