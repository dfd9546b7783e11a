#include "made_modules.h"

#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "foundation/files.h"
#include "foundation/sockets.h"
#include "module_code.h"
#include "protocol/compiler_messages.h"
#include "protocol/digest.h"
#include "protocol/names.h"
#include "worker/messages.h"

namespace orchid::executor {
namespace {

constexpr std::size_t most_names = 256;  // functions choose them

struct ModuleEntry {
  std::string module;
  std::string entry;
};

/// Nothing: no module can have that name.
std::optional<ModuleEntry> split_name(std::string_view function) {
  const std::size_t dot = function.find('.');
  if (is_digest(function.substr(0, dot)))
    return ModuleEntry{.module = std::string(function.substr(0, dot)),
                       .entry = std::string(function.substr(dot + 1))};
  auto reference = parse_function_reference(function);
  if (!reference || reference->entry.empty()) return std::nullopt;
  if (!reference->version_prefix.empty()) {
    constexpr std::size_t most_digits = 16;  // so that it fits into a request
    reference->function += "@" + reference->version_prefix.substr(0, most_digits);
  }
  return ModuleEntry{.module = std::move(reference->function),
                     .entry = std::move(reference->entry)};
}

}  // namespace

Result<std::string> MadeModules::make(std::span<const std::byte> module) {
  return make(module, std::string());
}

Result<std::string> MadeModules::make_with(std::string_view base, std::string_view constants) {
  if (constants.empty()) return fail(ErrorCode::bad_request, "no constant is given");
  if (base.empty() || base.size() > longest_service_name)
    return fail(ErrorCode::bad_request,
                "a module is named by its digest: sha256: and 64 hexadecimal digits");
  return make(as_bytes(constants), std::string(base));
}

Result<std::string> MadeModules::make(std::span<const std::byte> content, std::string name) {
  if (!spoiled_.empty())
    return fail(ErrorCode::conflict, "a module that this call has made before has failed here");
  if (content.empty()) return fail(ErrorCode::bad_request, "the module has no bytes");
  if (auto filled = fill_room(content); !filled) return fail(std::move(filled.error()));
  return have({.ask = ServiceAsk::make_module, .bytes = content.size(), .name = std::move(name)});
}

Result<std::string> MadeModules::fetch(std::string name) {
  if (!spoiled_.empty())
    return fail(ErrorCode::conflict, "a module that this call has made before has failed here");
  return have({.ask = ServiceAsk::fetch_module, .name = std::move(name)});
}

/// A function's name means what it has meant here before, until the crew is formed anew: a call and
/// its next one run the same code.
Result<std::string> MadeModules::bring(std::string_view function) {
  if (function.find('.') == std::string_view::npos) return std::string(function);
  const auto named = split_name(function);
  if (!named) return std::string(function);
  if (is_digest(named->module)) {
    if (parts_.modules.find_digest(named->module) != nullptr) return std::string(function);
    auto fetched = fetch(named->module);
    if (!fetched) return fail(std::move(fetched.error()));
    return std::string(function);
  }
  const auto known = digests_.find(named->module);
  if (known != digests_.end() && parts_.modules.find_digest(known->second) != nullptr)
    return known->second + "." + named->entry;
  auto fetched = fetch(named->module);
  if (!fetched) return fail(std::move(fetched.error()));
  if (digests_.size() == most_names) digests_.clear();
  digests_.insert_or_assign(named->module, *fetched);
  return *fetched + "." + named->entry;
}

/// Answered with code: it is linked here and shared, unless it is here already.
Result<std::string> MadeModules::have(ServiceRequest request) {
  auto made = parts_.depot.ask(std::move(request));
  if (!made) return fail(std::move(made.error()));
  const LoadedModule* const known = parts_.modules.find_digest(made->message);
  if (known != nullptr && known->kept) return std::move(made->message);
  if (auto shared = known != nullptr ? keep(*made) : link_and_share(*made); !shared)
    return fail(std::move(shared.error()));
  return std::move(made->message);
}

/// Nothing of it may stay mapped or open here, or the agent does not take it.
Result<void> MadeModules::fill_room(std::span<const std::byte> content) {
  auto room = parts_.depot.ask({.ask = ServiceAsk::create_module, .bytes = content.size()});
  if (!room) return fail(std::move(room.error()));
  void* const bytes =
      ::mmap(nullptr, content.size(), PROT_READ | PROT_WRITE, MAP_SHARED, room->file.get(), 0);
  if (bytes == MAP_FAILED) return fail_errno("the worker could not map a module's room");
  std::memcpy(bytes, content.data(), content.size());
  ::munmap(bytes, content.size());
  return {};
}

Result<std::unique_ptr<LinkedModule>> MadeModules::link(const ServiceClient::Answer& made) {
  auto linked = link_code(made.file.get());
  if (!linked) return fail(ErrorCode::module_rejected, std::move(linked.error().message));
  if (const std::string why = initialise(**linked, parts_.hygiene); !why.empty()) {
    spoiled_ = "a static initialiser of a module that its call has made failed";
    left_.push_back(std::move(*linked));
    return fail(ErrorCode::module_rejected, "a static initialiser failed: " + why);
  }
  return std::move(*linked);
}

Result<void> MadeModules::link_and_share(const ServiceClient::Answer& made) {
  auto linked = link(made);
  if (!linked) return fail(std::move(linked.error()));
  const auto shared = parts_.depot.ask({.ask = ServiceAsk::share_module, .name = made.message});
  if (shared) return place(made, shared->bytes, std::move(*linked));
  if ((*linked)->has_initialisers()) {
    spoiled_ = "a module that its call has made could not be kept";
    left_.push_back(std::move(*linked));
  }
  return fail(shared.error());
}

/// The program has loaded it, or another member has made it. The agent may be about to have it
/// dropped for another module: then it gets another place, and what is here is gone after the call.
Result<void> MadeModules::keep(const ServiceClient::Answer& made) {
  const auto shared = parts_.depot.ask({.ask = ServiceAsk::share_module, .name = made.message});
  if (!shared) return fail(shared.error());
  if (LoadedModule* const here =
          parts_.modules.find(slot_of(shared->bytes), generation_of(shared->bytes))) {
    here->kept = true;
    return {};
  }
  auto linked = link(made);
  if (linked) return place(made, shared->bytes, std::move(*linked));
  spoiled_ = "a module that its call has made could not be loaded again";
  return fail(std::move(linked.error()));
}

/// Whatever is in the place may be running, and is not touched.
Result<void> MadeModules::place(const ServiceClient::Answer& made, std::uint64_t place,
                                std::unique_ptr<LinkedModule> linked) {
  const std::uint32_t slot = slot_of(place);
  if (slot >= parts_.code.size() || parts_.code[slot] != nullptr) {
    spoiled_ = "a module that its call has made has no place here";
    left_.push_back(std::move(linked));
    return fail(ErrorCode::no_capacity, "this member has no place for the module");
  }
  LoadedModule module{.slot = slot,
                      .generation = generation_of(place),
                      .digest = made.message,
                      .quick = made.bytes == static_cast<std::uint64_t>(CompileTier::quick),
                      .has_effects = has_effects(*linked),
                      .kept = true};
  for (const auto& [name, address] : linked->entries()) {
    module.entries.push_back(reinterpret_cast<EntryFunction>(address));
    module.names.push_back(name);
  }
  const Loaded report{.slot = slot, .generation = module.generation, .entries = module.names};
  parts_.modules.insert(std::move(module));
  parts_.code[slot] = std::move(linked);
  (void)send_packet(parts_.control, encode(WorkerMessage(report)));
  return {};
}

}  // namespace orchid::executor
