#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Text of others is text: only the files below make rich text in the window, and each escapes what it puts in.

A QLabel decides by its text whether to interpret it, and interpreted text loads pictures from any path. Labels are
therefore PlainLabel, WrapLabel or ElidedLabel. Tooltips guess as well: what is no text of the product goes through
plainTip() (ui/common/escaped_text.h).

    check_labels.py [--self-test]
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Files that make rich text, with where their text comes from.
RICH = {
    "ui/waterline/waterline.cpp": "figures by ui/waterline models, escaped there",
    "ui/pipeline/pipeline_page.cpp": "advice by ui/pipeline models",
    "ui/export/export_page.cpp": "notes by ui/export models, escaped there",
    "ui/export/lint_card.cpp": "findings by ui/export models, escaped there",
    "ui/run/watch_page.cpp": "progress: numbers alone",
    "ui/doctor/doctor_page.cpp": "the checklist, escaped there",
    "ui/lessons/lessons_page.cpp": "lessons: the product's own text",
    "ui/window/help_dialog.cpp": "the product's own text",
}
RICH_TEXT = re.compile(r"setTextFormat\(\s*Qt::(RichText|AutoText|MarkdownText)|\bsetHtml\(|\bsetMarkdown\(")
BARE_LABEL = re.compile(r"\bnew QLabel\b|(?<!\w)QLabel\s+\w+\s*[({;]|(?<![\w:])QLabel\(")
# A tooltip of a name, a path or a sentence: of one word of the product (tr without arg) or through plainTip().
TIP = re.compile(r"setToolTip\((.*)")
FINE_TIP = re.compile(r"plainTip\(|^tr\([^)]*$|^$|^tr\(\"(?!.*\.arg\()|->toolTip\(\)|accessibleName\(\)|^tip\);|^help\);|tipOf\(")
# Tooltips of texts that are escaped where they are made, or of the product's own words.
RICH_TIPS = {
    "ui/planner/planner_form.cpp": "help of a field",
    "ui/plan/rules_view.cpp": "made by plan_tables.cpp, which escapes",
    "ui/waterline/waterline.cpp": "stepDetails() escapes",
    "ui/plan/layout_page.cpp": "two sentences of the product",
    "ui/window/navigation.cpp": "a page's name and shortcut",
    "ui/window/top_bar.cpp": "an action's name and shortcut",
}
LABELS_OWN = ("ui/widgets/plain_label", "ui/widgets/wrap_label", "ui/widgets/elided_label")


def problems_of(path, text):
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("//")[0]
        if RICH_TEXT.search(code) and path not in RICH:
            found.append(f"{path}:{number}: rich text; show plain text, or escape it and add the file to {Path(__file__).name}")
        tip = TIP.search(code)
        if tip and not FINE_TIP.search(tip[1].strip()) and path not in RICH_TIPS:
            found.append(f"{path}:{number}: a tooltip guesses the format of its text; take plainTip()")
        if path.startswith(LABELS_OWN):
            continue
        label = BARE_LABEL.search(code)
        if label and not (path == "ui/run/watch_page.cpp" and "progress_" in code):
            found.append(f"{path}:{number}: QLabel guesses the format of its text; take PlainLabel (ui/widgets/plain_label.h)")
    return found


def self_test():
    assert problems_of("ui/a.cpp", "auto* l = new QLabel(text, this);")
    assert problems_of("ui/a.cpp", ": name_(new QLabel(this)) {")
    assert problems_of("ui/a.cpp", "QLabel label(text);")
    assert problems_of("ui/a.cpp", "x->setTextFormat(Qt::RichText);")
    assert problems_of("ui/a.cpp", "view->setHtml(text);")
    assert problems_of("ui/a.cpp", "w->setToolTip(path);")
    assert problems_of("ui/a.cpp", 'w->setToolTip(tr("of %1").arg(name));')
    assert not problems_of("ui/a.cpp", "w->setToolTip(plainTip(path));")
    assert not problems_of("ui/a.cpp", 'w->setToolTip(tr("Close the notice"));')
    assert not problems_of("ui/a.cpp", "auto* l = new PlainLabel(text, this);  // not a QLabel(")
    assert not problems_of("ui/a.h", "    QLabel* name_ = nullptr;")
    assert not problems_of("ui/lessons/lessons_page.cpp", "view->setHtml(text);")
    return 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    files = subprocess.run(["git", "ls-files", "ui/*.cpp", "ui/*.h", "app/studio/*.cpp"], cwd=ROOT, capture_output=True,
                           text=True).stdout.split()
    if not files:
        files = [str(f.relative_to(ROOT)) for f in [*ROOT.glob("ui/**/*.cpp"), *ROOT.glob("ui/**/*.h")]]
    found = [problem for file in files for problem in problems_of(file, (ROOT / file).read_text())]
    found += [f"{file} makes no rich text any more: take it off the list" for file in RICH
              if not RICH_TEXT.search((ROOT / file).read_text())]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
