// Asio's and Beast's own code, compiled once for all programs with an event loop.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
