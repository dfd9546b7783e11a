// The home of yaml-cpp: text becomes items, and its exceptions become faults.
#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <string>
#include <vector>

#include "item.h"

namespace orchid::flow {
namespace {

constexpr std::size_t largest_document = std::size_t{64} << 20;  // bytes
constexpr int deepest = 32;
constexpr std::size_t most_items = 2'000'000;  // aliases multiply what they stand for

Place place_of(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {.line = static_cast<std::uint32_t>(mark.line + 1),
          .column = static_cast<std::uint32_t>(mark.column + 1)};
}

class Reader {
 public:
  /// Throws YAML's exceptions.
  Item read(const YAML::Node& node, int depth = 0) {
    if (depth > deepest || ++items_ > most_items)
      throw YAML::ParserException(node.Mark(),
                                  "this is nested too deeply, or has too many parts; split it into "
                                  "flows that are nodes of another one");
    Item item{.place = place_of(node.Mark()), .text = {}, .elements = {}, .fields = {}};
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        break;
      case YAML::NodeType::Scalar:
        item.kind = ItemKind::scalar;
        item.text = node.Scalar();
        text_ += item.text.size();
        if (text_ > largest_document)
          throw YAML::ParserException(node.Mark(), "aliases make more than 64 MiB of text here");
        item.quoted = node.Tag() == "!";
        break;
      case YAML::NodeType::Sequence:
        item.kind = ItemKind::list;
        for (const YAML::Node& element : node) item.elements.push_back(read(element, depth + 1));
        break;
      case YAML::NodeType::Map:
        item.kind = ItemKind::map;
        for (const auto& field : node) {
          if (!field.first.IsScalar())
            throw YAML::ParserException(field.first.Mark(), "a field's name must be a text");
          item.fields.emplace_back(
              Word{.text = field.first.Scalar(), .place = place_of(field.first.Mark())},
              read(field.second, depth + 1));
        }
        break;
    }
    return item;
  }

 private:
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
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1)
      return std::unexpected(
          Fault{.file = {},
                .place = place_of(documents[1].Mark()),
                .message = "a second document begins here; a file has one flow"});
    return Reader().read(documents.empty() ? YAML::Node() : documents.front());
  } catch (const YAML::Exception& error) {
    return std::unexpected(Fault{
        .file = {}, .place = place_of(error.mark), .message = "this is no YAML: " + error.msg});
  }
}

}  // namespace orchid::flow
