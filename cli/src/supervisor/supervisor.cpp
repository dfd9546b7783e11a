#include "supervisor/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "foundation/json_document.h"
#include "foundation/pipe.h"

namespace orchid::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// The loop turns at least this often, so that a much longer pause means that we ourselves were
/// stopped.
constexpr milliseconds longest_round{1000};
constexpr milliseconds suspicious_pause{3000};

Result<UniqueFd> open_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGCHLD}) ::sigaddset(&set, number);
  struct sigaction hang_up{};
  // Under nohup it is ignored; a signalfd would see it nevertheless.
  if (::sigaction(SIGHUP, nullptr, &hang_up) != 0 || hang_up.sa_handler != SIG_IGN)
    ::sigaddset(&set, SIGHUP);
  ::signal(SIGCHLD, SIG_DFL);
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return fail_errno("sigprocmask");
  UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return fail_errno("signalfd");
  ::signal(SIGPIPE, SIG_IGN);  // whoever read our output may have gone
  return fd;
}

/// The first restart is at once; what goes on ending will not get better.
constexpr processes::RestartPolicy restart_policy{.at_once = 1,
                                                  .first_pause = milliseconds(100),
                                                  .longest_pause = milliseconds(2000),
                                                  .window = std::chrono::seconds(10),
                                                  .enough = 5};

Failure with_advice(const std::string& name, const std::string& what) {
  return {
      ErrorCode::internal,
      name + " " + what + "; its last lines above say why, and 'orchid doctor' looks for causes"};
}

/// Of the time that the gateway has to end, what it may wait for running calls.
milliseconds drain_time(milliseconds grace) {
  return std::max(grace - milliseconds(1000), milliseconds(100));
}

}  // namespace

std::optional<GatewayReady> parse_gateway_ready(std::string_view text) {
  const JsonDocument document(text);
  const JsonObject o = document.root();
  GatewayReady ready{.urls = o.texts("urls"),
                     .door = o.optional().text("door"),
                     .token_file = o.text("token_file")};
  std::erase_if(ready.urls, [](const std::string& url) { return !url.starts_with("http"); });
  if (!document.finish() || ready.urls.empty()) return std::nullopt;
  return ready;
}

std::string listen_address_of(const std::string& url) {
  const auto scheme = url.find("://");
  std::string address = scheme == std::string::npos ? url : url.substr(scheme + 3);
  while (address.ends_with('/')) address.pop_back();
  return address;
}

Result<Supervisor> Supervisor::create(SupervisorOptions options, SupervisorEvents events) {
  auto notify = NotifySocket::open(options.runtime);
  if (!notify)
    return fail(std::move(notify.error()).while_doing("opening the notification socket"));
  auto signals = open_signals();
  if (!signals) return fail(std::move(signals.error()));
  return Supervisor(std::move(options), std::move(events), std::move(*notify), std::move(*signals));
}

Supervisor::Supervisor(SupervisorOptions options, SupervisorEvents events, NotifySocket notify,
                       UniqueFd signals)
    : options_(std::move(options)),
      events_(std::move(events)),
      notify_(std::move(notify)),
      signals_(std::move(signals)),
      listen_(options_.listen),
      door_(options_.door),
      health_(options_.runtime / "gateway.sock"),
      last_round_(steady_clock::now()),
      gateway_{.name = "orchid-gateway",
               .process = {},
               .restarts = processes::Restarts(restart_policy),
               .liveness = Liveness(options_.longest_silence)},
      executor_{.name = "orchid-executor",
                .process = {},
                .restarts = processes::Restarts(restart_policy),
                .liveness = Liveness(options_.longest_silence)} {}

