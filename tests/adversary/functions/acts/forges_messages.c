/* Sends the agent messages in a worker's own words. */
#include "send_on_socket.h"

ACT(forges_messages) {
  static const char* const texts[] = {
      "{\"type\":\"loaded\",\"slot\":0,\"generation\":1,\"entries\":[\"neighbour\"],\"link_us\":1}",
      "{\"type\":\"load_failed\",\"slot\":4294967295,\"message\":\"no\"}",
      "{\"type\":\"improved\",\"slot\":0,\"message\":\"\"}",
      "{\"type\":\"born\",\"worker\":1,\"pid\":1}"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
    send_on_socket(texts[i], strlen(texts[i]), -1);
  spin_for_ever();
  return ORCHID_OK;
}
