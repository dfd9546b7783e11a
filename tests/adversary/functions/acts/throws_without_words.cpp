// Throws an exception whose words are not there, and one whose type's name is not there either.
#include <exception>

#include "../act.h"

struct Silent : std::exception {
  const char* what() const noexcept override { return reinterpret_cast<const char*>(8); }
};

ACT(throws_without_words) { throw Silent(); }
