// The modules of a client's worker: from the announcement to the slot, or to why there is none.
#include <algorithm>
#include <chrono>
#include <expected>
#include <utility>

#include "foundation/log.h"
#include "lanes/lane_session.h"
#include "protocol/digest.h"
#include "protocol/limits.h"

namespace orchid::executor {
namespace {

constexpr std::size_t most_wanted = 1024;  // a client announces what it calls
/// Of a module, each in a worker that others have spoiled or that went for a reason of its own.
constexpr unsigned most_load_attempts = 3;
/// A worker that could not load something ends by itself, and at once.
constexpr std::chrono::seconds end_after_failed_load{1};

}  // namespace

/// The same module may fail in a smaller worker only.
std::string LaneSession::failed_load_key(const std::string& digest) const {
  return digest + " " + std::to_string(memory_.value);
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
  if (const WorkerSlot* slot = worker_->find_slot(digest))
    return send_slot(digest, *slot, {.file = nullptr, .source = CodeSource::worker}, {});
  if (worker_->is_loading(digest)) {
    unasked_.erase(digest);
    return;  // its answer is for this one, too
  }
  wanted_by_.erase(digest);
  if (message.time_left && wanted_by_.size() < most_wanted)
    wanted_by_[digest] = std::chrono::steady_clock::now() + *message.time_left;
  const auto done = [weak = weak_from_this(), digest](const Result<CodeService::Code>& code) {
    if (const auto self = weak.lock()) self->load(digest, code);
  };
  if (!services_.code.find({tenant_, digest}, done)) return send(LaneNeedCode{digest});
  tell_compiling(digest);
}

/// Its calls wait for a compiler, for however long.
void LaneSession::tell_compiling(const std::string& digest) {
  if (knows_compiling_ && services_.code.is_being_made({tenant_, digest}))
    send(LaneCompiling{digest});
}

void LaneSession::reject(const std::string& digest, const Failure& why) {
  const bool unknown = why.code == ErrorCode::compile_limit && !knows_compiling_;
  send(LaneRejected{digest, unknown ? ErrorCode::module_rejected : why.code, why.message});
}

void LaneSession::provide(const std::string& digest, UniqueFd module) {
  if (!swaps() && !takes_module(digest))
    return refuse({ErrorCode::bad_request, "the code of a module that was not announced"});
  services_.code.compile({tenant_, digest}, std::move(module),
                         [weak = weak_from_this(), digest](const Result<CodeService::Code>& code) {
                           if (const auto self = weak.lock()) self->load(digest, code);
                         });
  tell_compiling(digest);
}

void LaneSession::load(const std::string& digest, const Result<CodeService::Code>& code) {
  if (over_) return;
  if (apart_ && module_ != digest) return;  // what an earlier worker was asked to load
  const auto wanted = wanted_by_.extract(digest);
  if (!code) return reject(digest, code.error());
  if (knows_compiling_ && code->source == CodeSource::compiled)
    send(LaneCompiling{.digest = digest, .over = true});
  if (worker_ == nullptr)
    return send(LaneRejected{digest, ErrorCode::no_capacity, "the worker is being replaced"});
  auto due = wanted.empty() ? std::nullopt : std::optional(wanted.mapped());
  // The time of a compilation is not the load's: a client's calls may be late by now, and others
  // come.
  if (due && client_terms_)
    due = std::max(*due, std::chrono::steady_clock::now() + limits::load_time);
  load({.digest = digest, .code = *code, .due = due});
}

void LaneSession::load(const ModuleLoad& module) {
  has_code_ = true;
  worker_->load(
      {.digest = module.digest,
       .code = module.code.file->get(),
       .tier = module.code.tier,
       .due = module.due},
      [weak = weak_from_this(), module](const std::expected<WorkerSlot, LoadFailure>& slot,
                                        std::chrono::microseconds link) {
        const auto self = weak.lock();
        if (self == nullptr) return;
        if (slot)
          self->loaded(module.digest, module.code, *slot, link);
        else
          self->not_loaded(module, slot.error());
      });
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
  if (code.tier != CompileTier::quick) return;
  services_.code.when_better({tenant_, digest},
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

/// An idle worker that does not get on with its loads is killed. A busy one loads after its call.
void LaneSession::watch_loads(MonotonicTime now, bool running) {
  const bool gets_on =
      running || !worker_->is_loading() || worker_->loads_answered() != loads_answered_;
  loads_answered_ = worker_->loads_answered();
  if (gets_on || !loading_since_) {
    loading_since_ = gets_on ? std::nullopt : std::optional(now);
  } else if (const auto reached = worker_->load_limit(*loading_since_, now)) {
    worker_->end_load(*reached);
  }
  if (!retries_.empty() && !running && now - retries_since_ >= end_after_failed_load)
    worker_->kill(KillReason::load);
}

}  // namespace orchid::executor
