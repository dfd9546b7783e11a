#include "orchid/crew.h"

#include <algorithm>

#include "api/function_reference.h"
#include "crew/crew_access.h"
#include "foundation/files.h"
#include "orchid/client.h"
#include "protocol/digest.h"
#include "protocol/limits.h"

namespace orchid {
namespace {

[[noreturn]] void refuse(ErrorKind kind, std::string message) {
  throw Error({.kind = kind, .message = std::move(message)});
}

void check(const CrewOptions& options) {
  if (options.workers < crew::least_members || options.workers > crew::most_members)
    refuse(ErrorKind::bad_request, "a crew has 2 to 64 workers");
  if (options.at_least != 0 &&
      (options.at_least < crew::least_members || options.at_least > options.workers))
    refuse(ErrorKind::bad_request,
           "at_least of a crew is 2 to the number of its workers, or 0 for all of them");
  if (options.lane != "local" && options.lane != "auto")
    refuse(ErrorKind::bad_request,
           "a crew's lane is 'local' or 'auto', and not '" + options.lane + "'");
  if (options.cores_per_worker == 0)
    refuse(ErrorKind::bad_request, "a worker has at least one core");
  if (options.duration < std::chrono::seconds(1))
    refuse(ErrorKind::bad_request, "a crew's lease lasts at least a second");
}

/// `name` empty: the only one.
std::uint16_t index_of(const sdk::CrewModule& module, std::string_view name) {
  if (name.empty() && module.entries.size() == 1) return 0;
  if (name.empty())
    refuse(ErrorKind::not_found, "the module has several entries: name one of them");
  const auto found = std::ranges::find(module.entries, name);
  if (found == module.entries.end())
    refuse(ErrorKind::not_found, "the module has no entry '" + std::string(name) + "'");
  return static_cast<std::uint16_t>(found - module.entries.begin());
}

}  // namespace

Crew Client::crew(const CrewOptions& options) {
  check(options);
  return sdk::CrewAccess::crew(
      sdk::CrewCore::open(options, std::make_unique<sdk::GatewayCrews>(session_)));
}

Crew& Crew::operator=(Crew&& other) noexcept {
  if (this == &other) return *this;
  if (core_) core_->release();
  core_ = std::move(other.core_);
  return *this;
}
Crew::~Crew() {
  if (core_) core_->release();
}
std::string Crew::id() const { return core_->id(); }
unsigned Crew::members() const { return core_->members(); }
CrewMember Crew::member(unsigned number) const {
  if (number == crew::client_member || number > core_->members())
    refuse(ErrorKind::bad_request, "there is no member " + std::to_string(number) +
                                       ": this crew's members are 1 to " +
                                       std::to_string(core_->members()));
  return {core_, number};
}
unsigned Crew::formations() const { return core_->formations(); }
std::vector<std::int64_t> Crew::pids() const { return core_->pids(); }
void Crew::release() { core_->release(); }

CrewFunction Crew::function(std::string_view name) {
  const sdk::Reference reference = sdk::split_reference(name);
  const FunctionInfo info = core_->source().describe(reference.function);
  const EntryInfo& entry = sdk::find_entry(info, reference);
  auto module = core_->load(info.version, info.name, UniqueFd());
  const std::uint16_t index = index_of(*module, entry.name);
  return sdk::CrewAccess::function(*this, std::move(module), index, info.name + "." + entry.name);
}

CrewFunction Crew::function(const EmbeddedFunction& function) {
  return this->function(module_of(function), function.name);
}

CrewFunction Crew::function(std::span<const std::byte> module, std::string_view entry) {
  if (module.size() > limits::module_size.value)
    refuse(ErrorKind::too_large, "the module has " + to_string(ByteCount{module.size()}) +
                                     "; the limit is " + to_string(limits::module_size));
  auto file = make_sealed_memory("orchid-module", module);
  if (!file) refuse(ErrorKind::system, file.error().message);
  auto loaded = core_->load(digest_of(module), "", std::move(*file));
  const std::uint16_t index = index_of(*loaded, entry);
  std::string name = loaded->entries[index];
  return sdk::CrewAccess::function(*this, std::move(loaded), index, std::move(name));
}

std::shared_ptr<sdk::CrewCall> sdk::CrewAccess::call_of(const CrewFunction& function,
                                                        unsigned member,
                                                        std::span<const std::byte> input,
                                                        const CrewCallOptions& options) {
  const unsigned members = function.core_->members();
  if (member == crew::client_member || member > members)
    refuse(ErrorKind::bad_request, "there is no member " + std::to_string(member) +
                                       ": this crew's members are 1 to " + std::to_string(members));
  if (input.size() > crew::payload_size.value)
    refuse(ErrorKind::too_large, "the input has " + to_string(ByteCount{input.size()}) +
                                     ", and calls of a crew take at most " +
                                     to_string(crew::payload_size) +
                                     ": put what is larger into a data object");
  if (options.hops > crew::most_hops)
    refuse(ErrorKind::bad_request, "a call may go on at most 1000000 times");
  auto call = std::make_shared<CrewCall>();
  call->module = function.module_;
  call->entry = function.entry_;
  call->member = member;
  call->input.assign(input.begin(), input.end());
  const auto deadline =
      options.deadline.count() > 0
          ? std::min<std::chrono::nanoseconds>(options.deadline, limits::longest_deadline)
          : std::chrono::nanoseconds(limits::default_deadline);
  call->asked = std::chrono::steady_clock::now();
  call->due = call->asked + deadline;
  call->at_most_once = options.at_most_once;
  call->hops = options.hops;
  call->traced = options.trace;
  call->function = function.name_;
  return call;
}

Reply CrewFunction::invoke(unsigned member, std::span<const std::byte> input,
                           const CrewCallOptions& options) const {
  const auto call = sdk::CrewAccess::call_of(*this, member, input, options);
  return sdk::CrewAccess::wait_for(*core_, call, options.stop);
}

Reply sdk::CrewAccess::wait_for(CrewCore& core, const std::shared_ptr<CrewCall>& call,
                                const std::stop_token& stop) {
  const auto start = std::chrono::steady_clock::now();
  std::future<Reply> result = call->result.get_future();
  core.submit(call);
  const std::stop_callback cancel(stop, [&] { core.cancel(call); });
  core.drive_for(call);
  if (result.wait_until(call->due) == std::future_status::timeout) core.look_closely();
  Reply reply = result.get();
  reply.timing.total = std::chrono::steady_clock::now() - start;
  return reply;
}

Reply CrewFunction::invoke(unsigned member, std::string_view input,
                           const CrewCallOptions& options) const {
  return invoke(member, as_bytes(input), options);
}

std::future<Reply> CrewFunction::async(unsigned member, std::span<const std::byte> input,
                                       const CrewCallOptions& options) const {
  const auto call = sdk::CrewAccess::call_of(*this, member, input, options);
  std::future<Reply> result = call->result.get_future();
  call->stop = options.stop;
  core_->submit(call);
  core_->look_closely();
  return result;
}

std::future<Reply> CrewFunction::async(unsigned member, std::string_view input,
                                       const CrewCallOptions& options) const {
  return async(member, as_bytes(input), options);
}

}  // namespace orchid
