// Who is called all the time beside the acts: its answer to a number depends on whatever one
// function could spoil for another in a process that they share.
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include "orchid/function.h"

namespace {

constexpr std::size_t room = 4096;  // of which it writes to the first few hundred bytes

int number_in(const void* input, std::size_t size) {
  return std::atoi(std::string(static_cast<const char*>(input), size).c_str());
}

std::string with_printf(int n) {
  long double harmonic = 0;
  for (int i = 1; i <= 40; ++i) harmonic += 1.0L / (i + n);
  volatile double zero = 0;
  volatile double tiny = 1e-310;
  char text[256];
  std::snprintf(text, sizeof text, "%.18Lf %.2f %.17g %.17g %.3g %f %.17g", harmonic, 1234.5 + n,
                1.0 / (3 + n), std::sin(n), tiny / 3, 1 / zero, std::strtod("2.5", nullptr) + n);
  return text;
}

std::string with_stream(int n) {
  std::ostringstream text;
  text << std::fixed << 1234567.25 + n << ' ' << 1234567 + n << ' ' << true;
  return text.str();
}

/// Of memory that was just allocated: as it was asked for, and as it was written.
std::string with_memory(int n) {
  constexpr std::size_t count = 20'000;
  const std::unique_ptr<std::uint32_t, decltype(&std::free)> zeroed(
      static_cast<std::uint32_t*>(std::calloc(count, 4)), std::free);
  const std::unique_ptr<std::uint32_t, decltype(&std::free)> written(
      static_cast<std::uint32_t*>(std::malloc(count * 4)), std::free);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    sum += zeroed.get()[i];
    written.get()[i] = static_cast<std::uint32_t>(i) * static_cast<std::uint32_t>(n + 1);
  }
  std::memmove(written.get() + 1, written.get(), 1000 * 4);
  for (std::size_t i = 0; i < count; ++i) sum += written.get()[i];
  return std::to_string(sum);
}

std::string with_library(int n) {
  std::string letters = "abcXYZ";
  for (char& letter : letters) letter = static_cast<char>(std::toupper(letter));
  const std::time_t time = 86'400L * n;
  std::tm parts{};
  char date[64];
  std::strftime(date, sizeof date, "%c", gmtime_r(&time, &parts));
  try {
    throw std::runtime_error("caught " + std::to_string(n));
  } catch (const std::exception& error) {
    return letters + ' ' + date + ' ' + error.what();
  }
}

}  // namespace

ORCHID_ENTRY(neighbour) {
  const int n = number_in(input, input_size);
  const std::string text = with_printf(n) + "; " + with_stream(n) + "; " + with_memory(n) + "; " +
                           with_library(n) + '\n';
  void* output = orchid_output(call, room);
  if (output == nullptr) return ORCHID_ERROR;
  std::memcpy(output, text.data(), text.size());
  return ORCHID_OK;
}
