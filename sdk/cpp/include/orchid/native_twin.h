// orchid/native_twin.h: runs the native twin of an embedded function in this process: what is left
// when there is no worker, and what a worker's answer is compared with.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "orchid/embedded.h"
#include "orchid/typed_function.h"
#include "orchid/values.h"

namespace orchid {

/// Calls the entry as a worker does, bytes in and bytes out, on the calling thread, without a
/// sandbox: a crash is this program's. Its log goes to stderr. Exceptions of the function pass.
/// Errors: `function_error`, `bad_request` as from a worker.
[[nodiscard]] Reply call_native(const EmbeddedFunction& function, std::span<const std::byte> input);

/// Calls `Function` itself; one that wants an orchid::Call gets one by way of its entry, and one
/// that returns an optional says there why it has failed.
template <auto* Function, typename... Args>
auto call_twin(Args&&... args) {
  using Types = CallerTypes<std::remove_pointer_t<decltype(Function)>>;
  if constexpr (std::is_invocable_r_v<typename Types::Result, decltype(Function), Args...>) {
    return Function(std::forward<Args>(args)...);
  } else {
    const EmbeddedFunction& function = embedded<Function>();
    return decode_reply<typename Types::Result>(
        call_native(function, values::encode_all(std::as_const(args)...)), function.name);
  }
}

}  // namespace orchid
