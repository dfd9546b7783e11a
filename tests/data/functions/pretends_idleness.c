/* Expected: it is ended when its worker is to make way for another module, and not before: it says
 * that its worker runs no call, and never returns. Input: the number of the last words that it
 * forges, too. */
#include <string.h>
#include <unistd.h>

#include "orchid/function.h"
#include "status_page.h"

ORCHID_ENTRY(pretends_idleness) {
  char text[16] = {0};
  memcpy(text, input, input_size < sizeof text ? input_size : sizeof text - 1);
  forge_last_words(call, text);
  forge_idleness(call);
  for (;;) pause();
}
