#include "code/compiler_pool.h"

#include <fmt/format.h>
#include <signal.h>

#include <boost/asio/post.hpp>
#include <utility>

#include "foundation/log.h"

namespace orchid::executor {
namespace {

constexpr unsigned attempt_limit = 2;
/// Of a core that a process of ours wants, too: a sixth, a tenth, and next to nothing.
constexpr int better_nice = 8;
constexpr int late_nice = 10;
constexpr int last_nice = 19;

/// What calls wait for gets on also where all cores are busy.
int nice_of(CompileRank rank, CompileRank purpose) {
  if (rank == CompileRank::calls) return 0;
  if (rank == CompileRank::better) return better_nice;
  return purpose == CompileRank::calls ? late_nice : last_nice;
}

std::string what_it_has(ByteCount size, const CompilerProcess::Figures& figures) {
  std::string text = "the module has " + to_string(size) + " of bitcode";
  if (figures)
    text += fmt::format(" (functions: {}, branches: {}, at most in one function: {})",
                        figures->functions, figures->branches, figures->most_branches);
  return text;
}

}  // namespace

CompilerPool::CompilerPool(boost::asio::io_context& io, ChildWatch& children, Options options,
                           std::function<void(const CompilerReady&)> on_ready)
    : io_(io),
      children_(children),
      options_(std::move(options)),
      on_ready_(std::move(on_ready)),
      schedule_(options_.schedule),
      timer_(io) {}

void CompilerPool::stop() {
  stopped_ = true;
  timer_.cancel();
  for (auto& [number, entry] : processes_) entry.process->kill();
}

void CompilerPool::pause(bool paused) {
  schedule_.pause(paused);
  pump();
}

void CompilerPool::compile(Request request, Done done) {
  const auto job = schedule_.add(request.tenant, request.purpose, request.size,
                                 std::chrono::steady_clock::now());
  jobs_[job] = {.request = std::move(request), .done = std::move(done)};
  pump();
}

/// Who is told of a result may ask for more.
void CompilerPool::pump() {
  if (stopped_) return;
  if (std::exchange(pumping_, true)) {
    pump_again_ = true;
    return;
  }
  do {
    pump_again_ = false;
    for (const auto& action : schedule_.decide(std::chrono::steady_clock::now())) obey(action);
  } while (pump_again_);
  pumping_ = false;
  set_timer();
}

void CompilerPool::set_timer() {
  const MonotonicTime due = schedule_.due();
  if (due == MonotonicTime::max()) return static_cast<void>(timer_.cancel());
  timer_.expires_at(due);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) pump();
  });
}

void CompilerPool::obey(const CompileSchedule::Action& action) {
  using Kind = CompileSchedule::Action::Kind;
  if (action.kind == Kind::start) return start_process(action);
  Entry& entry = processes_.at(action.process);
  if (action.kind == Kind::run) {
    Job& job = jobs_.at(action.job);
    ++job.attempts;
    entry.job = action.job;
    entry.process->compile(
        job.request.module.get(),
        {.tier = job.request.tier, .gpu = job.request.gpu, .constants = job.request.constants});
  } else if (action.kind == Kind::defer) {
    entry.rank = action.rank;
    entry.process->give_way(nice_of(action.rank, action.purpose));
  } else {
    entry.put_down = true;
    entry.process->kill();
  }
}

void CompilerPool::start_process(const CompileSchedule::Action& action) {
  const auto number = action.process;
  Entry& entry = processes_[number];
  entry.rank = action.rank;
  entry.process = std::make_unique<CompilerProcess>(
      io_, children_, options_.process,
      CompilerProcess::Handlers{
          [this, number](const CompilerReady& target) {
            if (!target_) target_ = target;  // one machine: later ones say the same
            schedule_.ready(number, std::chrono::steady_clock::now());
            on_ready_(target);
            pump();
          },
          [this, number](Result<Compiled> result) { answered(number, std::move(result)); },
          [this, number](const ChildEvent& event) { ended(number, event); }});
  if (auto started = entry.process->start(nice_of(action.rank, action.purpose)); !started) {
    log::error("event=compiler_start_failed reason=\"{}\"", started.error().message);
    boost::asio::post(io_, [this, number] { ended(number, {}); });
  }
}

