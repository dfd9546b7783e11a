// Calls a helper that compilers for aarch64 make of atomic operations.
#include <stddef.h>
#include <stdint.h>
struct orchid_call;
uint64_t __aarch64_ldadd8_relax(uint64_t, uint64_t*);

int32_t orchid_entry_atomics(struct orchid_call* call, const void* input, size_t size) {
  return (int32_t)__aarch64_ldadd8_relax(size, (uint64_t*)input);
}
