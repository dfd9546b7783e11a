// Expected: every call is function_crashed; the workers that die at once are no fork storm, and
// `describe` shows the failures.
#include <cstdlib>

#include "orchid/function.h"

namespace {

struct Aborts {
  Aborts() { std::abort(); }
};
Aborts aborts;

}  // namespace

ORCHID_ENTRY(crashes_on_load) {
  (void)call, (void)input, (void)input_size;
  return ORCHID_OK;
}
