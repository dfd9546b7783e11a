// orchid/function.hpp: typed entries in C++ (C++20), a thin layer over the C contract in
// function.h.
//
//     double dot(std::span<const double> a, std::span<const double> b) { ... }
//     ORCHID_FUNCTION(dot)
//
// makes the entry `dot` with the signature f64(span<f64>,span<f64>). Arguments are read in place:
// spans and string views point into the input. A parameter orchid::Data<T> is a data object that
// the caller names beside the input, in their order; its signature is data<T>. A result
// orchid::NewData<T> is an object that the call has made, with the signature data<T>. A first
// parameter `orchid::Call&` gives access to the running call and is no argument. Exceptions may
// escape: the call then ends as function_error with their message. A function that may return
// std::optional<R> has the signature of one that returns R; without a value the call ends as an
// error, and whoever returned none has said why with orchid_error.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "orchid/call.hpp"
#include "orchid/embedded.h"
#include "orchid/function.h"
#include "orchid/function_data.hpp"
#include "orchid/values.h"

/// After the definition of a function at namespace scope, in the global namespace; the function
/// must not be overloaded.
// NOLINTBEGIN(bugprone-macro-parentheses): a template argument, which takes none
#define ORCHID_FUNCTION(name)                                                                      \
  extern "C" {                                                                                     \
  extern __attribute__((visibility("default")))                                                    \
  const decltype(::orchid::entries::Entry<decltype(name)>::signature) orchid_signature_##name;     \
  __attribute__((used))                                                                            \
  const decltype(::orchid::entries::Entry<decltype(name)>::signature) orchid_signature_##name =    \
      ::orchid::entries::Entry<decltype(name)>::signature;                                         \
  }                                                                                                \
  ORCHID_ENTRY(name) {                                                                             \
    return ::orchid::entries::Entry<decltype(name)>::template run<&name>(call, input, input_size); \
  }
// NOLINTEND(bugprone-macro-parentheses)

namespace orchid {

namespace entries {

/// Entries that take none also run where nobody knows of data objects.
template <typename Held>
inline constexpr bool takes_data = false;
template <typename... T>
inline constexpr bool takes_data<std::tuple<T...>> = (values::DataArgument<T> || ...);

/// Takes the arguments of a call one after the other: data from the call, the rest from its input.
class ArgumentReader {
 public:
  ArgumentReader(orchid_call* call, std::span<const std::byte> input)
      : call_(call), decoder_(input) {}

  template <typename T>
  [[nodiscard]] bool read(T& argument) {
    if constexpr (values::DataArgument<T>)
      return read_data(argument);
    else
      return decoder_.read(argument);
  }
  /// Nothing is left, neither input nor data.
  [[nodiscard]] bool finish() {
    if (!decoder_.finish()) return false;
    const std::uint32_t given = orchid_data_count(call_);
    if (given == index_) return true;
    problem_ = "the call has " + std::to_string(given) + " data object(s), and " +
               std::to_string(index_) + " are taken";
    return false;
  }
  [[nodiscard]] const std::string& problem() const {
    return problem_.empty() ? decoder_.problem() : problem_;
  }

 private:
  template <typename T>
  [[nodiscard]] bool read_data(Data<T>& argument) {
    const void* bytes = nullptr;
    std::uint64_t size = 0;
    const std::string number = std::to_string(index_);
    if (index_ >= orchid_data_count(call_) ||
        orchid_data(call_, index_, &bytes, &size) != ORCHID_OK) {
      problem_ = "data object " + number + " was not given";
      return false;
    }
    ++index_;
    if (size % sizeof(T) != 0) {
      problem_ = "data object " + number + " has " + std::to_string(size) +
                 " bytes, which are no whole elements of " + std::to_string(sizeof(T));
      return false;
    }
    argument = Data<T>({static_cast<const T*>(bytes), static_cast<std::size_t>(size) / sizeof(T)});
    return true;
  }

