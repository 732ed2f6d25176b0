// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/style_sheet.h"

namespace plimsoll::ui {

namespace {

constexpr auto sheet = R"(
QMainWindow, QDialog { background: @bg; }
QWidget#Page, QScrollArea#Page, QStackedWidget { background: @bg; }
QToolTip { background: @surface; color: @ink; border: 1px solid @line; padding: 6px; }

QLabel { background: transparent; }
QLabel[strong="true"] { font-weight: 600; }
QLabel[tone="muted"] { color: @muted; }
QLabel[tone="good"] { color: @good; }
QLabel[tone="bad"] { color: @water; }
QLabel[tone="warn"] { color: @warn; }
QLabel[tone="accent"] { color: @accent; }

QFrame#Card { background: @surface; border: 1px solid @line; border-radius: 6px; }
QFrame#Rule { background: @line; border: none; max-height: 1px; min-height: 1px; }
QWidget#TopBar { background: @surface; border-bottom: 1px solid @line; }
QFrame#Remedies { background: @surface; border: none; border-top: 1px solid @line; }
QWidget#Waterline { background: @surface; border-top: 1px solid @line; }
QFrame#Banner { background: @surface; border: 1px solid @scroll; border-left: 4px solid @accent; border-radius: 6px; }
QFrame#Banner[tone="bad"] { border-left-color: @water; }
QFrame#Banner[tone="warn"] { border-left-color: @warn; }
QFrame#Banner[tone="good"] { border-left-color: @good; }

QWidget#Navigation { background: @surface; border-right: 1px solid @line; }
QWidget#Navigation QLabel { color: @muted; padding: 0 9px; }
QWidget#Navigation QPushButton { background: transparent; border: 1px solid transparent; border-radius: 6px; text-align: left;
    padding: 5px 9px; color: @ink; }
QWidget#Navigation QPushButton:hover { background: @hover; }
QWidget#Navigation QPushButton:checked { background: @select; color: @accent; font-weight: 600; }
QWidget#Navigation QPushButton:focus { border-color: @accent; }

QPushButton, QToolButton { background: @raised; color: @ink; border: 1px solid @line; border-radius: 6px; padding: 5px 12px; }
QPushButton:hover, QToolButton:hover { background: @hover; }
QPushButton:pressed, QToolButton:pressed { background: @select; }
QPushButton:focus, QToolButton:focus { border-color: @accent; }
QPushButton:disabled, QToolButton:disabled { color: @faint; }
QPushButton[primary="true"] { background: @accent; color: @accentink; border-color: @accent; font-weight: 600; }
QPushButton[primary="true"]:hover { background: @accenthover; }
QPushButton[primary="true"]:focus { border-color: @ink; }
QPushButton[primary="true"]:disabled { background: @line; color: @muted; border-color: @line; }
QToolButton[danger="true"], QPushButton[danger="true"] { color: @water; border-color: @water; font-weight: 600; }
QToolButton[quiet="true"], QPushButton[quiet="true"] { background: transparent; border-color: transparent; padding: 3px 6px; }
QToolButton[quiet="true"]:hover, QPushButton[quiet="true"]:hover { background: @hover; }
QToolButton[quiet="true"]:focus, QPushButton[quiet="true"]:focus { border-color: @accent; }
QPushButton[link="true"] { background: transparent; border: 1px solid transparent; color: @accent; padding: 2px 0; text-align: left; }
QPushButton[link="true"]:hover { text-decoration: underline; }
QPushButton[link="true"]:focus { border-color: @accent; }
QFileDialog QToolButton { padding: 3px; }
QToolButton::menu-indicator { image: none; width: 0; }

QLineEdit, QComboBox, QSpinBox, QPlainTextEdit, QTextEdit { background: @raised; color: @ink; border: 1px solid @line; border-radius: 5px;
    padding: 3px 8px; selection-background-color: @accent; selection-color: @accentink; }
QLineEdit:focus, QComboBox:focus, QPlainTextEdit:focus, QTextEdit:focus, QSpinBox:focus { border-color: @accent; }
QLineEdit[invalid="true"], QComboBox[invalid="true"] { border-color: @water; }
QLineEdit:disabled, QComboBox:disabled { color: @faint; }
QComboBox { padding-right: 20px; combobox-popup: 0; }
QComboBox::drop-down { border: none; width: 18px; }
QComboBox::down-arrow { image: none; width: 0; }
QComboBox QAbstractItemView { background: @surface; color: @ink; border: 1px solid @scroll; selection-background-color: @select;
    selection-color: @ink; outline: none; padding: 2px; }

QMenu { background: @surface; color: @ink; border: 1px solid @line; padding: 4px; }
QMenu::item { padding: 5px 22px 5px 12px; border-radius: 4px; }
QMenu::item:selected { background: @select; }
QMenu::item:disabled { color: @faint; }
QMenu::separator { height: 1px; background: @line; margin: 4px 6px; }

QTableView, QTreeView, QListView { background: @surface; color: @ink; border: none; gridline-color: @line; outline: none;
    selection-background-color: @select; selection-color: @ink; alternate-background-color: @raised; }
QTableView::item, QTreeView::item { border-bottom: 1px solid @line; padding: 2px 8px; }
QTableView::item:focus { background: @hover; border-bottom: 1px solid @accent; }
QTableView::item:selected, QTreeView::item:selected, QListView::item:selected { background: @select; color: @ink; }
QListView::item { padding: 4px 8px; border-radius: 4px; }
QHeaderView { background: @surface; }
QHeaderView::section { background: @surface; color: @muted; border: none; border-bottom: 1px solid @line; padding: 4px 10px 4px 11px; }
QTableCornerButton::section { background: @surface; border: none; }

QScrollArea { border: none; background: transparent; }
QAbstractScrollArea::corner { background: transparent; border: none; }
QScrollArea > QWidget > QWidget#PageBody { background: @bg; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar::handle:vertical { background: @scroll; border-radius: 3px; min-height: 28px; margin: 2px; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle:horizontal { background: @scroll; border-radius: 3px; min-width: 28px; margin: 2px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QSplitter::handle { background: transparent; }

QCheckBox::indicator, QRadioButton::indicator { width: 14px; height: 14px; border: 1px solid @muted; background: @raised; }
QCheckBox::indicator { border-radius: 3px; }
QRadioButton::indicator { border-radius: 8px; }
QCheckBox::indicator:checked, QRadioButton::indicator:checked { background: @accent; border: 1px solid @accent; }
QCheckBox:focus, QRadioButton:focus { color: @accent; }
QSlider::groove:horizontal { height: 4px; background: @scroll; border-radius: 2px; }
QSlider::sub-page:horizontal { background: @accent; border-radius: 2px; }
QSlider::handle:horizontal { width: 14px; height: 14px; margin: -6px 0; border-radius: 8px; background: @accent; border: 1px solid @surface; }
QSlider::handle:horizontal:focus { border: 1px solid @ink; }

QProgressBar { background: @line; border: none; border-radius: 3px; max-height: 6px; min-height: 6px; text-align: center; }
QProgressBar::chunk { background: @accent; border-radius: 3px; }
QFrame#Palette { background: @surface; border: 1px solid @line; border-radius: 6px; }
)";

}  // namespace

