/* Takes from the worker's own socket what the agent tells it. */
#include <sys/socket.h>
#include <sys/uio.h>

#include "../act.h"

ACT(steals_messages) {
  static char bytes[1 << 16];
  for (int i = 0; i < 200000; ++i) {
    struct iovec part = {bytes, sizeof bytes};
    struct msghdr message;
    memset(&message, 0, sizeof message);
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    raw_call(SYS_recvmsg, control_socket, (long)&message, MSG_DONTWAIT, 0, 0, 0);
  }
  return say(call, "done");
}
