#include "http/answer_tag.h"

#include <doctest/doctest.h>

#include <string>

namespace orchid::gateway {
namespace {

std::string tag_of(const Response& response) {
  const std::size_t begin = response.headers.find("ETag: ") + 6;
  return response.headers.substr(begin, response.headers.find("\r\n", begin) - begin);
}

TEST_CASE("an answer that its reader has is not sent again") {
  Response first = json_response(200, "{}\n");
  tag_answer(first, "");
  CHECK(first.text == "{}\n");
  const std::string tag = tag_of(first);
  Response same = json_response(200, "{}\n");
  tag_answer(same, tag);
  CHECK(same.status == 304);
  CHECK(same.text.empty());
  CHECK(tag_of(same) == tag);
  Response another = json_response(200, "[]\n");
  tag_answer(another, tag);
  CHECK(another.status == 200);
  CHECK(tag_of(another) != tag);
}

TEST_CASE("refusals, and what has a tag already, are left as they are") {
  Response refused = json_response(404, "{}\n");
  tag_answer(refused, "*");
  CHECK(refused.status == 404);
  CHECK(refused.headers.empty());
  Response tagged = json_response(200, "{}\n");
  tagged.with("ETag", "\"mine\"");
  const std::string before = tagged.headers;
  tag_answer(tagged, "*");
  CHECK(tagged.status == 200);
  CHECK(tagged.headers == before);
}

}  // namespace
}  // namespace orchid::gateway
