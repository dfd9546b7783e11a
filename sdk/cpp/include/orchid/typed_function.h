// orchid/typed_function.h: a deployed function as a C++ callable. Made by Client::function; include
// orchid/client.h.
#pragma once
#include <chrono>
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

/// Borrows its Client, which must live longer. Any thread. All members throw `orchid::Error`.
template <typename R, typename... Args>
class Function<R(Args...)> {
 public:
  R operator()(Args... args) const;
  R call(const InvokeOptions& options, Args... args) const;
  [[nodiscard]] Pending<R> submit(Args... args) const;
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  friend class Client;
  Function(Client& client, std::string name) : client_(client), name_(std::move(name)) {}
  Client& client_;
  std::string name_;
};

}  // namespace orchid
