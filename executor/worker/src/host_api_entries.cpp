// The functions of orchid/function.h by which an entry has others run, here or elsewhere in its
// crew, and makes new ones.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "call_objects.h"
#include "crew/crew_lane.h"
#include "inline_calls.h"
#include "made_modules.h"
#include "orchid/function.h"
#include "protocol/constants.h"
#include "user_code/call_context.h"

namespace {

/// Of an entry, alone or behind its module's digest.
std::string_view function_of(const char* name) {
  constexpr std::size_t longest = 160;
  return name == nullptr ? std::string_view()
                         : std::string_view(name, ::strnlen(name, longest + 1));
}

/// What a name means once its module is here: names that name one have it fetched if they must.
struct Brought {
  std::string_view name;
  std::string full;     // what `name` is a part of, if it is another one than the function's own
  std::string missing;  // why it is not here; empty: it is, or nobody has asked
};
void bring(orchid_call* call, const char* name, Brought& brought) {
  brought.name = function_of(name);
  if (call->crew == nullptr || brought.name.find('.') == std::string_view::npos) return;
  if (call->made->is_here(brought.name)) return;
  auto full = call->made->bring(brought.name);
  if (!full) {
    brought.missing = "'" + std::string(brought.name) +
                      "' is not here, and could not be fetched: " + full.error().message;
    return;
  }
  brought.full = std::move(*full);
  brought.name = brought.full;
}

std::int32_t module_status_of(orchid::ErrorCode code) {
  switch (code) {
    case orchid::ErrorCode::module_rejected:
    case orchid::ErrorCode::bad_request:
    case orchid::ErrorCode::too_large:
    case orchid::ErrorCode::unsupported:
    case orchid::ErrorCode::not_found:
      return ORCHID_MODULE_REJECTED;
    case orchid::ErrorCode::compile_limit:
      return ORCHID_MODULE_TOO_COSTLY;
    case orchid::ErrorCode::quota:
    case orchid::ErrorCode::no_capacity:
      return ORCHID_MODULE_QUOTA;
    default:
      return ORCHID_ERROR;
  }
}

/// Of a module that the call has made, or could not make.
std::int32_t tell_made(orchid_call* call, const orchid::Result<std::string>& made, char* digest) {
  if (digest != nullptr) *digest = 0;
  if (!made) {
    call->set_message(std::string(orchid::to_string(made.error().code)) + ": " +
                      made.error().message);
    return module_status_of(made.error().code);
  }
  static_assert(ORCHID_DIGEST_SIZE == 72);
  if (digest == nullptr) return ORCHID_OK;
  if (made->size() >= ORCHID_DIGEST_SIZE) {
    call->set_message("internal: the module has a digest that is too long to be told");
    return ORCHID_ERROR;
  }
  std::memcpy(digest, made->c_str(), made->size() + 1);
  return ORCHID_OK;
}

/// Whether the call can make modules. If not, it is told why.
bool may_make(orchid_call* call, const std::string& asked) {
  if (call->crew != nullptr) return true;
  call->set_message(asked +
                    ": this worker is in no crew, and only calls of a crew make modules; "
                    "call the function through Client::crew");
  return false;
}

orchid::Result<std::string> constants_of(std::span<const orchid_constant> asked) {
  if (asked.size() > orchid::most_constants)
    return orchid::fail(orchid::ErrorCode::too_large, "too many constants are given");
  std::vector<orchid::Constant> constants;
  for (const orchid_constant& one : asked) {
    if (one.size > orchid::longest_constants)
      return orchid::fail(orchid::ErrorCode::too_large, "a constant is too large to be set");
    const auto* const value = static_cast<const std::byte*>(one.value);
    constants.push_back({.name = std::string(function_of(one.name)), .value = {}});
    constants.back().value.assign(value, value + one.size);
  }
  return orchid::encode_constants(std::move(constants));
}

/// Whether this entry can say how its call goes on. If not, it is told why.
bool may_go_on(orchid_call* call, const std::string& asked) {
  if (call->crew != nullptr && call->level == 0) return true;
  call->set_message(
      asked +
      (call->crew == nullptr
           ? ": this worker is in no crew, so the call cannot go on at another one; call the "
             "function through Client::crew"
           : ": an entry that another one has invoked answers that one; only the call's own entry "
             "can say how it goes on"));
  return false;
}

std::int32_t tell(orchid_call* call,
                  const std::optional<orchid::executor::CrewLane::Refusal>& refusal) {
  if (!refusal) return ORCHID_OK;
  call->set_message(refusal->message);
  return ORCHID_ERROR;
}

std::span<const orchid::executor::AlignedBytes> outputs_of(const orchid_call* call) {
  if (call->crew == nullptr || call->level > 0) return {};
  return call->crew->outputs();
}

}  // namespace

