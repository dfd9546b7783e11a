#include "code/compile_schedule.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "children/own_program.h"

namespace orchid::executor {
namespace {

constexpr std::chrono::nanoseconds later_for_each_mebibyte = std::chrono::milliseconds(200);

std::size_t index_of(CompileRank rank) { return static_cast<std::size_t>(rank); }

}  // namespace

CompileSchedule::CompileSchedule(Options options)
    : options_(options), vain_starts_(child_restarts) {}

bool CompileSchedule::Account::waits() const {
  return std::ranges::any_of(waiting, [](const Queue& queue) { return !queue.empty(); });
}

CompileSchedule::Job CompileSchedule::add(Tenant tenant, CompileRank purpose, ByteCount size,
                                          MonotonicTime now) {
  Account& account = accounts_[tenant];
  // Whoever comes back has no claim to the time that he did not use.
  std::optional<std::chrono::nanoseconds> least;
  for (const auto& [other, its] : accounts_)
    if (other != tenant && its.waits()) least = std::min(least.value_or(its.used), its.used);
  if (!account.waits() && least) account.used = std::max(account.used, *least);
  const Job job = next_job_++;
  const auto later = later_for_each_mebibyte * static_cast<std::int64_t>(size.value) /
                     static_cast<std::int64_t>((1_MiB).value);
  jobs_[job] = {.tenant = tenant, .purpose = purpose, .late = false, .place = {now + later, job}};
  wait(job);
  return job;
}

void CompileSchedule::wait(Job job) {
  Waiter& waiter = jobs_.at(job);
  waiter.process = 0;
  const CompileRank rank = waiter.late ? CompileRank::late : waiter.purpose;
  accounts_[waiter.tenant].waiting[index_of(rank)].insert(waiter.place);
}

void CompileSchedule::ready(Process process, MonotonicTime now) {
  const auto found = processes_.find(process);
  if (found == processes_.end() || found->second.state != State::starting) return;
  ever_ready_ = true;
  found->second.state = State::idle;
  found->second.since = now;
}

void CompileSchedule::finished(Process process, MonotonicTime now) {
  const auto found = processes_.find(process);
  if (found == processes_.end() || found->second.job == 0) return;
  charge(now);
  jobs_.erase(std::exchange(found->second.job, 0));
  if (found->second.state == State::busy) {
    found->second.state = State::idle;
    found->second.since = now;
  }
}

void CompileSchedule::ended(Process process, MonotonicTime now) {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return;
  charge(now);
  const Compiler& compiler = found->second;
  // What ends of a module is no reason for others to wait: each is tried a few times, not for ever.
  if (!compiler.had_job && compiler.state != State::ending)
    start_from_ = now + vain_starts_.ended(now).value();
  const Job job = compiler.job;
  processes_.erase(found);
  if (job != 0) wait(job);
}

void CompileSchedule::charge(MonotonicTime now) {
  for (auto& [process, compiler] : processes_) {
    if (compiler.job == 0) continue;
    // A late one takes what nobody else wants, for as long as that lasts on a busy machine.
    if (compiler.rank != CompileRank::late)
      accounts_[*compiler.tenant].used += now - compiler.charged;
    compiler.charged = now;
  }
}

std::vector<CompileSchedule::Action> CompileSchedule::decide(MonotonicTime now) {
  actions_.clear();
  start_held_ = false;
  charge(now);
  if (paused_) {
    for (auto compiler = processes_.begin(); compiler != processes_.end(); ++compiler)
      if (compiler->second.state != State::ending) stop(compiler, now);
    return std::exchange(actions_, {});
  }
  end_slices(now);
  serve(CompileRank::calls, now);
  serve(CompileRank::better, now);
  serve_late(now);
  keep_ready(now);
  end_idle(now);
  forget_tenants();
  return std::exchange(actions_, {});
}

std::chrono::milliseconds CompileSchedule::slice_of(CompileRank rank) const {
  return rank == CompileRank::calls ? options_.slice : options_.better_slice;
}

/// One of that tenant and purpose: there are places for it.
bool CompileSchedule::may_be_late(Tenant tenant, CompileRank purpose) const {
  unsigned late = 0;
  for (const auto& [process, compiler] : processes_) {
    if (compiler.rank != CompileRank::late || compiler.state == State::ending) continue;
    ++late;
    if (compiler.tenant == tenant && compiler.purpose == purpose) return false;
  }
  return late < options_.most_late;
}

/// Somebody waits for what `except` has.
bool CompileSchedule::is_wanted(CompileRank rank, const Compiler& except) const {
  unsigned busy = 0;
  for (const auto& [process, compiler] : processes_)
    if (compiler.rank == rank && compiler.state == State::busy) ++busy;
  return std::ranges::any_of(accounts_, [&](const auto& entry) {
    const bool waits = !entry.second.waiting[index_of(rank)].empty();
    return waits && (entry.first == except.tenant || busy >= options_.at_once);
  });
}

void CompileSchedule::end_slices(MonotonicTime now) {
  std::vector<std::pair<CompileRank, Tenant>> replaced;
  for (auto entry = processes_.begin(); entry != processes_.end(); ++entry) {
    Compiler& compiler = entry->second;
    if (compiler.state != State::busy || compiler.rank == CompileRank::late ||
        now - compiler.since < slice_of(compiler.rank))
      continue;
    const bool goes_on = may_be_late(*compiler.tenant, compiler.purpose);
    if (!goes_on && !is_wanted(compiler.rank, compiler)) continue;
    ++slices_over_;
    jobs_.at(compiler.job).late = true;
    if (goes_on) {
      replaced.emplace_back(compiler.rank, *compiler.tenant);
      compiler.rank = CompileRank::late;
      actions_.push_back({.kind = Action::Kind::defer,
                          .process = entry->first,
                          .rank = CompileRank::late,
                          .purpose = compiler.purpose,
                          .job = compiler.job});
    } else {
      // It begins anew when there is a place for it: what it loses is one slice.
      stop(entry, now);
    }
  }
  // At once, so that nobody who comes later waits for a start.
  for (const auto& [rank, tenant] : replaced)
    if (find_compiler(rank, tenant) == processes_.end())
      start({.rank = rank, .purpose = rank, .tenant = tenant}, now);
}

/// Tenants who wait for that, those who have used least first.
std::vector<CompileSchedule::Tenant> CompileSchedule::by_use(CompileRank rank) const {
  std::vector<std::pair<std::chrono::nanoseconds, Tenant>> found;
  for (const auto& [tenant, account] : accounts_)
    if (!account.waiting[index_of(rank)].empty()) found.emplace_back(account.used, tenant);
  std::ranges::sort(found);
  std::vector<Tenant> tenants;
  for (const auto& [used, tenant] : found) tenants.push_back(tenant);
  return tenants;
}

/// His that is not busy, or else one that is nobody's.
CompileSchedule::Compilers::iterator CompileSchedule::find_compiler(CompileRank rank,
                                                                    Tenant tenant) {
  auto fresh = processes_.end();
  for (auto entry = processes_.begin(); entry != processes_.end(); ++entry) {
    const Compiler& compiler = entry->second;
    if (compiler.rank != rank ||
        (compiler.state != State::idle && compiler.state != State::starting))
      continue;
    if (compiler.tenant == tenant) return entry;
    if (!compiler.tenant && (fresh == processes_.end() || compiler.state == State::idle))
      fresh = entry;
  }
  return fresh;
}

void CompileSchedule::serve(CompileRank rank, MonotonicTime now) {
  unsigned busy = 0;
  unsigned starting = 0;
  std::set<Tenant> served;
  for (const auto& [process, compiler] : processes_) {
    if (compiler.rank != rank) continue;
    if (compiler.state == State::starting && compiler.tenant) ++starting;
    if (compiler.state != State::busy) continue;
    ++busy;
    served.insert(*compiler.tenant);
  }
  for (const Tenant tenant : by_use(rank)) {
    if (busy >= options_.at_once) return;
    if (served.contains(tenant)) continue;
    const auto compiler = find_compiler(rank, tenant);
    if (compiler == processes_.end()) {
      const Compiler his{.rank = rank, .purpose = rank, .tenant = tenant};
      if (starting < options_.at_once && start(his, now)) ++starting;
      continue;
    }
    compiler->second.tenant = tenant;
    if (compiler->second.state != State::idle) continue;
    run(compiler, accounts_[tenant].waiting[index_of(rank)].begin()->second, now);
    ++busy;
  }
}

void CompileSchedule::serve_late(MonotonicTime now) {
  for (const Tenant tenant : by_use(CompileRank::late)) {
    // A copy: those that run leave the queue.
    const Queue queue = accounts_[tenant].waiting[index_of(CompileRank::late)];
    for (const auto& [time, job] : queue) {
      const CompileRank purpose = jobs_.at(job).purpose;
      const auto his = std::ranges::find_if(processes_, [&](const auto& entry) {
        const Compiler& compiler = entry.second;
        return compiler.rank == CompileRank::late && compiler.tenant == tenant &&
               compiler.purpose == purpose && compiler.state == State::idle;
      });
      if (his != processes_.end())
        run(his, job, now);
      else if (may_be_late(tenant, purpose))
        start({.rank = CompileRank::late, .purpose = purpose, .tenant = tenant}, now);
    }
  }
}

/// One that the resident can use, of each rank; and before the first has ever started, anyone's.
void CompileSchedule::keep_ready(MonotonicTime now) {
  if (!options_.resident && ever_ready_) return;
  for (const CompileRank rank : {CompileRank::calls, CompileRank::better}) {
    const bool there = std::ranges::any_of(processes_, [&](const auto& entry) {
      const Compiler& compiler = entry.second;
      const bool usable =
          !compiler.tenant || !options_.resident || compiler.tenant == options_.resident;
      return compiler.rank == rank && compiler.state != State::ending && usable;
    });
    if (!there) start({.rank = rank, .purpose = rank, .tenant = std::nullopt}, now);
  }
}

bool CompileSchedule::is_kept(const Compiler& compiler) const {
  return !compiler.tenant || compiler.tenant == options_.resident;
}

void CompileSchedule::end_idle(MonotonicTime now) {
  for (auto entry = processes_.begin(); entry != processes_.end(); ++entry) {
    const Compiler& compiler = entry->second;
    if (compiler.state != State::idle) continue;
    // A late one cannot come forward again.
    const bool useless = compiler.rank == CompileRank::late;
    if (useless || (!is_kept(compiler) && now - compiler.since >= options_.idle)) stop(entry, now);
  }
}

void CompileSchedule::run(Compilers::iterator entry, Job job, MonotonicTime now) {
  Compiler& compiler = entry->second;
  Waiter& waiter = jobs_.at(job);
  assert(compiler.state == State::idle && compiler.tenant == waiter.tenant);
  accounts_[waiter.tenant].waiting[index_of(compiler.rank)].erase(waiter.place);
  waiter.process = entry->first;
  compiler.state = State::busy;
  compiler.had_job = true;
  vain_starts_.runs_well();
  compiler.job = job;
  compiler.since = compiler.charged = now;
  actions_.push_back(
      {.kind = Action::Kind::run, .process = entry->first, .rank = compiler.rank, .job = job});
}

void CompileSchedule::stop(Compilers::iterator entry, MonotonicTime now) {
  entry->second.state = State::ending;
  entry->second.since = now;
  actions_.push_back(
      {.kind = Action::Kind::stop, .process = entry->first, .rank = entry->second.rank});
}

/// Of those that are idle and not kept, the one that has been for longest ends.
void CompileSchedule::make_room(MonotonicTime now) {
  auto oldest = processes_.end();
  for (auto entry = processes_.begin(); entry != processes_.end(); ++entry) {
    const Compiler& compiler = entry->second;
    if (compiler.state == State::ending) return;  // one place is coming
    if (compiler.state != State::idle || (options_.resident && is_kept(compiler))) continue;
    if (compiler.tenant && !accounts_[*compiler.tenant].waiting[index_of(compiler.rank)].empty())
      continue;  // it is about to run
    if (oldest == processes_.end() || compiler.since < oldest->second.since) oldest = entry;
  }
  if (oldest != processes_.end()) stop(oldest, now);
}

bool CompileSchedule::start(const Compiler& compiler, MonotonicTime now) {
  if (now < start_from_) {
    start_held_ = true;
    return false;
  }
  if (processes_.size() >= options_.most_processes) {
    make_room(now);
    return false;
  }
  const Process process = next_process_++;
  Compiler& added = processes_[process] = compiler;
  added.since = now;
  actions_.push_back({.kind = Action::Kind::start,
                      .process = process,
                      .rank = compiler.rank,
                      .purpose = compiler.purpose});
  return true;
}

void CompileSchedule::forget_tenants() {
  std::erase_if(accounts_, [&](const auto& entry) {
    const bool has_job = std::ranges::any_of(
        jobs_, [&](const auto& job) { return job.second.tenant == entry.first; });
    const bool has_process = std::ranges::any_of(
        processes_, [&](const auto& process) { return process.second.tenant == entry.first; });
    return !has_job && !has_process;
  });
}

MonotonicTime CompileSchedule::due() const {
  MonotonicTime due = start_held_ ? start_from_ : MonotonicTime::max();
  for (const auto& [process, compiler] : processes_) {
    if (compiler.state == State::busy && compiler.rank != CompileRank::late) {
      // One whose slice is over and that may stay is looked at again when something happens.
      const bool stays =
          !may_be_late(*compiler.tenant, compiler.purpose) && !is_wanted(compiler.rank, compiler);
      if (!stays) due = std::min(due, compiler.since + slice_of(compiler.rank));
    } else if (compiler.state == State::idle && !is_kept(compiler)) {
      due = std::min(due, compiler.since + options_.idle);
    }
  }
  return due;
}

std::size_t CompileSchedule::waiting() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(jobs_, [](const auto& job) { return job.second.process == 0; }));
}

std::size_t CompileSchedule::waiting(Tenant tenant, CompileRank purpose) const {
  return static_cast<std::size_t>(std::ranges::count_if(jobs_, [&](const auto& job) {
    const Waiter& waiter = job.second;
    return waiter.process == 0 && waiter.tenant == tenant && waiter.purpose == purpose;
  }));
}

std::optional<CompileSchedule::Process> CompileSchedule::process_of(Job job) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end() || found->second.process == 0) return std::nullopt;
  return found->second.process;
}

}  // namespace orchid::executor
