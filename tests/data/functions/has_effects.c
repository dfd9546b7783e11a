/* Says that its calls may not be repeated. */
#include <string.h>

#include "orchid/function.h"

ORCHID_EFFECT(mail);

/* Output: the member that has sent it, and zero. */
ORCHID_ENTRY(send_mail) {
  (void)input;
  (void)input_size;
  const uint64_t sent[2] = {orchid_member(call), 0};
  void* output = orchid_output(call, sizeof(sent));
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, sent, sizeof(sent));
  return ORCHID_OK;
}

/* Runs until it is asked to stop. */
ORCHID_ENTRY(mail_for_ever) {
  (void)input;
  (void)input_size;
  while (!orchid_should_stop(call)) {
  }
  return ORCHID_ERROR;
}
