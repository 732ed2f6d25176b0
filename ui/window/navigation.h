// SPDX-License-Identifier: GPL-3.0-or-later
// The pages in four groups, at the left.
#pragma once

#include <optional>
#include <QButtonGroup>
#include <QStringList>
#include <QWidget>

namespace plimsoll::ui {

enum class PageId {
    Start,
    Model,
    Hardware,
    Layout,
    Pipeline,
    Planner,
    Memory,
    Recipe,
    Data,
    Watch,
    Runs,
    Logs,
    Doctor,
    Export,
    Lessons
};
inline constexpr int pageCount = 15;

/// "Model", translated.
QString pageName(PageId page);
/// Ctrl and a digit, or Ctrl+Shift and a letter.
QString pageShortcut(PageId page);
/// By its English name, case ignored; nothing when there is none.
/// The words that pageByName() knows, in the order of the pages.
QStringList pageNames();
std::optional<PageId> pageByName(const QString& name);

class Navigation : public QWidget {
    Q_OBJECT
public:
    explicit Navigation(QWidget* parent = nullptr);
    void setCurrent(PageId page);

signals:
    void chosen(plimsoll::ui::PageId page);

private:
    QButtonGroup buttons_;
};

}  // namespace plimsoll::ui
