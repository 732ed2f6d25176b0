// SPDX-License-Identifier: GPL-3.0-or-later
// A page of the plan: folds its columns where the window is small, scrolls, and brings the focus to a field by its key.
#pragma once

#include <QHBoxLayout>
#include <QScrollArea>

namespace plimsoll::ui {

class FieldRow;

class Page : public QScrollArea {
    Q_OBJECT
public:
    explicit Page(const QString& name, QWidget* parent = nullptr);

    /// Whether the field is edited on this page.
    virtual bool hasField(const QString& key) const;
    /// False when the page has no such field.
    virtual bool focusField(const QString& key);

protected:
    /// Columns of cards, from left to right.
    QHBoxLayout* columns() const { return columns_; }
    QVBoxLayout* addColumn(int stretch, int width = 0);
    /// Whether the window is too narrow for cards side by side.
    bool isNarrow() const;

    void resizeEvent(QResizeEvent* event) override;

private:
    FieldRow* rowOf(const QString& key) const;
    void fold(bool folded);

    struct Column {
        QWidget* holder;
        QVBoxLayout* layout;
        int stretch;
    };
    QHBoxLayout* columns_;
    QList<Column> all_;
    bool folded_ = false;  ///< the third column stands under the first
};

}  // namespace plimsoll::ui
