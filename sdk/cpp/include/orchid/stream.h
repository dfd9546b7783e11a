// orchid/stream.h: calls whose input and output go in chunks, while they run.
//
//   orchid::Stream stream = function.stream();
//   while (read_block(block)) {
//     stream.write(block);
//     while (auto output = stream.try_read()) use(*output);
//   }
//   stream.finish();
//   while (auto output = stream.read()) use(*output);
#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "orchid/lease.h"

namespace orchid {

namespace sdk {
class StreamOwner;
}

/// One call on one worker, which takes no other until the stream has ended or its Stream is gone.
/// At most `window` chunks are under way: with the worker, or waiting to be read. The deadline is
/// that of the whole call. It is started once: what it loses with its worker is the caller's to
/// repeat. Move-only; owned by one thread, apart from `cancel`. All members but the destructor
/// throw `orchid::Error`, as calls do.
class Stream {
 public:
  static constexpr unsigned window = 16;
  static constexpr std::size_t largest_chunk = std::size_t{32} << 20;  // bytes, input and output

  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  /// Cancels what has not ended, and does not wait for that.
  ~Stream();

  /// Sends a chunk; an empty one asks for output. Waits while the worker has too many. True: sent;
  /// false: the function has returned already and takes no more. Errors: `too_large`;
  /// `no_capacity`: `window` chunks of output wait to be read, so read first; nothing was sent.
  bool write(std::span<const std::byte> chunk);
  bool write(std::string_view chunk);
  /// Without a copy if `chunk` came from `buffer` here, else with one. Used up in any case.
  bool write(Buffer chunk);
  /// The same without waiting. False also when there is no room now.
  [[nodiscard]] bool try_write(std::span<const std::byte> chunk);
  [[nodiscard]] bool try_write(std::string_view chunk);
  /// Memory of this stream's lane. Errors as `Lease::buffer`; `worker_lost` when the worker has
  /// gone.
  [[nodiscard]] Buffer buffer(std::size_t size);

  /// No input follows. Again: changes nothing.
  void finish();

  /// The next output that is not empty, valid until the next read; waits for it. Nothing when none
  /// is to come: the function has returned (`ended`), or it has taken all that was written, has
  /// nothing to say to it, and there may be more input.
  std::optional<std::span<const std::byte>> read();
  /// The same without waiting.
  std::optional<std::span<const std::byte>> try_read();

  /// The function has returned without an error, and all its output has been read.
  [[nodiscard]] bool ended() const;
  /// From the function's start to its return, its waiting for chunks included; 0 before.
  [[nodiscard]] std::chrono::nanoseconds run_time() const;
  /// Any thread. The function is asked to stop, and killed with its worker 0.1 s later.
  void cancel();

 private:
  friend class LeasedFunction;
  explicit Stream(std::unique_ptr<sdk::StreamOwner> owner);
  std::unique_ptr<sdk::StreamOwner> owner_;
};

}  // namespace orchid
