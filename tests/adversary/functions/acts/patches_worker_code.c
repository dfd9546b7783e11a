/* Makes the code of the worker writable, and puts a return where each answer is made. */
#include "../act.h"

ACT(patches_worker_code) {
  void* (*volatile host)(orchid_call*, size_t) = orchid_output;
  const long page = (long)host & ~4095L;
  const long opened = raw_call(SYS_mprotect, page, 8192, 3, 0, 0, 0);
  if (opened < 0) return say(call, "refused");
#if defined(__x86_64__)
  *(volatile unsigned char*)host = 0xc3;
#endif
  raw_call(SYS_mprotect, page, 8192, 5, 0, 0, 0);
  return ORCHID_OK;
}
