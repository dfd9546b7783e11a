#include "devices/gpu.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "foundation/log.h"
#include "foundation/visible_text.h"

namespace orchid::executor {
namespace {

/// Of a process that fails again and again: a driver may be installed meanwhile.
constexpr processes::RestartPolicy restarts{.at_once = 1,
                                            .first_pause = std::chrono::milliseconds(100),
                                            .longest_pause = std::chrono::seconds(15),
                                            .window = std::chrono::minutes(2)};
/// The same when there is no driver or no GPU, as before: that takes a person.
constexpr std::chrono::minutes pause_without_driver{2};
constexpr const char* being_started = "its device process is being started";

bool takes_a_person(DeviceFault fault) {
  return fault == DeviceFault::no_driver || fault == DeviceFault::no_device ||
         fault == DeviceFault::old_driver;
}

/// The first line of words that come from a driver, or from whatever says so.
std::string one_line(std::string_view words, std::size_t most) {
  std::string line = visible_text(words.substr(0, words.find('\n')));
  if (line.size() <= most) return line;
  const auto continues = [&line](std::size_t at) {
    return (static_cast<unsigned char>(line[at]) & 0xC0U) == 0x80U;
  };
  while (most > 0 && continues(most)) --most;
  line.resize(most);
  return line;
}

}  // namespace

Gpu::Gpu(boost::asio::io_context& io, ChildWatch& children, const DeviceProcess::Options& options,
         GpuCard card, OfferedGpu offered, std::function<void()> changed)
    : io_(io),
      children_(children),
      options_(options),
      card_(std::move(card)),
      offered_(std::move(offered)),
      changed_(std::move(changed)),
      failures_(restarts),
      restart_timer_(io),
      limit_(io),
      keep_(io),
      again_timer_(io) {
  offered_.fault = being_started;
}

Gpu::~Gpu() = default;

void Gpu::start() { start_process(); }

void Gpu::stop() {
  stopped_ = true;
  restart_timer_.cancel();
  limit_.end();
  keep_.end();
  again_timer_.cancel();
  request_.reset();
  if (process_) process_->put_down();
}

Gpu::Counters Gpu::counters() const {
  Counters all = counters_;
  all.launches += usage_.launches;
  all.kernel_us += usage_.kernel_us;
  all.long_sub_ranges += usage_.long_sub_ranges;
  return all;
}

void Gpu::start_process() {
  ready_ = false;
  ++counters_.starts;
  process_ = std::make_unique<DeviceProcess>(
      io_, children_, options_,
      DeviceProcess::Handlers{[this](const DeviceMessage& message) { told(message); },
                              [this] { lingers(); },
                              [this](const ChildEvent& event) { ended(event); }});
  auto started = process_->start(card_.name);
  if (started) return;
  process_.reset();
  set_fault(started.error().message);
  answer(fail(ErrorCode::unreachable, started.error().message));
  restart_after(failures_.ended(std::chrono::steady_clock::now()).value());
}

void Gpu::restart_after(std::chrono::milliseconds pause) {
  restart_timer_.expires_after(pause);
  restart_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && !stopped_) start_process();
  });
}

void Gpu::set_fault(std::string fault) {
  fault = one_line(fault, longest_fault);
  if (offered_.fault == fault) return;
  if (fault.empty())
    log::info("event=gpu_usable gpu={} model=\"{}\" architecture={}", offered_.index,
              offered_.model, architecture_);
  else
    log::warn("event=gpu_out_of_use gpu={} reason=\"{}\"", offered_.index, fault);
  offered_.fault = std::move(fault);
  changed_();
}

void Gpu::told(const DeviceMessage& message) {
  if (const auto* device = std::get_if<DeviceReady>(&message)) return ready(*device);
  if (const auto* loaded = std::get_if<KernelsLoaded>(&message))
    return kernels_answered(loaded->lane, loaded->module, loaded->generation, {});
  if (const auto* refused = std::get_if<KernelsRefused>(&message))
    return kernels_answered(refused->lane, refused->module, refused->generation,
                            refused->message.empty() ? "no reason given" : refused->message);
  if (const auto* over = std::get_if<DeviceLaneEnded>(&message)) return lane_ended(*over);
  if (const auto* words = std::get_if<DeviceEnded>(&message)) return said_last_words(*words);
  if (const auto* usage = std::get_if<DeviceUsage>(&message)) {
    usage_ = *usage;
    counters_.peak_memory = std::max(counters_.peak_memory, usage->peak_memory);
    counters_.peak_pinned = std::max(counters_.peak_pinned, usage->pinned);
    failures_.runs_well();
  }
}

void Gpu::ready(const DeviceReady& message) {
  ready_ = true;
  architecture_ = message.architecture;
  memory_ = message.memory / card_.sharers;
  if (offered_.model.empty()) offered_.model = one_line(message.model, longest_model);
  log::info(
      "event=device_ready gpu={} pid={} driver=\"{}\" model=\"{}\" memory_bytes={} start_us={}",
      offered_.index, pid(), message.driver, message.model, message.memory, message.start_us);
  set_fault({});
  advance();
}

