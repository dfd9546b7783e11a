/* Has functions of its own under names that the worker uses itself. */
#define malloc not_the_declared_malloc
#define free not_the_declared_free
#include "../act.h"
#undef malloc
#undef free

void* malloc(size_t size) {
  (void)size;
  return NULL;
}
void free(void* block) { (void)block; }
long write(int descriptor, const void* bytes, size_t size) {
  (void)descriptor, (void)bytes, (void)size;
  return -1;
}
int sched_yield(void) {
  spin_for_ever();
  return 0;
}

ACT(redefines_library) {
  void* (*volatile allocate)(size_t) = malloc; /* compilers know what malloc does */
  return say(call, allocate(1) == NULL && write(1, "", 0) == -1 ? "done" : "odd");
}
