// orchid-copy: one end of one copy of a data object between two hosts. Started by orchid-executor
// only.
#include "copy_process.h"
#include "transfer_program.h"

int main(int argc, char** argv) {
  return orchid::executor::run_transfer_program("orchid-copy", argc, argv,
                                                &orchid::executor::run_copy_process);
}
