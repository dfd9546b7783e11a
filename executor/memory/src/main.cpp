// orchid-memory: serves the memory of one lease to one client. Started by orchid-executor
// only.
#include "memory_process.h"
#include "transfer_program.h"

int main(int argc, char** argv) {
  return orchid::executor::run_transfer_program("orchid-memory", argc, argv,
                                                &orchid::executor::run_memory_process);
}
