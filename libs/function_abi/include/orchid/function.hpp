// orchid/function.hpp: typed entries in C++ (C++20), a thin layer over the C contract in
// function.h.
//
//     double dot(std::span<const double> a, std::span<const double> b) { ... }
//     ORCHID_FUNCTION(dot)
//
// makes the entry `dot` with the signature f64(span<f64>,span<f64>). Arguments are read in place:
// spans and string views point into the input. A parameter orchid::Data<T> is a data object that
// the caller names beside the input, in their order; its signature is data<T>. A first parameter
// `orchid::Call&` gives access to the running call and is no argument. Exceptions may escape: the
// call then ends as function_error with their message. A function that may return std::optional<R>
// has the signature of one that returns R; without a value the call ends as an error, and whoever
// returned none has said why with orchid_error.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "orchid/embedded.h"
#include "orchid/function.h"
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

/// The running call, for functions that want to know about it. Lives as long as the call; used on
/// its thread.
class Call {
 public:
  explicit Call(orchid_call* call) : call_(call) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// True when the caller has cancelled, the deadline has passed or the place is taken back: return
  /// soon. About 1 ns.
  [[nodiscard]] bool should_stop() const { return orchid_should_stop(call_) != 0; }
  /// From 0 to 1, shown to whoever waits.
  void progress(double fraction) { orchid_progress(call_, fraction); }
  void log(std::string_view text) { orchid_log(call_, text.data(), text.size()); }
  /// `nanoseconds::max()` when there is no deadline.
  [[nodiscard]] std::chrono::nanoseconds time_left() const {
    return std::chrono::nanoseconds(orchid_time_left_ns(call_));
  }
  /// The call goes on at `member` of the crew when this function has returned, in `entry` of this
  /// module (null: in this one): orchid_forward in function.h. False: it does not, and fails.
  [[nodiscard]] bool forward(std::uint32_t member, std::span<const std::byte> input,
                             const char* entry = nullptr) {
    return orchid_forward(call_, member, entry, input.data(), input.size()) == ORCHID_OK;
  }
  /// From 1, and how many there are; 0: this worker is in no crew.
  [[nodiscard]] std::uint32_t member() const { return orchid_member(call_); }
  [[nodiscard]] std::uint32_t member_count() const { return orchid_member_count(call_); }
  [[nodiscard]] std::uint64_t invocation_id() const { return orchid_invocation_id(call_); }
  [[nodiscard]] orchid_call* handle() const { return call_; }

 private:
  orchid_call* call_;
};

/// An entry of bytes as a stream (orchid_exchange in function.h), which also serves callers that do
/// not stream:
///
///     ORCHID_ENTRY(upper) {
///       orchid::Chunks chunks(call, input, input_size);
///       for (std::span<const std::byte> chunk : chunks)
///         if (!chunks.emit(upper_case(chunk))) return ORCHID_ERROR;
///       return ORCHID_OK;
///     }
///
/// Lives as long as the call; used on its thread.
class Chunks {
 public:
  Chunks(orchid_call* call, const void* input, std::size_t size)
      : call_(call), chunk_(static_cast<const std::byte*>(input), size) {}
  Chunks(const Chunks&) = delete;
  Chunks& operator=(const Chunks&) = delete;

  /// Writes output. False: more than fits into one chunk, or over the limit; end as an error then.
  [[nodiscard]] bool emit(std::span<const std::byte> bytes) {
    void* room = orchid_append(call_, bytes.size());
    if (room == nullptr) return false;
    if (!bytes.empty()) __builtin_memcpy(room, bytes.data(), bytes.size());
    return true;
  }
  [[nodiscard]] bool emit(std::string_view text) {
    return emit(std::as_bytes(std::span(text.data(), text.size())));
  }
  /// For producers, after the input: sends what was emitted, once the caller wants more. False: it
  /// wants an end.
  [[nodiscard]] bool flush() {
    while (next_ == ORCHID_CHUNK) advance();  // input that nobody asked for
    if (next_ == ORCHID_END_OF_INPUT) advance();
    return next_ != ORCHID_STOP;
  }
  /// The caller has cancelled, or the place is taken back: return soon.
  [[nodiscard]] bool stopped() const { return next_ == ORCHID_STOP; }

  /// Over the chunks of input, once; each is valid until the next. It ends with the input, and when
  /// the caller wants an end.
  class Iterator {
   public:
    explicit Iterator(Chunks& chunks) : chunks_(&chunks) {}
    std::span<const std::byte> operator*() const { return chunks_->chunk_; }
    Iterator& operator++() {
      chunks_->advance();
      return *this;
    }
    bool operator!=(std::nullptr_t) const { return chunks_->next_ == ORCHID_CHUNK; }

