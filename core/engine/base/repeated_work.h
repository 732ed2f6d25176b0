// SPDX-License-Identifier: Apache-2.0
// Long loops whose turns allocate alike.
#pragma once

#include <utility>

namespace plimsoll::engine {

/// While it lives, turns of a loop that only repeat others may be left out on this thread: a dry run's, where a turn
/// does nothing but allocate.
class LeaveOutRepeats {
public:
    LeaveOutRepeats() : before_(std::exchange(active_, true)) {}
    ~LeaveOutRepeats() { active_ = before_; }
    LeaveOutRepeats(const LeaveOutRepeats&) = delete;
    LeaveOutRepeats& operator=(const LeaveOutRepeats&) = delete;
    static bool active() { return active_; }

private:
    inline static thread_local bool active_ = false;
    bool before_;
};

}  // namespace plimsoll::engine
