// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/navigation.h"

#include <QCoreApplication>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "ui/widgets/plain_label.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

namespace {

struct Entry {
    PageId page;
    const char* name;
    const char* group;  ///< the group that begins with this page
    const char* shortcut;
};

constexpr Entry entries[] = {
    {PageId::Start, QT_TRANSLATE_NOOP("Navigation", "Start"), nullptr, "Ctrl+Shift+H"},
    {PageId::Model, QT_TRANSLATE_NOOP("Navigation", "Model"), QT_TRANSLATE_NOOP("Navigation", "PLAN"), "Ctrl+1"},
    {PageId::Hardware, QT_TRANSLATE_NOOP("Navigation", "Hardware"), nullptr, "Ctrl+2"},
    {PageId::Layout, QT_TRANSLATE_NOOP("Navigation", "Layout"), nullptr, "Ctrl+3"},
    {PageId::Pipeline, QT_TRANSLATE_NOOP("Navigation", "Pipeline"), nullptr, "Ctrl+4"},
    {PageId::Planner, QT_TRANSLATE_NOOP("Navigation", "Planner"), nullptr, "Ctrl+Shift+L"},
    {PageId::Memory, QT_TRANSLATE_NOOP("Navigation", "Memory"), nullptr, "Ctrl+5"},
    {PageId::Recipe, QT_TRANSLATE_NOOP("Navigation", "Recipe"), nullptr, "Ctrl+6"},
    {PageId::Data, QT_TRANSLATE_NOOP("Navigation", "Data"), nullptr, "Ctrl+7"},
    {PageId::Watch, QT_TRANSLATE_NOOP("Navigation", "Watch"), QT_TRANSLATE_NOOP("Navigation", "RUN"), "Ctrl+8"},
    {PageId::Runs, QT_TRANSLATE_NOOP("Navigation", "Runs"), nullptr, "Ctrl+Shift+R"},
    {PageId::Logs, QT_TRANSLATE_NOOP("Navigation", "Logs"), nullptr, "Ctrl+Shift+G"},
    {PageId::Doctor, QT_TRANSLATE_NOOP("Navigation", "Doctor"), nullptr, "Ctrl+Shift+D"},
    {PageId::Export, QT_TRANSLATE_NOOP("Navigation", "Export"), QT_TRANSLATE_NOOP("Navigation", "SHARE"), "Ctrl+9"},
    {PageId::Lessons, QT_TRANSLATE_NOOP("Navigation", "Lessons"), QT_TRANSLATE_NOOP("Navigation", "LEARN"), "Ctrl+0"},
};
static_assert(std::size(entries) == pageCount);

}  // namespace

QString pageName(PageId page) {
    return QCoreApplication::translate("Navigation", entries[static_cast<std::size_t>(page)].name);
}

QString pageShortcut(PageId page) { return QString::fromLatin1(entries[static_cast<std::size_t>(page)].shortcut); }

QStringList pageNames() {
    QStringList names;
    for (const Entry& entry : entries) names.append(QString::fromLatin1(entry.name).toLower());
    return names;
}

std::optional<PageId> pageByName(const QString& name) {
    for (const Entry& entry : entries)
        if (name.compare(QLatin1String(entry.name), Qt::CaseInsensitive) == 0) return entry.page;
    return std::nullopt;
}

Navigation::Navigation(QWidget* parent) : QWidget(parent) {
    setObjectName(QStringLiteral("Navigation"));
    setAttribute(Qt::WA_StyledBackground);
    setAccessibleName(tr("Pages"));
    setFixedWidth(168);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 14, 8, 8);
    column->setSpacing(1);
    for (const Entry& entry : entries) {
        const int number = static_cast<int>(entry.page);
        if (entry.group) {
            auto* group = new PlainLabel(QCoreApplication::translate("Navigation", entry.group), this);
            QFont font = uiFont(-1.5);
            font.setLetterSpacing(QFont::AbsoluteSpacing, 0.8);
            group->setFont(font);
            column->addSpacing(10);
            column->addWidget(group);
            column->addSpacing(4);
        }
        auto* button = new QPushButton(pageName(entry.page), this);
        button->setCheckable(true);
        button->setAccessibleName(button->text());
        button->setToolTip(tr("%1 (%2)").arg(button->text(), pageShortcut(entry.page)));
        buttons_.addButton(button, number);
        column->addWidget(button);
    }
    column->addStretch(1);
    buttons_.setExclusive(true);
    connect(&buttons_, &QButtonGroup::idClicked, this, [this](int id) { emit chosen(static_cast<PageId>(id)); });
}

void Navigation::setCurrent(PageId page) {
    // The focus goes along, so that no second row looks chosen.
    bool focused = false;
    for (const QAbstractButton* button : buttons_.buttons()) focused = focused || button->hasFocus();
    // One stop for Tab; the arrow keys walk the others.
    for (QAbstractButton* button : buttons_.buttons())
        button->setFocusPolicy(buttons_.id(button) == static_cast<int>(page) ? Qt::StrongFocus : Qt::ClickFocus);
    buttons_.button(static_cast<int>(page))->setChecked(true);
    if (focused) buttons_.button(static_cast<int>(page))->setFocus();
}

}  // namespace plimsoll::ui
