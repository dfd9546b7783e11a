// tests/unit/functions/fake_host.h: the host side of the C ABI, as far as the ready functions use
// it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orchid/kernel.h"

/// The device that kernels run on: this thread.
struct FakeDevice {
  std::uint64_t grain = 0;  // items of a piece, in whole groups; 0: all at once
  bool backwards = false;   // the last piece first
  std::size_t memory = std::size_t{1} << 30;
  unsigned launches = static_cast<unsigned>(-1);  // as many go well, and the next one does not
};

/// What a function left behind. One test's thread.
struct orchid_call {
  std::span<const std::string> chunks;  // of input, still to come
  std::vector<std::byte> output;
  std::string error;
  FakeDevice device;
  std::size_t device_bytes = 0;  // in use
  unsigned launches = 0;
};

using EntryPoint = std::int32_t(orchid_call*, const void*, std::size_t);

struct CallAnswer {
  std::int32_t status = 0;
  std::string output;
  std::string error;
  std::size_t device_bytes = 0;  // not given back
  unsigned launches = 0;
};
/// `chunks` follow `input`, for entries that stream; all output is put together.
CallAnswer call_entry(EntryPoint* entry, std::string_view input,
                      std::span<const std::string> chunks = {}, const FakeDevice& device = {});
