// mpi/process_state.h: what a library must leave alone in the program that uses it.
#pragma once
#include <unistd.h>

#include <bitset>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

extern char** environ;

/// What a process does with a signal, as far as it can see it itself.
struct SignalAction {
  void* handler = nullptr;
  int flags = 0;
  std::bitset<NSIG> mask;
  friend bool operator==(const SignalAction&, const SignalAction&) = default;
};

struct ProcessState {
  std::vector<std::string> environment;
  std::map<int, SignalAction> signals;  // without those that libc keeps for itself
  friend bool operator==(const ProcessState&, const ProcessState&) = default;

  static ProcessState now() {
    ProcessState state;
    for (char** entry = environ; *entry != nullptr; ++entry) state.environment.emplace_back(*entry);
    for (int signal = 1; signal < NSIG; ++signal) {
      struct sigaction action{};
      if (::sigaction(signal, nullptr, &action) == 0) state.signals[signal] = shown(action);
    }
    return state;
  }

 private:
  static SignalAction shown(const struct sigaction& action) {
    // glibc adds this flag, of which its headers say nothing, to whatever it installs.
    constexpr int restorer = 0x04000000;
    SignalAction shown{.handler = reinterpret_cast<void*>(action.sa_sigaction),
                       .flags = action.sa_flags & ~restorer,
                       .mask = {}};
    for (int signal = 1; signal < NSIG; ++signal)
      shown.mask[static_cast<std::size_t>(signal)] = ::sigismember(&action.sa_mask, signal) == 1;
    return shown;
  }
};

inline bool has_mapped(const std::string& library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(library) != std::string::npos) return true;
  return false;
}

inline void expect(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::_Exit(1);
}
