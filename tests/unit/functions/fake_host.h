// tests/unit/functions/fake_host.h: the host side of the C ABI, as far as the ready functions use
// it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orchid/function.h"

/// What a function left behind. One test's thread.
struct orchid_call {
  std::span<const std::string> chunks;  // of input, still to come
  std::vector<std::byte> output;
  std::string error;
};

using EntryPoint = std::int32_t(orchid_call*, const void*, std::size_t);

struct CallAnswer {
  std::int32_t status = 0;
  std::string output;
  std::string error;
};
/// `chunks` follow `input`, for entries that stream; all output is put together.
CallAnswer call_entry(EntryPoint* entry, std::string_view input,
                      std::span<const std::string> chunks = {});