void CompilerPool::charge(const Entry& entry) const {
  if (const auto& spent = jobs_.at(entry.job).request.spent) spent(entry.process->worked());
}

void CompilerPool::answered(CompileSchedule::Process number, Result<Compiled> result) {
  if (stopped_ || processes_.at(number).job == 0) return;
  charge(processes_.at(number));
  if (!result && result.error().code == ErrorCode::compile_limit) {
    ++limits_;
    const Entry& entry = processes_.at(number);
    result.error().message +=
        "; " + what_it_has(jobs_.at(entry.job).request.size, entry.process->figures());
  }
  // Its answer was found after its end, which is told next: until then it may not get another job.
  const bool has_ended = processes_.at(number).process->has_ended();
  const auto job = jobs_.extract(std::exchange(processes_.at(number).job, 0));
  schedule_.finished(number, std::chrono::steady_clock::now());
  const bool pumping = std::exchange(pumping_, pumping_ || has_ended);
  job.mapped().done(std::move(result));
  pumping_ = pumping;
  if (!has_ended) pump();
}

void CompilerPool::ended(CompileSchedule::Process number, const ChildEvent& event) {
  const auto found = processes_.find(number);
  if (found == processes_.end()) return;
  const auto now = std::chrono::steady_clock::now();
  const Entry entry = std::move(found->second);
  processes_.erase(found);
  const bool over = entry.process->overrun() != CompilerProcess::Overrun::none;
  bool failed = false;
  if (!stopped_ && entry.job != 0) charge(entry);
  if (!stopped_ && (over || !entry.put_down)) {
    log::warn("event=compiler_lost job={} what=\"{}\"", entry.job, describe(event));
    ++restarts_;
    failed = entry.job != 0 && (over || jobs_.at(entry.job).attempts >= attempt_limit);
  } else if (entry.job != 0) {
    --jobs_.at(entry.job).attempts;
  }
  if (failed) schedule_.finished(number, now);
  schedule_.ended(number, now);
  if (failed) {
    const Failure why = failure_of(entry, event);
    if (why.code == ErrorCode::compile_limit) ++limits_;
    const auto job = jobs_.extract(entry.job);
    job.mapped().done(fail(why));
  }
  pump();
}

Failure CompilerPool::failure_of(const Entry& entry, const ChildEvent& event) const {
  const auto overrun = entry.process->overrun();
  const double limit = std::chrono::duration<double>(options_.process.time_limit).count();
  const std::string what = what_it_has(jobs_.at(entry.job).request.size, entry.process->figures());
  if (overrun == CompilerProcess::Overrun::processor_time)
    return {ErrorCode::compile_limit,
            fmt::format("compiling the module takes more than {:g} s of processor time; build it "
                        "with optimisation (-O2), or split it into smaller modules and smaller "
                        "functions; {}",
                        limit, what)};
  // What follows is not the module's fault.
  if (overrun == CompilerProcess::Overrun::time)
    return {ErrorCode::no_capacity,
            fmt::format("compiling the module has lasted {:g} s, in which this host had less than "
                        "{:g} s of processor time for it; {}",
                        limit * CompilerProcess::patience, limit, what)};
  if (event.kind == ChildEvent::Kind::stopped ||
      (event.kind == ChildEvent::Kind::killed && event.value == SIGKILL))
    return {ErrorCode::internal, "the compiler was ended from outside: " + describe(event)};
  return {ErrorCode::module_rejected, "the module makes the compiler crash: " + describe(event)};
}

pid_t CompilerPool::pid_of(CompileRank rank) const {
  for (const auto& [number, entry] : processes_)
    if (entry.rank == rank && !entry.put_down) return entry.process->pid();
  return -1;
}

void CompilerPool::count(std::map<std::string, std::uint64_t>& counters) const {
  counters["compiler_restarts"] = restarts_;
  counters["compilers"] = processes_.size();
  counters["compilations_waiting"] = schedule_.waiting();
  counters["compile_slices_over"] = schedule_.slices_over();
  counters["compile_limit"] = limits_;
}

}  // namespace orchid::executor
