#include "code/compiler_process.h"

#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "foundation/log.h"

namespace orchid::executor {
namespace {

constexpr std::chrono::milliseconds limit_interval{100};

}  // namespace

CompilerProcess::CompilerProcess(boost::asio::io_context& io, ChildWatch& children, Options options,
                                 Handlers handlers)
    : io_(io),
      children_(children),
      options_(std::move(options)),
      handlers_(std::move(handlers)),
      limit_(io) {}

CompilerProcess::~CompilerProcess() {
  if (pid_ <= 0) return;
  children_.forget(pid_);
  ::kill(pid_, SIGKILL);
}

Result<void> CompilerProcess::start(int nice) {
  auto started = start_child(options_.program, {"--serve", "3"},
                             {.scheduling = options_.scheduling, .environment = {}});
  if (!started) return fail(std::move(started.error()));
  pid_ = started->process.release();  // reaped by the watch
  if (nice != 0) give_way(nice);
  children_.watch(pid_, [this](const ChildEvent& event) { happened(event); });
  channel_ = std::make_unique<PacketChannel>(
      io_, std::move(started->control),
      PacketChannel::Handlers{[this](Packet& packet) { from_compiler(packet); }, [] {}});
  limit_.begin(options_.start_limit, [this] { kill(); });
  return {};
}

void CompilerProcess::give_way(int nice) {
  if (pid_ > 0)
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(pid_), ::getpriority(PRIO_PROCESS, 0) + nice);
}

void CompilerProcess::kill() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

/// A compilation over its limit ends with its process.
void CompilerProcess::watch_limits() {
  limit_.begin(limit_interval, [this] {
    if (!busy_) return;
    if (processor_time() - used_before_ >= options_.time_limit)
      overrun_ = Overrun::processor_time;
    else if (std::chrono::steady_clock::now() - began_ >= options_.time_limit * patience)
      overrun_ = Overrun::time;
    if (overrun_ != Overrun::none) return kill();
    watch_limits();
  });
}

std::chrono::nanoseconds CompilerProcess::processor_time() const {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return {};
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

std::chrono::microseconds CompilerProcess::worked() const {
  const std::chrono::nanoseconds used =
      has_ended() ? std::chrono::nanoseconds(0) : processor_time() - used_before_;
  const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - began_;
  return std::chrono::duration_cast<std::chrono::microseconds>(
      std::min<std::chrono::nanoseconds>(used.count() > 0 ? used : passed, options_.time_limit));
}

void CompilerProcess::happened(const ChildEvent& event) {
  if (event.kind == ChildEvent::Kind::stopped) return kill();
  limit_.end();
  pid_ = -1;
  if (channel_) channel_->read_rest();
  channel_.reset();
  const auto ended = handlers_.ended;
  ended(event);
}

void CompilerProcess::compile(int module, const Wanted& wanted) {
  busy_ = true;
  figures_.reset();
  began_ = std::chrono::steady_clock::now();
  used_before_ = processor_time();
  watch_limits();
  const CompileRequest request{next_id_++, wanted.tier, wanted.gpu, wanted.constants};
  if (!channel_->send(encode(CompilerMessage(request)), {module})) kill();
}

void CompilerProcess::from_compiler(Packet& packet) {
  if (has_ended() && !busy_) return;  // only the answer that it was asked for counts then
  auto message = parse_compiler_message(packet.text);
  if (!message) {
    log::error("event=bad_message from=compiler reason=\"{}\"", message.error().message);
    return kill();
  }
  if (const auto* target = std::get_if<CompilerReady>(&*message)) {
    // It says so before it has read any module. Later it may be a module that speaks.
    if (std::exchange(said_ready_, true)) {
      log::error("event=bad_message from=compiler reason=\"it was ready before\"");
      return kill();
    }
    limit_.end();
    return handlers_.ready(*target);
  }
  if (!busy_) return;
  if (const auto* started = std::get_if<CompileStarted>(&*message)) {
    figures_ = *started;
  } else if (const auto* compiled = std::get_if<CompiledCode>(&*message);
             compiled != nullptr && packet.descriptors.size() == 1) {
    busy_ = false;
    limit_.end();
    handlers_.answered(
        Compiled{std::move(packet.descriptors.front()), compiled->tier, compiled->compile_us});
  } else if (const auto* failed = std::get_if<CompileFailed>(&*message)) {
    busy_ = false;
    limit_.end();
    handlers_.answered(fail(failed->code, failed->message));
  }
}

}  // namespace orchid::executor
