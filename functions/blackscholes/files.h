// blackscholes/files.h: spans in files: an element count of 8 bytes, then the elements, as typed
// functions take and give them.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace blackscholes {

[[noreturn]] inline void give_up(const char* path, const char* why) {
  std::fprintf(stderr, "%s: %s\n", path, why);
  std::exit(2);
}

template <typename T>
std::vector<T> read_span(const char* path) {
  std::FILE* file = std::fopen(path, "rb");
  if (file == nullptr) give_up(path, "cannot be opened");
  std::uint64_t count = 0;
  if (std::fread(&count, sizeof count, 1, file) != 1 || count > (1U << 28))
    give_up(path, "is not a file of this program");
  std::vector<T> elements(count);
  if (std::fread(elements.data(), sizeof(T), count, file) != count || std::fgetc(file) != EOF) {
    give_up(path, "has not the length that its first 8 bytes promise");
  }
  std::fclose(file);
  return elements;
}

template <typename T>
void write_span(const char* path, const std::vector<T>& elements) {
  const std::uint64_t count = elements.size();
  std::FILE* file = std::fopen(path, "wb");
  if (file == nullptr) give_up(path, "cannot be created");
  const bool written =
      std::fwrite(&count, sizeof count, 1, file) == 1 &&
      std::fwrite(elements.data(), sizeof(T), elements.size(), file) == elements.size();
  if (std::fclose(file) != 0 || !written) give_up(path, "could not be written; is the disk full?");
}

}  // namespace blackscholes
