// orchid/typed_function.h: a deployed function as a C++ callable. Made by Client::function; include
// orchid/client.h.
#pragma once
#include <chrono>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "orchid/error.h"
#include "orchid/invocation.h"
#include "orchid/values.h"

namespace orchid {

class Client;
struct InvokeOptions;

namespace sdk {
template <typename R>
inline constexpr bool owns_its_items = false;
template <values::Element T>
inline constexpr bool owns_its_items<std::vector<T>> = true;
template <>
inline constexpr bool owns_its_items<std::string> = true;

template <typename... T>
struct Types {};
template <typename Kept, typename... Args>
struct WithoutData;
template <typename... Kept>
struct WithoutData<Types<Kept...>> {
  using Type = Types<Kept...>;
};
template <typename... Kept, typename First, typename... Rest>
struct WithoutData<Types<Kept...>, First, Rest...>
    : std::conditional_t<values::DataArgument<std::remove_cvref_t<First>>,
                         WithoutData<Types<Kept...>, Rest...>,
                         WithoutData<Types<Kept..., First>, Rest...>> {};
/// What is in the input of a call that takes Args.
template <typename... Args>
using InputTypes = typename WithoutData<Types<>, Args...>::Type;
/// And what it is given beside that.
template <typename... Args>
inline constexpr std::size_t data_count =
    (std::size_t{0} + ... + (values::DataArgument<std::remove_cvref_t<Args>> ? 1 : 0));
/// Throws `bad_request`.
void check_data_count(std::size_t given, std::size_t taken, const std::string& function);

[[noreturn]] void throw_output_mismatch(const Reply& reply, const std::string& function,
                                        const std::string& problem);
}  // namespace sdk

/// The value in a reply. Error `signature_mismatch` when the bytes are not one R.
template <typename R>
R decode_reply(const Reply& reply, const std::string& function) {
  values::Decoder decoder(reply.output);
  if constexpr (std::is_void_v<R>) {
    if (!decoder.finish()) sdk::throw_output_mismatch(reply, function, decoder.problem());
  } else {
    static_assert(values::Element<R> || sdk::owns_its_items<R>,
                  "a typed call returns void, a scalar, an ORCHID_STRUCT, std::vector or "
                  "std::string; spans and views would dangle");
    R value{};
    if (!decoder.read(value) || !decoder.finish())
      sdk::throw_output_mismatch(reply, function, decoder.problem());
    return value;
  }
}

/// The result of a typed call that runs on its own. A cheap value; any thread.
template <typename R>
class Pending {
 public:
  Pending(Invocation invocation, std::string function)
      : invocation_(std::move(invocation)), function_(std::move(function)) {}
  [[nodiscard]] const Invocation& invocation() const { return invocation_; }
  /// Waits for the result. Error `timed_out`: still going after `timeout`.
  [[nodiscard]] R get(std::chrono::milliseconds timeout = std::chrono::hours(24)) const {
    return decode_reply<R>(invocation_.output(timeout), function_);
  }

 private:
  Invocation invocation_;
  std::string function_;
};

template <typename F>
class Function;

/// The calls of a typed function that takes these arguments and, in the options of each call, so
/// much data. `F`: its type.
template <typename F, std::size_t Data, typename Input>
class TypedCalls;
template <typename R, typename... All, std::size_t Data, typename... Args>
class TypedCalls<R(All...), Data, sdk::Types<Args...>> {
 public:
  R operator()(Args... args) const
    requires(Data == 0);
  R call(const InvokeOptions& options, Args... args) const;
  [[nodiscard]] Pending<R> submit(Args... args) const
    requires(Data == 0);
  [[nodiscard]] Pending<R> submit_with(const InvokeOptions& options, Args... args) const;
  [[nodiscard]] const std::string& name() const { return name_; }

 protected:
  TypedCalls(Client& client, std::string name) : client_(client), name_(std::move(name)) {}

 private:
  Client& client_;
  std::string name_;
};

/// Borrows its Client, which must live longer. Any thread. All members throw `orchid::Error`.
/// Arguments of type orchid::Data (orchid/function.hpp) are not passed: they are
/// `InvokeOptions::data`, in their order.
template <typename R, typename... Args>
class Function<R(Args...)>
    : public TypedCalls<R(Args...), sdk::data_count<Args...>, sdk::InputTypes<Args...>> {
 private:
  friend class Client;
  Function(Client& client, std::string name)
      : TypedCalls<R(Args...), sdk::data_count<Args...>, sdk::InputTypes<Args...>>(
            client, std::move(name)) {}
};

}  // namespace orchid
