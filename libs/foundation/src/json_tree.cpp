#include "json_tree.h"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace orchid {
namespace {

/// Takes what the parser finds, one after the other; `false` ends the parsing.
class TreeBuilder {
 public:
  using Json = nlohmann::json;

  bool null() { return put(nullptr) != nullptr; }
  bool boolean(bool value) { return put(value) != nullptr; }
  bool number_integer(std::int64_t value) { return put(value) != nullptr; }
  bool number_unsigned(std::uint64_t value) { return put(value) != nullptr; }
  bool number_float(double value, const std::string&) { return put(value) != nullptr; }
  bool string(std::string& value) { return put(std::move(value)) != nullptr; }
  bool binary(Json::binary_t&) { return false; }  // no text has any
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& key) {
    const auto [field, is_new] = open_.back()->emplace(key, nullptr);
    if (!is_new) fault_ = " names '" + std::string(shortened_key(key)) + "' twice";
    field_ = &*field;
    return is_new;
  }
  bool parse_error(std::size_t position, const std::string&, const std::exception&) {
    fault_ = " is not JSON from byte " + std::to_string(position) + " on";
    return false;
  }

  [[nodiscard]] const std::string& fault() const { return fault_; }
  Json root;

 private:
  Json* put(Json value) {
    if (open_.empty()) return &(root = std::move(value));
    if (open_.back()->is_array()) return &open_.back()->emplace_back(std::move(value));
    return &(*field_ = std::move(value));
  }
  bool open(Json value) {
    if (open_.size() == deepest_json) {
      fault_ = " is nested too deeply";
      return false;
    }
    open_.push_back(put(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<Json*> open_;  // the innermost last; only that one grows, so the others stay in place
  Json* field_ = nullptr;    // of the innermost object, whose value comes next
  std::string fault_;
};

}  // namespace

Result<nlohmann::json> parse_json_tree(std::string_view text, std::string_view subject) {
  TreeBuilder builder;
  if (nlohmann::json::sax_parse(text, &builder)) return std::move(builder.root);
  return fail(ErrorCode::bad_request, std::string(subject) + builder.fault());
}

std::string_view shortened_key(std::string_view key) { return key.substr(0, 64); }

}  // namespace orchid
