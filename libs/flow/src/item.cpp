#include "item.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace orchid::flow {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// A plain scalar: YAML has more spellings of numbers and truths than JSON; only JSON's are taken,
/// so that no text turns into a number by surprise.
OrderedJson plain(const std::string& text) {
  const OrderedJson value = OrderedJson::parse(text, nullptr, false);
  const bool is_value = !value.is_discarded() && !value.is_structured() && !value.is_string();
  return is_value ? value : OrderedJson(text);
}

OrderedJson to_json(const Item& item) {
  switch (item.kind) {
    case ItemKind::nothing:
      return nullptr;
    case ItemKind::scalar:
      return item.quoted ? OrderedJson(item.text) : plain(item.text);
    case ItemKind::list: {
      OrderedJson list = OrderedJson::array();
      for (const Item& element : item.elements) list.push_back(to_json(element));
      return list;
    }
    case ItemKind::map: {
      OrderedJson map = OrderedJson::object();
      auto& fields = map.get_ref<OrderedJson::object_t&>();  // looking for each name takes long
      for (const auto& [name, value] : item.fields) fields.emplace_back(name.text, to_json(value));
      return map;
    }
  }
  return nullptr;
}

}  // namespace

std::string json_of(const Item& item) {
  return to_json(item).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace orchid::flow
