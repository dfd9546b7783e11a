// Raises an exception of no language, past the C++ library.
#include <unwind.h>

#include "../act.h"

ACT(throws_foreign_exception) {
  static _Unwind_Exception exception;
  exception.exception_class = 0x484f5354494c4500;
  _Unwind_RaiseException(&exception);
  return say(call, "nobody took it");
}
