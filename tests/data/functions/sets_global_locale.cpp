// Expected: ok, output is "1.5 1.5 1 10": a number by a stream and by snprintf, the longest
// character, ten as cout writes it; it leaves locales with commas and long characters, and cout
// with hexadecimal numbers.
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <locale>
#include <sstream>
#include <string>

#include "orchid/function.h"

namespace {

struct DecimalComma : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
};

}  // namespace

ORCHID_ENTRY(sets_global_locale) {
  (void)input, (void)input_size;
  std::ostringstream text;
  text << 1.5;
  char number[16];
  std::snprintf(number, sizeof number, "%.1f", 1.5);
  const bool decimal = (std::cout.flags() & std::ios_base::hex) == 0;
  text << ' ' << number << ' ' << MB_CUR_MAX << ' ' << (decimal ? "10" : "a");
  const std::string found = text.str();
  void* output = orchid_output(call, found.size());
  if (output == nullptr) return ORCHID_ERROR;
  std::memcpy(output, found.data(), found.size());
  std::locale::global(std::locale(std::locale(), new DecimalComma));
  std::setlocale(LC_CTYPE, "C.UTF-8");
  std::cout << std::hex;
  return ORCHID_OK;
}
