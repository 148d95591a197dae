// Where the server wants a new table to be.
#pragma once

namespace hailstone {

/// The server finds out by writing a .frm file whether a table's place is there, so it is looked for here. A
/// handler error, after its message, or 0.
int check_place(const char* path);

}  // namespace hailstone