   private:
    Chunks* chunks_;
  };
  [[nodiscard]] Iterator begin() { return Iterator(*this); }
  [[nodiscard]] static std::nullptr_t end() { return nullptr; }

 private:
  void advance() {
    const void* chunk = nullptr;
    std::size_t size = 0;
    next_ = orchid_exchange(call_, &chunk, &size);
    chunk_ = {static_cast<const std::byte*>(chunk), size};
  }
  orchid_call* call_;
  std::span<const std::byte> chunk_;
  std::int32_t next_ = ORCHID_CHUNK;
};

/// A data object that the call was given, as elements: nothing is copied, and nobody can change it.
/// Valid until the function returns. A parameter of functions only.
template <typename T>
  requires values::Element<T> && (!std::is_same_v<T, bool>)
class Data {
 public:
  Data() = default;
  explicit Data(std::span<const T> elements) : elements_(elements) {}
  [[nodiscard]] std::span<const T> span() const { return elements_; }
  [[nodiscard]] const T* data() const { return elements_.data(); }
  [[nodiscard]] std::size_t size() const { return elements_.size(); }
  [[nodiscard]] bool empty() const { return elements_.empty(); }
  [[nodiscard]] auto begin() const { return elements_.begin(); }
  [[nodiscard]] auto end() const { return elements_.end(); }
  const T& operator[](std::size_t index) const { return elements_[index]; }

 private:
  std::span<const T> elements_;
};

/// Opens an object from within a call, as orchid_data_open() does. Nothing: it cannot be had, or
/// has no whole elements; the call's error says why, once the function returns without a value.
template <typename T>
[[nodiscard]] std::optional<Data<T>> open_data(Call& call, const std::string& name) {
  const void* bytes = nullptr;
  std::uint64_t size = 0;
  if (orchid_data_open(call.handle(), name.c_str(), &bytes, &size) != ORCHID_OK)
    return std::nullopt;
  if (size % sizeof(T) != 0) {
    const std::string why = "data '" + name + "' has " + std::to_string(size) +
                            " bytes, which are no whole elements of " + std::to_string(sizeof(T));
    orchid_error(call.handle(), why.data(), why.size());
    return std::nullopt;
  }
  return Data<T>({static_cast<const T*>(bytes), static_cast<std::size_t>(size) / sizeof(T)});
}

/// Room for an object that the call makes: zeros, written in place, then sealed. One that is not
/// sealed vanishes with the call.
template <typename T>
  requires values::Element<T> && (!std::is_same_v<T, bool>)
class Room {
 public:
  /// For at most so many elements, one at least. Nothing: there is no room; see open_data().
  [[nodiscard]] static std::optional<Room> create(Call& call, std::size_t most) {
    void* room = nullptr;
    if (!can_count(call, most) ||
        orchid_data_create(call.handle(), most * sizeof(T), &room) != ORCHID_OK)
      return std::nullopt;
    return Room(call, {static_cast<T*>(room), most});
  }
  /// Valid until it is sealed.
  [[nodiscard]] std::span<T> span() const { return elements_; }
  /// The first `used` elements are the object, which is called so, or has no name. Its id; nothing:
  /// see open_data().
  [[nodiscard]] std::optional<std::string> seal(std::size_t used, const std::string& name = "") {
    if (!can_count(*call_, used)) return std::nullopt;
    std::string id(ORCHID_DATA_ID_SIZE, '\0');
    const std::int32_t status = orchid_data_seal(call_->handle(), elements_.data(),
                                                 used * sizeof(T), name.c_str(), id.data());
    if (status != ORCHID_OK) return std::nullopt;
    id.pop_back();
    return id;
  }

 private:
  /// Their bytes have a number. Else the call's error says so.
  static bool can_count(Call& call, std::size_t elements) {
    if (elements <= static_cast<std::size_t>(-1) / sizeof(T)) return true;
    const std::string why = std::to_string(elements) + " elements of " + std::to_string(sizeof(T)) +
                            " bytes are more than any memory has";
    orchid_error(call.handle(), why.data(), why.size());
    return false;
  }
  Room(Call& call, std::span<T> elements) : call_(&call), elements_(elements) {}
  Call* call_;
  std::span<T> elements_;
};

template <typename T>
struct values::SequenceTraits<Data<T>> : std::false_type {  // in no input
  using Item = T;
};

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
std::int32_t give(orchid_call* call, const Result& result) {
  void* room = orchid_output(call, values::encoded_size(result));
  if (room == nullptr) return ORCHID_ERROR;  // over the output limit; the worker says so
  values::encode(static_cast<std::byte*>(room), result);
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
