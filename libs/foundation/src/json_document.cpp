#include "foundation/json_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "json_tree.h"

namespace orchid {

using Json = nlohmann::json;

struct JsonState {
  Json root = Json::object();
  JsonRules rules;
  std::string name;             // of the document, in front of faults
  std::string fault;            // the first; empty: none
  std::set<const Json*> asked;  // fields that somebody asked for, if that matters

  void note(std::string what) {
    if (fault.empty()) fault = std::move(what);
  }
};

namespace {

bool is_text(const Json& value) { return value.is_string(); }
bool is_text_pair(const Json& value) {
  return value.is_array() && value.size() == 2 && std::ranges::all_of(value, is_text);
}
bool is_flag(const Json& value) { return value.is_boolean(); }
bool is_object(const Json& value) { return value.is_object(); }
bool is_unsigned(const Json& value) { return value.is_number_unsigned(); }

std::string inner_path(std::string_view path, std::string_view key) {
  std::string inner(path);
  if (!inner.empty()) inner += '.';
  return inner.append(shortened_key(key));
}

std::string item_path(std::string_view path, std::size_t item) {
  return std::string(path) + "[" + std::to_string(item) + "]";
}

/// The bounds of 64 bits are not worth saying, but that nothing is below 0 is.
template <typename T>
std::string must_be_whole(const JsonRange<T>& range) {
  std::string text = "must be a whole number";
  if (std::unsigned_integral<T> || range.least != std::numeric_limits<T>::min())
    text += " from " + std::to_string(range.least);
  if (range.most != std::numeric_limits<T>::max()) text += " to " + std::to_string(range.most);
  return text;
}

std::string must_be_list(const char* items, JsonLength length) {
  if (length.most == JsonLength{}.most) return std::string("must be a list of ") + items;
  return "must be a list of " +
         (length.least == 0 ? "at most " : std::to_string(length.least) + " to ") +
         std::to_string(length.most) + " " + items;
}

/// The path of the first field that nobody asked for; nothing: there is none.
std::optional<std::string> find_unknown(const JsonState& state, const Json& node,
                                        const std::string& path) {
  if (node.is_object()) {
    for (const auto& [key, value] : node.items()) {
      std::string inner = inner_path(path, key);
      if (!state.asked.contains(&value)) return inner;
      if (auto unknown = find_unknown(state, value, inner)) return unknown;
    }
  } else if (node.is_array()) {
    for (std::size_t i = 0; i < node.size() && node[i].is_structured(); ++i)
      if (auto unknown = find_unknown(state, node[i], item_path(path, i))) return unknown;
  }
  return std::nullopt;
}

}  // namespace

JsonObject JsonObject::optional() const { return {state_, node_, path_, true}; }

void JsonObject::fault(std::string_view key, std::string_view what) const {
  state_->note("'" + inner_path(path_, key) + "' " + std::string(what));
}

const Json* JsonObject::find(const char* key) const {
  if (node_ == nullptr) return nullptr;
  const auto found = node_->find(key);
  if (found == node_->end()) return nullptr;
  if (!state_->rules.unknown_key.empty()) state_->asked.insert(&*found);
  return found->is_null() ? nullptr : &*found;
}

const Json* JsonObject::find_such(const char* key, const std::string& must,
                                  bool (*is_such)(const Json&)) const {
  const Json* value = find(key);
  if (value == nullptr && is_optional_) return nullptr;
  if (value != nullptr && is_such(*value)) return value;
  fault(key, must);
  return nullptr;
}

const Json* JsonObject::find_list(const char* key, const char* items, JsonLength length,
                                  bool (*is_such)(const Json&)) const {
  const Json* value = find(key);
  if (value == nullptr && is_optional_) return nullptr;
  if (value != nullptr && value->is_array() && value->size() >= length.least &&
      value->size() <= length.most && std::ranges::all_of(*value, is_such))
    return value;
  fault(key, must_be_list(items, length));
  return nullptr;
}

std::size_t JsonObject::size(const char* key) const {
  const Json* value = find(key);
  return value != nullptr && value->is_array() ? value->size() : 0;
}

std::string JsonObject::text(const char* key, std::size_t longest) const {
  const Json* value = find_such(key, "must be a text", is_text);
  if (value == nullptr) return {};
  const auto& text = value->get_ref<const std::string&>();
  if (text.size() <= longest) return text;
  fault(key, "is too long");
  return {};
}

bool JsonObject::flag(const char* key) const {
  const Json* value = find_such(key, "must be true or false", is_flag);
  return value != nullptr && value->get<bool>();
}

std::uint64_t JsonObject::unsigned_number(const char* key, JsonRange<std::uint64_t> range) const {
  const Json* value = find(key);
  if (value == nullptr && is_optional_) return range.otherwise;
  if (value != nullptr && value->is_number_unsigned()) {
    const auto number = value->get<std::uint64_t>();
    if (number >= range.least && number <= range.most) return number;
  }
  fault(key, must_be_whole(range));
  return 0;
}

std::int64_t JsonObject::signed_number(const char* key, JsonRange<std::int64_t> range) const {
  const Json* value = find(key);
  if (value == nullptr && is_optional_) return range.otherwise;
  // What is not negative is kept as an unsigned number.
  const bool fits =
      value != nullptr && value->is_number_integer() &&
      (!value->is_number_unsigned() || std::in_range<std::int64_t>(value->get<std::uint64_t>()));
  if (fits) {
    const auto number = value->get<std::int64_t>();
    if (number >= range.least && number <= range.most) return number;
  }
  fault(key, must_be_whole(range));
  return 0;
}

double JsonObject::decimal(const char* key, double least, double most) const {
  const Json* value = find(key);
  if (value == nullptr && is_optional_) return 0;
  if (value != nullptr && value->is_number()) {
    const auto number = value->get<double>();
    if (number >= least && number <= most) return number;
  }
  fault(key, fmt::format("must be a number from {} to {}", least, most));
  return 0;
}

double JsonObject::positive(const char* key, double most) const {
  const Json* value = find(key);
  if (value == nullptr && is_optional_) return 0;
  if (value != nullptr && value->is_number()) {
    const auto number = value->get<double>();
    if (number > 0 && number <= most) return number;
    if (number > 0) {
      fault(key, "is too large");
      return 0;
    }
  }
  fault(key, "must be a number above 0");
  return 0;
}

std::vector<std::string> JsonObject::texts(const char* key, JsonLength length) const {
  std::vector<std::string> texts;
  if (const Json* list = find_list(key, "texts", length, is_text))
    for (const Json& text : *list) texts.push_back(text.get_ref<const std::string&>());
  return texts;
}

std::vector<std::pair<std::string, std::string>> JsonObject::text_pairs(const char* key) const {
  std::vector<std::pair<std::string, std::string>> pairs;
  if (const Json* list = find_list(key, "pairs of texts", {}, is_text_pair))
    for (const Json& pair : *list)
      pairs.emplace_back(pair[0].get_ref<const std::string&>(),
                         pair[1].get_ref<const std::string&>());
  return pairs;
}

std::vector<std::uint64_t> JsonObject::unsigned_numbers(const char* key, std::uint64_t most) const {
  std::vector<std::uint64_t> numbers;
  if (const Json* list = find_list(key, "whole numbers", {}, is_unsigned))
    for (const Json& number : *list) numbers.push_back(number.get<std::uint64_t>());
  if (std::ranges::all_of(numbers, [most](std::uint64_t number) { return number <= most; }))
    return numbers;
  fault(key, "must be a list of whole numbers from 0 to " + std::to_string(most));
  return {};
}

std::map<std::string, std::uint64_t> JsonObject::numbers_by_name(const char* key,
                                                                 JsonLength length) const {
  std::map<std::string, std::uint64_t> numbers;
  const Json* fields = find_such(key, "must be an object", is_object);
  if (fields == nullptr) return numbers;
  if (fields->size() > length.most || !std::ranges::all_of(*fields, is_unsigned)) {
    fault(key, "must hold whole numbers" + (length.most == JsonLength{}.most
                                                ? std::string()
                                                : ", " + std::to_string(length.most) + " at most"));
    return numbers;
  }
  for (const auto& [name, number] : fields->items()) {
    if (!state_->rules.unknown_key.empty()) state_->asked.insert(&number);
    numbers.emplace(name, number.get<std::uint64_t>());
  }
  return numbers;
}

JsonObject JsonObject::object(const char* key) const {
  const Json* value = find_such(key, "must be an object", is_object);
  return {state_, value, inner_path(path_, key), is_optional_};
}

std::vector<JsonObject> JsonObject::objects(const char* key, JsonLength length) const {
  std::vector<JsonObject> objects;
  const Json* list = find_list(key, "objects", length, is_object);
  if (list == nullptr) return objects;
  const std::string path = inner_path(path_, key);
  objects.reserve(list->size());
  for (const Json& item : *list)
    objects.push_back({state_, &item, item_path(path, objects.size()), is_optional_});
  return objects;
}

std::string JsonObject::dump() const { return node_ == nullptr ? "{}" : dump_json(*node_); }

JsonDocument::JsonDocument(std::string_view text, const JsonRules& rules)
    : state_(std::make_unique<JsonState>()) {
  state_->rules = rules;
  auto tree = parse_json_tree(text, rules.subject);
  if (!tree)
    state_->note(std::move(tree.error().message));
  else if (!tree->is_object())
    state_->note(std::string(rules.subject) + " must be a JSON object");
  else
    state_->root = std::move(*tree);
}

JsonDocument::JsonDocument(JsonDocument&& other) noexcept = default;
JsonDocument::~JsonDocument() = default;

JsonObject JsonDocument::root() const { return {state_.get(), &state_->root, {}, false}; }

std::string JsonDocument::type() {
  std::string type = root().text("type");
  if (!type.empty()) state_->name = "message '" + std::string(shortened_key(type)) + "'";
  return type;
}

Result<void> JsonDocument::finish() const {
  if (state_->fault.empty() && !state_->rules.unknown_key.empty())
    if (const auto unknown = find_unknown(*state_, state_->root, {}))
      state_->note("'" + *unknown + "' " + std::string(state_->rules.unknown_key));
  if (state_->fault.empty()) return {};
  return fail(ErrorCode::bad_request,
              state_->name.empty() ? state_->fault : state_->name + ": " + state_->fault);
}

std::string dump_json(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace orchid
