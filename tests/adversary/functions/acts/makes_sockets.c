/* Makes sockets of every family that may be there, and speaks over the one that it has. */
#include "../act.h"

ACT(makes_sockets) {
  int pair[2];
  struct tries tries = {{0}, 0};
  for (long family = 1; family < 46; ++family) {
    TRY(socket, family, 1, 0);
    TRY(socket, family, 2, 0);
  }
  TRY(socketpair, 1, 1, 0, (long)pair);
  static const char abstract[] = "\1\0\0somebody";
  TRY(connect, control_socket, (long)abstract, sizeof abstract);
  TRY(bind, control_socket, (long)abstract, sizeof abstract);
  TRY(listen, control_socket, 1);
  TRY(accept, control_socket, 0, 0);
  TRY(sendto, control_socket, (long)"x", 1, 0, (long)abstract, sizeof abstract);
  TRY(sendmmsg, control_socket, 0, 0, 0);
  return say_tries(call, &tries);
}
