// Expected: ok, the log is "by cout: " and the input, and "\n".
#include <iostream>
#include <string_view>

#include "orchid/function.h"

ORCHID_ENTRY(logs_cout) {
  (void)call;
  std::cout << "by cout: " << std::string_view(static_cast<const char*>(input), input_size) << "\n";
  return ORCHID_OK;
}
