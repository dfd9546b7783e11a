// orchid/kernel.hpp: kernels in C++ (C++20), a thin layer over kernel.h.
//
//     struct SaxpyArgs { float a; const float* x; float* y; };
//     ORCHID_KERNEL(saxpy, SaxpyArgs) { args.y[item] += args.a * args.x[item]; }
//     ORCHID_KERNEL_FUNCTION(saxpy)
//
// makes the entry `saxpy` with the signature span<f32>(f32,span<f32>,span<f32>), which is called
// like any other. Its arguments are the fields of Args, in their order: a scalar stays one, `const
// T*` and Span<const T> take a span, and the one `T*` or Span<T> takes a span and is the result.
// There is one item for each of its elements. A pointer's span must have as many; a Span's may have
// any number, which the kernel sees.
//
// An entry that does more uses DeviceSpan and launch:
//
//     orchid::DeviceSpan<float> x(call, input), y(call, count);
//     if (!x || !y) return ORCHID_ERROR;
//     if (!orchid::launch(call, saxpy, count, {2, x.data(), y.data()})) return ORCHID_ERROR;
//     if (!orchid::wait(call) || !y.copy_to(output)) return ORCHID_ERROR;
#pragma once
#include "orchid/kernel.h"

namespace orchid {

/// A field of a kernel's arguments: elements that lie where the kernel runs. The same bytes on
/// cores and devices.
template <typename T>
struct Span {
  T* pointer;
  uint64_t count;

  T& operator[](uint64_t index) const { return pointer[index]; }
  [[nodiscard]] T* data() const { return pointer; }
  [[nodiscard]] uint64_t size() const { return count; }
  [[nodiscard]] bool empty() const { return count == 0; }
  [[nodiscard]] T* begin() const { return pointer; }
  [[nodiscard]] T* end() const { return pointer + count; }
};

}  // namespace orchid

#if !ORCHID_HOST
#define ORCHID_FUNCTION(name) static_assert(true);
#define ORCHID_KERNEL_FUNCTION(name) static_assert(true);
#else

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "orchid/function.hpp"

/// After ORCHID_KERNEL or ORCHID_GROUP_KERNEL, in the global namespace.
#define ORCHID_KERNEL_FUNCTION(name)                                                            \
  extern "C" {                                                                                  \
  extern __attribute__((visibility("default")))                                                 \
  const decltype(::orchid::kernels::Entry<decltype(name)>::signature) orchid_signature_##name;  \
  __attribute__((used))                                                                         \
  const decltype(::orchid::kernels::Entry<decltype(name)>::signature) orchid_signature_##name = \
      ::orchid::kernels::Entry<decltype(name)>::signature;                                      \
  }                                                                                             \
  ORCHID_ENTRY(name) {                                                                          \
    return ::orchid::kernels::Entry<decltype(name)>::run(call, name, input, input_size);        \
  }

namespace orchid {

/// False: it failed or has to stop; end the entry as an error soon. The reason has been stated.
template <typename Args>
[[nodiscard]] bool launch(orchid_call* call, const Kernel<Args>& kernel, std::uint64_t items,
                          const std::type_identity_t<Args>& args) {
  return orchid_launch(call, &kernel, &args, sizeof(Args), items) == ORCHID_OK;
}
template <typename Args>
[[nodiscard]] bool launch(const Call& call, const Kernel<Args>& kernel, std::uint64_t items,
                          const std::type_identity_t<Args>& args) {
  return launch(call.handle(), kernel, items, args);
}
/// Until all launches have ended.
[[nodiscard]] inline bool wait(orchid_call* call) { return orchid_device_wait(call) == ORCHID_OK; }
[[nodiscard]] inline bool wait(const Call& call) { return wait(call.handle()); }

/// Elements where kernels run. Lives no longer than its call, on the entry's thread.
template <typename T>
class DeviceSpan {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                "elements on a device are trivially copyable and not const");

 public:
  /// What they are at first is not told.
  DeviceSpan(orchid_call* call, std::size_t count) : call_(call), count_(count) {
    // An empty one has memory too: it must not look like a refusal.
    const bool fits = count <= static_cast<std::size_t>(-1) / 2 / sizeof(T);
    const std::size_t size = count == 0 ? 1 : count * sizeof(T);
    data_ = static_cast<T*>(orchid_device_alloc(call, fits ? size : static_cast<std::size_t>(-1)));
  }
  /// Copies them in.
  DeviceSpan(orchid_call* call, std::span<const T> elements) : DeviceSpan(call, elements.size()) {
    if (data_ != nullptr && !write(elements)) release();
  }
  DeviceSpan(const Call& call, std::size_t count) : DeviceSpan(call.handle(), count) {}
  DeviceSpan(const Call& call, std::span<const T> elements) : DeviceSpan(call.handle(), elements) {}
  DeviceSpan(DeviceSpan&& other) noexcept
      : call_(other.call_), data_(std::exchange(other.data_, nullptr)), count_(other.count_) {}
  DeviceSpan& operator=(DeviceSpan&& other) noexcept {
    if (this == &other) return *this;
    release();
    call_ = other.call_;
    data_ = std::exchange(other.data_, nullptr);
    count_ = other.count_;
    return *this;
  }
  DeviceSpan(const DeviceSpan&) = delete;
  DeviceSpan& operator=(const DeviceSpan&) = delete;
  ~DeviceSpan() { release(); }

