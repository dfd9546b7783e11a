// Modules that a function of a crew has made, at one of its members.

#include <chrono>
#include <utility>

#include "foundation/duplicate.h"
#include "foundation/log.h"
#include "lanes/lane_session.h"
#include "protocol/digest.h"
#include "protocol/service_messages.h"

namespace orchid::executor {
namespace {

std::unexpected<Failure> cannot_specialise() {
  return fail(ErrorCode::unsupported,
              "the module was made by a function, and only one that the program has loaded, or "
              "that is deployed, can get other constants: name that one by its digest");
}

}  // namespace

bool LaneSession::has_room_for(const std::string& digest) const {
  return worker_ == nullptr || worker_->has_room_for(digest);
}

/// The client has asked for none of this, but may meanwhile: then it waits for the answer. A module
/// that cannot be loaded here was loaded where it was made. The worker ends of that, and its crew
/// is formed anew; what is called there meanwhile finds no code.
WorkerProcess::LoadDone LaneSession::when_made_loaded(const std::string& digest,
                                                      const CodeService::Code& code) {
  unasked_.insert(digest);
  return [weak = weak_from_this(), digest, code](const std::expected<WorkerSlot, LoadFailure>& slot,
                                                 std::chrono::microseconds link) {
    const auto self = weak.lock();
    if (self == nullptr) return;
    if (slot) return self->loaded(digest, code, *slot, link);
    log::warn("event=made_module_not_loaded lease={} module={} reason=\"{}\"",
              to_string(*self->lease_), short_digest(digest), slot.error().why.message);
    if (self->unasked_.erase(digest) == 0)
      self->not_loaded({.digest = digest, .code = {.cores = code, .kernels = nullptr}, .due = {}},
                       slot.error());
  };
}

void LaneSession::load_made(const std::string& digest, const CodeService::Code& code) {
  // What its client has loaded stays, too, from now on.
  if (over_ || worker_ == nullptr || worker_->keep(digest)) return;
  made_.insert(digest);
  has_code_ = true;
  worker_->load(
      {.digest = digest, .code = code.file->get(), .tier = code.tier, .due = {}, .kept = true},
      when_made_loaded(digest, code));
}

std::optional<std::uint64_t> LaneSession::adopt_made(const std::string& digest,
                                                     const CodeService::Code& code) {
  if (over_ || worker_ == nullptr) return std::nullopt;
  WorkerProcess::LoadDone done;
  if (worker_->expects_anew(digest)) {
    // Where its client is waiting for it as well, that has its bytes.
    if (!worker_->is_loading(digest)) made_.insert(digest);
    has_code_ = true;
    done = when_made_loaded(digest, code);
  }
  const auto place = worker_->expect(
      {.digest = digest, .code = -1, .tier = code.tier, .due = {}, .kept = true}, std::move(done));
  return pack_place(place.slot, place.generation);
}

void LaneSession::fetch_module(const std::string& digest, ModuleFetches::Fetched fetched) {
  // A call has made it, and the client has its bytes only if the crew is at several executors; or a
  // call has had it fetched.
  if (made_.contains(digest))
    return look_up_module(digest, [fetched](Result<FetchedModule> found) {
      const bool is_base = found && found->base.empty();
      if (is_base || (!found && found.error().code != ErrorCode::not_found))
        return fetched(std::move(found));
      fetched(cannot_specialise());
    });
  if (worker_ == nullptr || worker_->find_slot(digest) == nullptr)
    return fetched(
        fail(ErrorCode::not_found, "the crew has not loaded that module (Crew::function)"));
  if (asked_.fetches.add(digest, std::move(fetched), std::chrono::steady_clock::now()))
    send(LaneNeedCode{digest});
}

void LaneSession::look_up_module(const std::string& name, ModuleFetches::Fetched fetched) {
  if (asked_.look_ups.add(name, std::move(fetched), std::chrono::steady_clock::now()))
    send(LaneFetch{name});
}

void LaneSession::locate_data(const std::string& data, ClientQuestions<std::uint32_t>::Told told) {
  if (!is_spread())
    return told(fail(ErrorCode::data_elsewhere,
                     "no member of the crew is on a host that has it: copy it to the crew's host "
                     "before (orchid data copy)"));
  if (asked_.places.add(data, std::move(told), std::chrono::steady_clock::now()))
    send(LaneLocate{data});
}

/// One that it has is not sent again: a client that reads nothing would have them pile up here.
void LaneSession::have_kept(const LaneMade& made, int content, ModuleFetches::Fetched kept) {
  if (asked_.kept.contains(made.digest))
    return kept(FetchedModule{.bytes = {}, .digest = made.digest});
  if (asked_.keepings.add(made.digest, std::move(kept), std::chrono::steady_clock::now()))
    send(made, {content});
}

/// What nobody waits for any more is dropped.
void LaneSession::was_kept(const LaneKept& message) {
  for (const ModuleFetches::Fetched& kept : asked_.keepings.take(message.digest)) {
    if (message.refusal) {
      kept(fail(*message.refusal));
      continue;
    }
    asked_.kept.insert(message.digest);
    kept(FetchedModule{.bytes = {}, .digest = message.digest});
  }
}

/// False: it is about something else.
bool LaneSession::take_module_message(const LaneMessage& message, Packet& packet) {
  const std::size_t files = packet.descriptors.size();
  if (const auto* place = std::get_if<LaneLocated>(&message); place != nullptr && files == 0) {
    located(*place);
    return true;
  }
  if (const auto* code = std::get_if<LaneCode>(&message); code != nullptr && files == 1) {
    provide(code->digest, std::move(packet.descriptors.front()));
    return true;
  }
  if (const auto* kept = std::get_if<LaneKept>(&message); kept != nullptr && is_spread()) {
    was_kept(*kept);
    return true;
  }
  const auto* fetched = std::get_if<LaneFetched>(&message);
  if (fetched == nullptr || files != (fetched->digest.empty() ? 0 : 1)) return false;
  looked_up(*fetched, files == 0 ? UniqueFd() : std::move(packet.descriptors.front()));
  return true;
}

/// What nobody waits for any more is dropped.
void LaneSession::looked_up(const LaneFetched& message, UniqueFd module) {
  const bool named_by_digest = message.name.find(':') != std::string::npos;
  const bool fits =
      is_digest(message.digest) && (!named_by_digest || message.digest.starts_with(message.name));
  for (const ModuleFetches::Fetched& fetched : asked_.look_ups.take(message.name)) {
    if (message.digest.empty())
      fetched(fail(message.code, message.message));
    else if (!fits)
      fetched(
          fail(ErrorCode::bad_request, "the program has sent another module than was asked for"));
    else if (auto copy = duplicate(module.get()))
      fetched(FetchedModule{.bytes = std::move(*copy),
                            .digest = message.digest,
                            .made = message.made,
                            .base = message.base});
    else
      fetched(fail(ErrorCode::no_capacity, "no descriptor is left"));
  }
}

/// The worker looks whether there is such a member.
void LaneSession::located(const LaneLocated& message) {
  for (const auto& told : asked_.places.take(message.data)) {
    if (message.member != 0)
      told(message.member);
    else
      told(fail(message.code, message.message));
  }
}

/// True: nobody else waits for it.
bool LaneSession::take_fetched(const std::string& digest, const UniqueFd& module) {
  const auto waiting = asked_.fetches.take(digest);
  if (waiting.empty()) return false;
  for (const ModuleFetches::Fetched& fetched : waiting) {
    if (auto copy = duplicate(module.get()))
      fetched(FetchedModule{.bytes = std::move(*copy), .digest = digest});
    else
      fetched(fail(ErrorCode::no_capacity, "no descriptor is left"));
  }
  return worker_ == nullptr || worker_->find_slot(digest) != nullptr;
}

}  // namespace orchid::executor
