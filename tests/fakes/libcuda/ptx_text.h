// ptx_text.h: the little that the fake driver understands of PTX: which kernels there are, and how
// long their arguments.
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace fake_cuda {

/// Name: bytes of the first parameter. Empty: this is no PTX.
[[nodiscard]] std::map<std::string, std::size_t> read_kernels(std::string_view ptx);

}  // namespace fake_cuda
