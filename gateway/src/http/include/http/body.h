// http/body.h: bodies that are too large to be held in memory: a sink takes a request's as it comes
// in, and a part of a file is sent as a response's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "foundation/result.h"
#include "foundation/task.h"
#include "foundation/unique_fd.h"

namespace orchid::gateway {

/// Takes one request's body, of the length that its header says. Belongs to the HTTP thread of its
/// connection, as all its functions do.
class BodySink {
 public:
  /// Without `finish` before it: the rest will not come. What was made of the body is undone.
  virtual ~BodySink() = default;
  /// The next bytes, never beyond the stated length. Must not block. A failure ends the request,
  /// and is its answer.
  [[nodiscard]] virtual Result<void> take(std::span<const std::byte> bytes) = 0;
  /// It is to be given no more for now.
  [[nodiscard]] virtual bool is_full() const { return false; }
  /// `then` is called once, later, when it is not full any more.
  virtual void when_not_full(Task /*then*/) {}
  /// The body is whole, and the request is to be answered. The sink is destroyed after it.
  virtual void finish() = 0;
};

/// Of a regular file or a memory file, which keeps its size while this lives; or what comes out of
/// a pipe. Immutable.
struct FileBody {
  /// Closed after the file: whoever has lent it counts the file as in use until then. Readable once
  /// that one has gone: then the answer is cut off. May be empty.
  UniqueFd loan;
  UniqueFd file;
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
  bool is_pipe = false;  // non-blocking, without `begin`; if it ends early the answer is cut off
};

}  // namespace orchid::gateway
