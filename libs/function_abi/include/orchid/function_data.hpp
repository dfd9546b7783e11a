// orchid/function_data.hpp: data objects that a call is given, opens and makes. orchid/function.hpp
// brings it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "orchid/call.hpp"
#include "orchid/function.h"
#include "orchid/values.h"

namespace orchid {

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

/// An object that the call has made, as its result: what it answers is the object's id, and its
/// signature is data<T>. Whoever called may give it to the next call, which runs where it lies.
/// See Room::as_result.
template <typename T>
  requires values::Element<T> && (!std::is_same_v<T, bool>)
class NewData {
 public:
  using Id = std::array<std::uint8_t, ORCHID_DATA_ID_BYTES>;
  explicit NewData(const Id& id) : id_(id) {}
  [[nodiscard]] const Id& id() const { return id_; }

 private:
  Id id_;
};

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
  /// Sealed so, without a name, for the call to return.
  [[nodiscard]] std::optional<NewData<T>> as_result(std::size_t used) {
    const std::optional<std::string> text = seal(used);
    if (!text) return std::nullopt;
    typename NewData<T>::Id id{};
    for (std::size_t i = 0; i < id.size(); ++i)
      id[i] = static_cast<std::uint8_t>(digit((*text)[2 + 2 * i]) * 16 + digit((*text)[3 + 2 * i]));
    return NewData<T>(id);
  }

 private:
  static unsigned digit(char hexadecimal) {
    return static_cast<unsigned>(hexadecimal <= '9' ? hexadecimal - '0' : hexadecimal - 'a' + 10);
  }
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
template <typename T>
struct values::SequenceTraits<NewData<T>> : std::false_type {  // in no output
  using Item = T;
};

}  // namespace orchid
