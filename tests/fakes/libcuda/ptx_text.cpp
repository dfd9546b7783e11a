#include "ptx_text.h"

#include <regex>

namespace fake_cuda {

std::map<std::string, std::size_t> read_kernels(std::string_view ptx) {
  std::map<std::string, std::size_t> kernels;
  if (ptx.find(".version") == std::string_view::npos) return kernels;
  const std::string text(ptx);
  // ".visible .entry NAME(\n .param .align 8 .b8 NAME_param_0[24],": an empty argument has none.
  const std::regex entry(
      R"(\.entry\s+(\w+)\s*\(\s*(?:\.param\s+\.align\s+\d+\s+\.b8\s+\w+\[(\d+)\])?)");
  for (auto found = std::sregex_iterator(text.begin(), text.end(), entry);
       found != std::sregex_iterator(); ++found)
    kernels[(*found)[1]] = (*found)[2].matched ? std::stoul((*found)[2]) : 0;
  return kernels;
}

}  // namespace fake_cuda