Result<void> Supervisor::run() {
  owner_.assert_current();
  auto result = supervise();
  // The executor lasts until the gateway has finished what runs.
  stop_child(gateway_, options_.gateway_grace);
  stop_child(executor_, options_.executor_grace);
  // What was killed has left its socket, and nobody else uses this folder: we have its lock.
  for (const char* socket : {"gateway.sock", "lanes.sock"}) {
    std::error_code gone;
    std::filesystem::remove(options_.runtime / socket, gone);
  }
  remove_gateway_file(options_.runtime);
  remove_gateway_file(options_.state / "gateway");  // the gateway's own, if it was killed
  return result;
}

Result<void> Supervisor::supervise() {
  if (auto started = start(gateway_); !started) return started;
  while (stop_requests_ == 0) {
    wait_for_events();
    const MonotonicTime now = steady_clock::now();
    excuse_silence(now);
    take_notifications(now);
    take_health(now);
    take_signals();
    if (auto taken = take_addresses(); !taken) return taken;
    for (Child* child : {&gateway_, &executor_}) {
      if (auto reaped = reap(*child, now); !reaped) return reaped;
      if (auto looked = look_after(*child, now); !looked) return looked;
    }
    if (auto announced = announce_when_ready(); !announced) return announced;
  }
  return {};
}

void Supervisor::excuse_silence(MonotonicTime now) {
  if (const auto absence = now - last_round_; absence > suspicious_pause) {
    for (Child* child : {&gateway_, &executor_}) {
      child->liveness.excuse(absence);
      child->stopped_since.reset();
    }
  }
  last_round_ = now;
}

Result<processes::ProgramStart> Supervisor::gateway_start() {
  auto ready = make_pipe();
  if (!ready) return fail(std::move(ready.error()));
  ready_pipe_ = std::move(ready->reader);
  ::fcntl(ready_pipe_.get(), F_SETFL, O_NONBLOCK);
  ready_writer_ = std::move(ready->writer);
  const int writer = ready_writer_.get();
  ready_text_.clear();
  gateway_ready_ = {};
  processes::ProgramStart program{
      .program = options_.programs / "orchid-gateway",
      .arguments = {"--state", options_.state / "gateway", "--drain-time",
                    std::to_string(drain_time(options_.gateway_grace).count()) + "ms", "--socket",
                    options_.runtime / "gateway.sock", "--ready-fd", std::to_string(writer)},
      .descriptors = {{.from = writer, .as = writer}}};
  if (!listen_.empty())
    program.arguments.insert(program.arguments.end(),
                             {"--listen", fmt::format("{}", fmt::join(listen_, ","))});
  if (!door_.empty()) program.arguments.insert(program.arguments.end(), {"--door-listen", door_});
  if (!options_.gateway_config.empty())
    program.arguments.insert(program.arguments.end(), {"--config", options_.gateway_config});
  return program;
}

processes::ProgramStart Supervisor::executor_start() const {
  processes::ProgramStart program{
      .program = options_.programs / "orchid-executor",
      .arguments = {"--gateway", "unix:" + (options_.runtime / "gateway.sock").string(),
                    "--runtime", options_.runtime, "--state", options_.state / "executor"}};
  if (!options_.lane_listen.empty())
    program.arguments.insert(program.arguments.end(), {"--lane-listen", options_.lane_listen});
  if (!options_.lane_fabric.empty())
    program.arguments.insert(program.arguments.end(), {"--lane-fabric", options_.lane_fabric});
  std::ranges::copy(options_.executor_arguments, std::back_inserter(program.arguments));
  return program;
}

Result<void> Supervisor::start(Child& child) {
  child.start_at.reset();
  child.ready = false;
  child.stopped_since.reset();
  child.liveness = Liveness(options_.longest_silence);
  child.started = steady_clock::now();
  const bool is_gateway = &child == &gateway_;
  auto program = is_gateway ? gateway_start() : Result<processes::ProgramStart>(executor_start());
  if (!program) return fail(std::move(program.error()));
  program->environment = processes::environment_with(
      {"NOTIFY_SOCKET=" + notify_.address(),
       fmt::format("WATCHDOG_USEC={}",
                   std::chrono::microseconds(options_.longest_silence).count())});
  program->group = processes::ProcessGroup::own;  // the terminal's Ctrl-C reaches only us
  program->dies_with_us = true;
  auto process = processes::ChildProcess::start(*program);
  ready_writer_.reset();
  if (process) {
    child.process.emplace(std::move(*process));
    return {};
  }
  if (child.was_ever_ready)
    return lost(child, "could not be started", process.error().message, child.started);
  return fail(ErrorCode::internal, child.name + " could not start (" + process.error().message +
                                       "); 'orchid doctor' looks for causes");
}