QColor mixed(const QColor& base, const QColor& top, qreal share) {
    const auto blend = [share](int a, int b) { return static_cast<int>(a + (b - a) * share + 0.5); };
    return QColor(blend(base.red(), top.red()), blend(base.green(), top.green()), blend(base.blue(), top.blue()));
}

QString styleSheet(const Theme& theme) {
    QString text = QString::fromUtf8(sheet);
    const auto fill = [&text](const char* name, const QColor& colour) {
        text.replace(QLatin1String(name), colour.name());
    };
    // A name that begins with another name is replaced before it.
    fill("@accentink", theme.accentInk);
    fill("@accenthover", mixed(theme.accent, theme.ink, 0.12));
    fill("@accent", theme.accent);
    fill("@bg", theme.bg);
    fill("@surface", theme.surface);
    fill("@raised", theme.raised);
    fill("@ink", theme.ink);
    fill("@muted", theme.muted);
    fill("@faint", mixed(theme.surface, theme.muted, 0.6));
    fill("@line", theme.line);
    fill("@water", theme.water);
    fill("@good", theme.good);
    fill("@warn", theme.warn);
    fill("@hover", mixed(theme.surface, theme.ink, 0.05));
    fill("@select", mixed(theme.surface, theme.accent, 0.14));
    fill("@scroll", mixed(theme.line, theme.muted, 0.35));
    return text;
}

}  // namespace plimsoll::ui
