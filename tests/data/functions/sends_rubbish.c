/* Writes rubbish into connections of its worker, past UCX. Input: their descriptors, as u32. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "orchid/function.h"
#include "raw_call.h"

#if defined(__x86_64__)
enum { number_of_sendmsg = 46 };
#elif defined(__aarch64__)
enum { number_of_sendmsg = 211 };
#endif

ORCHID_ENTRY(send_rubbish) {
  static unsigned char rubbish[4096];
  uint32_t sent = 0;
  memset(rubbish, 0xff, sizeof(rubbish));
  for (size_t at = 0; at + sizeof(uint32_t) <= input_size; at += sizeof(uint32_t)) {
    uint32_t descriptor = 0;
    memcpy(&descriptor, (const char*)input + at, sizeof(descriptor));
    struct iovec part = {rubbish, sizeof(rubbish)};
    struct msghdr message;
    memset(&message, 0, sizeof(message));
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const long arguments[6] = {(long)descriptor, (long)&message, MSG_NOSIGNAL | MSG_DONTWAIT};
    if (raw_call(number_of_sendmsg, arguments) > 0) ++sent;
  }
  void* output = orchid_output(call, sizeof(sent));
  if (output == NULL) return ORCHID_ERROR;
  memcpy(output, &sent, sizeof(sent));
  return ORCHID_OK;
}
