// Expected: ok, output "4", and the worker goes on: the threads have ended before the call does.
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "orchid/function.h"

ORCHID_ENTRY(joins_threads) {
  (void)input, (void)input_size;
  std::atomic<int> ran{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&ran] { ++ran; });
  for (std::thread& thread : threads) thread.join();
  void* output = orchid_output(call, 1);
  if (output == nullptr) return ORCHID_ERROR;
  const char digit = static_cast<char>('0' + ran.load());
  std::memcpy(output, &digit, 1);
  return ORCHID_OK;
}
