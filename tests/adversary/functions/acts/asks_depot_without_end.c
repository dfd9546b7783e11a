/* Asks its depot for rooms, and gives them up, as often as it is answered. */
#include "ask_depot.h"

ACT(asks_depot_without_end) {
  struct depot_answer answer;
  for (;;) {
    struct depot_request request;
    memset(&request, 0, sizeof request);
    request.ask = depot_creates;
    request.bytes = 1;
    const int file = ask_depot(request, &answer);
    raw_call(SYS_close, file, 0, 0, 0, 0, 0);
    request.ask = depot_discards;
    ask_depot(request, &answer);
  }
}
