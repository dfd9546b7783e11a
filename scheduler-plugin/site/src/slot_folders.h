// slot_folders.h: where the executors of slots have their files: compiled code that stays, and
// sockets that go with a grant.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "foundation/result.h"
#include "site/slot_book.h"

namespace orchid::site {

/// Both parents belong to root alone; what lies in them to the slots' users.
struct SlotFolders {
  std::filesystem::path state;    // STATE/slots/3 and, saying for whom, STATE/slots/3.use
  std::filesystem::path runtime;  // RUNTIME/slots/3
  uid_t first_uid = 0;

  [[nodiscard]] std::filesystem::path state_of(std::uint32_t slot) const;
  [[nodiscard]] std::filesystem::path runtime_of(std::uint32_t slot) const;
  [[nodiscard]] uid_t uid_of(std::uint32_t slot) const { return first_uid + slot; }
};

/// Makes what is missing of the parents. Errors: `system`, `denied`: somebody else owns one.
[[nodiscard]] Result<void> make_parents(const SlotFolders& folders);
/// How each of `count` slots was used last.
[[nodiscard]] std::vector<std::optional<SlotUse>> read_uses(const SlotFolders& folders,
                                                            std::uint32_t count);
/// Makes the slot's two folders, the runtime's empty; the state's keeps what is in it if `keep`.
/// Nobody runs under the slot's uid. Errors: `system`, `disk_full`.
[[nodiscard]] Result<void> prepare(const SlotFolders& folders, std::uint32_t slot,
                                   const SlotUse& use, bool keep);
/// True: nothing runs under that uid. Else it is killed, which takes a moment: to be asked again.
[[nodiscard]] bool end_all_of(uid_t uid);

}  // namespace orchid::site
