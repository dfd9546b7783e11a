#include "inspect_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "foundation/files.h"
#include "foundation/log.h"
#include "foundation/sockets.h"
#include "inspect_child.h"
#include "jit/inspector.h"
#include "protocol/compiler_messages.h"
#include "protocol/limits.h"
#include "waiting.h"

namespace orchid::executor {
namespace {

using Clock = std::chrono::steady_clock;

/// Owned by the process's only thread. One child waits, forked and confined, for the next request;
/// the others are at work.
class InspectServer {
 public:
  InspectServer(int socket, const ModuleInspector& inspector)
      : socket_(socket), inspector_(inspector) {}

  int run() {
    prepare_spare();
    while (true) {
      // More requests wait in the socket when all places are taken.
      constexpr std::size_t most_running = 8;
      std::vector<pollfd> watched{
          {.fd = running_.size() < most_running ? socket_ : -1, .events = POLLIN, .revents = 0}};
      for (const Running& running : running_)
        watched.push_back({.fd = running.child->socket(), .events = POLLIN, .revents = 0});
      ::poll(watched.data(), watched.size(), timeout_ms());
      if (!collect_answers(watched)) return 0;
      if (watched[0].revents != 0 && !accept_request()) return 0;
      prepare_spare();
    }
  }

 private:
  struct Running {
    std::uint64_t id = 0;
    std::unique_ptr<InspectChild> child;
    Clock::time_point deadline;
  };

  void prepare_spare() {
    if (spare_ != nullptr) return;
    auto started = InspectChild::start(inspector_);
    if (started)
      spare_ = std::move(*started);
    else
      log::warn("event=fork_failed message=\"{}\"", started.error().message);
  }

  [[nodiscard]] int timeout_ms() const {
    if (running_.empty()) return -1;
    const auto first = std::ranges::min_element(running_, {}, &Running::deadline)->deadline;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now()).count();
    return static_cast<int>(std::max<std::chrono::milliseconds::rep>(left, 0));
  }

  /// False when the requester has gone. `watched[i + 1]` belongs to `running_[i]`.
  bool collect_answers(const std::vector<pollfd>& watched) {
    const auto now = Clock::now();
    bool connected = true;
    std::vector<Running> still_running;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      Running& running = running_[i];
      if (watched[i + 1].revents != 0) {
        connected = send(running.child->take_answer(running.id)) && connected;
      } else if (now >= running.deadline) {
        running.child.reset();  // stopped before the requester hears of it
        connected = send(InspectChild::timed_out(running.id)) && connected;
      } else {
        still_running.push_back(std::move(running));
      }
    }
    running_ = std::move(still_running);  // after its answer was sent, a child is reaped here
    return connected;
  }

  /// False when the requester has gone.
  bool accept_request() {
    const auto packet = receive_packet(socket_, false);
    if (!packet) return false;
    if (!packet->has_value()) return true;
    const auto message = parse_compiler_message((*packet)->text);
    const auto* request = message ? std::get_if<InspectRequest>(&*message) : nullptr;
    if (request == nullptr || (*packet)->descriptors.size() != 1)
      return send(InspectRejected{.id = 0,
                                  .code = ErrorCode::bad_request,
                                  .message = message ? "expected one 'inspect' with one descriptor"
                                                     : message.error().message});
    const int module = (*packet)->descriptors[0].get();
    if (spare_ == nullptr || !spare_->hand_over(module)) {
      // It could not confine itself, and its answer says why; or something has killed it, and the
      // next one will do.
      const auto answer = spare_ != nullptr ? spare_->read_answer(request->id) : std::nullopt;
      spare_.reset();
      if (answer) return send(*answer);
      prepare_spare();
      if (spare_ == nullptr || !spare_->hand_over(module))
        return send(InspectRejected{
            .id = request->id,
            .code = ErrorCode::no_capacity,
            .message = "the compiler cannot start a process; try again, and see `orchid doctor`"});
    }
    running_.push_back(
        {.id = request->id, .child = std::move(spare_), .deadline = Clock::now() + inspect_time});
    return true;
  }

  bool send(const CompilerMessage& message) {
    return send_packet(socket_, encode(message)).has_value();
  }

  int socket_;
  const ModuleInspector& inspector_;
  std::unique_ptr<InspectChild> spare_;
  std::vector<Running> running_;
};

Result<CompilerMessage> inspect_bytes(std::span<const std::byte> bytes) {
  const auto inspector = ModuleInspector::create();
  if (!inspector) return fail(inspector.error());
  const auto module = make_sealed_memory("orchid-module", bytes);
  if (!module) return fail(module.error());
  const auto child = InspectChild::start(**inspector);
  if (!child) return fail(child.error());
  // One that could not confine itself has ended, and its answer says why.
  static_cast<void>((*child)->hand_over(module->get()));
  if (!wait_readable((*child)->socket(), inspect_time)) return InspectChild::timed_out(0);
  return (*child)->take_answer(0);
}

}  // namespace

int run_inspect_server(int socket, int parent_pid) {
  const auto inspector = ModuleInspector::create();
  if (!inspector) {
    log::error("event=no_compiler message=\"{}\"", inspector.error().message);
    return 1;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent_pid) return 0;
  return InspectServer(socket, **inspector).run();
}

int inspect_file(const std::filesystem::path& path) {
  const auto bytes = read_file(path, limits::module_size);
  if (!bytes) {
    fmt::print(stderr, "orchid-compiler: {}\n", bytes.error().message);
    return 1;
  }
  const auto answer = inspect_bytes(*bytes);
  if (!answer) {
    fmt::print(stderr, "orchid-compiler: {}\n", answer.error().message);
    return 1;
  }
  if (const auto* rejected = std::get_if<InspectRejected>(&*answer)) {
    fmt::print(stderr, "orchid-compiler: {}: {}\n", path.string(), rejected->message);
    return 1;
  }
  fmt::print("{}\n", std::get<InspectedManifest>(*answer).manifest);
  return 0;
}

}  // namespace orchid::executor
