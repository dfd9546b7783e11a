// data/data_spill.h: sealed objects that are put on disk when others need their memory, and read
// back when somebody wants them.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/data_book.h"
#include "data/memory_file.h"
#include "data/spill_file.h"
#include "foundation/background_thread.h"
#include "foundation/clock.h"
#include "foundation/result.h"
#include "foundation/task.h"

namespace orchid::executor {

/// Owned by the agent's thread. One file is written or read at a time, on a thread of its own.
/// Without a directory it does nothing, and what waits for nothing goes on at once.
class DataSpill {
 public:
  /// Called once.
  using Done = std::function<void(const Result<void>&)>;
  struct Parts {
    DataBook& book;
    Poster post;  // to the agent's thread
    std::filesystem::path directory = {};
  };
  struct Handlers {
    /// One more descriptor of a sealed object's memory.
    std::function<Result<MemoryFile>(const DataId&)> duplicate;
    /// The book is about to hear that the write is over: whoever has the memory open, and is
    /// counted by nobody else, is to be counted from now on.
    std::function<void(const DataId&)> ending;
    /// It is not on disk after all, and may have been dropped: its memory goes if nobody uses it.
    std::function<void(const DataId&)> stays;
    /// It is on disk from now on: its memory can go.
    std::function<void(const DataId&)> on_disk;
    /// How its own file is read, of one that is kept as one; empty: of others.
    std::function<std::function<Result<MemoryFile>(ByteCount, const std::atomic<bool>&)>(
        const DataId&)>
        reader_of;
    /// That file is not what was written.
    std::function<void(const DataId&)> spoiled;
    /// Somebody else's, for one that is read back.
    std::function<void(const DataId&)> evicted;
    /// It is in memory again, in that file. Not wanted any more: its memory can go.
    std::function<void(const DataId&, MemoryFile, bool wanted)> returned;
  };
  DataSpill(Parts parts, Handlers handlers);
  ~DataSpill();
  DataSpill(const DataSpill&) = delete;
  DataSpill& operator=(const DataSpill&) = delete;

  /// `done`: when as much has been put on disk as helps `demand`, which may be nothing at all.
  /// `room`: of the gateway's, which may give it up meanwhile. Errors: `no_capacity`: it takes
  /// longer than until `due`; `cancelled`, `lease_ended`.
  void make_room(const DataBook::Demand& demand, std::optional<DataId> room, MonotonicTime due,
                 Done done);
  /// `done`: when it is not on disk, whatever else it is. Errors: `no_capacity`: it takes longer,
  /// and goes on; `no_data_memory`, `quota`, `system`; `lease_ended`.
  void bring_back(const DataId& data, MonotonicTime due, Done done);
  /// The gateway does not want that room any more; nothing: none of those that it has ordered.
  void cancel(std::optional<DataId> room);
  /// The book has dropped it.
  void dropped(const DataId& data);
  void tick(MonotonicTime now);
  /// All ends.
  void end();

  /// Nothing is being written, read or closed.
  [[nodiscard]] bool idle() const { return thread_.idle() && closing_.idle(); }
  /// With what a refusal for want of memory has to say of the disk.
  [[nodiscard]] Failure explain(Failure why) const;
  void count(std::map<std::string, std::uint64_t>& counters) const;

 private:
  struct Waiting {
    DataBook::Demand demand;
    std::optional<DataId> room;
    std::optional<DataId> back;  // it is after the memory of this one
    bool disk_is_full = false;   // nothing more is written for it
    MonotonicTime due;
    Done done;  // of one that is not for `back`
  };
  struct Reader {
    MonotonicTime due;
    Done done;
  };
  /// The one file that is being written or read.
  struct Move {
    DataId data;
    std::shared_ptr<std::atomic<bool>> stop = std::make_shared<std::atomic<bool>>(false);
  };
  void advance();
  [[nodiscard]] bool write_for(Waiting& first);
  void leave_to_its_file(const DataId& data);
  void write(const DataId& data);
  void written(const DataId& data, Result<SpillFile> file);
  void read(const Waiting& request);
  void was_read(const DataId& data, Result<MemoryFile> file);
  void answer_readers(const DataId& data, const Result<void>& result);
  void close(const DataId& data);
  void dispose(SpillFile file);
  template <typename Which>
  void refuse_rooms(Which which, const Failure& why);
  template <typename Which>
  void refuse_readers(Which which, const Failure& why);

  Parts parts_;
  Handlers handlers_;
  std::deque<Waiting> waiting_;  // the first come first
  std::map<DataId, std::vector<Reader>> readers_;
  std::optional<Move> moving_;
  std::unordered_map<DataId, std::shared_ptr<const SpillFile>> files_;  // of what is on disk
  std::optional<std::string> trouble_;  // why nothing could be written, since somebody waits
  std::uint64_t spilled_ = 0;
  std::uint64_t returned_ = 0;
  std::uint64_t failed_ = 0;
  bool ended_ = false;
  std::shared_ptr<char> alive_ =
      std::make_shared<char>();  // its weak pointers tell results whether we are still here
  BackgroundThread thread_;      // moves one file at a time
  BackgroundThread closing_;     // files that went: a disk may take long for a large one
};

}  // namespace orchid::executor
