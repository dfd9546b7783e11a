// How a process starts that moves memory between hosts: orchid-copy and orchid-memory.
#pragma once

namespace orchid::executor {

/// `NAME --serve DESCRIPTOR`: runs `serve` with that socket to the agent and the agent's process
/// id, and ends with what it returns. Returns the exit status of wrong use. To be called first in
/// main.
int run_transfer_program(const char* name, int argc, char** argv,
                         int (*serve)(int control, int parent_pid));

}  // namespace orchid::executor
