#include "made_modules.h"

#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <utility>

#include "foundation/files.h"
#include "foundation/sockets.h"
#include "module_code.h"
#include "protocol/compiler_messages.h"
#include "worker/messages.h"

namespace orchid::executor {

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
  auto made = parts_.depot.ask(
      {.ask = ServiceAsk::make_module, .bytes = content.size(), .name = std::move(name)});
  if (!made) return fail(std::move(made.error()));
  if (parts_.modules.find_digest(made->message) != nullptr) return std::move(made->message);
  if (auto shared = link_and_share(*made); !shared) return fail(std::move(shared.error()));
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

Result<void> MadeModules::link_and_share(const ServiceClient::Answer& made) {
  auto linked = link_code(made.file.get());
  if (!linked) return fail(ErrorCode::module_rejected, std::move(linked.error().message));
  if (const std::string why = initialise(**linked, parts_.hygiene); !why.empty()) {
    spoiled_ = "a static initialiser of a module that its call has made failed";
    left_.push_back(std::move(*linked));
    return fail(ErrorCode::module_rejected, "a static initialiser failed: " + why);
  }
  const auto shared = parts_.depot.ask({.ask = ServiceAsk::share_module, .name = made.message});
  if (shared) {
    place({.slot = slot_of(shared->bytes),
           .generation = generation_of(shared->bytes),
           .digest = made.message,
           .quick = made.bytes == static_cast<std::uint64_t>(CompileTier::quick)},
          std::move(*linked));
    return {};
  }
  if ((*linked)->has_initialisers()) {
    spoiled_ = "a module that its call has made could not be kept";
    left_.push_back(std::move(*linked));
  }
  return fail(shared.error());
}

void MadeModules::place(LoadedModule module, std::unique_ptr<LinkedModule> linked) {
  const std::uint32_t slot = module.slot;
  if (slot >= parts_.code.size()) return;
  for (const auto& [name, address] : linked->entries()) {
    module.entries.push_back(reinterpret_cast<EntryFunction>(address));
    module.names.push_back(name);
  }
  const Loaded report{.slot = slot, .generation = module.generation, .entries = module.names};
  parts_.modules.insert(std::move(module));
  parts_.code[slot] = std::move(linked);
  (void)send_packet(parts_.control, encode(WorkerMessage(report)));
}

}  // namespace orchid::executor
