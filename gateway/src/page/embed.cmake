# cmake -DENTRIES=NAME=FILE;... -DOUTPUT=SOURCE -P embed.cmake: a C++ source with the files in it, as page/page_files.h has them.
cmake_minimum_required(VERSION 3.25)
set(types "html=text/html;css=text/css;js=text/javascript;svg=image/svg+xml;yaml=application/yaml;json=application/json")
set(symbols "")
set(table "")
set(number 0)
foreach(entry IN LISTS ENTRIES)
  string(FIND ${entry} "=" equals)
  string(SUBSTRING ${entry} 0 ${equals} name)
  math(EXPR behind "${equals} + 1")
  string(SUBSTRING ${entry} ${behind} -1 file)
  cmake_path(GET file EXTENSION LAST_ONLY extension)
  string(SUBSTRING ${extension} 1 -1 extension)
  set(type "")
  foreach(pair IN LISTS types)
    if(pair MATCHES "^${extension}=(.*)$")
      set(type "${CMAKE_MATCH_1}; charset=utf-8")
    endif()
  endforeach()
  if(type STREQUAL "")
    message(FATAL_ERROR "${file}: embed.cmake knows no content type of '.${extension}'")
  endif()
  file(SHA256 ${file} digest)
  string(SUBSTRING ${digest} 0 32 tag)
  file(SIZE ${file} size)
  string(APPEND symbols "__asm__(\".section .rodata\\norchid_page_${number}:\\n.incbin \\\"${file}\\\"\\n.byte 0\\n.previous\\n\");\n"
                        "extern \"C\" const char orchid_page_${number}[];\n")
  string(APPEND table "    {\"${name}\", \"${type}\", \"${tag}\", std::string_view(orchid_page_${number}, ${size})},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "// Made by embed.cmake.
#include <array>

#include \"page/page_files.h\"

${symbols}
namespace orchid::gateway {

std::span<const PageFile> page_files() {
  static const std::array<PageFile, ${number}> files{{
${table}  }};
  return files;
}

}  // namespace orchid::gateway
")
