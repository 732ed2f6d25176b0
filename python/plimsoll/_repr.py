# SPDX-License-Identifier: Apache-2.0
"""How the results look in a notebook: HTML tables. Every text is escaped; the names of a plan may come from anyone."""
from html import escape

from . import _plimsoll
from ._plimsoll import format_bytes, format_count, format_seconds

SHOWN_ROWS = 20


class _Html(str):
    """Text that is HTML already."""


def _cell(value):
    return value if isinstance(value, _Html) else escape(str(value))


def _row(cells, tag="td"):
    return "<tr>" + "".join(f"<{tag} style='text-align:left'>{_cell(each)}</{tag}>" for each in cells) + "</tr>"


def _table(caption, head, rows):
    body = "".join(_row(each) for each in rows)
    return f"<table><caption>{_cell(caption)}</caption><thead>{_row(head, 'th')}</thead><tbody>{body}</tbody></table>"


def _share(part, whole):
    """A bar as wide as the share."""
    percent = 100 * part / whole if whole > 0 else 0
    return _Html(f"<div style='width:8em'><div style='width:{min(percent, 100):.1f}%;height:.8em;background:#4477aa' "
                 f"title='{percent:.1f} %'></div></div>")


def plan_html(plan):
    keys = ("cluster.gpu", "data.sequence_length", "numerics.dtype", "optimizer.kind", "layout.dp", "layout.tp", "layout.pp",
            "layout.cp", "layout.ep", "layout.zero_stage", "layout.micro_batch", "layout.accumulation", "layout.recompute")
    rows = [("parameters", format_count(plan.parameters)), ("ranks", format_count(plan.world_size)),
            ("global batch", format_count(plan.global_batch))] + [(key, plan[key]) for key in keys]
    rows += [("problem", f"{each.key}: {each.sentence}") for each in plan.check()]
    return _table(plan.name, ("key", "value"), rows)


def problem_html(problem):
    return _table("Problem", ("key", "what to do"), [(problem.key, problem.sentence)])


def estimate_html(estimate):
    fits = "fits" if estimate.fits else "does not fit"
    low, high = estimate.interval
    caption = (f"{estimate.plan.name}: {format_bytes(estimate.total_bytes)} of {format_bytes(estimate.usable_bytes)} usable "
               f"on the fullest rank, {fits} ({format_bytes(low)} to {format_bytes(high)}, 95 % range)")
    head = ("", "memory", "", "bytes", "formula", "source")
    rows = []
    for rank in estimate.ranks:
        for term in rank.terms:
            rows.append((rank.label, term.name, _share(term.bytes, estimate.usable_bytes), format_bytes(term.bytes),
                         term.formula, term.source))
        rows.append((rank.label, _Html("<b>total</b>"), _share(rank.total_bytes, estimate.usable_bytes),
                     _Html(f"<b>{escape(format_bytes(rank.total_bytes))}</b>"), format_count(rank.total_bytes) + " B", ""))
    for term in estimate.host_terms:
        rows.append(("host", term.name, "", format_bytes(term.bytes), term.formula, term.source))
    return _table(caption, head, rows)


def step_time_html(step):
    caption = (f"{format_seconds(step.step_seconds)} a step, {format_count(round(step.tokens_per_second))} tokens/s, "
               f"MFU {100 * step.mfu:.1f} %")
    rows = [(name, _share(seconds, step.step_seconds), format_seconds(seconds))
            for name, seconds in step.parts.items() if seconds > 0]
    return _table(caption, ("part", "", "time"), rows)


def search_html(search):
    if len(search) == 0:
        return f"<p>{escape(search.binding)}</p>"
    caption = f"The best {min(SHOWN_ROWS, len(search))} of {format_count(search.layouts)} layouts under {search.framework}"
    head = ("layout", "GPUs", "peak", "OOM risk", "host a rank", "step", "tokens/s", "MFU", "on the front")
    rows = [(row.words, f"{row.gpus} x {row.gpu}", format_bytes(row.peak_bytes),
             f"{100 * row.out_of_memory_probability:.1f} %", format_bytes(row.host_bytes) if row.host_bytes else "",
             format_seconds(row.step_seconds), format_count(round(row.tokens_per_second)), f"{100 * row.mfu:.1f} %",
             "yes" if row.on_front else "") for row in search.rows[:SHOWN_ROWS]]
    return _table(caption, head, rows) + "".join(f"<p>{escape(note)}</p>" for note in search.notes)


def lint_html(lint):
    verdict = "accepts" if lint.accepted else "refuses"
    rows = [(each.level, each.rule, each.key, each.sentence) for each in lint.findings]
    return _table(f"DeepSpeed {lint.release} {verdict} it", ("level", "rule", "key", "what is wrong"), rows)


def export_html(export):
    notes = "".join(f"<li>{escape(note)}</li>" for note in export.notes)
    return f"<p>{escape(export.target.title)}</p><pre>{escape(export.text)}</pre><ul>{notes}</ul>"


def install():
    """Gives the classes of the core their _repr_html_."""
    for name, html in (("Plan", plan_html), ("Problem", problem_html), ("Estimate", estimate_html), ("StepTime", step_time_html),
                       ("Search", search_html), ("Lint", lint_html), ("Export", export_html)):
        setattr(getattr(_plimsoll, name), "_repr_html_", html)
