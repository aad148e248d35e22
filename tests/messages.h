#pragma once

#include <string>

#include "fixtures/files/data_error.h"

namespace fathom::tests {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The message of the DataError that `read` throws; "no error" if it throws none.
template <typename Read>
std::string failure(const Read& read) {
  try {
    read();
  } catch (const fixtures::DataError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace fathom::tests
