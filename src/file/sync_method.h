// IoMethod::Sync: each read and append is one system call.
#pragma once

#include <memory>

#include "file/filesystem.h"
#include "file/windows.h"

namespace hailstone {

std::unique_ptr<RandomAccessFile> make_sync_reader(OpenFile file);
/// Appends from the file's size on.
std::unique_ptr<WritableFile> make_sync_writer(OpenFile file);

}  // namespace hailstone
