// runtime_symbols/runtime_symbols.h: which symbols of the host a function may use: Orchid's host
// API, and the parts of libc, libm, libgcc and libstdc++ that make sense in a sandboxed process.
// The compiler asks at deploy, the worker when it links: one list.
//
// This keeps mistakes out and messages clear. It is no security boundary: that is the process and
// its sandbox.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orchid::executor {

/// Whether `name` is on the list; says nothing about this host having it. Any thread.
[[nodiscard]] bool is_runtime_symbol(std::string_view name);

/// One of `orchid_*` in orchid/function.h, which the worker itself provides.
[[nodiscard]] bool is_host_api_symbol(std::string_view name);

/// The address in this process's libraries, or null when it is not on the list, not there, or of
/// the host API.
[[nodiscard]] void* find_runtime_symbol(const std::string& name);

/// Those of `names` that nobody provides: neither the libraries of this process, nor the worker,
/// nor the linker. In the same order.
[[nodiscard]] std::vector<std::string> missing_symbols(std::span<const std::string> names);

/// The same of code for hosts of this architecture ("aarch64"). Of another one than this host's
/// only the list is known, not what the libraries there have of it.
[[nodiscard]] std::vector<std::string> missing_symbols(std::span<const std::string> names,
                                                       std::string_view architecture);

/// Why a well-known function is refused: "a function runs in one process". Empty: no particular
/// reason.
[[nodiscard]] std::string_view refusal_reason(std::string_view name);

}  // namespace orchid::executor
