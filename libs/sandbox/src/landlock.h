// sandbox/landlock.h: the kernel's file and socket restrictions, negotiated at run time.
#pragma once
#include <filesystem>
#include <vector>

#include "foundation/result.h"

namespace orchid {

/// The ABI version of the running kernel; 0: none.
[[nodiscard]] int landlock_abi();

enum class NetworkAccess { none, incoming_tcp, tcp };

/// Files, and trees with all that is in them. What does not exist needs no permission.
struct FileAccess {
  std::vector<std::filesystem::path> readable;
  std::vector<std::filesystem::path> writable;  // and readable
  std::vector<std::filesystem::path> devices;   // and readable, writable, asked by ioctl
};

/// From now on this process can open nothing but `files`, make no TCP connection and accept none
/// unless `network` lets it, and reach no abstract socket or signal outside of its domain, as far
/// as the kernel's ABI goes. Needs no_new_privs. Errors: `system`.
[[nodiscard]] Result<void> enter_landlock(const FileAccess& files, NetworkAccess network);

}  // namespace orchid
