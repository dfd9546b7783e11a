/* Effects: two that it declares, and one of a host call; not all that is called so is one. */
#include "orchid/function.h"

ORCHID_EFFECT(prints);
#ifndef WITHOUT_MAIL
ORCHID_EFFECT(mail);
#endif
static const uint32_t orchid_effect_hidden = 1;
extern const uint32_t orchid_effect_elsewhere;

ORCHID_ENTRY(count) {
  uint32_t memory = 0;
  uint64_t size = 0;
  uint64_t before = orchid_effect_hidden;
  const int32_t opened = orchid_leased_open(call, (const char*)input, &memory, &size);
  if (opened != ORCHID_OK) return opened;
  return orchid_leased_fetch_add(call, memory, 0, input_size, &before);
}
