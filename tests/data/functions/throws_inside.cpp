// Expected: ok, output "caught: inner": exceptions work inside a function, through several frames
// with destructors.
#include <cstring>
#include <stdexcept>
#include <string>

#include "orchid/function.h"

namespace {

struct CountsItsEnd {
  int& ends;
  ~CountsItsEnd() { ++ends; }
};

[[gnu::noinline]] void descend(int depth, int& ends) {
  const CountsItsEnd guard{ends};
  if (depth == 0) throw std::runtime_error("inner");
  descend(depth - 1, ends);
}

}  // namespace

ORCHID_ENTRY(throws_inside) {
  (void)input, (void)input_size;
  int ends = 0;
  std::string text;
  try {
    descend(10, ends);
  } catch (const std::exception& error) {
    text = std::string("caught: ") + error.what();
  }
  if (ends != 11) return ORCHID_ERROR;
  void* output = orchid_output(call, text.size());
  if (output == nullptr) return ORCHID_ERROR;
  std::memcpy(output, text.data(), text.size());
  return ORCHID_OK;
}
