#include "ucx/transfer_window.h"

#include <unistd.h>

#include <cerrno>

namespace orchid::transport {

Result<std::optional<std::size_t>> read_pipe(int pipe, std::span<std::byte> into) {
  for (;;) {
    const ssize_t count = ::read(pipe, into.data(), into.size());
    if (count > 0) return static_cast<std::size_t>(count);
    if (count == 0) return fail(ErrorCode::cancelled, "the bytes to send have ended early");
    if (errno == EAGAIN) return std::nullopt;
    if (errno != EINTR) return fail_errno("reading what is to be sent");
  }
}

Result<std::optional<std::size_t>> write_pipe(int pipe, std::span<const std::byte> bytes) {
  for (;;) {
    const ssize_t count = ::write(pipe, bytes.data(), bytes.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno == EAGAIN) return std::nullopt;
    if (errno == EPIPE) return fail(ErrorCode::cancelled, "nobody reads the bytes any more");
    if (errno != EINTR) return fail_errno("writing what has come");
  }
}

}  // namespace orchid::transport
