// data/slow_file_work.h: what takes the kernel long with a large memory file, on threads of its
// own. Sealing one looks at each of its pages, and the last close gives them back: tens of
// milliseconds for each GiB, too long for the agent's thread.
#pragma once
#include <functional>
#include <optional>
#include <utility>

#include "data/memory_file.h"
#include "foundation/background_thread.h"
#include "foundation/result.h"
#include "foundation/task.h"
#include "foundation/units.h"

namespace orchid::executor {

/// Owned by the agent's thread. Files are sealed by one thread and closed by another: somebody
/// waits for a seal, and memory that is given back is promised to others already. The destructor
/// waits until all is done.
class SlowFileWork {
 public:
  using Sealed = std::function<void(Result<void>)>;
  /// `post`: to the agent's thread.
  explicit SlowFileWork(Poster post) : post_(std::move(post)) {}

  /// `done`: on the agent's thread, when its pages have been given back, as far as that is for us.
  void close(MemoryFile file, Task done = {});
  /// `file`: one more descriptor of it. `done`: on the agent's thread, with the result of
  /// `MemoryFile::seal`; with a `size`: of `MemoryFile::seal_for_call`.
  void seal(MemoryFile file, Sealed done, std::optional<ByteCount> size = std::nullopt);
  /// All that was given to it is done.
  [[nodiscard]] bool idle() const { return sealing_.idle() && closing_.idle(); }

 private:
  Poster post_;
  BackgroundThread sealing_;
  BackgroundThread closing_;
};

}  // namespace orchid::executor
