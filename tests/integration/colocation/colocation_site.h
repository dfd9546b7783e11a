// colocation/colocation_site.h: executors that are reached over the lane under test.
#pragma once
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "lane_under_test.h"
#include "site.h"

namespace orchid::tests {

struct ColocationSite : Site {
  ColocationSite() : Site(lane_under_test() == LaneKind::ucx ? "elsewhere" : "") {}
};

/// Of a file below /proc or /sys, which has no size; empty: it cannot be read.
inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();  // of a process that ends meanwhile nothing, and no exception
  return std::move(text).str();
}

}  // namespace orchid::tests
