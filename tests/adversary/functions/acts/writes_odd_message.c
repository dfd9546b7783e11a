/* Fails with a message that is no text: escapes for terminals, broken UTF-8, quotes and zeros. */
#include "../act.h"

ACT(writes_odd_message) {
  static char message[8192];
  for (size_t i = 0; i < sizeof message; ++i) message[i] = "\x1b[2J\xff\xc0\"\\\n\0</x>"[i % 15];
  orchid_log(call, message, sizeof message);
  orchid_error(call, message, sizeof message);
  orchid_progress(call, 0.0 / 0.0);
  orchid_progress(call, -1e300);
  return ORCHID_ERROR;
}
