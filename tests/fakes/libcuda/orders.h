// orders.h: what the fake driver is told to do wrong, in the file that CUDA_FAKE_ORDERS names.
//
//   driver 11000           the version that it says it is
//   devices 0              how many GPUs there are
//   init 999               cuInit fails so
//   open /etc/passwd       cuInit opens the file
//   context 2              cuCtxCreate fails so
//   memory 67108864        bytes of the GPU, when the context is made; 256 MiB otherwise
//   out_of_memory          nothing more is allocated
//   no_fill                memory is not cleared when that is asked for
//   left_behind 42         memory holds this word all over when the context is made
//   no_register            host memory cannot be registered
//   refuse TEXT            PTX is refused with this log
//   load_time 100          so many milliseconds pass until PTX is taken
//   slow NAME 1000         an item of the kernel takes so many nanoseconds
//   hang NAME              the kernel does not end
//   watchdog 200           a kernel that takes more than so many milliseconds is ended: error 702
//   fail NAME 700          it ends the context with this error
//   refuse_launch NAME 701 it is not launched, with this error, and all goes on
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace fake_cuda {

/// Any thread.
class Orders {
 public:
  /// The file stays open: a confined process opens nothing.
  void open(const char* path);
  /// What follows the word on its line; nothing: there is no such line.
  [[nodiscard]] std::optional<std::string> find(std::string_view word) const;
  /// The number there.
  [[nodiscard]] std::optional<long> number(std::string_view word) const;
  /// Of a kernel: the number behind its name, 0 without one.
  [[nodiscard]] std::optional<long> of_kernel(std::string_view word, std::string_view name) const;

 private:
  int file_ = -1;
};

}  // namespace fake_cuda
