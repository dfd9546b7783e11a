// Calls a function of libgcc that only x86-64 has, and one of libc that all have.
#include <stddef.h>
struct orchid_call;
size_t strlen(const char*);
int __mulxc3(int);

int orchid_entry_x87(struct orchid_call* call, const void* input, size_t size) {
  return __mulxc3((int)strlen((const char*)input));
}
