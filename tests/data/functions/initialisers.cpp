// Expected: ok, output "1 N N" at the N-th call of a worker: a static initialiser ran once, a
// thread_local and a function's static live on.
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "orchid/function.h"

namespace {

int initialisations = 0;

struct Initialised {
  Initialised() { ++initialisations; }
  std::map<std::string, int> calls;
};
Initialised initialised;

thread_local int calls_of_this_thread = 0;

}  // namespace

ORCHID_ENTRY(initialisers) {
  (void)input, (void)input_size;
  char text[64];
  const int size = std::snprintf(text, sizeof text, "%d %d %d", initialisations,
                                 ++calls_of_this_thread, ++initialised.calls["a"]);
  void* output = orchid_output(call, static_cast<std::size_t>(size));
  if (output == nullptr) return ORCHID_ERROR;
  std::memcpy(output, text, static_cast<std::size_t>(size));
  return ORCHID_OK;
}
