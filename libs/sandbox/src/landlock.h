// sandbox/landlock.h: the kernel's file and socket restrictions, negotiated at run time.
#pragma once
#include <filesystem>
#include <vector>

#include "foundation/result.h"

namespace orchid {

/// The ABI version of the running kernel; 0: none.
[[nodiscard]] int landlock_abi();

enum class NetworkAccess { none, incoming_tcp, tcp };

/// From now on this process can read below `readable` and open nothing else, make no TCP
/// connection and accept none unless `network` lets it, and reach no abstract socket or signal
/// outside of its domain, as far as the kernel's ABI goes. Needs no_new_privs. Errors: `system`.
[[nodiscard]] Result<void> enter_landlock(const std::vector<std::filesystem::path>& readable,
                                          NetworkAccess network);

}  // namespace orchid
