/* Publishes answers in the lane for all calls to come, each with the words of an innocent one. */
#include "../act.h"

ACT(answers_for_others) {
  if (!found_worker(call, input)) return say(call, "not found");
  unsigned char* lane = lane_of(call, input);
  const uint64_t number = orchid_invocation_id(call) - 1;
  const unsigned char* request =
      lane + lane_request_ring + number % lane_ring_entries * lane_entry_bytes;
  for (uint64_t later = number; later < number + 200; ++later) {
    unsigned char* entry = lane + lane_response_ring + later % lane_ring_entries * lane_entry_bytes;
    unsigned char forged[lane_entry_bytes];
    memcpy(forged, request, sizeof forged);
    const uint64_t id = later + 1;
    memcpy(forged, &id, sizeof id);
    memcpy(forged + 64, "HOSTILE", 7);
    memcpy(entry, forged, sizeof forged);
  }
  return say(call, "done");
}
