// device_process.h: the life of a device process, from its first message to its exit status.
#pragma once

namespace orchid::executor {

/// `control`: a packet socket, the only descriptor that is kept but for standard error. Hears
/// `DeviceStart`, gives up what it does not need in the only order that works, and serves lanes.
int run_device_process(int control, int parent_pid);

/// What driver and GPUs this machine has, as one line of JSON, for `orchid doctor`. 0, or 1 when
/// nothing can be used.
int report_driver();

}  // namespace orchid::executor
