#pragma once

namespace fathom::tests {

/// A small file of bAbI.
inline constexpr const char* kTwoStories =
    "1 Mary moved to the bathroom.\n"
    "2 John went to the hallway.\n"
    "3 Where is Mary? \tbathroom\t1\n"
    "4 Daniel went back to the hallway.\n"
    "5 Where is Daniel? \thallway\t4\n"
    "1 Sandra travelled to the office.\n"
    "2 Where is Sandra? \toffice\t1\n";

}  // namespace fathom::tests
