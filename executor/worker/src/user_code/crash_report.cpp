#include "user_code/crash_report.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>

namespace orchid::executor {
namespace {

constexpr std::size_t signal_stack_bytes = 64 * 1024;
constexpr std::array caught{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
/// A fault this near to the stack pointer is an overflow of the stack.
constexpr std::uintptr_t near_stack = 64 * 1024;

// Read by a signal handler, which gets no argument of ours.
StatusPage* crash_page = nullptr;
const CodeMap* crash_code = nullptr;
void* signal_stack = nullptr;

struct Registers {
  std::uintptr_t instruction = 0;
  std::uintptr_t stack = 0;
};

Registers registers_of(const void* context) {
  const auto* machine = &static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return {static_cast<std::uintptr_t>(machine->gregs[REG_RIP]),
          static_cast<std::uintptr_t>(machine->gregs[REG_RSP])};
#elif defined(__aarch64__)
  return {machine->pc, machine->sp};
#endif
}

/// snprintf is not for signal handlers.
void describe_place(std::uintptr_t instruction) {
  std::size_t at = 0;
  const auto put = [&at](char c) {
    if (at + 1 < sizeof(crash_page->place)) crash_page->place[at++] = c;
  };
  for (const auto& module : *crash_code) {
    std::uintptr_t distance = 0;
    const char* name = module == nullptr ? nullptr : module->function_at(instruction, distance);
    if (name == nullptr) continue;
    for (; *name != 0; ++name) put(*name);
    put('+');
    put('0');
    put('x');
    bool started = false;
    for (int shift = 28; shift >= 0; shift -= 4) {
      const auto digit = static_cast<unsigned>(distance >> shift) & 15U;
      started = started || digit != 0 || shift == 0;
      if (started) put("0123456789abcdef"[digit]);
    }
    break;
  }
  crash_page->place[at] = 0;
}

/// Of several threads that crash at once the first is told of; its end is that of the others.
void let_one_report() {
  static std::atomic<pid_t> reporter{0};
  const pid_t self = ::gettid();
  pid_t first = 0;
  if (reporter.compare_exchange_strong(first, self) || first == self) return;
  while (true) ::pause();
}

void report_crash(int number, siginfo_t* info, void* context) {
  let_one_report();
  if (crash_page->last_words.load() == 0) {
    const Registers registers = registers_of(context);
    // Of a signal that a process has sent the address is not told; raise() and abort() are such.
    const bool sent = info->si_code <= 0;
    const auto address = sent ? 0 : reinterpret_cast<std::uintptr_t>(info->si_addr);
    crash_page->code.store(number);
    crash_page->sent.store(sent && number != SIGABRT ? 1 : 0);
    crash_page->address.store(address);
    const bool overflow = number == SIGSEGV && !sent && address + near_stack > registers.stack &&
                          address < registers.stack + near_stack;
    crash_page->stack_overflow.store(overflow ? 1 : 0);
    describe_place(registers.instruction);
    crash_page->last_words.store(static_cast<std::uint32_t>(LastWords::signal));
  }
  ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::raise(number);  // a fault would also come again; an abort would not
}

void unblock_signals() {
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

void install_crash_handlers(StatusPage& page, const CodeMap& code) {
  crash_page = &page;
  crash_code = &code;
  signal_stack = ::mmap(nullptr, signal_stack_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  restore_signals();
}

void use_signal_stack(std::span<std::byte> stack) {
  const stack_t own{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  ::sigaltstack(&own, nullptr);
  unblock_signals();
}

void restore_signals() {
  const stack_t stack{.ss_sp = signal_stack, .ss_flags = 0, .ss_size = signal_stack_bytes};
  ::sigaltstack(&stack, nullptr);
  // SIGTERM comes to all processes of a batch job at once: the agent ends workers.
  for (int number = 1; number < SIGRTMIN; ++number)
    if (number != SIGKILL && number != SIGSTOP)
      ::signal(number, number == SIGPIPE || number == SIGTERM ? SIG_IGN : SIG_DFL);
  struct sigaction action{};
  action.sa_sigaction = report_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  for (const int number : caught) ::sigaction(number, &action, nullptr);
  unblock_signals();
}

}  // namespace orchid::executor
