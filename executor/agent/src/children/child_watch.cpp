#include "children/child_watch.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <boost/asio/post.hpp>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

namespace orchid::executor {
namespace {

std::optional<ChildEvent> event_of(const siginfo_t& info) {
  switch (info.si_code) {
    case CLD_EXITED:
      return ChildEvent{ChildEvent::Kind::exited, info.si_status};
    case CLD_KILLED:
    case CLD_DUMPED:
      return ChildEvent{ChildEvent::Kind::killed, info.si_status};
    case CLD_STOPPED:
      return ChildEvent{ChildEvent::Kind::stopped, info.si_status};
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string describe(const ChildEvent& event) {
  switch (event.kind) {
    case ChildEvent::Kind::exited:
      return fmt::format("exited with status {}", event.value);
    case ChildEvent::Kind::killed:
      return fmt::format("killed by signal {} ({})", event.value, ::strsignal(event.value));
    default:
      return fmt::format("stopped by signal {} ({})", event.value, ::strsignal(event.value));
  }
}

ChildWatch::ChildWatch(boost::asio::io_context& io) : signals_(io, SIGCHLD) { wait_for_signal(); }

void ChildWatch::wait_for_signal() {
  signals_.async_wait([this](const boost::system::error_code& error, int) {
    if (error) return;
    wait_for_signal();
    collect();
  });
}

void ChildWatch::forget(pid_t pid) {
  if (handlers_.erase(pid) != 0 && early_.erase(pid) == 0) forgotten_.insert(pid);
}

void ChildWatch::watch(pid_t pid, Handler handler) {
  handlers_[pid] = std::move(handler);
  if (early_.contains(pid)) boost::asio::post(signals_.get_executor(), [this] { collect(); });
}

std::vector<pid_t> ChildWatch::pids() const {
  std::vector<pid_t> pids;
  for (const auto& [pid, handler] : handlers_) pids.push_back(pid);
  return pids;
}

void ChildWatch::collect() {
  for (auto& [pid, event] : std::exchange(early_, {})) {
    if (auto node = handlers_.extract(pid); !node.empty())
      node.mapped()(event);
    else
      early_.emplace(pid, event);
  }
  while (true) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | __WALL) != 0 || info.si_pid == 0)
      return;
    const auto event = event_of(info);
    if (!event) continue;
    const bool ended = event->kind != ChildEvent::Kind::stopped;
    const auto found = handlers_.find(info.si_pid);
    if (found == handlers_.end()) {
      if (ended && forgotten_.erase(info.si_pid) == 0) early_.emplace(info.si_pid, *event);
      continue;
    }
    const Handler handler = found->second;  // it may forget itself
    if (ended) handlers_.erase(found);
    handler(*event);
  }
}

}  // namespace orchid::executor
