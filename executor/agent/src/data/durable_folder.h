// data/durable_folder.h: files in which data objects outlive their executor.
//
// DIRECTORY/.orchid-lock: locked by the executor that has the directory; says which one that is.
// DIRECTORY/UID/ID.data: a header of 4 KiB, then the bytes. The header is
//   orchid-data 1 sha256:<of the rest>
//   <when it was written, in ms since 1970>
//   <what a hello tells of it, with the digest of the bytes>
// and zeros. A file that has this name is whole, and on its disk.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/memory_file.h"
#include "foundation/clock.h"
#include "foundation/result.h"
#include "foundation/unique_fd.h"
#include "foundation/units.h"
#include "protocol/data_messages.h"

namespace orchid::executor {

/// One object's file: whose it is, and which. Nobody but the executor names one, so that no name
/// comes from a tenant.
struct DurableName {
  std::uint32_t tenant = 0;
  DataId data;
};

/// A value; any thread. All functions take as long as the disk does. Nothing that they open leaves
/// the directory or goes over a symbolic link, whatever others put there. The directory is locked
/// until the last copy of the value is gone: what is there is this executor's, and nobody else adds
/// to it.
class DurableFolder {
 public:
  /// Errors: `bad_configuration`: it is no directory of this user's, or others may write to it;
  /// `conflict`: another executor has it; `unsupported`: the kernel is older than 5.6, or the file
  /// system has no locks; `disk_full`, `system`.
  [[nodiscard]] static Result<DurableFolder> open(const std::filesystem::path& directory);

  struct Found {
    std::vector<DataHeld> held;
    std::size_t ignored = 0;  // files that are not as they were written, or cannot be read now
  };
  /// What is there, with the time that has passed since. What is over is removed, and so is what is
  /// left of writers that were killed. What is ignored is logged, and left.
  [[nodiscard]] Found list(WallTime now) const;
  /// The digest of a sealed object's bytes, which are on the disk under that name when it returns.
  /// `stop`: looked at every few MiB. Errors: `disk_full`, `system`; `cancelled`. Nothing is left
  /// then.
  [[nodiscard]] Result<std::string> write(const MemoryFile& object, DataHeld held, WallTime now,
                                          const std::atomic<bool>& stop) const;
  /// A sealed memory file with the bytes that were written. Errors: `data_lost`: the file is
  /// shorter than what was written, or of another digest, or not there; `system`: it cannot be read
  /// now; `cancelled`.
  [[nodiscard]] Result<MemoryFile> read(const DurableName& name, ByteCount bytes,
                                        const std::atomic<bool>& stop) const;
  /// When it returns, nobody finds it again, also not after the machine has lost its power. Also
  /// when it was not there. Errors: `system`: it may be there yet.
  [[nodiscard]] Result<void> remove(const DurableName& name) const;
  /// The same, and it is there for people to look at: ID.bad.
  [[nodiscard]] Result<void> set_aside(const DurableName& name) const;

 private:
  struct Directory {
    UniqueFd root;
    UniqueFd lock;
  };
  explicit DurableFolder(Directory directory)
      : directory_(std::make_shared<const Directory>(std::move(directory))) {}
  [[nodiscard]] const UniqueFd& root() const { return directory_->root; }
  [[nodiscard]] Result<UniqueFd> make_tenant(std::uint32_t tenant) const;
  [[nodiscard]] Result<UniqueFd> open_tenant(std::uint32_t tenant) const;
  void list_tenant(std::uint32_t tenant, WallTime now, Found& all) const;

  std::shared_ptr<const Directory> directory_;  // shared by the threads that use it
};

}  // namespace orchid::executor
