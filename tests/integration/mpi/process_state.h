// mpi/process_state.h: what a library must leave alone in the program that uses it.
#pragma once
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

extern char** environ;

struct ProcessState {
  std::vector<std::string> environment;
  std::vector<void*> signal_handlers;
  friend bool operator==(const ProcessState&, const ProcessState&) = default;

  static ProcessState now() {
    ProcessState state;
    for (char** entry = environ; *entry != nullptr; ++entry) state.environment.emplace_back(*entry);
    for (int signal = 1; signal < 32; ++signal) {
      struct sigaction action{};
      ::sigaction(signal, nullptr, &action);
      state.signal_handlers.push_back(reinterpret_cast<void*>(action.sa_handler));
    }
    return state;
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
