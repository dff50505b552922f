"""How notebooks show a trace, as a tree whose calls open and close, and the report of an audit, as a table."""

import html.parser
import sys

import pytest

import tensorlike as tl


class Noted(tl.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is tl.Tensor.mean:
            return tl.sum(args[0]) / args[0].numel()
        return super().__torch_function__(func, types, args, kwargs or {})


class Balanced(html.parser.HTMLParser):
    """Fails for a tag that is not closed; notes the texts and how deep they stand in `details`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[tuple[int, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open.count("details"), data))


def test_calls_inside_a_call_open_and_close() -> None:
    x = tl.ones(4).as_subclass(Noted)
    with tl.overrides.trace() as log:
        x.mean()
        x.exp()
    found = Balanced(log._repr_html_()).texts
    depths = {text: depth for depth, text in found if text.startswith("tensorlike.")}
    assert depths["tensorlike.Tensor.mean(Noted)"] == depths["tensorlike.sum(Noted)"] == 1
    assert depths["tensorlike.Tensor.exp(Noted)"] == 0
    assert (0, "<TraceLog of 5 calls>") in found  # escaped, or it would be no text


def test_a_call_that_raises_is_told() -> None:
    class Refusing:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise ValueError("1 < 2 & no more")

    with tl.overrides.trace() as log, pytest.raises(ValueError, match="no more"):
        tl.exp(Refusing())
    assert any("1 < 2 & no more" in text for _, text in Balanced(log._repr_html_()).texts)


def test_a_log_without_calls_and_one_whose_caller_runs_still() -> None:
    with tl.overrides.trace() as log:
        pass
    assert "TraceLog of 0 calls" in log._repr_html_()
    shown = []

    class Looking:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            with tl.overrides.DisableTorchFunctionSubclass():
                tl.exp(tl.ones(1).as_subclass(Noted))
            tl.sin(tl.ones(1).as_subclass(Noted))
            shown.append(outer._repr_html_())

    with tl.overrides.trace() as outer:
        tl.cos(Looking())
    assert "tensorlike.sin" in shown[0]
    assert "tensorlike.cos" not in shown[0]


# Reports of audits.


def test_a_report_is_shown_as_a_table_of_what_is_wrong() -> None:
    class Angry(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise ValueError("1 < 2 & no more")

    report = tl.overrides.audit(Angry, only=("tensorlike.exp", "tensorlike.linalg.det"))
    texts = [text for _, text in Balanced(report._repr_html_()).texts]
    assert "tensorlike.linalg" in texts
    assert any("raised: 1 < 2 & no more" in text for text in texts)
    assert repr(report) == f"<AuditReport of {report.type_name}: 0.0 % of {report.totals.called} calls>"


def test_an_audit_shows_a_bar(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tqdm", reason="the bar needs tqdm, of the extra 'examples'")
    only = ("tensorlike.exp", "tensorlike.mul")
    tl.overrides.audit(Noted, only=only, progress=True)
    assert "2/2" in capsys.readouterr().err
    tl.overrides.audit(Noted, only=only, progress=False)
    assert capsys.readouterr().err == ""
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match="needs tqdm"):
        tl.overrides.audit(Noted, only=only, progress=True)
