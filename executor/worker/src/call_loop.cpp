#include "call_loop.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <span>
#include <utility>

#include "call_stream.h"
#include "foundation/sockets.h"
#include "last_words.h"
#include "module_code.h"
#include "orchid/function.h"
#include "user_code/escaped_exception.h"

namespace orchid::executor {
namespace {

constexpr std::chrono::microseconds default_spin{50};
/// So long it spins without giving others a turn on its core.
constexpr std::chrono::microseconds spin_alone{2};
constexpr std::uint64_t spin_for_ever_us = 1ULL << 32;

/// Whoever calls a worker of no crew knows of the module's effects.
bool may_run_twice(const CrewLane* crew) { return crew != nullptr && !crew->is_once(); }
constexpr std::string_view effects_refused =
    "the function's module has effects, and a crew may begin a call again: call it with "
    "at_most_once";

}  // namespace

CallLoop::CallLoop(const Parts& parts)
    : parts_(parts),
      inline_calls_({.modules = parts.modules,
                     .hygiene = parts.hygiene,
                     .cores = parts.cores,
                     .gpu = parts.gpu}),
      wait_{.lane = parts.lane,
            .control = parts.control,
            .spin_ticks = parts.rate.ticks(default_spin),
            .alone_ticks = parts.rate.ticks(spin_alone)} {
  parts_.code.resize(ModuleTable::slot_limit);  // never grows again: the crash handler reads it
}

void CallLoop::run() {
  while (true) {
    if (has_orders()) obey_control();
    auto request = parts_.lane.receive();
    if (!request && request.error().code == ErrorCode::unreachable && parts_.crew != nullptr)
      await_end(request.error().message);
    if (!request) end(LastWords::failed, request.error().message);
    if (*request) {
      if (heard_more()) *request = parts_.crew->look_again(**request);
      if (parts_.crew == nullptr || bring_code(**request)) execute(**request);
    } else {
      wait();
      last_end_ = 0;
    }
  }
}

/// A member at another executor is gone, and with it the crew: that is no end of this worker's own
/// doing, so the agent ends it.
void CallLoop::await_end(const std::string& why) {
  report(CrewLost{why});
  for (;;) {
    auto packet = receive_packet(parts_.control, true);
    if (!packet || !*packet) ::_exit(0);
  }
}

/// Another member may have made a module, and sent a call of it, or one whose input names it,
/// before this one has looked at its orders: it has looked now.
bool CallLoop::heard_more() {
  if (parts_.crew == nullptr || !has_orders()) return false;
  obey_control();
  return true;
}

/// Returns when a call or a control message may be there.
void CallLoop::wait() {
  const bool came = wait_.spin([&] {
    return parts_.lane.ready() ||
           parts_.page.attention.load(std::memory_order_relaxed) != attention_seen_;
  });
  if (!came) block();
}

void CallLoop::block() {
  if (const auto left = parts_.hygiene.find_threads(); !left.empty()) end(LastWords::spoiled, left);
  wait_.sleep(POLLIN, [&] { return has_orders(); });
}

void CallLoop::report(const WorkerMessage& message) {
  (void)send_packet(parts_.control, encode(message));
}

void CallLoop::obey_control() {
  last_end_ = 0;
  attention_seen_ = parts_.page.attention.load(std::memory_order_acquire);
  while (true) {
    auto packet = receive_packet(parts_.control, false);
    if (!packet) ::_exit(0);
    if (!*packet) return;
    if (auto message = parse_worker_message((*packet)->text))
      obey(*message, (*packet)->descriptors);
  }
}

void CallLoop::obey(const WorkerMessage& message, std::vector<UniqueFd>& descriptors) {
  if (const auto* assign = std::get_if<Assign>(&message)) {
    wait_.spin_ticks = parts_.rate.ticks(
        std::chrono::microseconds(std::min<std::uint64_t>(assign->spin_us, 1ULL << 40)));
    // Who asked for the least latency has the core to himself.
    if (assign->spin_us >= spin_for_ever_us) wait_.alone_ticks = wait_.spin_ticks;
    output_limit_ = ByteCount{assign->output_limit};
    core_count_ = static_cast<std::int32_t>(assign->cores);
  } else if (const auto* wanted = std::get_if<Load>(&message);
             wanted != nullptr && descriptors.size() == 1) {
    load(*wanted, std::move(descriptors.front()));
  } else if (const auto* better = std::get_if<Improve>(&message);
             better != nullptr && descriptors.size() == 1) {
    improve(*better, descriptors.front().get());
  } else if (const auto* old = std::get_if<Unload>(&message);
             old != nullptr && old->slot < parts_.code.size()) {
    parts_.modules.remove(old->slot);
    parts_.code[old->slot].reset();
  } else if (const auto* given = std::get_if<MapData>(&message);
             given != nullptr && descriptors.size() == 1) {
    map_data(*given, descriptors.front().get());
  } else if (const auto* gone = std::get_if<UnmapData>(&message)) {
    parts_.data.unmap(gone->data);
    report(DataUnmapped{gone->data});
  } else if (const auto* retire = std::get_if<Retire>(&message)) {
    end(LastWords::spoiled, retire->reason);
  }
}

void CallLoop::load(const Load& message, UniqueFd code) {
  const auto start = std::chrono::steady_clock::now();
  if (message.slot >= ModuleTable::slot_limit)
    return refuse(message, "a worker has 1024 places for modules", !message.first);
  // Its call has made the same module meanwhile, and has said so.
  if (parts_.modules.find(message.slot, message.generation) != nullptr) return;
  auto linked = link_code(code.get());
  code.reset();  // what the initialisers leave open is counted
  if (!linked) return refuse(message, linked.error().message, !message.first);
  LoadedModule module{.slot = message.slot,
                      .generation = message.generation,
                      .digest = message.digest,
                      .quick = message.quick,
                      .has_effects = has_effects(**linked),
                      .on_gpu = message.on_gpu && parts_.gpu != nullptr};
  for (const auto& [name, address] : (*linked)->entries()) {
    module.entries.push_back(reinterpret_cast<EntryFunction>(address));
    module.names.push_back(name);
  }
  Loaded report_of{.slot = message.slot, .generation = message.generation, .entries = module.names};
  parts_.modules.insert(std::move(module));
  parts_.code[message.slot] = std::move(*linked);
  parts_.page.last_words.store(0);
  // What initialisers have begun nobody can undo: when one fails, the process goes.
  if (const std::string why = initialise(*parts_.code[message.slot], parts_.hygiene); !why.empty())
    refuse(message, "a static initialiser failed: " + why, true);
  const auto took = std::chrono::steady_clock::now() - start;
  if (const auto spoiled = parts_.hygiene.restore_after_call(took); !spoiled.empty())
    refuse(message, "its static initialisers: " + std::string(spoiled), true);
  report_of.link_us = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(took).count());
  report(report_of);
}