DeviceLoss Gpu::loss_of(const ChildEvent& event) const {
  using Kind = DeviceLoss::Kind;
  if (const auto& words = process_->last_words()) return loss_of(*words);
  if (process_->started_too_slowly())
    return {.kind = Kind::lost,
            .message = fmt::format("its device process was not ready within {} s",
                                   options_.start_limit.count() / 1000)};
  const std::string what = describe(event);
  // The driver runs there: a kernel may make it crash. But nobody in there sends SIGKILL.
  if (event.kind == ChildEvent::Kind::killed && event.value != SIGKILL)
    return {.kind = Kind::crashed, .message = "the GPU's device process has ended: " + what};
  return {.kind = Kind::lost, .message = "the GPU's device process has ended: " + what};
}

DeviceLoss Gpu::loss_of(const DeviceEnded& words) {
  const bool crashed = words.fault == DeviceFault::crashed;
  return {.kind = crashed ? DeviceLoss::Kind::crashed : DeviceLoss::Kind::lost,
          .message = words.message};
}

/// A driver may take its time until the process has ended. Whose call it serves need not wait for
/// that, and nobody gets a GPU that has failed.
void Gpu::said_last_words(const DeviceEnded& words) {
  limit_.end();
  const DeviceLoss loss = loss_of(words);
  blame_loading(loss);
  if (const auto user = served_; user && user->lost && ends_call(loss, has_seat()))
    user->lost(loss);
  if (words.fault == DeviceFault::lost && !stopped_) fail_with(words.message);
}

/// A crash while the driver's compiler is at a module is that module's doing: no kernel runs then.
/// The next process loads the others.
void Gpu::blame_loading(const DeviceLoss& loss) {
  if (served_ && !loading_.empty() && loss.kind == DeviceLoss::Kind::crashed)
    refuse(loading_.front(), loss.message);
}

/// A call without a seat has not crashed anything: it gets one in the next process.
bool Gpu::ends_call(const DeviceLoss& loss, bool had_seat) {
  return had_seat || loss.kind != DeviceLoss::Kind::crashed;
}

/// Out of the offer until a new process has run its first kernel.
void Gpu::fail_with(const std::string& words) {
  if (offered_.fault.empty()) ++counters_.losses;
  set_fault(words);
}

void Gpu::lingers() {
  log::error("event=device_lingers gpu={} pid={}", offered_.index, pid());
  lingers_ = true;
  if (!stopped_)
    set_fault(fmt::format(
        "its device process {} was killed and does not end: the driver holds it, see dmesg",
        pid()));
  tell_vacated();  // nobody gets this GPU now; the lease's cores are free
}

void Gpu::tell_vacated() {
  for (const auto& done : std::exchange(vacated_, {})) done();
}

/// Of the process that has ended; whom it served.
std::shared_ptr<DeviceUser> Gpu::forget_process() {
  process_.reset();
  owner_.reset();
  loaded_.clear();
  loading_.clear();
  lane_ends_ = false;
  lingers_ = false;
  limit_.end();
  keep_.end();
  counters_.launches += usage_.launches;
  counters_.kernel_us += usage_.kernel_us;
  counters_.long_sub_ranges += usage_.long_sub_ranges;
  usage_ = {};
  return std::exchange(served_, nullptr);
}

void Gpu::ended(const ChildEvent& event) {
  const bool was_ready = std::exchange(ready_, false);
  const auto words = process_->last_words();
  // One that has said why it ends was not ended by us, although we may have wanted that, too.
  const bool ours = process_->was_put_down() && !words;
  const DeviceLoss loss = loss_of(event);
  const bool absent = words && takes_a_person(words->fault) &&
                      offered_.fault == one_line(words->message, longest_fault);
  const bool crashed = loss.kind == DeviceLoss::Kind::crashed;
  const bool was_loading = !loading_.empty();
  if (!ours) blame_loading(loss);
  const auto user = forget_process();
  const bool had_seat =
      user && user->worker->page().device_seat.exchange(no_device_seat) != no_device_seat;
  // Whyever we have ended it: a call that was at work in there waits for answers that do not come.
  // One that has no seat yet gets one in the next process.
  if (!stopped_ && user && user->lost &&
      (ours ? had_seat && user->is_using() : ends_call(loss, had_seat)))
    user->lost(loss);
  if (!stopped_ && !ours) {
    if (offered_.fault != one_line(loss.message, longest_fault))  // else it has been said
      log::warn("event=device_lost gpu={} reason=\"{}\"", offered_.index, loss.message);
    if (crashed) ++counters_.crashes;
    if (was_loading && !crashed && request_ && request_->user == user)
      answer(fail(ErrorCode::unreachable, loss.message));
    const bool failed = words && words->fault == DeviceFault::lost;
    if (failed || !was_ready) answer(fail(ErrorCode::unreachable, loss.message));
    if (failed)
      fail_with(loss.message);
    else if (!was_ready)
      set_fault(loss.message);
  }
  // Behind its fault: who hears that a lease is over gives its GPU to the next one.
  tell_vacated();
  if (stopped_) return;
  if (ours || (was_ready && crashed)) return start_process();
  const std::chrono::milliseconds pause = failures_.ended(std::chrono::steady_clock::now()).value();
  restart_after(absent ? pause_without_driver : pause);
}

}  // namespace orchid::executor
