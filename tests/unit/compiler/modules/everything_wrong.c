// Several faults at once: wrong type, wrong signature, wrong ABI version, assembly at file level,
// an ifunc.
#include <stdint.h>

const uint32_t orchid_abi_version = 7;
const char orchid_signature_typed[] = "f65(span<f32>)";
int32_t orchid_entry_typed(void* call, const void* input, uint64_t size) {
  return call != input && size > 1;
}
int32_t orchid_entry_short(int a) { return a; }
__asm__(".globl elsewhere\nelsewhere: ret");
static int fast(void) { return 1; }
static void* choose(void) { return (void*)fast; }
int picked(void) __attribute__((ifunc("choose")));
int user(void) { return picked(); }