int Supervisor::poll_timeout(MonotonicTime now) const {
  auto next = now + longest_round;
  if (gateway_.ready) next = std::min(next, health_.due());
  for (const Child* child : {&gateway_, &executor_}) {
    if (child->start_at) next = std::min(next, *child->start_at);
    if (const auto due = child->liveness.due()) next = std::min(next, *due + milliseconds(1));
    if (child->stopped_since) next = std::min(next, *child->stopped_since + options_.longest_stop);
  }
  return static_cast<int>(
      std::max(std::chrono::ceil<milliseconds>(next - now), milliseconds(0)).count());
}

void Supervisor::wait_for_events() {
  std::array<pollfd, 4> descriptors{{{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                                     {.fd = notify_.descriptor(), .events = POLLIN, .revents = 0},
                                     {.fd = ready_pipe_.get(), .events = POLLIN, .revents = 0},
                                     {.fd = health_.descriptor(), .events = POLLIN, .revents = 0}}};
  (void)::poll(descriptors.data(), descriptors.size(), poll_timeout(steady_clock::now()));
}

void Supervisor::take_notifications(MonotonicTime now) {
  while (auto message = notify_.receive()) {
    for (Child* child : {&gateway_, &executor_}) {
      if (!child->process || child->process->pid() != message->sender) continue;
      if (message->notification.alive) child->liveness.heard(now);
      if (message->notification.ready) child->ready = child->was_ever_ready = true;
    }
  }
}

void Supervisor::take_health(MonotonicTime now) {
  if (!gateway_.process || !gateway_.ready) {
    health_.forget();
  } else if (health_.turn(now)) {
    gateway_.liveness.heard(now);
  }
}

void Supervisor::take_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info)))
    if (info.ssi_signo != SIGCHLD) ++stop_requests_;
}

