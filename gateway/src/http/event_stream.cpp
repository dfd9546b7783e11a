#include "http/event_stream.h"

#include <algorithm>
#include <utility>

namespace orchid::gateway {
namespace {

/// Takes the first line away; its end may be of any of the three kinds that readers know.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
  const std::string_view line = text.substr(0, end);
  const std::size_t length = text.substr(end).starts_with("\r\n") ? 2 : 1;
  text.remove_prefix(std::min(end + length, text.size()));
  return line;
}

void append_line(std::string& out, std::string_view field, std::string_view value) {
  out.append(field).append(": ").append(value).append("\n");
}

}  // namespace

void append_event(std::string& out, const ServerEvent& event) {
  append_line(out, "event", event.name);
  if (!event.id.empty()) append_line(out, "id", event.id);
  std::string_view data = event.data;
  do append_line(out, "data", take_line(data));
  while (!data.empty());
  out.append("\n");
}

void append_comment(std::string& out, std::string_view text) {
  append_line(out, "", text);
  out.append("\n");
}

Response event_stream_response(std::shared_ptr<EventSource> source) {
  Response response;
  response.content_type = content_type::events;
  response.events = std::move(source);
  response.close = true;
  return std::move(response.with("Cache-Control", "no-store"));
}

}  // namespace orchid::gateway