  orchid_call* call_;
  values::Decoder decoder_;
  std::uint32_t index_ = 0;  // of the next data object
  std::string problem_;
};

template <typename Result>
std::size_t size_of_output(const Result& result) {
  if constexpr (values::StepResult<Result>)
    return 2 * sizeof(std::uint64_t) + size_of_output(result.state());
  else if constexpr (values::DataArgument<Result>)
    return result.id().size();
  else
    return values::encoded_size(result);
}

template <typename Result>
void write_output(std::byte* room, const Result& result) {
  if constexpr (values::StepResult<Result>) {
    const std::uint64_t head[2] = {result.done() ? 1U : 0U, result.steps()};
    std::memcpy(room, head, sizeof head);
    write_output(room + sizeof head, result.state());
  } else if constexpr (values::DataArgument<Result>) {
    std::memcpy(room, result.id().data(), result.id().size());
  } else {
    values::encode(room, result);
  }
}

template <typename Result>
std::int32_t give(orchid_call* call, const Result& result) {
  void* room = orchid_output(call, size_of_output(result));
  if (room == nullptr) return ORCHID_ERROR;  // over the output limit; the worker says so
  write_output(static_cast<std::byte*>(room), result);
  return ORCHID_OK;
}

template <typename Traits>
std::int32_t refuse(orchid_call* call, const std::string& problem) {
  std::string message = "the input does not fit ";
  message.append(Traits::signature.view()).append(": ").append(problem);
  orchid_error(call, message.data(), message.size());
  return ORCHID_BAD_ARGUMENTS;
}

/// `invoke` returns R.
template <typename R, typename Traits, typename Invoke>
std::int32_t decode_and_run(orchid_call* call, const void* input, std::size_t size, Invoke invoke) {
  const std::span bytes(static_cast<const std::byte*>(input), size);
  typename Traits::Held arguments;
  if constexpr (takes_data<typename Traits::Held>) {
    ArgumentReader reader(call, bytes);
    const bool fits = std::apply(
        [&](auto&... argument) { return (reader.read(argument) && ...) && reader.finish(); },
        arguments);
    if (!fits) return refuse<Traits>(call, reader.problem());
  } else {
    values::Decoder decoder(bytes);
    if (!values::decode_all(decoder, arguments)) return refuse<Traits>(call, decoder.problem());
  }
  if constexpr (std::is_void_v<typename Traits::Result>) {
    std::apply(invoke, arguments);
    return ORCHID_OK;
  } else if constexpr (ReturnTraits<R>::may_fail) {
    const R result = std::apply(invoke, arguments);
    return result ? give<typename Traits::Result>(call, *result) : ORCHID_ERROR;
  } else {
    return give<typename Traits::Result>(call, std::apply(invoke, arguments));
  }
}

/// How an entry of type F is called; F is the type of a function.
template <typename F>
struct Entry;

template <typename R, typename... Args>
struct Entry<R(Args...)> {
  using Traits = values::FunctionTraits<typename ReturnTraits<R>::Type(Args...)>;
  static constexpr auto signature = Traits::signature;

  template <R (*Function)(Args...)>
  static std::int32_t run(orchid_call* call, const void* input, std::size_t size) {
    return decode_and_run<R, Traits>(call, input, size, [](auto&... held) -> R {
      return Function(static_cast<std::remove_reference_t<Args>&&>(held)...);
    });
  }
};

template <typename R, typename... Args>
struct Entry<R(Call&, Args...)> {
  using Traits = values::FunctionTraits<typename ReturnTraits<R>::Type(Args...)>;
  static constexpr auto signature = Traits::signature;

  template <R (*Function)(Call&, Args...)>
  static std::int32_t run(orchid_call* call, const void* input, std::size_t size) {
    Call running(call);
    return decode_and_run<R, Traits>(call, input, size, [&running](auto&... held) -> R {
      return Function(running, static_cast<std::remove_reference_t<Args>&&>(held)...);
    });
  }
};

template <typename R, typename... Args>
struct Entry<R(Args...) noexcept> : Entry<R(Args...)> {};

}  // namespace entries
}  // namespace orchid
