/* Writes to the code of the worker. */
#include "../act.h"

ACT(writes_worker_code) {
  void* (*volatile host)(orchid_call*, size_t) = orchid_output;
  *(volatile unsigned char*)host = 0xc3;
  return ORCHID_OK;
}
