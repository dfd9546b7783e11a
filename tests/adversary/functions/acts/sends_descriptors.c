/* Sends descriptors on the worker's own socket, which the agent would keep. */
#include "send_on_socket.h"

ACT(sends_descriptors) {
  for (int i = 0; i < 1000; ++i) send_on_socket("{\"type\":\"worker_ready\"}", 23, control_socket);
  spin_for_ever();
  return ORCHID_OK;
}
