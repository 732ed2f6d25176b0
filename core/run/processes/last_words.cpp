// SPDX-License-Identifier: Apache-2.0
#include "core/run/processes/last_words.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

namespace plimsoll {

namespace {

constexpr std::size_t tail_size = 16 * 1024;
constexpr std::size_t longest = 400;

bool says(const std::string& words, std::initializer_list<std::string_view> signs) {
    std::string lower = words;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return std::any_of(signs.begin(), signs.end(),
                       [&](std::string_view sign) { return lower.find(sign) != std::string::npos; });
}

std::string tail_of(const std::filesystem::path& log, std::uint64_t from) {
    const UniqueFd fd(::open(log.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat info {};
    if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
    const auto size = static_cast<std::uint64_t>(info.st_size);
    if (size <= from) return "";
    const std::uint64_t begin = std::max<std::uint64_t>(from, size > tail_size ? size - tail_size : 0);
    std::string tail(static_cast<std::size_t>(size - begin), '\0');
    const ssize_t n = ::pread(fd.get(), tail.data(), tail.size(), static_cast<off_t>(begin));
    tail.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return tail;
}

std::string clean(std::string_view line) {
    std::string out;
    for (const char c : line) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte != 0x7f)
            out += c;
        else if (c == '\t')
            out += ' ';
    }
    const auto first = out.find_first_not_of(' ');
    if (first == std::string::npos) return "";
    return out.substr(first, out.find_last_not_of(' ') - first + 1);
}

}  // namespace

std::string last_words(const std::filesystem::path& log, std::uint64_t from) {
    const std::string tail = tail_of(log, from);
    std::vector<std::string> lines;
    std::size_t total = 0;
    std::size_t end = tail.size();
    while (lines.size() < 3) {
        const std::size_t begin = end == 0 ? std::string::npos : tail.find_last_of("\n\r", end - 1);
        const std::size_t start = begin == std::string::npos ? 0 : begin + 1;
        std::string line = clean(std::string_view(tail).substr(start, end - start));
        if (!line.empty()) {
            if (total + line.size() > longest) {
                if (!lines.empty()) break;
                std::size_t cut = longest;
                while (cut > 0 && (static_cast<unsigned char>(line[cut]) & 0xc0) == 0x80) --cut;  // no half UTF-8
                line.resize(cut);
                line += "…";
            }
            total += line.size();
            lines.insert(lines.begin(), line);
        }
        if (begin == std::string::npos) break;
        end = begin;
    }
    std::string words;
    for (const std::string& line : lines) words += (words.empty() ? "" : " / ") + line;
    return words;
}

std::string how_it_ended(const ProcessEnd& end) {
    if (end.signal == 0) return fmt::format("ended with exit code {}", end.code);
    const char* name = ::sigabbrev_np(end.signal);
    return fmt::format("was killed by signal {} (SIG{})", end.signal, name == nullptr ? "?" : name);
}

std::string what_to_do(const ProcessEnd& end, const std::string& words, const std::filesystem::path& log,
                       OomKiller killer) {
    if (says(words, {"bad_alloc", "out of memory", "cannot allocate memory", "can't allocate memory",
                     "not enough memory", "defaultcpuallocator"})) {
        return "it ran out of memory: make layout.micro_batch smaller, or set layout.recompute to full";
    }
    // The rank has named the disk and the cure itself (core/base/write_error.h).
    if (says(words, {"free some room there", "the file size limit is reached"})) return "then resume the run";
    if (says(words, {"no space left", "disk full", "disk quota exceeded"})) {
        return "the disk is full: free some room, then resume the run";
    }
    if (end.signal == SIGXFSZ || says(words, {"file too large", "file size limit"})) {
        return "a file grew beyond the file size limit (`ulimit -f`, or the file system's): raise it, then resume the run";
    }
    if (says(words, {"error while loading shared libraries"})) {
        return "LibTorch is not where it was when this was built: run packaging/setup and build again";
    }
    if (end.signal == SIGKILL && killer == OomKiller::Quiet) {
        return "somebody ended it: the system has killed no process for want of memory meanwhile; the run can be resumed "
               "from its last checkpoint";
    }
    if (end.signal == SIGKILL) {
        return fmt::format(
            "{}: make layout.micro_batch smaller, set layout.recompute to full, or use fewer ranks; then resume the run",
            killer == OomKiller::Struck ? "the system had no memory left and killed it"
                                        : "usually the system had no memory left (`dmesg` says so)");
    }
    if (end.signal == SIGSEGV || end.signal == SIGBUS || end.signal == SIGILL || end.signal == SIGFPE ||
        end.signal == SIGABRT) {
        return fmt::format("this is a defect, not your plan: please report it with {}; the run can be resumed",
                           log.string());
    }
    if (end.signal != 0) return "somebody ended it: the run can be resumed from its last checkpoint";
    if (words.empty()) return fmt::format("it said nothing; {} has its whole output", log.string());
    return fmt::format("see {} for all it said; the run can be resumed from its last checkpoint", log.string());
}

bool is_follow_up(const ProcessEnd& end, const std::string& words) {
    return end.signal == 0 && says(words, {"connection closed", "connection reset", "connection refused", "broken pipe",
                                           "peer", "timed out", "timeout", "another rank"});
}

}  // namespace plimsoll
