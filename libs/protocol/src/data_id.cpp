#include "protocol/data_id.h"

#include <algorithm>

#include "foundation/random.h"

namespace orchid {

DataId make_data_id() {
  DataId data;
  fill_random(data.bytes);
  return data;
}

std::string to_string(const DataId& data) { return "d-" + to_hex(data.bytes); }

std::optional<DataId> parse_data_id(std::string_view text) {
  DataId data;
  if (!text.starts_with("d-") || text.size() != 2 + 2 * data.bytes.size()) return std::nullopt;
  const auto bytes = from_hex(text.substr(2));
  if (!bytes) return std::nullopt;
  std::ranges::copy(*bytes, data.bytes.begin());
  if (to_string(data) != text) return std::nullopt;  // it has upper-case digits
  return data;
}

}  // namespace orchid
