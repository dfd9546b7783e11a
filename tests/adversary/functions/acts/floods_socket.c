/* Writes rubbish to the worker's own socket, as fast as it can. */
#include "send_on_socket.h"

ACT(floods_socket) {
  static char text[50000];
  memset(text, '[', sizeof text);
  for (;;) send_on_socket(text, sizeof text, -1);
}
