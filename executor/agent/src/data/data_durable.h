// data/data_durable.h: the objects of this executor that it keeps as files, too, and who writes
// these.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/durable_folder.h"
#include "data/memory_file.h"
#include "foundation/background_thread.h"
#include "foundation/result.h"
#include "foundation/task.h"

namespace orchid::executor {

/// Owned by the agent's thread. Files are written and removed by a thread of its own, one after the
/// other. Without a folder it keeps nothing.
class DataDurable {
 public:
  /// `post`: to the agent's thread.
  DataDurable(Poster post, std::optional<DurableFolder> folder);
  ~DataDurable() { end(); }
  DataDurable(const DataDurable&) = delete;
  DataDurable& operator=(const DataDurable&) = delete;

  /// What earlier processes have left. Reads a few KiB of each file.
  [[nodiscard]] std::vector<DataHeld> find() const;
  /// One of these is known to the book.
  void adopt(const DataHeld& held);
  /// `done`: with the digest, when it is on its disk. Not called when the object is dropped
  /// meanwhile. Errors: `disk_full`, `system`.
  using Done = std::function<void(Result<std::string>)>;
  void write(DataHeld held, MemoryFile object, Done done);
  [[nodiscard]] bool is_writing(const DataId& data) const { return writes_.contains(data); }
  [[nodiscard]] bool has(const DataId& data) const { return files_.contains(data); }
  /// Reads it back, on whatever thread that does so: errors of `DurableFolder::read`. Empty: it has
  /// no file.
  using Read = std::function<Result<MemoryFile>(ByteCount, const std::atomic<bool>& stop)>;
  [[nodiscard]] Read reader_of(const DataId& data) const;
  /// Its file goes, whole or not.
  void dropped(const DataId& data);
  /// Its file is not what was written: it is left for people to look at.
  void spoiled(const DataId& data);
  /// Files stay; what is being written is not.
  void end();
  [[nodiscard]] bool idle() const { return thread_.idle(); }

 private:
  using Stop = std::shared_ptr<std::atomic<bool>>;
  void written(const DurableName& name, const Stop& write, Result<std::string> digest,
               const Done& done);

  Poster post_;
  std::optional<DurableFolder> folder_;
  std::map<DataId, std::uint32_t> files_;  // whose they are
  std::map<DataId, Stop> writes_;
  std::shared_ptr<char> alive_ =
      std::make_shared<char>();  // its weak pointers tell results whether we are still here
  BackgroundThread thread_;
};

}  // namespace orchid::executor
