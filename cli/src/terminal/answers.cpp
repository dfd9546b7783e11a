#include "terminal/answers.h"

#include "orchid/error.h"

namespace orchid::cli {

void Answer::check() const {
  if (const auto good = document_.finish(); !good)
    throw Error({.kind = ErrorKind::internal,
                 .message = "the gateway's answer could not be understood: " + good.error().message,
                 .hint = "compare 'orchid --version' with its /version"});
}

}  // namespace orchid::cli
