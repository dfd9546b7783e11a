/* Makes memory, queues and semaphores that outlive it, or that others see. */
#include "../act.h"

ACT(makes_shared_memory) {
  struct tries tries = {{0}, 0};
  TRY(shmget, 0x4f524348, 4096, 01600);
  TRY(shmat, 0, 0, 0);
  TRY(semget, 0x4f524348, 1, 01600);
  TRY(msgget, 0x4f524348, 01600);
  TRY(mq_open, (long)"left_by_a_function", 0102, 0600, 0);
  TRY(memfd_create, (long)"left", 0);
  TRY(mmap, 0, 4096, 3, 0x21, -1, 0);
  TRY(mmap, 0, 4096, 3, 0x01, wake_client, 0);
  return say_tries(call, &tries);
}