/// The reason may lie in what ran here before. Then the agent tries it in a fresh worker, and this
/// one ends.
void CallLoop::refuse(const Load& message, const std::string& why, bool ends) {
  report(LoadFailed{message.slot, why});
  if (ends) end(LastWords::spoiled, "a module could not be loaded: " + why);
}

/// Between two calls, for a module without state: the next call of the slot runs the new code.
void CallLoop::improve(const Improve& message, int code) {
  LoadedModule* const module = parts_.modules.find(message.slot, message.generation);
  if (module == nullptr || !module->quick) return;
  std::unique_ptr<LinkedModule>& current = parts_.code[message.slot];
  const auto refuse = [&](std::string why) { report(Improved{message.slot, std::move(why)}); };
  auto linked = link_code(code);
  if (!linked) return refuse(linked.error().message);
  if ((*linked)->has_initialisers()) return refuse("the new code has static initialisers");
  if (!std::ranges::equal((*linked)->entries(), current->entries(), {}, &LinkedModule::Entry::name,
                          &LinkedModule::Entry::name))
    return refuse("the new code has other entries");
  std::ranges::transform((*linked)->entries(), module->entries.begin(), [](const auto& entry) {
    return reinterpret_cast<EntryFunction>(entry.address);
  });
  module->quick = false;
  module->replaced = std::exchange(current, std::move(*linked));
  report(Improved{message.slot, {}});
}

void CallLoop::map_data(const MapData& message, int file) {
  if (auto mapped = parts_.data.map(message.data, file, message.bytes); !mapped)
    report(DataNotMapped{message.data, mapped.error().message});
  else
    report(DataMapped{message.data});
}

