#include "user_code/escaped_exception.h"

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <typeinfo>

namespace orchid::executor {

std::string describe_current_exception() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      type == nullptr ? nullptr : abi::__cxa_demangle(type->name(), nullptr, nullptr, &status),
      std::free);
  std::string text = name == nullptr ? "an exception" : name.get();
  try {
    throw;
  } catch (const std::exception& error) {
    const char* what = error.what();
    return what == nullptr ? text : text + ": " + what;
  } catch (...) {
    return "an exception of type " + text + " escaped from the function";
  }
}

}  // namespace orchid::executor
