#include "json_fields.h"

namespace orchid {

using Json = nlohmann::json;

Result<JsonFields> JsonFields::parse(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object())
    return fail(ErrorCode::bad_request,
                "the message is not a JSON object; both sides must speak Orchid's protocol");
  const auto type = json.find("type");
  if (type == json.end() || !type->is_string())
    return fail(ErrorCode::bad_request, "the message has no 'type'");
  std::string name = type->get<std::string>();
  return JsonFields(std::move(json), std::move(name));
}

JsonFields JsonFields::object(const char* key) {
  const auto found = json_.find(key);
  if (found == json_.end() || !found->is_object())
    return {fault<Json>(key, "must be an object"), type_};
  return {*found, type_};
}

std::vector<JsonFields> JsonFields::objects(const char* key) {
  std::vector<JsonFields> values;
  const Json& items = raw(key);
  if (items.is_object()) return fault<std::vector<JsonFields>>(key, "must be a list of objects");
  for (const Json& item : items) {
    if (!item.is_object()) return fault<std::vector<JsonFields>>(key, "must be a list of objects");
    values.push_back({item, type_});
  }
  return values;
}

std::string JsonFields::text(const char* key, std::size_t longest) {
  const auto found = json_.find(key);
  if (found == json_.end() || !found->is_string()) return fault<std::string>(key, "must be a text");
  const auto& value = found->get_ref<const std::string&>();
  if (value.size() > longest) return fault<std::string>(key, "is too long");
  return value;
}

bool JsonFields::flag(const char* key) {
  const auto found = json_.find(key);
  if (found == json_.end() || !found->is_boolean())
    return fault<bool>(key, "must be true or false");
  return found->get<bool>();
}

std::vector<std::string> JsonFields::texts(const char* key) {
  std::vector<std::string> values;
  for (const Json& item : raw(key)) {
    if (!item.is_string()) return fault<std::vector<std::string>>(key, "must be a list of texts");
    values.push_back(item.get<std::string>());
  }
  return values;
}

std::vector<std::uint32_t> JsonFields::numbers(const char* key) {
  std::vector<std::uint32_t> values;
  for (const Json& item : raw(key)) {
    const auto value = item.is_number_integer() ? narrow<std::uint32_t>(item) : std::nullopt;
    if (!value) return fault<std::vector<std::uint32_t>>(key, "must be a list of whole numbers");
    values.push_back(*value);
  }
  return values;
}

const Json& JsonFields::raw(const char* key) {
  static const Json nothing;
  const auto found = json_.find(key);
  if (found != json_.end() && found->is_structured()) return *found;
  fault<int>(key, "must be a list or an object");
  return nothing;
}

std::string dump_json(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace orchid
