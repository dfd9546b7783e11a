// foundation/strong_id.h: ids of one kind cannot be mistaken for ids of another.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace orchid {

/// `using WorkerId = StrongId<struct WorkerIdTag>;` A value: copied, compared, hashed.
template <typename Tag, typename Value = std::uint64_t>
class StrongId {
 public:
  constexpr StrongId() = default;
  constexpr explicit StrongId(Value value) : value_(std::move(value)) {}
  [[nodiscard]] constexpr const Value& value() const { return value_; }
  friend constexpr auto operator<=>(const StrongId&, const StrongId&) = default;
  friend constexpr bool operator==(const StrongId&, const StrongId&) = default;

 private:
  Value value_{};
};

}  // namespace orchid

template <typename Tag, typename Value>
struct std::hash<orchid::StrongId<Tag, Value>> {
  std::size_t operator()(const orchid::StrongId<Tag, Value>& id) const noexcept {
    return std::hash<Value>{}(id.value());
  }
};
