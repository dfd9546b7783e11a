// src/c_names.h: the C names of the list, by library.
#pragma once
#include <span>
#include <string_view>

namespace orchid::executor {

/// Functions and variables of libc, each group one string of names separated by blanks.
[[nodiscard]] std::span<const std::string_view> libc_groups();
/// Functions of libm without their type suffixes (f, l, f32, …).
[[nodiscard]] std::span<const std::string_view> libm_groups();
/// Exported by libgcc_s, plus the C ABI of libstdc++.
[[nodiscard]] std::span<const std::string_view> compiler_groups();
/// Of orchid/function.h.
[[nodiscard]] std::span<const std::string_view> host_api_groups();

}  // namespace orchid::executor
