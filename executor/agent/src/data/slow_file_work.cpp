#include "data/slow_file_work.h"

#include <utility>

namespace orchid::executor {

void SlowFileWork::close(MemoryFile file) {
  thread_.run([file = std::move(file)] {});  // which ends there
}

void SlowFileWork::seal(MemoryFile file, Sealed done) {
  thread_.run_soon([this, file = std::move(file), done = std::move(done)]() mutable {
    post_([done = std::move(done), result = file.seal()] { done(result); });
  });
}

}  // namespace orchid::executor
