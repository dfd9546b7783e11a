#include "foundation/visible_text.h"

#include <doctest/doctest.h>

namespace orchid {

TEST_CASE("what would steer a terminal is shown, and text stays as it is") {
  CHECK(visible_text("\033]0;title\007 \033[2Jgone \302\233m \377") ==
        "\\x1b]0;title\\x07 \\x1b[2Jgone \\u{9b}m \\xff");
  CHECK(visible_text("plain\ttext\nwith é, 漢 and 🙂\r\n") == "plain\ttext\nwith é, 漢 and 🙂\r\n");
  CHECK(visible_text("over\rwritten\177") == "over\\x0dwritten\\x7f");
  CHECK(visible_text("a\342\200\256b") == "a\\u{202e}b");                        // right to left
  CHECK(visible_text("\300\200 \355\240\200") == "\\xc0\\x80 \\xed\\xa0\\x80");  // not UTF-8
  CHECK(visible_text("cut \342\202") == "cut \\xe2\\x82");
  CHECK(visible_text("").empty());
}

TEST_CASE("line ends are shown where all is to be one line") {
  CHECK(visible_text("one\ntwo\r\nthree\tend", LineEnds::shown) ==
        "one\\x0atwo\\x0d\\x0athree\tend");
}

}  // namespace orchid
