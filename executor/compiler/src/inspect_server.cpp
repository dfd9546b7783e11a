#include "inspect_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
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
#include "jit/ptx_generator.h"
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

/// A confined child that has been given the module; what it answers is read by `read`.
Result<void> with_child(std::span<const std::byte> bytes, std::string_view gpu,
                        const std::function<void(InspectChild&, bool in_time)>& read) {
  const auto inspector = ModuleInspector::create();
  if (!inspector) return fail(inspector.error());
  const auto module = make_sealed_memory("orchid-module", bytes);
  if (!module) return fail(module.error());
  const auto child = InspectChild::start(**inspector);
  if (!child) return fail(child.error());
  // One that could not confine itself has ended, and its answer says why.
  static_cast<void>(gpu.empty() ? (*child)->hand_over(module->get())
                                : (*child)->ask_for_ptx(module->get(), gpu));
  const auto time = gpu.empty() ? inspect_time : ptx_time;
  read(**child, wait_readable((*child)->socket(), time));
  return {};
}

int tell(std::string_view what) {
  fmt::print(stderr, "orchid-compiler: {}\n", what);
  return 1;
}

/// Prints what a child makes of a file; `gpu` is empty for its manifest.
int print_answer(const std::filesystem::path& path, std::string_view gpu) {
  const auto bytes = read_file(path, limits::module_size);
  if (!bytes) return tell(bytes.error().message);
  int status = 1;
  const auto asked = with_child(*bytes, gpu, [&](InspectChild& child, bool in_time) {
    const auto answer = in_time ? child.take_answer(0) : InspectChild::timed_out(0);
    if (const auto* rejected = std::get_if<InspectRejected>(&answer)) {
      status = tell(path.string() + ": " + rejected->message);
    } else if (const auto* inspected = std::get_if<InspectedManifest>(&answer)) {
      fmt::print("{}\n", inspected->manifest);
      status = 0;
    } else if (const auto text = MappedFile::map(child.ptx(), {.limit = limits::module_size});
               text) {
      fmt::print("{}", as_text(text->bytes()));
      status = 0;
    } else {
      status = tell(text.error().message);
    }
  });
  return asked ? status : tell(asked.error().message);
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

int inspect_file(const std::filesystem::path& path) { return print_answer(path, {}); }

int print_ptx(const std::filesystem::path& module, std::string_view gpu) {
  if (!is_known_gpu(gpu))
    return tell(
        fmt::format("'{}' is not a GPU that PTX can be made for, such as sm_75 or sm_90", gpu));
  return print_answer(module, gpu);
}

}  // namespace orchid::executor