/// What the call is given, by the table in front of its input, which its client has written and may
/// write to at any time. False: the call is answered.
bool CallLoop::find_data(const transport::LaneRequest& request) {
  table_bytes_ = data_count_ = 0;
  if ((request.header.flags & flag_data) == 0) return true;
  const auto table = read_data_table(request.input);
  if (!table) {
    (void)parts_.lane.answer({.outcome = Outcome::bad_request,
                              .message = "the payload has no table of data: 1 to 64 ids"});
    return false;
  }
  for (const DataId& data : table->data()) {
    const MappedFile* const mapped = parts_.data.find(data);
    if (mapped == nullptr) {
      (void)parts_.lane.answer({.kind = ResponseKind::need_data});
      return false;
    }
    call_data_[data_count_++] = {mapped->bytes().data(), mapped->bytes().size()};
  }
  table_bytes_ = table->bytes;
  return true;
}

void CallLoop::execute(const transport::LaneRequest& request) {
  const CallHeader& header = request.header;
  if (header.kind != static_cast<std::uint8_t>(RequestKind::call)) {
    (void)parts_.lane.answer({.kind = ResponseKind::discarded});  // its stream has ended
    return;
  }
  const LoadedModule* const module = parts_.modules.find(header.slot, header.generation);
  if (module == nullptr || header.entry >= module->entries.size()) {
    (void)parts_.lane.answer({.kind = ResponseKind::need_code});
    return;
  }
  if (module->has_effects && may_run_twice(parts_.crew)) {
    (void)parts_.lane.answer({.outcome = Outcome::bad_request, .message = effects_refused});
    return;
  }
  if (!find_data(request)) return;
  ++number_;
  StatusPage& page = parts_.page;
  const bool streams = (header.flags & flag_stream) != 0;
  CallStream stream(wait_, page, header);
  orchid_call call{.lane = parts_.lane,
                   .page = page,
                   .log = parts_.log,
                   .device = module->on_gpu ? *parts_.gpu : parts_.cores,
                   .progress = parts_.progress,
                   .rate = parts_.rate,
                   .number = number_,
                   .slot = header.slot,
                   .generation = header.generation,
                   .request_id = header.request_id,
                   .started_ticks = last_end_ != 0 ? last_end_ : ticks_now(),
                   .deadline_ns = header.deadline_ns,
                   .core = parts_.core,
                   .core_count = core_count_,
                   .output_limit = output_limit_of(streams).value,
                   .data = std::span(call_data_).first(data_count_),
                   .objects = parts_.objects,
                   .memory = parts_.memory,
                   .stream = streams ? &stream : nullptr,
                   .crew = parts_.crew,
                   .message = &message_,
                   .inline_calls = &inline_calls_,
                   .made = &parts_.made};
  page.request_id.store(header.request_id, std::memory_order_relaxed);
  page.started_ticks.store(call.started_ticks, std::memory_order_relaxed);
  page.deadline_ns.store(header.deadline_ns, std::memory_order_relaxed);
  page.refused.store(0, std::memory_order_relaxed);
  page.slot.store(header.slot, std::memory_order_relaxed);
  parts_.log.begin(header.request_id);
  page.state.store(pack_state(number_, RunState::running), std::memory_order_release);
  const Verdict verdict =
      run_entry(module->entries[header.entry], call, request.input.subspan(table_bytes_));
  finish(request, call, verdict);
}

CallLoop::Verdict CallLoop::run_entry(EntryFunction entry, orchid_call& call,
                                      std::span<std::byte> input) {
  errno = 0;  // whatever waiting for it has left there
  try {
    const std::int32_t status = entry(&call, input.data(), input.size());
    parts_.hygiene.restore_registers();
    return verdict_of(status, call);
  } catch (const std::bad_alloc&) {
    parts_.hygiene.restore_registers();
    parts_.page.refused.fetch_or(refused_memory, std::memory_order_relaxed);
    return {Outcome::limit_exceeded,
            "the function ran out of memory: let it use less, or raise its memory limit"};
  } catch (...) {
    parts_.hygiene.restore_registers();
    fallback_message_ = describe_current_exception();
    parts_.hygiene.restore_registers();  // what() may be the function's own
    return {Outcome::function_error, fallback_message_};
  }
}

/// A worker that is spoiled has answered its calls, and their answers are to arrive. It says first
/// that it ends: an idle worker that works would be killed for that.
void CallLoop::end(LastWords words, std::string_view why) {
  if (words != LastWords::spoiled) end_worker(parts_.page, words, why);
  say_last_words(parts_.page, words, why);
  // Whether the client has them is not known then, and nobody is to be blamed for that.
  if (!parts_.lane.flush()) end_worker(parts_.page, LastWords::failed, why);
  ::_exit(0);
}

}  // namespace orchid::executor