  /// False: there was no memory, or the copy failed. End the entry as an error.
  explicit operator bool() const { return data_ != nullptr; }
  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] Span<T> span() const { return {data_, count_}; }

  /// At most `size()` elements, from the first.
  [[nodiscard]] bool write(std::span<const T> from) {
    return from.size() <= count_ &&
           orchid_device_write(call_, data_, from.data(), from.size_bytes()) == ORCHID_OK;
  }
  [[nodiscard]] bool copy_to(std::span<T> to) const {
    return to.size() <= count_ &&
           orchid_device_read(call_, to.data(), data_, to.size_bytes()) == ORCHID_OK;
  }

 private:
  void release() { orchid_device_free(call_, std::exchange(data_, nullptr)); }

  orchid_call* call_;
  T* data_ = nullptr;
  std::size_t count_;
};

namespace kernels {

/// Becomes whatever a field wants.
struct AnyField {
  template <typename T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};
template <typename Args, std::size_t... Index>
constexpr bool can_be_made_of(std::index_sequence<Index...>) {
  return requires { Args{(static_cast<void>(Index), AnyField{})...}; };
}
template <typename Args, std::size_t Count = 17>
constexpr std::size_t count_fields() {
  if constexpr (Count == 0 || can_be_made_of<Args>(std::make_index_sequence<Count>{})) {
    return Count;
  } else {
    return count_fields<Args, Count - 1>();
  }
}

/// References to the fields, in their order.
template <typename Args>
constexpr auto fields_of(Args& args) {
  constexpr std::size_t count = count_fields<Args>();
  static_assert(std::is_aggregate_v<Args> && count >= 1 && count <= 16,
                "ORCHID_KERNEL_FUNCTION takes a plain struct of 1 to 16 fields; for other "
                "arguments write an entry that calls orchid::launch");
  if constexpr (count == 1) {
    auto& [f0] = args;
    return std::tie(f0);
  } else if constexpr (count == 2) {
    auto& [f0, f1] = args;
    return std::tie(f0, f1);
  } else if constexpr (count == 3) {
    auto& [f0, f1, f2] = args;
    return std::tie(f0, f1, f2);
  } else if constexpr (count == 4) {
    auto& [f0, f1, f2, f3] = args;
    return std::tie(f0, f1, f2, f3);
  } else if constexpr (count == 5) {
    auto& [f0, f1, f2, f3, f4] = args;
    return std::tie(f0, f1, f2, f3, f4);
  } else if constexpr (count == 6) {
    auto& [f0, f1, f2, f3, f4, f5] = args;
    return std::tie(f0, f1, f2, f3, f4, f5);
  } else if constexpr (count == 7) {
    auto& [f0, f1, f2, f3, f4, f5, f6] = args;
    return std::tie(f0, f1, f2, f3, f4, f5, f6);
  } else if constexpr (count == 8) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7] = args;
    return std::tie(f0, f1, f2, f3, f4, f5, f6, f7);
  } else if constexpr (count == 9) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8] = args;
    return std::tie(f0, f1, f2, f3, f4, f5, f6, f7, f8);
  } else if constexpr (count == 10) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9] = args;
    return std::tie(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9);
  } else if constexpr (count == 11) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10] = args;
    return std::tie(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10);
  } else if constexpr (count == 12) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11] = args;
    return std::tie(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11);
  } else if constexpr (count == 13) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12] = args;
    return std::tie(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12);
  } else if constexpr (count == 14) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13] = args;
    return std::tie(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13);
  } else if constexpr (count == 15) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14] = args;
    return std::tie(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14);
  } else if constexpr (count == 16) {
    auto& [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15] = args;
    return std::tie(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15);
  }
}

/// How a field travels: a scalar as itself.
template <typename T>
struct FieldTraits {
  static_assert(values::Element<T>,
                "a field of a kernel's arguments is a scalar, an ORCHID_STRUCT, T*, const T*, "
                "Span<T> or Span<const T>; for others write an entry that calls orchid::launch");
  using Travels = T;
  static constexpr bool is_span = false;
  static constexpr bool is_result = false;
  static constexpr bool is_pointer = false;
};
template <typename T>
struct SpanTraits {
  using Travels = std::span<T>;
  using Item = std::remove_const_t<T>;
  static constexpr bool is_span = true;
  static constexpr bool is_result = !std::is_const_v<T>;
};
template <typename T>
struct FieldTraits<T*> : SpanTraits<T> {
  static constexpr bool is_pointer = true;
  static void set(T*& field, T* data, std::size_t) { field = data; }
};
template <typename T>
struct FieldTraits<Span<T> > : SpanTraits<T> {
  static constexpr bool is_pointer = false;
  static void set(Span<T>& field, T* data, std::size_t count) { field = {data, count}; }
};

