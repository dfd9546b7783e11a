// worker/last_words.h: how a worker that cannot go on says why.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "worker/status_page.h"

namespace orchid::executor {

inline void say_last_words(StatusPage& page, LastWords words, std::string_view why) {
  const std::size_t size = std::min(why.size(), sizeof(page.place) - 1);
  std::memcpy(page.place, why.data(), size);
  page.place[size] = 0;
  page.last_words.store(static_cast<std::uint32_t>(words));
}

[[noreturn]] inline void end_worker(StatusPage& page, LastWords words, std::string_view why) {
  say_last_words(page, words, why);
  ::_exit(0);
}

}  // namespace orchid::executor
