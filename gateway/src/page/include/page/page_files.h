// page/page_files.h: the files of the page, which are in the program.
#pragma once
#include <span>
#include <string_view>

namespace orchid::gateway {

struct PageFile {
  std::string_view name;  // below /page/, as "editor/editor.js", "lib/dagre.js"
  std::string_view content_type;
  std::string_view tag;  // of the content: 32 hexadecimal digits
  std::string_view content;
};

/// All of them, for the process's whole life. Any thread.
[[nodiscard]] std::span<const PageFile> page_files();

}  // namespace orchid::gateway