/// What the memory of a field is kept in while the kernel runs.
struct Nothing {};
template <typename Field, bool IsSpan = FieldTraits<Field>::is_span>
struct FieldMemory {
  using Type = Nothing;
};
template <typename Field>
struct FieldMemory<Field, true> {
  using Type = std::optional<DeviceSpan<typename FieldTraits<Field>::Item> >;
};

template <typename Fields>
struct FieldList;
template <typename... Field>
struct FieldList<std::tuple<Field&...> > {
  static constexpr std::size_t results = (std::size_t{0} + ... + FieldTraits<Field>::is_result);
  static_assert(results == 1,
                "ORCHID_KERNEL_FUNCTION needs exactly one field `T*` or `Span<T>`, the result; "
                "make what is only read `const T*`, and for several results write an entry that "
                "calls orchid::launch");
  static constexpr std::size_t result_index() {
    std::size_t index = 0;
    std::size_t at = 0;
    ((index = FieldTraits<Field>::is_result ? at : index, ++at), ...);
    return index;
  }
  using Result =
      std::tuple_element_t<result_index(), std::tuple<typename FieldTraits<Field>::Travels...> >;
  using Traits = values::FunctionTraits<Result(typename FieldTraits<Field>::Travels...)>;
  using Memory = std::tuple<typename FieldMemory<Field>::Type...>;
};

/// The entry of a kernel; K is its type.
template <typename K>
struct Entry {
  using Args = typename K::Arguments;
  using List = FieldList<decltype(fields_of(std::declval<Args&>()))>;
  using Held = typename List::Traits::Held;
  static constexpr auto signature = List::Traits::signature;

  static std::int32_t run(orchid_call* call, const K& kernel, const void* input, std::size_t size) {
    values::Decoder decoder({static_cast<const std::byte*>(input), size});
    Held held;
    if (!values::decode_all(decoder, held))
      return entries::refuse<typename List::Traits>(call, decoder.problem());
    const std::size_t items = std::get<List::result_index()>(held).size();
    return run_fields(call, kernel, held, items,
                      std::make_index_sequence<std::tuple_size_v<Held> >{});
  }

 private:
  template <std::size_t Index>
  using Field = std::remove_reference_t<
      std::tuple_element_t<Index, decltype(fields_of(std::declval<Args&>()))> >;

  template <std::size_t... Index>
  static std::int32_t run_fields(orchid_call* call, const K& kernel, Held& held, std::size_t items,
                                 std::index_sequence<Index...>) {
    if (!(fits<Index>(call, held, items) && ...)) return ORCHID_BAD_ARGUMENTS;
    Args args{};
    auto fields = fields_of(args);
    typename List::Memory memory;
    if (!(place<Index>(call, std::get<Index>(fields), held, memory) && ...)) return ORCHID_ERROR;
    if (!launch(call, kernel, items, args) || !wait(call)) return ORCHID_ERROR;
    auto& result = std::get<List::result_index()>(held);
    if (!std::get<List::result_index()>(memory)->copy_to(result)) return ORCHID_ERROR;
    return entries::give(call, result);
  }

  template <std::size_t Index>
  static bool fits(orchid_call* call, const Held& held, std::size_t items) {
    if constexpr (FieldTraits<Field<Index> >::is_pointer) {
      const std::size_t count = std::get<Index>(held).size();
      if (count == items) return true;
      const std::string message = "value " + std::to_string(Index + 1) + " has " +
                                  std::to_string(count) + " elements, but the result, value " +
                                  std::to_string(List::result_index() + 1) + ", has " +
                                  std::to_string(items) + "; the kernel needs as many";
      orchid_error(call, message.data(), message.size());
      return false;
    } else {
      return true;
    }
  }

  template <std::size_t Index>
  static bool place(orchid_call* call, Field<Index>& field, const Held& held,
                    typename List::Memory& memory) {
    if constexpr (FieldTraits<Field<Index> >::is_span) {
      const auto& elements = std::get<Index>(held);
      auto& own = std::get<Index>(memory).emplace(call, elements);
      if (!own) return false;
      FieldTraits<Field<Index> >::set(field, own.data(), own.size());
    } else {
      field = std::get<Index>(held);
    }
    return true;
  }
};
template <typename K>
struct Entry<const K> : Entry<K> {};

}  // namespace kernels
}  // namespace orchid

#endif  // ORCHID_HOST
