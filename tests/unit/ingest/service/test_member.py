"""The states of a pipeline under supervision."""

import itertools
import math
from typing import get_args

import pytest

from ingest.api import LifecycleError
from ingest.service.member import (
    RESTART_S,
    TRANSITIONS,
    Draining,
    Ended,
    Failures,
    Leaving,
    Member,
    MemberState,
    Paused,
    Running,
    Starting,
    Waiting,
)
from tests.support.supervised import Bench


def test_table_of_transitions_has_each_state():
    assert {*TRANSITIONS} == {*get_args(MemberState)}
    assert {*itertools.chain(*TRANSITIONS.values())} == {*TRANSITIONS}


@pytest.mark.parametrize("before", TRANSITIONS)
def test_only_the_states_of_the_table_follow(before: type[MemberState]):
    bench = Bench(lambda _bench: None)
    made = {
        Waiting: lambda: Waiting(math.inf),
        Starting: lambda: Starting(bench.pipeline),
        Running: Running,
        Draining: lambda: Draining(has_batch=False),
        Paused: Paused,
        Leaving: lambda: Leaving(bench.pipeline, lambda _pipeline: None, has_ended=False),
        Ended: Ended,
    }
    for after in TRANSITIONS:
        member = Member(bench.pipeline, made[before]())
        if after in TRANSITIONS[before]:
            member.enter(made[after]())
            assert type(member.state) is after
        else:
            with pytest.raises(LifecycleError, match=f"{after.__name__} does not follow {before.__name__}"):
                member.enter(made[after]())
            assert type(member.state) is before


def test_back_off_grows_up_to_its_last_value():
    failures = Failures()
    assert tuple(failures.back_off_s() for _ in range(7)) == (*RESTART_S, RESTART_S[-1], RESTART_S[-1])
