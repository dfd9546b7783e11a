// data/data_durable.h: the objects of this executor that it keeps as files, too, and who writes
// these.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/data_book.h"
#include "data/durable_folder.h"
#include "data/memory_file.h"
#include "data/tenant_turns.h"
#include "foundation/background_thread.h"
#include "foundation/clock.h"
#include "foundation/result.h"
#include "foundation/task.h"
#include "foundation/units.h"

namespace orchid::executor {

/// Owned by the agent's thread. Files are written and removed by a thread of its own, one after the
/// other, and tenants take turns at it. Without a folder it keeps nothing.
class DataDurable {
 public:
  /// `post`: to the agent's thread.
  DataDurable(Poster post, std::optional<DurableFolder> folder);
  ~DataDurable() { end(); }
  DataDurable(const DataDurable&) = delete;
  DataDurable& operator=(const DataDurable&) = delete;

  /// What earlier processes have left. Reads a few KiB of each file.
  [[nodiscard]] DurableFolder::Found find() const;
  /// One of these is known to the book.
  void adopt(const DataHeld& held);
  /// Whether one more file of a tenant's would be written soon that has these rooms, or waits for
  /// their files, already. Errors: `no_capacity`.
  [[nodiscard]] static Result<void> check_queue(const DataBook::Unwritten& own);
  struct Writing {
    /// The descriptor that was given is closed: always, after that, and not within a call of ours.
    std::function<void()> closed;
    /// With the digest, when it is on its disk. Not called when the object is dropped meanwhile.
    /// Errors: `disk_full`, `system`.
    std::function<void(Result<std::string>)> done;
  };
  /// `object`: one more descriptor of its memory, which whoever calls has charged until `closed`.
  void write(DataHeld held, MemoryFile object, Writing writing);
  [[nodiscard]] bool is_writing(const DataId& data) const { return writes_.contains(data); }
  [[nodiscard]] bool has(const DataId& data) const { return files_.contains(data); }
  /// Reads it back, on whatever thread that does so: errors of `DurableFolder::read`. Empty: it has
  /// no file.
  using Read = std::function<Result<MemoryFile>(ByteCount, const std::atomic<bool>& stop)>;
  [[nodiscard]] Read reader_of(const DataId& data) const;
  /// Its file goes, whole or not.
  void dropped(const DataId& data);
  /// Its file is not what was written: it is left for people to look at, by another name.
  void spoiled(const DataId& data);
  /// `done`: when no next process will find a file of it by its name, which is at once if there is
  /// none that goes. A disk that does not let it go is tried again and again.
  void when_gone(const DataId& data, std::function<void()> done);
  void tick(MonotonicTime now);
  /// Files stay; what is being written is not. What goes does so before the destructor returns.
  void end();
  /// No memory is open that was to be written.
  [[nodiscard]] bool has_let_go() const { return open_ == 0; }
  [[nodiscard]] bool idle() const { return !busy_ && turns_.empty() && thread_.idle(); }

  /// Of one tenant's, from the room to its file.
  static constexpr std::size_t most_writes = 64;
  static constexpr ByteCount most_bytes = 256_MiB;
  static constexpr std::chrono::seconds until_retry{10};

 private:
  using Stop = std::shared_ptr<std::atomic<bool>>;
  struct Write {
    std::uint32_t tenant = 0;
    Stop stop;
  };
  /// What to do with a name that goes.
  using Leave = Result<void> (DurableFolder::*)(const DurableName&) const;
  struct Work {
    DataId data;
    bool is_write = false;              // else a file goes
    Task run;                           // on the thread of the disk; posts what comes of it
    std::function<void()> closed = {};  // of one that writes
  };
  /// A name that goes.
  struct Going {
    DurableName name;
    Leave leave = nullptr;             // how; null: that is known when its write has ended
    std::optional<MonotonicTime> due;  // the disk has refused it: when it is tried again
    bool has_failed = false;
    std::vector<std::function<void()>> gone;
  };
  void advance();
  void forget(Work write);
  void written(const DurableName& name, const Stop& write, Result<std::string> digest,
               const Writing& writing);
  void send_away(const DataId& data, Leave leave);
  void begin_to_leave(Going& going);
  void left(const DataId& data, const Result<void>& result);
  void has_gone(const DataId& data);

  Poster post_;
  std::optional<DurableFolder> folder_;
  std::map<DataId, std::uint32_t> files_;  // whose they are
  std::map<DataId, Write> writes_;         // that somebody waits for
  std::map<DataId, Going> going_;
  TenantTurns<Work> turns_;
  std::size_t open_ = 0;  // descriptors of objects
  bool busy_ = false;     // one of them is at the disk, and its result has not come
  bool ended_ = false;
  std::shared_ptr<char> alive_ =
      std::make_shared<char>();  // its weak pointers tell results whether we are still here
  BackgroundThread thread_;
};

}  // namespace orchid::executor
