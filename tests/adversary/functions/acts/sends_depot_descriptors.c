/* A request as it should be, with a descriptor beside it. */
#include "ask_depot.h"

ACT(sends_depot_descriptors) {
  struct depot_request request;
  memset(&request, 0, sizeof request);
  request.version = 1;
  request.ask = depot_opens;
  request.sequence = 7;
  send_to_depot(&request, sizeof request, service_socket);
  spin_for_ever();
  return ORCHID_OK;
}
