#include "http/answer_tag.h"

#include <fmt/format.h>

#include <functional>
#include <string>

#include "http/precondition.h"

namespace orchid::gateway {

void tag_answer(Response& response, std::string_view if_none_match) {
  if (response.status != 200 || response.text.empty() || response.payload.keeper || response.file ||
      response.events || response.headers.contains("ETag: "))
    return;
  // Nothing depends on it but what a reader sees: no other content is worth finding for a tag.
  const std::string tag = fmt::format("{:016x}-{:x}", std::hash<std::string_view>{}(response.text),
                                      response.text.size());
  response.with("ETag", "\"" + tag + "\"");
  if (!names_tag(if_none_match, tag)) return;
  response.status = 304;
  response.text.clear();
}

}  // namespace orchid::gateway
