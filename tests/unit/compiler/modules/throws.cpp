// Exceptions, a static object with a constructor, the C++ library, two entries.
#include <orchid/function.h>

#include <map>
#include <stdexcept>
#include <string>

static std::map<std::string, int> counts{{"a", 1}};

ORCHID_ENTRY(throws) {
  if (input_size > counts.size()) throw std::runtime_error("too much");
  return ORCHID_OK;
}

ORCHID_ENTRY(catches) {
  try {
    return orchid_entry_throws(call, input, input_size);
  } catch (const std::exception& error) {
    orchid_error(call, error.what(), std::string(error.what()).size());
    return ORCHID_ERROR;
  }
}
