"""Questions to somebody who may not answer."""

import threading

import pytest

from ingest.spark.streaming.timed_caller import TimedCaller
from tests.support.waiting import reached


def test_answer_is_given():
    ask = TimedCaller()
    assert [ask(lambda number=number: number, otherwise=-1) for number in range(3)] == [0, 1, 2]
    assert ask.silent_s == 0


def test_what_a_question_raises_is_raised():
    ask = TimedCaller()

    def broken() -> int:
        raise ConnectionRefusedError("nobody there")

    with pytest.raises(ConnectionRefusedError, match="nobody there"):
        ask(broken, otherwise=0)
    assert ask(lambda: 1, otherwise=0) == 1


def test_nobody_is_asked_while_a_question_is_open():
    now_s = [100.0]
    ask = TimedCaller(patience_s=0.01, clock=lambda: now_s[0])
    answers, asked = threading.Event(), []
    assert ask(lambda: answers.wait(60), otherwise=None) is None
    now_s[0] += 30
    assert ask.silent_s == 30
    assert ask(lambda: asked.append(1), otherwise="nobody") == "nobody"
    assert asked == []
    answers.set()
    assert reached(lambda: ask.silent_s == 0, 20)
    assert ask(lambda: asked.append(1), otherwise="nobody") is None
    assert asked == [1]
