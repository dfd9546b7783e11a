/* Sends its depot rubbish, as fast as it can. */
#include "ask_depot.h"

ACT(talks_nonsense_to_depot) {
  static char text[50000];
  memset(text, '[', sizeof text);
  for (;;) send_to_depot(text, sizeof text, -1);
}
