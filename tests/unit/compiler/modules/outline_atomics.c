// Calls a helper that compilers for aarch64 make of atomic operations. It is compiled for that
// processor on machines that have no C library's headers for it.
#include <stddef.h>
struct orchid_call;
unsigned long __aarch64_ldadd8_relax(unsigned long, unsigned long*);

int orchid_entry_atomics(struct orchid_call* call, const void* input, size_t size) {
  return (int)__aarch64_ldadd8_relax(size, (unsigned long*)input);
}
