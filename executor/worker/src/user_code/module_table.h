// worker/module_table.h: the modules that this worker has loaded, by their slots, by their digests
// and by the names of their entries.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/result.h"
#include "jit/linker.h"

struct orchid_call;

namespace orchid::executor {

using EntryFunction = std::int32_t (*)(orchid_call*, const void*, std::size_t);

struct LoadedModule {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;  // 0: the slot is empty
  std::string digest;
  std::uint64_t key = 0;               // of the digest: protocol/crew.h
  std::vector<std::string> names;      // of its entries, sorted: entry k is called by the number k
  std::vector<EntryFunction> entries;  // in the same order
  bool quick = false;                  // code of that tier
  bool has_effects = false;            // its calls may not be repeated
  bool on_gpu = false;                 // where its kernels run
  bool kept = false;                   // a call here has made it: the agent never has it dropped
  /// Code that was replaced: something that a call has left behind may still point to it.
  std::unique_ptr<LinkedModule> replaced;
};

/// The worker's thread.
class ModuleTable {
 public:
  static constexpr std::size_t slot_limit = 1024;
  ModuleTable() { slots_.reserve(slot_limit); }

  /// Into its slot, which is below `slot_limit`. Valid until it is removed.
  LoadedModule& insert(LoadedModule module);
  void remove(std::uint32_t slot);

  /// Null: the slot is empty, or holds something else by now.
  [[nodiscard]] LoadedModule* find(std::uint32_t slot, std::uint32_t generation) {
    if (slot >= slots_.size() || generation == 0 || slots_[slot].generation != generation)
      return nullptr;
    return &slots_[slot];
  }
  [[nodiscard]] const LoadedModule* find_key(std::uint64_t key) const;
  [[nodiscard]] const LoadedModule* find_digest(std::string_view digest) const;

  [[nodiscard]] std::string digest_at(std::uint32_t slot) const {
    return slot < slots_.size() ? slots_[slot].digest : std::string();
  }

  struct Entry {
    const LoadedModule* module = nullptr;
    std::uint16_t number = 0;
  };
  /// What an entry of the module in `own_slot` means by `name`: "E" is an entry of that module, or
  /// else of the only other one that has such an entry; "sha256:DIGEST.E" is one of the module with
  /// that digest. Errors: `not_found`, `conflict` (several have it).
  [[nodiscard]] Result<Entry> find_entry(std::string_view name, std::uint32_t own_slot) const;

 private:
  std::vector<LoadedModule> slots_;
};

}  // namespace orchid::executor
