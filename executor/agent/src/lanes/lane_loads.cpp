// The modules of a client's worker: from the announcement to the slot, or to why there is none.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <expected>
#include <utility>

#include "foundation/duplicate.h"
#include "foundation/log.h"
#include "lanes/lane_session.h"
#include "protocol/digest.h"
#include "protocol/limits.h"

namespace orchid::executor {
namespace {

constexpr std::size_t most_wanted = 1024;  // a client announces what it calls
/// Of a module, each in a worker that others have spoiled or that went for a reason of its own.
constexpr unsigned most_load_attempts = 3;
/// A worker that could not load something ends by itself. So soon it says that it does.
constexpr std::chrono::seconds end_after_failed_load{1};

}  // namespace

bool LaneSession::takes_module(const std::string& digest) {
  if (!apart_) return true;
  if (module_.empty() || (swaps() && !has_code_)) module_ = digest;
  return module_ == digest;
}

/// Its worker has code of one module, and the client wants another one. `watch` asks again: the
/// worker may be a little behind the answer that the client has. One that says it is idle may be
/// about to send its answer: it is asked to end after that. A load has no such end.
void LaneSession::swap_worker(MonotonicTime now) {
  if (!swap_by_) swap_by_ = now + swap_patience;
  if (worker_->kill_reason() != KillReason::none) return;  // its end is on the way
  const std::uint64_t word = worker_->page().state.load(std::memory_order_acquire);
  const bool running = is_in_call(run_state_of(word));
  if (running && now < *swap_by_) return;
  if (!retire_by_) {
    log::debug("event=worker_swapped lease={} worker={} module={}", to_string(*lease_),
               worker_->id(), short_digest(module_));
    ++services_.counters["workers_swapped"];
    retire_by_ = now + retire_patience;
    if (!running && !worker_->is_loading()) {
      worker_->tell(Retire{std::string(made_way)});
      return;
    }
  } else if (now < *retire_by_ + (worker_->said_last_words() ? last_words_patience
                                                             : std::chrono::seconds(0))) {
    return;
  }
  worker_->kill(KillReason::swapped);
}

/// No crash: nothing is tried again, and the next one comes at once.
void LaneSession::was_swapped(const LaneEnded& ended) {
  module_.clear();
  if (gpu_) gpu_->forget_all();
  retries_.clear();
  unasked_.clear();
  wanted_by_.clear();
  send(ended);
  take_worker();
}

/// The same module may fail in a smaller worker only, or on a GPU only. What one tenant is told,
/// such as a compiler's words, is not another one's.
std::string LaneSession::failed_load_key(const std::string& digest) const {
  return fmt::format("{} {} {} {}", tenant_.uid, digest, memory_.value,
                     gpu_ ? gpu_->architecture() : "");
}

const Failure* LaneSession::failed_before(const std::string& digest) const {
  const MonotonicTime now = std::chrono::steady_clock::now();
  if (const Failure* known = services_.failed_loads.find(failed_load_key(digest), now))
    return known;
  return too_slow_.find(digest, now);
}

void LaneSession::announce(const LaneAnnounce& message) {
  const std::string& digest = message.digest;
  if (!is_digest(digest))
    return refuse({ErrorCode::bad_request, "a digest must be sha256: and 64 hexadecimal digits"});
  if (!swaps() && !takes_module(digest))
    return send(LaneRejected{digest, ErrorCode::conflict,
                             "this worker is another module's: claim one more for this module"});
  if (const Failure* known = failed_before(digest))
    return send(LaneRejected{digest, known->code, known->message});
  if (worker_ == nullptr)
    return send(LaneRejected{digest, ErrorCode::no_capacity, "the worker is being replaced"});
  if (!takes_module(digest)) return swap_worker(std::chrono::steady_clock::now());
  made_.erase(digest);  // its client has it, too
  if (const WorkerSlot* slot = worker_->find_slot(digest)) {
    if (const std::string* refusal = gpu_ ? gpu_->refusal(slot->slot) : nullptr)
      return send(LaneRejected{digest, ErrorCode::module_rejected, *refusal});
    return send_slot(digest, *slot, {.file = nullptr, .source = CodeSource::worker}, {});
  }
  if (worker_->is_loading(digest)) {
    unasked_.erase(digest);
    return;  // its answer is for this one, too
  }
  wanted_by_.erase(digest);
  if (message.time_left && wanted_by_.size() < most_wanted)
    wanted_by_[digest] = std::chrono::steady_clock::now() + *message.time_left;
  const auto done = [weak = weak_from_this(), digest](const Result<CodeService::Code>& code) {
    if (const auto self = weak.lock()) self->code_made(digest, code);
  };
  if (gpu_ && !gpu_->expect(digest)) return refuse_more(digest);
  const bool has_code = services_.code.find({tenant_.uid, digest}, done);
  const bool has_kernels = !gpu_ || find_kernels(digest);
  if (!has_code || !has_kernels) return send(LaneNeedCode{digest});
  tell_compiling(digest);
}

void LaneSession::refuse_more(const std::string& digest) {
  send(LaneRejected{digest, ErrorCode::no_capacity,
                    "too many modules are being made for this worker's GPU; try again when some "
                    "have come"});
}

CodeService::Done LaneSession::when_kernels_made(const std::string& digest) {
  return [weak = weak_from_this(), digest](const Result<CodeService::Code>& kernels) {
    if (const auto self = weak.lock()) self->kernels_made(digest, kernels);
  };
}

bool LaneSession::find_kernels(const std::string& digest) {
  return services_.code.find({tenant_.uid, digest, gpu_->architecture()},
                             when_kernels_made(digest));
}

/// Its calls wait for a compiler, for however long.
void LaneSession::tell_compiling(const std::string& digest) {
  if (knows_compiling_ &&
      (services_.code.is_being_made({tenant_.uid, digest}) ||
       (gpu_ && services_.code.is_being_made({tenant_.uid, digest, gpu_->architecture()}))))
    send(LaneCompiling{digest});
}

void LaneSession::reject(const std::string& digest, const Failure& why) {
  const bool unknown = why.code == ErrorCode::compile_limit && !knows_compiling_;
  send(LaneRejected{digest, unknown ? ErrorCode::module_rejected : why.code, why.message});
}

void LaneSession::provide(const std::string& digest, UniqueFd module) {
  if (!swaps() && !takes_module(digest))
    return refuse({ErrorCode::bad_request, "the code of a module that was not announced"});
  if (take_fetched(digest, module)) return;
  if (gpu_) {
    if (!gpu_->expect(digest)) return refuse_more(digest);
    auto copy = duplicate(module.get());
    if (!copy) return not_made(digest, {ErrorCode::no_capacity, "no descriptor is left"});
    services_.code.compile({tenant_.uid, digest, gpu_->architecture()}, std::move(*copy),
                           when_kernels_made(digest));
  }
  services_.code.compile({tenant_.uid, digest}, std::move(module),
                         [weak = weak_from_this(), digest](const Result<CodeService::Code>& code) {
                           if (const auto self = weak.lock()) self->code_made(digest, code);
                         });
  tell_compiling(digest);
}

/// An earlier worker was asked to load it: nobody waits for the rest of it.
bool LaneSession::is_abandoned(const std::string& digest) {
  if (!apart_ || module_ == digest) return false;
  if (gpu_) gpu_->forget(digest);
  return true;
}

void LaneSession::code_made(const std::string& digest, const Result<CodeService::Code>& code) {
  if (over_) return;
  if (is_abandoned(digest)) return;
  if (!code) return not_made(digest, code.error());
  if (!gpu_) return load(digest, ModuleCode{.cores = *code, .kernels = nullptr});
  if (const auto both = gpu_->add_code(digest, *code)) load(digest, *both);
}

/// A module without an image for GPUs runs on cores alone.
void LaneSession::kernels_made(const std::string& digest,
                               const Result<CodeService::Code>& kernels) {
  if (over_ || is_abandoned(digest)) return;
  if (!kernels && kernels.error().code != ErrorCode::not_found)
    return not_made(digest, kernels.error());
  if (const auto both = gpu_->add_kernels(digest, kernels ? kernels->file : nullptr))
    load(digest, *both);
}

void LaneSession::not_made(const std::string& digest, const Failure& why) {
  wanted_by_.erase(digest);
  if (gpu_) gpu_->forget(digest);
  reject(digest, why);
}

void LaneSession::load(const std::string& digest, const ModuleCode& code) {
  const auto wanted = wanted_by_.extract(digest);
  // Its other code may have been found while this one was asked for once more; or a function has
  // made the same, and what it has made was loaded sooner than what the client asked for.
  if (worker_ != nullptr && worker_->is_loading(digest)) {
    unasked_.erase(digest);
    return;
  }
  if (const WorkerSlot* slot = worker_ == nullptr ? nullptr : worker_->find_slot(digest)) {
    if (slot->kept) send_slot(digest, *slot, code.cores, {});
    return;
  }
  // Of a GPU's code it is not known where it came from.
  if (knows_compiling_ && (code.cores.source == CodeSource::compiled || gpu_))
    send(LaneCompiling{.digest = digest, .over = true});
  if (worker_ == nullptr)
    return send(LaneRejected{digest, ErrorCode::no_capacity, "the worker is being replaced"});
  auto due = wanted.empty() ? std::nullopt : std::optional(wanted.mapped());
  // The time of a compilation is not the load's: a client's calls may be late by now, and others
  // come.
  if (due && client_terms_)
    due = std::max(*due, std::chrono::steady_clock::now() + limits::load_time);
  load(ModuleLoad{.digest = digest, .code = code, .due = due});
}

void LaneSession::load(const ModuleLoad& module) {
  has_code_ = true;
  worker_->load(
      {.digest = module.digest,
       .code = module.code.cores.file->get(),
       .tier = module.code.cores.tier,
       .due = module.due,
       .on_gpu = module.code.kernels != nullptr},
      [weak = weak_from_this(), module](const std::expected<WorkerSlot, LoadFailure>& slot,
                                        std::chrono::microseconds link) {
        const auto self = weak.lock();
        if (self == nullptr) return;
        if (slot)
          self->load_kernels(module, *slot, link);
        else
          self->not_loaded(module, slot.error());
      });
}

/// After its code for the cores, so that the driver's refusal is known before the first call.
void LaneSession::load_kernels(const ModuleLoad& module, const WorkerSlot& slot,
                               std::chrono::microseconds link) {
  if (!gpu_) return loaded(module.digest, module.code.cores, slot, link);
  gpu_->load(device_owner(module.digest), slot, module.code.kernels,
             [weak = weak_from_this(), module, slot, link](const Result<void>& taken) {
               const auto self = weak.lock();
               if (self == nullptr) return;
               if (taken) return self->loaded(module.digest, module.code.cores, slot, link);
               if (taken.error().code == ErrorCode::module_rejected)
                 return self->kernels_refused(module.digest, taken.error());
               // The client asks for the module again when it has the next worker.
               log::warn("event=no_device lease={} reason=\"{}\"", to_string(*self->lease_),
                         taken.error().message);
               if (self->worker_ != nullptr) self->worker_->kill(KillReason::device_lost);
             });
}

/// Before the client asks for anything: a fresh worker says whose fault it was.
void LaneSession::load_again() {
  for (const ModuleLoad& module : std::exchange(retries_, {}))
    if (worker_ != nullptr) load(module);
}

/// What may be the worker's fault is tried in a fresh one before anybody is told.
void LaneSession::not_loaded(ModuleLoad module, const LoadFailure& failure) {
  const MonotonicTime now = std::chrono::steady_clock::now();
  const bool has_time = !module.due || now < *module.due;
  if (failure.blame == LoadFailure::Blame::worker && has_time &&
      module.attempt < most_load_attempts) {
    log::info("event=load_tried_again lease={} module={} reason=\"{}\"", to_string(*lease_),
              short_digest(module.digest), failure.why.message);
    ++module.attempt;
    retries_since_ = now;
    unasked_.insert(module.digest);
    retries_.push_back(std::move(module));
    return;
  }
  if (failure.blame == LoadFailure::Blame::module)
    services_.failed_loads.remember(failed_load_key(module.digest), failure.why, now);
  if (failure.blame == LoadFailure::Blame::others)
    too_slow_.remember(module.digest, failure.why, now);
  if (unasked_.erase(module.digest) == 0)
    send(LaneRejected{module.digest, failure.why.code, failure.why.message});
}

void LaneSession::loaded(const std::string& digest, const CodeService::Code& code,
                         const WorkerSlot& slot, std::chrono::microseconds link) {
  if (unasked_.erase(digest) == 0) send_slot(digest, slot, code, link);
  if (code.tier == CompileTier::quick) improve_later(digest);
}

void LaneSession::improve_later(const std::string& digest) {
  services_.code.when_better({tenant_.uid, digest},
                             [weak = weak_from_this(), digest](const UniqueFd& better) {
                               const auto self = weak.lock();
                               if (self != nullptr && self->worker_ != nullptr)
                                 self->worker_->improve(digest, better.get());
                             });
}

void LaneSession::send_slot(const std::string& digest, const WorkerSlot& slot,
                            const CodeService::Code& code, std::chrono::microseconds link) {
  send(LaneSlot{.digest = digest,
                .slot = slot.slot,
                .generation = slot.generation,
                .entries = slot.entries,
                .compile_us = code.compile,
                .link_us = link,
                .source = code.source});
}

void LaneSession::kernels_refused(const std::string& digest, const Failure& why) {
  services_.failed_loads.remember(failed_load_key(digest), why, std::chrono::steady_clock::now());
  if (unasked_.erase(digest) == 0) send(LaneRejected{digest, why.code, why.message});
}

/// An idle worker that does not get on with its loads, or with the data that it is to map or unmap,
/// is killed. A busy one loads after its call.
void LaneSession::watch_loads(MonotonicTime now, bool running) {
  const bool gets_on =
      running || !worker_->is_linking() || worker_->links_answered() != links_answered_;
  links_answered_ = worker_->links_answered();
  if (gets_on || !loading_since_) {
    loading_since_ = gets_on ? std::nullopt : std::optional(now);
  } else if (const auto reached = worker_->load_limit(*loading_since_, now)) {
    worker_->end_load(*reached);
  }
  if (!retries_.empty() && !running &&
      !worker_->has_time_to_end(retries_since_ + end_after_failed_load, now))
    worker_->kill(KillReason::load);
}

}  // namespace orchid::executor
