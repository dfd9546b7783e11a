#include "inline_calls.h"

#include <cerrno>
#include <new>
#include <string>
#include <utility>

#include "crew/crew_lane.h"
#include "orchid/function.h"
#include "user_code/escaped_exception.h"

namespace orchid::executor {
namespace {

std::int32_t refuse(orchid_call& call, std::int32_t status, const std::string& why) {
  call.set_message("orchid_invoke_inline: " + why);
  return status;
}

/// A part of `caller`'s call, with an output of its own.
orchid_call part_of(const orchid_call& caller, const LoadedModule& module, Device& device) {
  return {.lane = caller.lane,
          .page = caller.page,
          .log = caller.log,
          .device = device,
          .progress = caller.progress,
          .rate = caller.rate,
          .number = caller.number,
          .slot = module.slot,
          .generation = module.generation,
          .request_id = caller.request_id,
          .started_ticks = caller.started_ticks,
          .deadline_ns = caller.deadline_ns,
          .core = caller.core,
          .core_count = caller.core_count,
          .output_limit = caller.output_limit,
          .data = {},
          .objects = caller.objects,
          .memory = caller.memory,
          .stream = nullptr,
          .crew = caller.crew,
          .message = caller.message,
          .inline_calls = caller.inline_calls,
          .made = caller.made,
          .level = caller.level + 1};
}

}  // namespace

std::int32_t InlineCalls::run(orchid_call& caller, const Ask& ask,
                              std::span<const std::byte>& output) {
  output = {};
  if (caller.level == most_levels)
    return refuse(caller, ORCHID_ERROR,
                  "entries invoke each other " + std::to_string(most_levels) +
                      " deep, which is the most: let the entry loop instead");
  const auto found = parts_.modules.find_entry(ask.function, caller.slot);
  if (!found)
    return refuse(caller, ORCHID_NO_FUNCTION,
                  ask.missing.empty() ? found.error().message : std::string(ask.missing));
  const LoadedModule& module = *found->module;
  if (module.has_effects) {
    if (caller.crew != nullptr && !caller.crew->is_once())
      return refuse(caller, ORCHID_ERROR,
                    "the module of that function has effects, and a crew may begin a call again: "
                    "the program has to call with at_most_once");
    // Outside of crews the caller's own module decides whether its call may be started twice.
    const LoadedModule* const own = parts_.modules.find(caller.slot, caller.generation);
    if (caller.crew == nullptr && (own == nullptr || !own->has_effects))
      return refuse(caller, ORCHID_ERROR,
                    "the module of that function has effects, and this call may be started twice: "
                    "declare ORCHID_EFFECT in the module that invokes it, too");
  }
  Device& device = module.on_gpu && parts_.gpu != nullptr ? *parts_.gpu : parts_.cores;
  used_ = true;
  orchid_call call = part_of(caller, module, device);
  Level& level = levels_[call.level];
  level = {};  // an entry that was left by a jump has cleared nothing
  const std::uint32_t refused = caller.page.refused.load(std::memory_order_relaxed);
  const std::int32_t status = run_entry(call, module.entries[found->number], ask.input);
  explain(call, status, ask.function);
  // What the inner one was refused is the caller's to judge.
  caller.page.refused.store(
      refused | (caller.page.refused.load(std::memory_order_relaxed) & refused_memory),
      std::memory_order_relaxed);
  if (status != ORCHID_OK || call.message_size > 0)
    caller.message_size = status == ORCHID_OK ? 0 : call.message_size;
  AlignedBytes written = std::exchange(level.written, {});
  level.result = {};  // of what the inner one has invoked
  if (status != ORCHID_OK) return status;
  // Only now: the input may have been the last result.
  AlignedBytes& result = levels_[caller.level].result;
  result = std::move(written);
  output = result.bytes();
  return ORCHID_OK;
}

std::int32_t InlineCalls::run_entry(orchid_call& call, EntryFunction entry,
                                    std::span<const std::byte> input) const {
  errno = 0;
  try {
    const std::int32_t status = entry(&call, input.data(), input.size());
    parts_.hygiene.restore_registers();
    return status;
  } catch (const std::bad_alloc&) {
    parts_.hygiene.restore_registers();
    call.page.refused.fetch_or(refused_memory, std::memory_order_relaxed);
    call.set_message("the function ran out of memory");
  } catch (...) {
    parts_.hygiene.restore_registers();
    const std::string why = describe_current_exception();
    parts_.hygiene.restore_registers();  // what() may be the function's own
    call.set_message(why);
  }
  return ORCHID_ERROR;
}

void InlineCalls::explain(orchid_call& call, std::int32_t status, std::string_view function) const {
  if (status == ORCHID_OK) return;
  const std::uint32_t refused = call.page.refused.load(std::memory_order_relaxed);
  const std::string name(function);
  if (call.output_refused)
    call.set_message("the output of '" + name + "' is over the limit of " +
                     to_string(ByteCount{call.output_limit}) + ", or the worker's memory is full");
  else if (call.message_size == 0 && (refused & refused_memory) != 0)
    call.set_message("'" + name + "' ran out of memory");
  else if (call.message_size == 0)
    call.set_message("'" + name + "' returned status " + std::to_string(status));
}

std::byte* InlineCalls::output(unsigned level, std::size_t size) {
  // A byte more: an empty output must not look like a refusal.
  AlignedBytes& written = levels_[level].written;
  if (!written.resize(size + 1) || !written.resize(size)) return nullptr;
  return written.data();
}

std::string_view InlineCalls::end_call(const Device& of_call) {
  if (!std::exchange(used_, false)) return {};
  Device* const other = &of_call == &parts_.cores ? parts_.gpu : &parts_.cores;
  const std::string_view left = other == nullptr ? std::string_view() : other->end_call();
  for (Level& level : levels_) level = {};  // nothing that runs there uses them any more
  return left;
}

}  // namespace orchid::executor
