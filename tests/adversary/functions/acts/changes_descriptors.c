/* Puts other descriptors in the place of the worker's, and changes what they share with others. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ioctl.h>

#include "../act.h"

ACT(changes_descriptors) {
  int one = 1;
  struct tries tries = {{0}, 0};
#ifdef SYS_dup2
  TRY(dup2, 0, wake_client);
#endif
  TRY(dup3, 0, control_socket, 0);
  TRY(dup, control_socket);
  TRY(fcntl, control_socket, F_DUPFD, 100);
  TRY(fcntl, wake_client, F_SETFL, 0);
  TRY(fcntl, control_socket, F_SETFL, O_ASYNC);
  TRY(fcntl, control_socket, F_SETOWN, 1);
  TRY(fcntl, control_socket, F_SETSIG, 9);
  TRY(fcntl, wake_client, F_ADD_SEALS, F_SEAL_WRITE);
  TRY(ioctl, control_socket, FIONBIO, (long)&one);
  TRY(ioctl, control_socket, FIOASYNC, (long)&one);
  TRY(shutdown, control_socket, 2);
  TRY(setsockopt, control_socket, 1, 7, (long)&one, 4);
  return say_tries(call, &tries);
}
