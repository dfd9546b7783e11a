#include "page/page_files.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace orchid::gateway {
namespace {

const PageFile* find(std::string_view name) {
  const auto found = std::ranges::find(page_files(), name, &PageFile::name);
  return found == page_files().end() ? nullptr : &*found;
}

TEST_CASE("the page's files are in the program, with type and tag") {
  const PageFile* page = find("index.html");
  REQUIRE(page != nullptr);
  CHECK(page->content_type == "text/html; charset=utf-8");
  CHECK(page->content.starts_with("<!doctype html>"));
  CHECK(page->content.ends_with("</html>\n"));
  CHECK(find("page.js")->content_type == "text/javascript; charset=utf-8");
  CHECK(find("page.css")->content_type == "text/css; charset=utf-8");
  CHECK(find("lib/dagre.js") != nullptr);
}

TEST_CASE("each file has its own name, and a tag of its content") {
  std::set<std::string_view> names;
  for (const PageFile& file : page_files()) {
    CAPTURE(file.name);
    CHECK(names.insert(file.name).second);
    CHECK(file.tag.size() == 32);
    CHECK_FALSE(file.content.empty());
  }
}

TEST_CASE("what the page refers to is there, and all modules that it needs are asked for at once") {
  std::string all;
  for (const PageFile& file : page_files())
    if (!file.name.starts_with("lib/") && !file.name.starts_with("editor/")) all += file.content;
  const std::string_view page = find("index.html")->content;
  std::size_t count = 0;
  for (std::size_t at = all.find("\"/page/"); at != std::string::npos; ++count) {
    const std::size_t end = all.find('"', at + 1);
    const std::string name = all.substr(at + 7, end - at - 7);
    CAPTURE(name);
    CHECK(find(name) != nullptr);
    if (name.ends_with(".js") && !name.starts_with("lib/") && name != "layout_worker.js")
      CHECK(page.find("\"/page/" + name + "\"") != std::string_view::npos);
    at = all.find("\"/page/", end);
  }
  CHECK(count > 20);
}

/// Of our own: what Debian's libraries do inside is under the page's policy, and gets no text of
/// users as code.
TEST_CASE("nothing that the page is made of takes text as code or as elements") {
  for (const PageFile& file : page_files()) {
    if (file.name.starts_with("lib/")) continue;
    CAPTURE(file.name);
    for (const char* way : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write",
                            "DOMParser", "createContextualFragment", "setHTMLUnsafe", "srcdoc",
                            "eval(", "new Function", "javascript:"}) {
      CAPTURE(way);
      CHECK(file.content.find(way) == std::string_view::npos);
    }
    if (!file.name.ends_with(".html")) continue;
    for (const char* inline_code : {"<style", " style=", " onclick", " onload", "<script>"})
      CHECK(file.content.find(inline_code) == std::string_view::npos);
  }
}

}  // namespace
}  // namespace orchid::gateway
