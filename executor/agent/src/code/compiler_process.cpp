#include "code/compiler_process.h"

#include <signal.h>
#include <sys/resource.h>

#include <utility>

#include "foundation/log.h"

namespace orchid::executor {
namespace {
constexpr unsigned attempt_limit = 2;
/// A sixth of the share that a process of ours has which wants the same core.
constexpr int improver_nice = 8;
constexpr int improver_patience = 6;
}  // namespace

CompilerProcess::Options improver_options(CompilerProcess::Options compiler) {
  compiler.nice = improver_nice;
  compiler.time_limit *= improver_patience;
  return compiler;
}

CompilerProcess::CompilerProcess(boost::asio::io_context& io, ChildWatch& children, Options options,
                                 std::function<void(const CompilerReady&)> on_ready)
    : io_(io),
      children_(children),
      options_(std::move(options)),
      on_ready_(std::move(on_ready)),
      timer_(io),
      retry_timer_(io) {}

CompilerProcess::~CompilerProcess() {
  if (pid_ <= 0) return;
  children_.forget(pid_);
  ::kill(pid_, SIGKILL);
}

void CompilerProcess::start() {
  if (paused_ || pid_ > 0) return;
  auto started = start_child(options_.program, {"--serve", "3"},
                             {.scheduling = options_.scheduling, .environment = {}});
  if (!started) {
    log::error("event=compiler_start_failed reason=\"{}\"", started.error().message);
    return ended({});
  }
  pid_ = started->process.release();  // reaped by the watch
  if (options_.nice != 0)
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(pid_),
                  ::getpriority(PRIO_PROCESS, 0) + options_.nice);
  children_.watch(pid_, [this](const ChildEvent& event) { ended(event); });
  channel_ = std::make_unique<PacketChannel>(
      io_, std::move(started->control),
      PacketChannel::Handlers{[this](Packet& packet) { from_compiler(packet); }, [] {}});
  limit(options_.start_limit);
}

void CompilerProcess::stop() {
  stopped_ = true;
  retry_timer_.cancel();
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

void CompilerProcess::pause() {
  paused_ = true;
  retry_timer_.cancel();
  if (pid_ < 0) return;
  put_down_ = true;
  ::kill(pid_, SIGKILL);
}

void CompilerProcess::resume() {
  if (std::exchange(paused_, false) && !stopped_) start();
}

/// A process that takes longer than `time` from now is killed, and comes to `ended`.
void CompilerProcess::limit(std::chrono::milliseconds time) {
  timer_.expires_after(time);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error || pid_ <= 0) return;
    timed_out_ = true;
    ::kill(pid_, SIGKILL);
  });
}

void CompilerProcess::ended(const ChildEvent& event) {
  if (event.kind == ChildEvent::Kind::stopped) {
    ::kill(pid_, SIGKILL);
    return;
  }
  if (stopped_) {
    pid_ = -1;
    timer_.cancel();
    return;
  }
  if (std::exchange(put_down_, false)) {
    if (busy_) --jobs_.front().attempts;  // that one was not the module's fault
    timer_.cancel();
    pid_ = -1;
    channel_.reset();
    ready_ = busy_ = timed_out_ = false;
    return start();
  }
  log::warn("event=compiler_lost pid={} what=\"{}\"", pid_, describe(event));
  timer_.cancel();
  pid_ = -1;
  channel_.reset();
  ready_ = false;
  ++restarts_;
  if (busy_ && jobs_.front().attempts >= attempt_limit) {
    finish(fail(ErrorCode::module_rejected,
                timed_out_ ? "compiling the module takes longer than this host allows"
                           : "the module makes the compiler crash: " + describe(event)));
  }
  busy_ = false;
  timed_out_ = false;
  retry_timer_.expires_after(ends_.ended(std::chrono::steady_clock::now()).value());
  retry_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) start();
  });
}

void CompilerProcess::compile(UniqueFd module, CompileTier tier, Done done) {
  jobs_.push_back({std::move(module), tier, std::move(done)});
  next();
}

void CompilerProcess::next() {
  if (!ready_ || busy_ || jobs_.empty()) return;
  Job& job = jobs_.front();
  ++job.attempts;
  busy_ = true;
  limit(options_.time_limit);
  if (auto sent = channel_->send(encode(CompilerMessage(CompileRequest{next_id_++, job.tier})),
                                 {job.module.get()});
      !sent)
    ::kill(pid_, SIGKILL);
}

void CompilerProcess::finish(Result<Compiled> result) {
  Job job = std::move(jobs_.front());
  jobs_.pop_front();
  busy_ = false;
  timer_.cancel();
  job.done(std::move(result));
}

void CompilerProcess::from_compiler(Packet& packet) {
  auto message = parse_compiler_message(packet.text);
  if (!message) {
    log::error("event=bad_message from=compiler reason=\"{}\"", message.error().message);
    ::kill(pid_, SIGKILL);
    return;
  }
  if (const auto* target = std::get_if<CompilerReady>(&*message)) {
    timer_.cancel();
    ready_ = true;
    target_ = *target;
    on_ready_(*target);
  } else if (const auto* compiled = std::get_if<CompiledCode>(&*message);
             compiled != nullptr && busy_ && packet.descriptors.size() == 1) {
    ends_.runs_well();
    finish(Compiled{std::move(packet.descriptors.front()), compiled->tier, compiled->compile_us});
  } else if (const auto* failed = std::get_if<CompileFailed>(&*message);
             failed != nullptr && busy_) {
    finish(fail(failed->code, failed->message));
  }
  next();
}

}  // namespace orchid::executor
