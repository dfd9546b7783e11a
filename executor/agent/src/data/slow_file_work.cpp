#include "data/slow_file_work.h"

#include <utility>

namespace orchid::executor {

void SlowFileWork::close(MemoryFile file, Task done) {
  closing_.run([this, file = std::optional(std::move(file)), done = std::move(done)]() mutable {
    file->empty();
    file.reset();
    if (done) post_(std::move(done));
  });
}

void SlowFileWork::seal(MemoryFile file, Sealed done, std::optional<ByteCount> size) {
  sealing_.run([this, file = std::move(file), done = std::move(done), size]() mutable {
    post_([done = std::move(done), result = size ? file.seal_for_call(*size) : file.seal()] {
      done(result);
    });
  });
}

}  // namespace orchid::executor
