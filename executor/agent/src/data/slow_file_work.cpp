#include "data/slow_file_work.h"

#include <utility>

namespace orchid::executor {

void SlowFileWork::close(MemoryFile file) {
  thread_.run([file = std::move(file)]() mutable { file.empty(); });  // which ends there
}

void SlowFileWork::seal(MemoryFile file, Sealed done, std::optional<ByteCount> size) {
  thread_.run_soon([this, file = std::move(file), done = std::move(done), size]() mutable {
    post_([done = std::move(done), result = file.seal(size)] { done(result); });
  });
}

}  // namespace orchid::executor
