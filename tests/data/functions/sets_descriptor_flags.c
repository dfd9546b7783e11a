/* Expected: ok, output "refused": what is shared with other processes cannot be changed by ioctl.
 */
#include <asm/sockios.h>
#include <string.h>
#include <sys/ioctl.h>

#include "orchid/function.h"

ORCHID_ENTRY(sets_descriptor_flags) {
  (void)input, (void)input_size;
  int zero = 0;
  int one = 1;
  int self = 1;
  int done = 0;
  for (int descriptor = 0; descriptor < 8; ++descriptor) {
    if (ioctl(descriptor, FIONBIO, &zero) == 0) ++done;
    if (ioctl(descriptor, FIOASYNC, &one) == 0) ++done;
    if (ioctl(descriptor, FIOSETOWN, &self) == 0) ++done;
  }
  const char* text = done == 0 ? "refused" : "changed";
  void* output = orchid_output(call, strlen(text));
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, text, strlen(text));
  return ORCHID_OK;
}
