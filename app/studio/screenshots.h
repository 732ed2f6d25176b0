// SPDX-License-Identifier: GPL-3.0-or-later
// Pictures of the real window, page by page, for documentation.
#pragma once

#include <QString>

namespace plimsoll::ui {
class MainWindow;
}

namespace plimsoll::studio {

/// Writes "PAGE.png" for every page of the shown window, then pictures of the search, lists, tooltip, refusal and help
/// over pages; false when a picture cannot be written.
bool write_screenshots(ui::MainWindow& window, const QString& folder);

}  // namespace plimsoll::studio
