// role_calls.h: system calls that one role keeps beside what all have.
#pragma once
#include <seccomp.h>

#include <array>

namespace orchid {

/// To load a driver and to make its context; gone in the second stage.
inline constexpr std::array to_load_driver{
    SCMP_SYS(memfd_create),
    SCMP_SYS(ftruncate),
    SCMP_SYS(fallocate),
    SCMP_SYS(stat),
    SCMP_SYS(lstat),
    SCMP_SYS(statfs),
    SCMP_SYS(fstatfs),
    SCMP_SYS(sched_getscheduler),
    SCMP_SYS(fadvise64),
    SCMP_SYS(mbind),
    SCMP_SYS(mlock2),
    SCMP_SYS(sched_get_priority_max),
    SCMP_SYS(sched_get_priority_min),
};

/// What a driver goes on doing: it asks on which memory node a page is, and waits for its events.
inline constexpr std::array device_too{
    SCMP_SYS(get_mempolicy),
    SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait),
};

inline constexpr std::array compiler_too{SCMP_SYS(memfd_create), SCMP_SYS(ftruncate),
                                         SCMP_SYS(unlink)};

/// To write its journal, to hand over contents in memory files, and to speak over sockets that it
/// is sent. A pair of sockets leads to nobody else.
inline constexpr std::array flows_too{
    SCMP_SYS(fsync),    SCMP_SYS(fdatasync),   SCMP_SYS(ftruncate),   SCMP_SYS(memfd_create),
    SCMP_SYS(sendto),   SCMP_SYS(recvfrom),    SCMP_SYS(getsockopt),  SCMP_SYS(setsockopt),
    SCMP_SYS(shutdown), SCMP_SYS(getsockname), SCMP_SYS(getpeername), SCMP_SYS(socketpair),
};

}  // namespace orchid