Result<void> Supervisor::take_addresses() {
  if (!ready_pipe_) return {};
  std::array<char, 4096> text{};
  while (true) {
    const ssize_t got = ::read(ready_pipe_.get(), text.data(), text.size());
    if (got > 0) {
      ready_text_.append(text.data(), static_cast<std::size_t>(got));
      if (ready_text_.size() > 64 * 1024)
        return fail(with_advice(gateway_.name, "wrote something unexpected to its ready pipe"));
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    // It has closed the pipe, or has written a whole line and may keep it.
    if (got == 0 || ready_text_.ends_with('\n')) note_gateway_ready();
    if (got == 0) ready_pipe_.reset();
    return {};
  }
}

void Supervisor::note_gateway_ready() {
  auto ready = parse_gateway_ready(ready_text_);
  ready_text_.clear();
  if (!ready) return;  // it has failed, and ends
  gateway_ready_ = std::move(*ready);
  gateway_.ready = gateway_.was_ever_ready = true;
  gateway_.liveness.heard(steady_clock::now());
}

Result<void> Supervisor::reap(Child& child, MonotonicTime now) {
  if (!child.process) return {};
  const auto end = child.process->reap();
  if (!end) return {};
  child.process.reset();
  // What cannot start at all will not start the fifth time either.
  if (end->signal == 0 && !child.was_ever_ready)
    return fail(with_advice(child.name, "could not start (" + describe(*end) + ")"));
  return lost(child, "ended", describe(*end), now);
}

Result<void> Supervisor::lost(Child& child, std::string_view what, const std::string& how,
                              MonotonicTime now) {
  // A gateway that fails before it is ready may have found its old port taken.
  if (&child == &gateway_ && !child.ready) {
    listen_ = options_.listen;
    door_ = options_.door;
  }
  child.ready = false;
  child.stopped_since.reset();
  child.liveness = Liveness(options_.longest_silence);
  const auto pause = child.restarts.ended(now);
  if (!pause) return fail(with_advice(child.name, "ended 5 times within 10 s (last: " + how + ")"));
  child.start_at = now + *pause;
  events_.trouble(fmt::format("{} {} ({}); starting it again", child.name, what, how));
  return {};
}

Result<void> Supervisor::look_after(Child& child, MonotonicTime now) {
  // The executor's first start waits for the gateway; later they come and go independently.
  const bool is_first_executor = &child == &executor_ && !child.process && !child.start_at;
  if (is_first_executor && gateway_.ready) return start(child);
  if (child.start_at && now >= *child.start_at) return start(child);
  if (child.process) end_if_useless(child, now);
  return {};
}

void Supervisor::end_if_useless(Child& child, MonotonicTime now) {
  if (!child.process->is_stopped()) {
    child.stopped_since.reset();
  } else if (!child.stopped_since) {
    child.stopped_since = now;  // whoever stopped us all together lets us all go on together
  }
  std::string reason;
  if (child.stopped_since && now - *child.stopped_since >= options_.longest_stop) {
    reason = "was stopped by a signal";
  } else if (child.liveness.is_silent(now)) {
    reason = fmt::format("has given no sign of life for {} s", options_.longest_silence.count());
  } else if (!child.ready && now - child.started > options_.longest_start) {
    reason = fmt::format("was not ready within {} s", options_.longest_start.count());
  }
  if (reason.empty()) return;
  events_.trouble(
      fmt::format("{} (pid {}) {}; killing it", child.name, child.process->pid(), reason));
  child.process->send_signal(SIGKILL);
  child.liveness = Liveness(options_.longest_silence);
  child.stopped_since.reset();
  child.started = now;
}

Result<void> Supervisor::announce_when_ready() {
  const std::vector<std::string>& urls = gateway_ready_.urls;
  if (!gateway_.ready || !executor_.ready || urls.empty() || urls == announced_) return {};
  const GatewayFile file{.addresses = urls,
                         .door = gateway_ready_.door,
                         .socket = options_.runtime / "gateway.sock",
                         .token_file = gateway_ready_.token_file,
                         .state = options_.state,
                         .version = ORCHID_VERSION,
                         .pid = ::getpid()};
  if (auto written = write_gateway_file(options_.runtime, file); !written)
    return fail(std::move(written.error()).while_doing("writing gateway.json"));
  announced_ = urls;
  listen_.clear();  // a restarted gateway is found where the first one was
  for (const std::string& address : urls) listen_.push_back(listen_address_of(address));
  if (!gateway_ready_.door.empty()) door_ = listen_address_of(gateway_ready_.door);
  events_.ready(file);
  return {};
}

void Supervisor::stop_child(Child& child, std::chrono::seconds grace) {
  if (!child.process) return;
  const auto end = steady_clock::now() + grace;
  child.process->send_signal(SIGCONT);  // a stopped one cannot end in order
  child.process->send_signal(SIGTERM);
  const int asked = stop_requests_;
  while (!child.process->reap()) {
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    if (left.count() <= 0 || stop_requests_ > std::max(asked, 1)) {
      events_.trouble(fmt::format("{} did not exit when it was told to; killing it", child.name));
      break;  // the end of the process object kills and reaps
    }
    pollfd signals{.fd = signals_.get(), .events = POLLIN, .revents = 0};
    (void)::poll(&signals, 1, static_cast<int>(left.count()));
    take_signals();
  }
  child.process.reset();
}

}  // namespace orchid::cli
