// Expected: refused, with the name of what was thrown, which is a type of the module's own.
#include "orchid/function.h"

namespace {

struct NotToday {};
struct Throws {
  Throws() { throw NotToday(); }
};
Throws throws;

}  // namespace

ORCHID_ENTRY(throws_on_load) {
  (void)call, (void)input, (void)input_size;
  return ORCHID_OK;
}
