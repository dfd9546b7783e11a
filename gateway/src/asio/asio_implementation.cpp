// Asio's and Beast's own code, compiled once for the whole gateway.
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
