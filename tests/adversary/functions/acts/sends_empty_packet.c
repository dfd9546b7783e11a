/* Sends an empty packet on the worker's own socket, which looks like its end. */
#include "send_on_socket.h"

ACT(sends_empty_packet) {
  send_on_socket("", 0, -1);
  spin_for_ever();
  return ORCHID_OK;
}
