#include "data/data_reference.h"

#include <utility>

#include "foundation/numbers.h"
#include "http/request_options.h"
#include "protocol/limits.h"
#include "protocol/names.h"

namespace orchid::gateway {

std::string to_string(const DataReference& reference) {
  if (reference.id) return to_string(*reference.id);
  if (!reference.version) return reference.name;
  return reference.name + "@" + std::to_string(*reference.version);
}

Result<void> check_data_name(std::string_view name) {
  if (parse_data_id(name))
    return fail(ErrorCode::bad_request,
                "'" + std::string(name) + "' is written like an id: take another name");
  return check_function_name(name);
}

Result<DataReference> parse_data_reference(std::string_view text) {
  if (const auto id = parse_data_id(text)) return DataReference{.id = id};
  const std::string_view name = text.substr(0, text.find('@'));
  if (auto checked = check_data_name(name); !checked) return fail(std::move(checked.error()));
  DataReference reference{.name = std::string(name)};
  if (name.size() == text.size()) return reference;
  reference.version = parse_number<std::uint64_t>(text.substr(name.size() + 1));
  if (!reference.version || *reference.version == 0)
    return fail(ErrorCode::bad_request,
                "'" + std::string(text) + "' is no version: write NAME@NUMBER, from 1 on");
  return reference;
}

Result<std::vector<DataReference>> parse_data_list(std::string_view text) {
  std::vector<DataReference> references;
  while (!text.empty()) {
    const std::string_view item = take_item(text, ',');
    if (item.empty()) continue;
    auto reference = parse_data_reference(item);
    if (!reference) return fail(std::move(reference.error()).while_doing("Orchid-Data"));
    references.push_back(std::move(*reference));
  }
  if (references.empty() || references.size() > limits::data_per_call)
    return fail(ErrorCode::bad_request, "Orchid-Data names 1 to " +
                                            std::to_string(limits::data_per_call) +
                                            " data objects, with commas between them");
  return references;
}

}  // namespace orchid::gateway
