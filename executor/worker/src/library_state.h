// worker/library_state.h: settings of the C and C++ libraries that hold for the whole process, and
// that a call may not leave changed: another function's numbers would be written with its commas.
#pragma once
#include <clocale>
#include <exception>
#include <iosfwd>
#include <locale>
#include <memory_resource>
#include <new>
#include <string>
#include <vector>

namespace orchid::executor {

/// Owned by the worker's thread.
class LibraryState {
 public:
  /// As they are now is how each call finds them.
  LibraryState();
  /// Puts back what differs: locales, handlers, and the locales of the standard streams.
  void restore();
  /// How the standard streams write. Cheap: they are asked in place.
  void restore_formats();

 private:
  struct Stream {
    std::ios* stream;
    std::ios_base::fmtflags flags;
    std::streamsize precision;
    std::streambuf* buffer;
    char fill;
  };
  void restore_locale();

  locale_t thread_locale_;
  std::string locale_;        // of the C library, by name
  const char* locale_place_;  // where the library keeps that name: another place, another locale
  std::locale cpp_locale_;
  std::new_handler new_handler_;
  std::terminate_handler terminate_handler_;
  std::pmr::memory_resource* memory_resource_;
  std::vector<Stream> streams_;
};

}  // namespace orchid::executor
