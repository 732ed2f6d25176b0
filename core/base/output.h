// SPDX-License-Identifier: Apache-2.0
// What programs say on standard output and standard error, whatever stands behind these: a full disk, a reader that
// has gone, nothing at all. Nothing here throws, so no sentence that finds no room can end a program.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace plimsoll {

/// The first thing that a program does. A closed pipe and a file size limit become errors of the write that meets them
/// (EPIPE, EFBIG) in place of signals. Standard streams that are closed are opened on nothing, lest the next file that
/// is opened becomes one of them and is written into.
void prepare_output();

/// All of the text, straight to the descriptor. 0, or the errno of the write that failed.
int write_all(int fd, std::string_view text) noexcept;

/// To standard output, through stdio's buffer. An error is remembered for finish_output().
void print(std::string_view text) noexcept;
/// Writes out what print() has buffered. False when some output so far could not be written.
bool flush_output() noexcept;
/// flush_output(); the error says where the output should have gone. A reader that has read enough (`| head`) is none.
Result<void> finish_output();

/// To standard error, at once. What cannot be written there is lost, since nobody is left who could be told.
void print_error(std::string_view text) noexcept;

/// "standard output (/x/log)": with the path, where the descriptor leads to one.
std::string name_of_stream(int fd);

}  // namespace plimsoll
