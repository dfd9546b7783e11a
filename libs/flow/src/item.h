// item.h: a document as a tree of texts, lists and maps, each with its place. What read it does not
// matter any more.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "flow/fault.h"
#include "foundation/result.h"

namespace orchid::flow {

enum class ItemKind : std::uint8_t { nothing, scalar, list, map };

struct ItemField;

struct Item {
  ItemKind kind = ItemKind::nothing;
  Place place;
  std::string text;     // of a scalar
  bool quoted = false;  // a scalar between quotes is text, whatever it looks like
  std::vector<Item> elements;
  std::vector<ItemField> fields;  // in their order; a name may be there twice
};

struct ItemField {
  Word first;
  Item second;
};

/// YAML, and with it JSON. One fault at most: what is no YAML cannot be read on.
[[nodiscard]] std::expected<Item, Fault> read_yaml(const std::string& text);

/// As JSON: plain scalars that are numbers, true, false or null as such, others as texts.
[[nodiscard]] std::string json_of(const Item& item);

}  // namespace orchid::flow
