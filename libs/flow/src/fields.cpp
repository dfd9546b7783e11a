#include "fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "foundation/amounts.h"
#include "foundation/numbers.h"

namespace orchid::flow {

bool is_name(std::string_view text) {
  constexpr std::size_t longest = 64;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !text.empty() && text.size() <= longest && is_letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
         });
}

Word word_of(const Item& item, std::string_view what, FaultList& faults) {
  if (item.kind == ItemKind::scalar && !item.text.empty())
    return {.text = item.text, .place = item.place};
  faults.add(item.place, fmt::format("{} must be a text", what));
  return {.text = {}, .place = item.place};
}

Fields::Fields(const Item& item, std::string what, FaultList& faults)
    : item_(item), what_(std::move(what)), faults_(faults) {
  if (item.kind != ItemKind::map) {
    faults_.add(item.place, fmt::format("{} must be a map of fields", what_));
    return;
  }
  std::set<std::string_view> seen;
  for (const auto& [name, value] : item.fields)
    if (!seen.insert(name.text).second)
      faults_.add(name.place,
                  fmt::format("'{}' is there twice in {}; take one away", name.text, what_));
}

void Fields::refuse_others() {
  for (const auto& [name, value] : item_.fields)
    if (!asked_.contains(name.text))
      faults_.add(name.place, fmt::format("{} has no field '{}'; it has: {}", what_, name.text,
                                          fmt::join(asked_, ", ")));
}

const Item* Fields::find(std::string_view name) {
  asked_.emplace(name);
  for (const auto& [field, value] : item_.fields)
    if (field.text == name) return value.kind == ItemKind::nothing ? nullptr : &value;
  return nullptr;
}

const Item* Fields::need(std::string_view name) {
  const Item* item = find(name);
  if (item == nullptr && item_.kind == ItemKind::map)
    faults_.add(item_.place, fmt::format("{} has no '{}'; add it", what_, name));
  return item;
}

Word Fields::word(std::string_view name) {
  const Item* item = find(name);
  return item == nullptr ? Word{} : word_of(*item, fmt::format("'{}' of {}", name, what_), faults_);
}

Word Fields::needed_word(std::string_view name) {
  return need(name) == nullptr ? Word{.text = {}, .place = item_.place} : word(name);
}

std::vector<Word> Fields::words(std::string_view name) {
  const Item* item = find(name);
  if (item == nullptr) return {};
  if (item->kind != ItemKind::list) {
    faults_.add(item->place, fmt::format("'{}' of {} must be a list, such as [a, b]", name, what_));
    return {};
  }
  std::vector<Word> words;
  for (const Item& element : item->elements)
    words.push_back(word_of(element, fmt::format("each of '{}' of {}", name, what_), faults_));
  return words;
}

std::uint32_t Fields::number(std::string_view name, std::uint32_t least, std::uint32_t most,
                             std::uint32_t otherwise) {
  const Item* item = find(name);
  if (item == nullptr) return otherwise;
  const auto number = parse_number<std::uint32_t>(item->text);
  if (number && !item->quoted && *number >= least && *number <= most) return *number;
  faults_.add(item->place, fmt::format("'{}' of {} must be a whole number from {} to {}", name,
                                       what_, least, most));
  return otherwise;
}

std::chrono::nanoseconds Fields::duration(std::string_view name,
                                          std::chrono::nanoseconds otherwise) {
  const Item* item = find(name);
  if (item == nullptr) return otherwise;
  const auto duration = parse_duration(item->text, {.least = std::chrono::nanoseconds(1)});
  if (duration) return *duration;
  faults_.add(item->place, fmt::format("'{}' of {}: {}", name, what_, duration.error().message));
  return otherwise;
}

bool Fields::flag(std::string_view name) {
  const Item* item = find(name);
  if (item == nullptr) return false;
  if (item->kind == ItemKind::scalar && !item->quoted && item->text == "true") return true;
  if (item->kind != ItemKind::scalar || item->quoted || item->text != "false")
    faults_.add(item->place, fmt::format("'{}' of {} must be true or false", name, what_));
  return false;
}

std::vector<std::pair<Word, Word>> Fields::pairs(std::string_view name) {
  const Item* item = find(name);
  std::vector<std::pair<Word, Word>> pairs;
  if (item == nullptr) return pairs;
  const Fields whole(*item, fmt::format("'{}'", name), faults_);
  for (const auto& [field, value] : item->fields)
    pairs.emplace_back(field,
                       word_of(value, fmt::format("'{}' in '{}'", field.text, name), faults_));
  return pairs;
}

}  // namespace orchid::flow
