// foundation/json_document.h: reads JSON that others have written, field by field. The first fault
// is kept, with the path of its field ("constraints.host"), and told at the end; nothing throws.
//
//   JsonDocument document(text);
//   const JsonObject o = document.root();
//   Place place{.name = o.text("name"), .cores = o.number<std::uint32_t>("cores")};
//   return document.finish(std::move(place));
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "foundation/result.h"

namespace orchid {

/// How many elements a list may have.
struct JsonLength {
  std::size_t least = 0;
  std::size_t most = std::numeric_limits<std::size_t>::max();
};

/// What a whole number may be, and what it is if it is optional and not there.
template <std::integral T>
struct JsonRange {
  T least = std::numeric_limits<T>::min();
  T most = std::numeric_limits<T>::max();
  T otherwise{};
};

struct JsonState;  // of a document; in src

/// An object of a document, which must outlive it. A field that is missing (and `null` is no
/// value), of another type or out of its bounds is a fault, and reads as nothing: 0, "", false, an
/// empty list or object.
class JsonObject {
 public:
  /// The same object, and what is in it; a missing field is no fault there.
  [[nodiscard]] JsonObject optional() const;

  [[nodiscard]] bool has(const char* key) const { return find(key) != nullptr; }
  /// How many elements a list has; 0 if it is none.
  [[nodiscard]] std::size_t size(const char* key) const;

  [[nodiscard]] std::string text(const char* key, std::size_t longest = 64 * 1024) const;
  [[nodiscard]] bool flag(const char* key) const;
  template <std::integral T>
  [[nodiscard]] T number(const char* key, JsonRange<T> range = {}) const {
    if constexpr (std::unsigned_integral<T>)
      return static_cast<T>(unsigned_number(key, {range.least, range.most, range.otherwise}));
    else
      return static_cast<T>(signed_number(key, {range.least, range.most, range.otherwise}));
  }
  /// Whole or not.
  [[nodiscard]] double decimal(const char* key, double least, double most) const;
  /// Above 0, whole or not.
  [[nodiscard]] double positive(const char* key, double most) const;
  /// What `parse` makes of a text: an optional or a Result. `must`: what is said if it makes
  /// nothing of it.
  template <typename Parse>
  [[nodiscard]] auto parsed(const char* key, Parse parse,
                            std::string_view must = "has an unknown value") const {
    auto value = parse(text(key));
    if (value) return std::move(*value);
    if (!is_optional_ || has(key)) fault(key, must);
    return typename decltype(value)::value_type{};
  }

  [[nodiscard]] std::vector<std::string> texts(const char* key, JsonLength length = {}) const;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> text_pairs(const char* key) const;
  template <std::unsigned_integral T = std::uint32_t>
  [[nodiscard]] std::vector<T> numbers(const char* key) const {
    const auto all = unsigned_numbers(key, std::numeric_limits<T>::max());
    return {all.begin(), all.end()};
  }
  /// The fields of an object, which are whole numbers all of them.
  [[nodiscard]] std::map<std::string, std::uint64_t> numbers_by_name(const char* key,
                                                                     JsonLength length = {}) const;
  [[nodiscard]] JsonObject object(const char* key) const;
  [[nodiscard]] std::vector<JsonObject> objects(const char* key, JsonLength length = {}) const;

  /// All of it as compact text, its keys sorted.
  [[nodiscard]] std::string dump() const;
  /// What is wrong with a field, such as "must be even".
  void fault(std::string_view key, std::string_view what) const;

 private:
  friend class JsonDocument;
  JsonObject(JsonState* state, const nlohmann::json* node, std::string path, bool is_optional)
      : state_(state), node_(node), path_(std::move(path)), is_optional_(is_optional) {}

  [[nodiscard]] const nlohmann::json* find(const char* key) const;
  /// Nothing: it is not there, or it is not such a value, which is a fault.
  [[nodiscard]] const nlohmann::json* find_such(const char* key, const std::string& must,
                                                bool (*is_such)(const nlohmann::json&)) const;
  [[nodiscard]] const nlohmann::json* find_list(const char* key, const char* items,
                                                JsonLength length,
                                                bool (*is_such)(const nlohmann::json&)) const;
  [[nodiscard]] std::uint64_t unsigned_number(const char* key,
                                              JsonRange<std::uint64_t> range) const;
  [[nodiscard]] std::int64_t signed_number(const char* key, JsonRange<std::int64_t> range) const;
  [[nodiscard]] std::vector<std::uint64_t> unsigned_numbers(const char* key,
                                                            std::uint64_t most) const;

  JsonState* state_;
  const nlohmann::json* node_;  // null: it is not there
  std::string path_;
  bool is_optional_;
};

struct JsonRules {
  std::string_view subject = "the document";  // in faults
  std::string_view unknown_key{};  // what is said of a key that nobody has asked for; empty: it may
                                   // be there
};

/// Owned by one thread.
class JsonDocument {
 public:
  /// A text that is no JSON, names a field twice, is no object or is nested deeply has a fault from
  /// the beginning, and reads as an empty object. The texts of `rules` are literals.
  explicit JsonDocument(std::string_view text, const JsonRules& rules = {});
  JsonDocument(JsonDocument&& other) noexcept;
  ~JsonDocument();

  [[nodiscard]] JsonObject root() const;
  /// The root's field `type`, by which faults name the document from now on.
  [[nodiscard]] std::string type();
  /// Errors: `bad_request`, with the first fault.
  [[nodiscard]] Result<void> finish() const;
  template <typename T>
  [[nodiscard]] Result<T> finish(T value) const {
    if (auto good = finish(); !good) return fail(std::move(good.error()));
    return value;
  }

 private:
  std::unique_ptr<JsonState> state_;
};

/// Compact text; bytes that are not UTF-8 (a function's message may have any) become U+FFFD.
[[nodiscard]] std::string dump_json(const nlohmann::json& json);

}  // namespace orchid
