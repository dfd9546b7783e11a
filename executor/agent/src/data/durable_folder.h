// data/durable_folder.h: files in which data objects outlive their executor.
//
// DIRECTORY/UID/ID.data: a header of 4 KiB, then the bytes. The header is
//   orchid-data 1 sha256:<of the rest>
//   <when it was written, in ms since 1970>
//   <what a hello tells of it, with the digest of the bytes>
// and zeros. A file that has this name is whole, and on its disk.
#pragma once
#include <atomic>
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
/// the directory or goes over a symbolic link, whatever others put there.
class DurableFolder {
 public:
  /// Errors: `bad_configuration`: it is no directory of this user's, or others may write to it;
  /// `unsupported`: the kernel is older than 5.6; `system`.
  [[nodiscard]] static Result<DurableFolder> open(const std::filesystem::path& directory);

  /// What is there, with the time that has passed since. What is over is removed, and so is what is
  /// left of writers that were killed. A file that is not as it was written is logged, and left.
  [[nodiscard]] std::vector<DataHeld> list(WallTime now) const;
  /// The digest of a sealed object's bytes, which are on the disk under that name when it returns.
  /// `stop`: looked at every few MiB. Errors: `disk_full`, `system`; `cancelled`. Nothing is left
  /// then.
  [[nodiscard]] Result<std::string> write(const MemoryFile& object, DataHeld held, WallTime now,
                                          const std::atomic<bool>& stop) const;
  /// A sealed memory file with the bytes that were written. Errors: `data_lost`: the file is not
  /// what was written, or is not there; `system`, `cancelled`.
  [[nodiscard]] Result<MemoryFile> read(const DurableName& name, ByteCount bytes,
                                        const std::atomic<bool>& stop) const;
  /// Nothing when it is not there.
  void remove(const DurableName& name) const;
  /// It is not to be found again, and there for people to look at: ID.bad.
  void set_aside(const DurableName& name) const;

 private:
  explicit DurableFolder(UniqueFd root)
      : root_(std::make_shared<const UniqueFd>(std::move(root))) {}
  [[nodiscard]] Result<UniqueFd> open_tenant(std::uint32_t tenant, bool makes) const;
  void list_tenant(std::uint32_t tenant, WallTime now, std::vector<DataHeld>& all) const;

  std::shared_ptr<const UniqueFd> root_;  // shared by the threads that use it
};

}  // namespace orchid::executor
