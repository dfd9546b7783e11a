// The home of yaml-cpp: text becomes items, and its exceptions become faults.
//
// Items are made from the parser's events, so that its own tree is never in memory beside them.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <spanstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "item.h"

namespace orchid::flow {
namespace {

constexpr std::size_t largest_document = std::size_t{64} << 20;  // bytes
constexpr std::size_t deepest = 32;
constexpr std::size_t most_items = 2'000'000;  // aliases multiply what they stand for

Place place_of(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {.line = static_cast<std::uint32_t>(mark.line + 1),
          .column = static_cast<std::uint32_t>(mark.column + 1)};
}

/// Makes the items of one document. What it throws are YAML's exceptions.
class Reader final : public YAML::EventHandler {
 public:
  [[nodiscard]] Item take() { return std::move(root_); }
  [[nodiscard]] YAML::Mark begin() const { return begin_; }

  void OnDocumentStart(const YAML::Mark& mark) override { begin_ = mark; }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_as_name(mark);
    add({.place = place_of(mark), .text = {}, .elements = {}, .fields = {}}, mark, anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    add({.kind = ItemKind::scalar,
         .place = place_of(mark),
         .text = value,
         .quoted = tag == "!",
         .elements = {},
         .fields = {}},
        mark, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto item = anchored_.find(anchor);
    if (item == anchored_.end())
      throw YAML::ParserException(mark, "this stands for what it is a part of");
    if (item->second.kind != ItemKind::scalar) refuse_as_name(mark);
    count(item->second, open_.size(), mark);
    put(Item(item->second));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    begin_collection(ItemKind::list, mark, anchor);
  }
  void OnSequenceEnd() override { end_collection(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    begin_collection(ItemKind::map, mark, anchor);
  }
  void OnMapEnd() override { end_collection(); }

 private:
  struct Open {
    Item item;
    YAML::anchor_t anchor = YAML::NullAnchor;
    YAML::Mark mark;
    bool has_name = false;  // of a map: the value of its last field is to come
  };

  [[nodiscard]] bool wants_name() const {
    return !open_.empty() && open_.back().item.kind == ItemKind::map && !open_.back().has_name;
  }

  void refuse_as_name(const YAML::Mark& mark) const {
    if (wants_name()) throw YAML::ParserException(mark, "a field's name must be a text");
  }

  void count(std::size_t text, std::size_t depth, const YAML::Mark& mark) {
    if (depth > deepest || ++items_ > most_items)
      throw YAML::ParserException(mark,
                                  "this is nested too deeply, or has too many parts; split it into "
                                  "flows that are nodes of another one");
    text_ += text;
    if (text_ > largest_document)
      throw YAML::ParserException(mark, "aliases make more than 64 MiB of text here");
  }

  /// One that is there once more.
  void count(const Item& item, std::size_t depth, const YAML::Mark& mark) {
    count(item.text.size(), depth, mark);
    for (const Item& element : item.elements) count(element, depth + 1, mark);
    for (const auto& [name, value] : item.fields) {
      count(name.text.size(), depth + 1, mark);
      count(value, depth + 1, mark);
    }
  }

  void add(Item item, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (!wants_name()) count(item.text.size(), open_.size(), mark);
    keep(item, mark, anchor);
    put(std::move(item));
  }

  void keep(const Item& item, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor == YAML::NullAnchor) return;
    count(item, open_.size(), mark);
    anchored_.insert_or_assign(anchor, item);
  }

  void begin_collection(ItemKind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    refuse_as_name(mark);
    count(0, open_.size(), mark);
    open_.push_back(
        {.item = {.kind = kind, .place = place_of(mark), .text = {}, .elements = {}, .fields = {}},
         .anchor = anchor,
         .mark = mark});
  }

  void end_collection() {
    Open done = std::move(open_.back());
    open_.pop_back();
    done.item.elements.shrink_to_fit();
    done.item.fields.shrink_to_fit();
    keep(done.item, done.mark, done.anchor);
    put(std::move(done.item));
  }

  void put(Item item) {
    if (open_.empty()) {
      root_ = std::move(item);
    } else if (wants_name()) {
      open_.back().item.fields.emplace_back(Word{.text = std::move(item.text), .place = item.place},
                                            Item{});
      open_.back().has_name = true;
    } else if (Open& into = open_.back(); into.item.kind == ItemKind::list) {
      into.item.elements.push_back(std::move(item));
    } else {
      into.item.fields.back().second = std::move(item);
      into.has_name = false;
    }
  }

  YAML::Mark begin_ = YAML::Mark::null_mark();
  Item root_{};
  std::vector<Open> open_;                             // the outermost first
  std::unordered_map<YAML::anchor_t, Item> anchored_;  // those that are whole
  std::size_t items_ = 0;
  std::size_t text_ = 0;  // bytes
};

}  // namespace

std::expected<Item, Fault> read_yaml(const std::string& text) {
  if (text.size() > largest_document)
    return std::unexpected(Fault{
        .file = {},
        .place = {},
        .message = "the document is larger than 64 MiB; split it into flows that are nodes of "
                   "another one"});
  try {
    std::ispanstream stream{std::span<const char>(text)};
    YAML::Parser parser(stream);
    Reader document;
    if (!parser.HandleNextDocument(document)) return Item{};
    if (Reader second; parser.HandleNextDocument(second))
      return std::unexpected(
          Fault{.file = {},
                .place = place_of(second.begin()),
                .message = "a second document begins here; a file has one flow"});
    return document.take();
  } catch (const YAML::Exception& error) {
    return std::unexpected(Fault{
        .file = {}, .place = place_of(error.mark), .message = "this is no YAML: " + error.msg});
  }
}

}  // namespace orchid::flow
