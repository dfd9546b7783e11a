#include "api/event_reader.h"

#include <string_view>
#include <utility>

namespace orchid::sdk {

void EventReader::add(std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) {
    const auto c = static_cast<char>(byte);
    if (c == '\n')
      line(std::exchange(rest_, {}));
    else
      rest_ += c;
  }
}

void EventReader::line(const std::string& text) {
  if (text.empty()) {  // the end of an event, or of a comment
    const ServerEvent whole = std::exchange(event_, {});
    if (!whole.name.empty()) take_(whole);
    return;
  }
  const std::size_t colon = text.find(": ");
  if (colon == std::string::npos || colon == 0) return;
  const std::string_view field = std::string_view(text).substr(0, colon);
  const std::string_view value = std::string_view(text).substr(colon + 2);
  if (field == "event") event_.name = value;
  if (field == "id") event_.id = value;
  if (field == "data") event_.data.append(event_.data.empty() ? "" : "\n").append(value);
}

}  // namespace orchid::sdk
