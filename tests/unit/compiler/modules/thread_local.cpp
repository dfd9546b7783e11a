#include <orchid/function.h>

#include <mutex>

thread_local int own = 3;
static std::once_flag flag;

ORCHID_ENTRY(thread_local_variables) {
  std::call_once(flag, [] { own = 4; });
  return own;
}
