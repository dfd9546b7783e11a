// orchid/embedded.h: typed functions whose module lies in the program that calls them, so that
// there is nothing to deploy. In the header that declares such a function:
//
//     double dot(std::span<const double> a, std::span<const double> b);
//     ORCHID_DECLARE_FUNCTION(dot)
//
// ORCHID_FUNCTION(dot) stands after its definition, in a file that orchid_add_functions (CMake)
// adds to the program. Then lease.function<dot>() calls it on a worker, and dot(a, b) here.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>

#include "orchid/function.h"

/// After the declaration of a function at namespace scope, in the global namespace.
// NOLINTBEGIN(bugprone-macro-parentheses): a template argument, which takes none
#define ORCHID_DECLARE_FUNCTION(name)                                                 \
  ORCHID_DECLARE_ENTRY(name)                                                          \
  template <>                                                                         \
  inline constexpr const ::orchid::EmbeddedFunction* ::orchid::embedded_twin<&name> = \
      &orchid_embedded_##name;
// NOLINTEND(bugprone-macro-parentheses)

namespace orchid {

class Call;
using EmbeddedFunction = ::orchid_embedded_function;

[[nodiscard]] inline std::span<const std::byte> module_of(const EmbeddedFunction& function) {
  return std::as_bytes(std::span(function.module, function.module_end));
}

/// What ORCHID_DECLARE_FUNCTION says about a function: a pointer to it. Of others the type says
/// that there is nothing: with -fsanitize=undefined GCC does not compare the address of an object
/// in a constant expression.
template <auto* Function>
inline constexpr std::nullptr_t embedded_twin = nullptr;

/// What a function's caller gets; a function that returns an optional may have none to give.
template <typename R>
struct ReturnTraits {
  using Type = R;
  static constexpr bool may_fail = false;
};
template <typename R>
struct ReturnTraits<std::optional<R>> {
  using Type = R;
  static constexpr bool may_fail = true;
};

/// The types that a caller sees: without a first `Call&`, an optional and noexcept.
template <typename F>
struct CallerTypes;
template <typename R, typename... Args>
struct CallerTypes<R(Args...)> {
  using Result = typename ReturnTraits<std::remove_cvref_t<R>>::Type;
  using Signature = Result(std::remove_cvref_t<Args>...);
};
template <typename R, typename... Args>
struct CallerTypes<R(Args...) noexcept> : CallerTypes<R(Args...)> {};
template <typename R, typename... Args>
struct CallerTypes<R(Call&, Args...)> : CallerTypes<R(Args...)> {};
template <typename R, typename... Args>
struct CallerTypes<R(Call&, Args...) noexcept> : CallerTypes<R(Args...)> {};
template <auto* Function>
using SignatureOf = typename CallerTypes<std::remove_pointer_t<decltype(Function)>>::Signature;

/// Whether ORCHID_DECLARE_FUNCTION has named it.
template <auto* Function>
inline constexpr bool is_embedded = !std::is_null_pointer_v<decltype(embedded_twin<Function>)>;

/// The module and the entry of `Function`.
template <auto* Function>
[[nodiscard]] constexpr const EmbeddedFunction& embedded() {
  static_assert(is_embedded<Function>,
                "this function is not marked: write ORCHID_DECLARE_FUNCTION(name) after its "
                "declaration, ORCHID_FUNCTION(name) after its definition, and give its file to "
                "orchid_add_functions");
  if constexpr (is_embedded<Function>) return *embedded_twin<Function>;
}

}  // namespace orchid
