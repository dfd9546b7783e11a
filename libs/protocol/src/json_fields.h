// json_fields.h: reads the fields of one JSON message strictly; the first fault is kept and
// reported at the end.
#pragma once
#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/result.h"

namespace orchid {

/// A value of one function. A missing or wrong field reads as its type's zero, and `finish` fails
/// then.
class JsonFields {
 public:
  /// Errors: `bad_request` when `text` is not a JSON object with a `type`.
  [[nodiscard]] static Result<JsonFields> parse(std::string_view text);
  /// A nested object, whose faults are reported under `type`'s name.
  [[nodiscard]] JsonFields object(const char* key);
  [[nodiscard]] std::vector<JsonFields> objects(const char* key);

  [[nodiscard]] const std::string& type() const { return type_; }
  [[nodiscard]] bool has(const char* key) const { return json_.contains(key); }

  [[nodiscard]] std::string text(const char* key, std::size_t longest = 64 * 1024);
  [[nodiscard]] bool flag(const char* key);
  [[nodiscard]] std::vector<std::string> texts(const char* key);
  [[nodiscard]] std::vector<std::uint32_t> numbers(const char* key);
  [[nodiscard]] const nlohmann::json& raw(const char* key);

  template <std::integral T>
  [[nodiscard]] T number(const char* key) {
    const auto found = json_.find(key);
    if (found == json_.end() || !found->is_number_integer())
      return fault<T>(key, "must be a whole number");
    if (const auto value = narrow<T>(*found)) return *value;
    return fault<T>(key, "is out of range");
  }
  /// `parse` makes an optional of the field's text.
  template <typename Parse>
  [[nodiscard]] auto parsed(const char* key, Parse parse) {
    const auto value = parse(text(key));
    if (!value) return fault<typename decltype(parse(""))::value_type>(key, "has an unknown value");
    return *value;
  }

  template <typename Message, typename T>
  [[nodiscard]] Result<Message> finish(T message) {
    if (!fault_.empty()) return fail(ErrorCode::bad_request, fault_);
    return Message(std::move(message));
  }
  /// Takes over the fault of a nested object.
  void include(const JsonFields& nested) {
    if (fault_.empty()) fault_ = nested.fault_;
  }
  template <typename T>
  T fault(const char* key, const char* what) {
    if (fault_.empty()) fault_ = "message '" + type_ + "': field '" + key + "' " + what;
    return T{};
  }

 private:
  JsonFields(nlohmann::json json, std::string type)
      : json_(std::move(json)), type_(std::move(type)) {}

  template <std::integral T>
  [[nodiscard]] static std::optional<T> narrow(const nlohmann::json& field) {
    if (field.is_number_unsigned()) {
      const auto value = field.get<std::uint64_t>();
      if (std::cmp_greater(value, std::numeric_limits<T>::max())) return std::nullopt;
      return static_cast<T>(value);
    }
    const auto value = field.get<std::int64_t>();
    if (std::cmp_less(value, std::numeric_limits<T>::min()) ||
        std::cmp_greater(value, std::numeric_limits<T>::max()))
      return std::nullopt;
    return static_cast<T>(value);
  }

  nlohmann::json json_;
  std::string type_;
  std::string fault_;
};

/// Compact text; bytes that are not UTF-8 (a function's message may have any) become U+FFFD.
[[nodiscard]] std::string dump_json(const nlohmann::json& json);

}  // namespace orchid