extern "C" {

std::int32_t orchid_invoke_inline(orchid_call* call, const char* function, const void* input,
                                  std::size_t input_size, const void** output,
                                  std::size_t* output_size) {
  Brought wanted;
  bring(call, function, wanted);
  std::span<const std::byte> result;
  const std::int32_t status =
      call->inline_calls->run(*call,
                              {.function = wanted.name,
                               .input = {static_cast<const std::byte*>(input), input_size},
                               .missing = wanted.missing},
                              result);
  if (output != nullptr) *output = result.data();
  if (output_size != nullptr) *output_size = result.size();
  return status;
}

std::int32_t orchid_forward(orchid_call* call, std::uint32_t member, const char* entry,
                            const void* bytes, std::size_t size) {
  if (!may_go_on(call, "orchid_forward")) return ORCHID_ERROR;
  Brought wanted;
  bring(call, entry, wanted);
  return tell(call, call->crew->go_on({.member = member,
                                       .entry = wanted.name,
                                       .input = {static_cast<const std::byte*>(bytes), size},
                                       .missing = wanted.missing}));
}

std::int32_t orchid_forward_to_data(orchid_call* call, const char* data, const char* entry,
                                    const void* bytes, std::size_t size) {
  if (!may_go_on(call, "orchid_forward_to_data")) return ORCHID_ERROR;
  Brought wanted;
  bring(call, entry, wanted);
  const auto member = call->objects.locate(data == nullptr ? std::string_view() : data);
  if (!member)
    return tell(call, call->crew->cannot_go_on("orchid_forward_to_data: '" +
                                               std::string(function_of(data)) +
                                               "': " + member.error().message));
  return tell(call, call->crew->go_on({.member = *member,
                                       .entry = wanted.name,
                                       .input = {static_cast<const std::byte*>(bytes), size},
                                       .missing = wanted.missing}));
}

std::int32_t orchid_spawn(orchid_call* call, const char* function, const void* input,
                          std::size_t size) {
  if (!may_go_on(call, "orchid_spawn")) return ORCHID_ERROR;
  Brought wanted;
  bring(call, function, wanted);
  return tell(call, call->crew->spawn({.function = wanted.name,
                                       .input = {static_cast<const std::byte*>(input), size},
                                       .missing = wanted.missing}));
}

std::int32_t orchid_then(orchid_call* call, const char* entry, const void* state,
                         std::size_t size) {
  if (!may_go_on(call, "orchid_then")) return ORCHID_ERROR;
  Brought wanted;
  bring(call, entry, wanted);
  return tell(call, call->crew->then({.function = wanted.name,
                                      .input = {static_cast<const std::byte*>(state), size},
                                      .missing = wanted.missing}));
}

std::uint32_t orchid_child_count(orchid_call* call) {
  return static_cast<std::uint32_t>(outputs_of(call).size());
}

std::int32_t orchid_child(orchid_call* call, std::uint32_t index, const void** output,
                          std::size_t* size) {
  const std::span<const orchid::executor::AlignedBytes> outputs = outputs_of(call);
  const bool has = index < outputs.size();
  *output = has ? outputs[index].data() : nullptr;
  *size = has ? outputs[index].size() : 0;
  if (has) return ORCHID_OK;
  call->set_message("orchid_child: child " + std::to_string(index) +
                    " was asked for, and this call has waited for " +
                    std::to_string(outputs.size()));
  return ORCHID_ERROR;
}

std::int32_t orchid_deploy_module(orchid_call* call, const void* module, std::size_t size,
                                  char* digest) {
  if (!may_make(call, "orchid_deploy_module")) return ORCHID_ERROR;
  return tell_made(call, call->made->make({static_cast<const std::byte*>(module), size}), digest);
}

std::int32_t orchid_specialise(orchid_call* call, const char* module,
                               const orchid_constant* constants, std::size_t count, char* digest) {
  if (!may_make(call, "orchid_specialise")) return ORCHID_ERROR;
  const auto text = constants_of(std::span(constants, count));
  if (!text) return tell_made(call, text, digest);
  const std::string base =
      module != nullptr ? std::string(function_of(module)) : call->made->digest_at(call->slot);
  return tell_made(call, call->made->make_with(base, *text), digest);
}

std::uint32_t orchid_member(orchid_call* call) {
  return call->crew == nullptr ? 0 : call->crew->place().member;
}
std::uint32_t orchid_member_count(orchid_call* call) {
  return call->crew == nullptr ? 0 : call->crew->place().members;
}

}  // extern "C"
