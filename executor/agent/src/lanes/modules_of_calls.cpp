#include "lanes/modules_of_calls.h"

#include <fmt/format.h>

#include <utility>

#include "data/clock_now.h"
#include "foundation/duplicate.h"
#include "foundation/files.h"
#include "foundation/log.h"
#include "protocol/constants.h"
#include "protocol/digest.h"
#include "protocol/lane_messages.h"

namespace orchid::executor {
namespace {

/// Such a module is hashed in a tenth of a millisecond.
constexpr ByteCount looked_at_freely = 64_KiB;

/// What a client has kept is constants for the module `base`, and these make the module `digest`.
Result<std::string> read_constants(const FetchedModule& made, const std::string& digest) {
  const auto mapped = MappedFile::map(made.bytes.get(), {.limit = ByteCount{longest_constants}});
  if (!mapped) return fail(mapped.error());
  std::string constants(as_text(mapped->bytes()));
  if (digest_with_constants(made.base, constants) != digest)
    return fail(ErrorCode::bad_request,
                "the program has sent other constants than those of the module that was asked for");
  if (auto parsed = parse_constants(constants); !parsed) return fail(std::move(parsed.error()));
  return constants;
}

Failure no_room() {
  return {ErrorCode::no_capacity,
          fmt::format("the crew has {} modules that its calls have made, which is the most: make "
                      "fewer, they stay until the crew ends",
                      modules_per_worker)};
}

}  // namespace

void ModulesOfCalls::say(std::uint64_t worker, ServiceAnswer answered, int descriptor,
                         const Answer& answer) {
  if (const auto making = makings_.find(worker); making != makings_.end()) {
    making->second.waits = false;
    making->second.answered = answered;
  }
  answer(answered, descriptor);
}

/// Functions choose how often that is.
void ModulesOfCalls::refuse(std::uint64_t worker, std::uint32_t sequence, const Failure& why,
                            const Answer& answer) {
  log::debug("event=module_not_made worker={} code={} reason=\"{}\"", worker, to_string(why.code),
             why.message);
  say(worker,
      {.verdict = ServiceVerdict::refused,
       .sequence = sequence,
       .code = why.code,
       .message = why.message.substr(0, longest_service_message)},
      -1, answer);
}

void ModulesOfCalls::ask(const LeaseTenant& tenant, std::uint64_t worker,
                         const ServiceRequest& request, const Answer& answer) {
  Making& making = makings_[worker];
  // A depot that was killed has taken the answer with it, or not had it yet: then this comes twice.
  // A room is made anew; what was compiled is still here.
  const bool again = making.sequence == request.sequence;
  if (again && making.waits) return;
  if (again && request.ask != ServiceAsk::create_module) {
    const bool with_code = request.ask != ServiceAsk::share_module && making.code &&
                           making.answered.verdict == ServiceVerdict::done;
    return answer(making.answered, with_code ? making.code->file->get() : -1);
  }
  making.sequence = request.sequence;
  making.waits = true;
  const auto session = lanes_.session_of(worker);
  if (session == nullptr || !session->crew())
    return refuse(
        worker, request.sequence,
        {ErrorCode::bad_request,
         "only a call of a crew makes or fetches modules: call the function through Client::crew"},
        answer);
  if (request.ask != ServiceAsk::share_module)
    if (const auto refusal = quota_.refusal_to_look(tenant.uid, clock_now())) {
      drop_room(making);
      return refuse(worker, request.sequence, *refusal, answer);
    }
  if (request.ask == ServiceAsk::create_module) return create(worker, request, answer);
  if (request.ask == ServiceAsk::make_module) return make(tenant, worker, request, answer);
  if (request.ask == ServiceAsk::fetch_module) return fetch(tenant, worker, request, answer);
  share(worker, request, answer);
}

void ModulesOfCalls::create(std::uint64_t worker, const ServiceRequest& request,
                            const Answer& answer) {
  if (request.bytes == 0 || request.bytes > largest.value)
    return refuse(worker, request.sequence,
                  {ErrorCode::too_large,
                   fmt::format("a module that a function makes has 1 byte to {}, and not {}",
                               to_string(largest), to_string(ByteCount{request.bytes}))},
                  answer);
  auto room = MemoryFile::make_for_call(ByteCount{request.bytes});
  auto file = room ? room->open_to_write() : Result<UniqueFd>(fail(room.error()));
  if (!file) return refuse(worker, request.sequence, file.error(), answer);
  Making& making = makings_[worker];
  drop_room(making);
  making.room = std::move(*room);
  making.room_size = ByteCount{request.bytes};
  forget_made(making);
  say(worker, {.sequence = request.sequence, .bytes = request.bytes}, file->get(), answer);
}

/// Whoever still has it open is not to keep its pages.
void ModulesOfCalls::drop_room(Making& making) {
  if (making.room) making.room->empty();
  making.room.reset();
}

void ModulesOfCalls::forget_made(Making& making) {
  making.code.reset();
  making.content.reset();
  making.base.clear();
}

/// Nobody can change it from here on.
Result<UniqueFd> ModulesOfCalls::take_room(Making& making, ByteCount used) {
  if (!making.room || used.value == 0 || used.value > making.room_size.value)
    return fail(ErrorCode::bad_request, "no room of so many bytes was made for the module");
  MemoryFile room = std::move(*std::exchange(making.room, std::nullopt));
  if (auto sealed = room.seal_for_call(used); !sealed) {
    room.empty();
    return fail(std::move(sealed.error()));
  }
  if (auto fixed = room.fix_size(used); !fixed) return fail(std::move(fixed.error()));
  return room.open_to_read();
}

/// Before anything is looked at.
std::optional<Failure> ModulesOfCalls::fault_of(const LeaseTenant& tenant,
                                                const ServiceRequest& request) {
  if (!request.name.empty() && request.bytes > longest_constants)
    return Failure{
        ErrorCode::too_large,
        fmt::format("the constants of a module have at most {} as text, and not {}",
                    to_string(ByteCount{longest_constants}), to_string(ByteCount{request.bytes}))};
  // Many bytes take this thread's time, known or not.
  if (request.bytes > looked_at_freely.value) return quota_.refusal(tenant.uid, clock_now());
  return std::nullopt;
}

/// What it takes of this thread's time is the tenant's.
template <typename Work>
void ModulesOfCalls::charge(std::uint32_t tenant, const Work& work) {
  const MonotonicTime start = clock_now();
  work();
  const MonotonicTime end = clock_now();
  quota_.spend(tenant, end - start, end);
}

void ModulesOfCalls::make(const LeaseTenant& tenant, std::uint64_t worker,
                          const ServiceRequest& request, const Answer& answer) {
  if (const auto fault = fault_of(tenant, request)) {
    drop_room(makings_[worker]);
    return refuse(worker, request.sequence, *fault, answer);
  }
  charge(tenant.uid, [&] { look_at(tenant, worker, request, answer); });
}

void ModulesOfCalls::look_at(const LeaseTenant& tenant, std::uint64_t worker,
                             const ServiceRequest& request, const Answer& answer) {
  auto bytes = take_room(makings_[worker], ByteCount{request.bytes});
  if (!bytes) return refuse(worker, request.sequence, bytes.error(), answer);
  const auto mapped = MappedFile::map(bytes->get(), {.limit = largest});
  if (!mapped) return refuse(worker, request.sequence, mapped.error(), answer);
  const std::string digest = request.name.empty()
                                 ? digest_of(mapped->bytes())
                                 : digest_with_constants(request.name, as_text(mapped->bytes()));
  if (lanes_.session_of(worker)->crew_is_elsewhere()) {
    auto content = duplicate(bytes->get());
    if (!content) return refuse(worker, request.sequence, content.error(), answer);
    makings_[worker].content = std::move(*content);
    makings_[worker].base = request.name;
  }
  const TenantModule module{.tenant = tenant.uid, .digest = digest};
  const auto done = when_made({worker, request.sequence}, module, answer);
  // What is here already is compiled for nobody.
  if (code_.find(module, done)) return;
  if (!request.name.empty())
    return specialise(module, worker,
                      {.base = request.name, .constants = std::string(as_text(mapped->bytes()))},
                      done);
  const auto reserved = reserve(module.tenant);
  if (!reserved) return done(fail(reserved.error()));
  compile(module, {.bytes = std::move(*bytes), .digest_of_bytes = digest, .spent = nullptr},
          *reserved, done);
}

Result<ModulesOfCalls::Reserved> ModulesOfCalls::reserve(std::uint32_t tenant) {
  const MonotonicTime now = clock_now();
  if (const auto refusal = quota_.refusal(tenant, now)) return fail(*refusal);
  return quota_.reserve(tenant, now);
}

void ModulesOfCalls::compile(const TenantModule& module, CodeService::Made made,
                             const Reserved& reserved, const CodeService::Done& done) {
  made.spent = [this, module, reserved](std::chrono::microseconds time) {
    log::info("event=module_compiled_for_function module={} tenant={} us={}",
              short_digest(module.digest), module.tenant, time.count());
    quota_.spend(module.tenant, time, clock_now());
  };
  code_.compile(module, std::move(made), done);
}

/// The module's bytes are the client's to send: the executor keeps code, not modules.
void ModulesOfCalls::specialise(const TenantModule& module, std::uint64_t worker,
                                const Parts& parts, const CodeService::Done& done) {
  const auto reserved = reserve(module.tenant);
  if (!reserved) return done(fail(reserved.error()));
  if (auto parsed = parse_constants(parts.constants); !parsed) return done(fail(parsed.error()));
  lanes_.session_of(worker)->fetch_module(
      parts.base, [this, module, parts, reserved = *reserved, done](Result<FetchedModule> found) {
        if (!found) return done(fail(found.error()));
        fetched(module, parts, std::move(found->bytes), reserved, done);
      });
}

/// They are hashed on this thread.
void ModulesOfCalls::fetched(const TenantModule& module, const Parts& parts, UniqueFd bytes,
                             const Reserved& reserved, const CodeService::Done& done) {
  charge(module.tenant, [&] {
    compile(module,
            {.bytes = std::move(bytes),
             .digest_of_bytes = parts.base,
             .constants = parts.constants,
             .spent = nullptr},
            reserved, done);
  });
}

CodeService::Done ModulesOfCalls::when_made(const Asked& asked, const TenantModule& module,
                                            const Answer& answer) {
  return [this, asked, module, answer](const Result<CodeService::Code>& code) {
    made(asked, module, code, answer);
  };
}

/// Code that is here already needs nobody. All else comes from the client, which asks the gateway
/// for what it does not have: it can get no module but its own user's. It is compiled as what a
/// client loads is, so it costs nothing of what functions may have compiled, unless one has made
/// it; but hashing it is this thread's time, and that the tenant's.
void ModulesOfCalls::fetch(const LeaseTenant& tenant, std::uint64_t worker,
                           const ServiceRequest& request, const Answer& answer) {
  Making& making = makings_[worker];
  drop_room(making);
  forget_made(making);
  const Asked asked{worker, request.sequence};
  const TenantModule named{.tenant = tenant.uid, .digest = request.name};
  if (is_digest(request.name) && code_.find(named, when_made(asked, named, answer))) return;
  lanes_.session_of(worker)->look_up_module(
      request.name, [this, named, asked, answer](Result<FetchedModule> found) {
        if (!is_asked(asked)) return;
        if (!found) return made(asked, named, fail(std::move(found.error())), answer);
        const TenantModule module{.tenant = named.tenant, .digest = found->digest};
        const auto done = when_made(asked, module, answer);
        if (code_.find(module, done)) return;
        if (found->made) return make_again(asked.first, module, std::move(*found), done);
        if (auto refusal = quota_.refusal(named.tenant, clock_now()))
          return done(fail(std::move(*refusal)));
        charge(named.tenant, [&] { code_.compile(module, std::move(found->bytes), done); });
      });
}

/// What a call has made at another executor. The client is believed as little as a function is: it
/// is what its digest says, or nothing.
void ModulesOfCalls::make_again(std::uint64_t worker, const TenantModule& module,
                                FetchedModule from, const CodeService::Done& done) {
  const auto reserved = reserve(module.tenant);
  if (!reserved) return done(fail(reserved.error()));
  if (const auto fits = MappedFile::map(from.bytes.get(), {.limit = largest}); !fits)
    return done(fail(fits.error()));
  if (from.base.empty())
    return fetched(module, {.base = module.digest, .constants = {}}, std::move(from.bytes),
                   *reserved, done);
  auto constants = read_constants(from, module.digest);
  if (!constants) return done(fail(std::move(constants.error())));
  const Parts parts{.base = from.base, .constants = std::move(*constants)};
  lanes_.session_of(worker)->look_up_module(
      parts.base, [this, module, parts, reserved = *reserved, done](Result<FetchedModule> found) {
        if (!found) return done(fail(std::move(found.error())));
        if (!found->base.empty())
          return done(fail(ErrorCode::bad_request, "only a whole module gets other constants"));
        fetched(module, parts, std::move(found->bytes), reserved, done);
      });
}

/// Its worker waits for that answer.
bool ModulesOfCalls::is_asked(const Asked& asked) const {
  const auto making = makings_.find(asked.first);
  return making != makings_.end() && making->second.sequence == asked.second &&
         making->second.waits && lanes_.session_of(asked.first) != nullptr;
}

void ModulesOfCalls::made(const Asked& asked, const TenantModule& module,
                          const Result<CodeService::Code>& code, const Answer& answer) {
  const auto [worker, sequence] = asked;
  const auto making = makings_.find(worker);
  if (making == makings_.end() || making->second.sequence != sequence) return;  // nobody waits
  if (!code) {
    forget_made(making->second);
    return refuse(worker, sequence, code.error(), answer);
  }
  making->second.digest = module.digest;
  making->second.code = *code;
  say(worker,
      {.sequence = sequence,
       .bytes = static_cast<std::uint64_t>(code->tier),
       .message = module.digest},
      code->file->get(), answer);
}

/// Whoever is sent a call in the module at another executor is to find it at the client first. What
/// a call has had fetched the client has, or could get.
void ModulesOfCalls::share(std::uint64_t worker, const ServiceRequest& request,
                           const Answer& answer) {
  const Making& making = makings_[worker];
  if (!making.code || making.digest != request.name)
    return refuse(worker, request.sequence,
                  {ErrorCode::bad_request, "the module was not made by this call"}, answer);
  const auto session = lanes_.session_of(worker);
  for (const auto& member : lanes_.sessions_of(*session->crew()))
    if (!member->has_room_for(request.name))
      return refuse(worker, request.sequence, no_room(), answer);
  if (!making.content) return share_here(worker, request, answer);
  const Asked asked{worker, request.sequence};
  session->have_kept({.digest = request.name, .base = making.base}, making.content.get(),
                     [this, asked, request, answer](const Result<FetchedModule>& kept) {
                       if (!is_asked(asked)) return;
                       if (!kept) return refuse(asked.first, asked.second, kept.error(), answer);
                       makings_[asked.first].content.reset();
                       share_here(asked.first, request, answer);
                     });
}

/// Others may have made modules while the client was asked.
void ModulesOfCalls::share_here(std::uint64_t worker, const ServiceRequest& request,
                                const Answer& answer) {
  const Making& making = makings_[worker];
  const auto session = lanes_.session_of(worker);
  const auto members = lanes_.sessions_of(*session->crew());
  for (const auto& member : members)
    if (!member->has_room_for(request.name))
      return refuse(worker, request.sequence, no_room(), answer);
  const auto place = session->adopt_made(request.name, *making.code);
  if (!place)
    return refuse(worker, request.sequence,
                  {ErrorCode::unreachable, "the worker is being replaced"}, answer);
  for (const auto& member : members)
    if (member != session) member->load_made(request.name, *making.code);
  say(worker, {.sequence = request.sequence, .bytes = *place}, -1, answer);
}

}  // namespace orchid::executor
