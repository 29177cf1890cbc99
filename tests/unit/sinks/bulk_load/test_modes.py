"""Which regions get files."""

from sinks.bulk_load.modes import KEPT_CYCLES, LoadRule, RegionModes

AUTO = LoadRule(100, 1_000, only_behind=True)
ALWAYS = LoadRule(100, None, only_behind=False)
IN_ORDER = LoadRule(100, None, only_behind=True, keeps_calls=False)
REGION = b"m"


def modes_of(rule: LoadRule, *, is_behind: bool = True) -> RegionModes:
    made = RegionModes(rule)
    made.begin(is_behind=is_behind)
    return made


def test_region_gets_files_from_a_number_of_rows_or_bytes():
    assert [modes_of(AUTO).wants_files(REGION, rows, size) for rows, size in ((99, 999), (100, 0), (1, 1_000))] == [
        False,
        True,
        True,
    ]
    assert [modes_of(ALWAYS).wants_files(REGION, rows, 10**9) for rows in (99, 100)] == [False, True]


def test_auto_gives_files_only_while_the_pipeline_is_behind():
    modes = modes_of(AUTO, is_behind=False)
    assert not modes.may_have_files
    assert not modes.wants_files(REGION, 10**6, 10**9)
    always = modes_of(ALWAYS, is_behind=False)
    assert always.may_have_files
    assert always.wants_files(REGION, 100, 0)


def test_region_keeps_its_mode_for_ten_flush_cycles():
    modes = modes_of(AUTO)
    assert modes.wants_files(REGION, 100, 0)
    for _ in range(KEPT_CYCLES - 1):
        modes.begin(is_behind=False)
        assert modes.may_have_files
        assert modes.wants_files(REGION, 1, 0)
    modes.begin(is_behind=True)
    assert not modes.wants_files(REGION, 1, 0)
    for _ in range(KEPT_CYCLES - 1):
        modes.begin(is_behind=True)
        assert not modes.wants_files(REGION, 100, 0)
    modes.begin(is_behind=True)
    assert modes.wants_files(REGION, 100, 0)


def test_few_rows_at_the_end_of_a_task_do_not_end_its_files():
    modes = modes_of(ALWAYS)
    for _ in range(KEPT_CYCLES + 2):
        assert [modes.wants_files(REGION, rows, 0) for rows in (100, 1)] == [True, True]
        modes.begin(is_behind=True)


def test_files_end_with_the_backlog_once_their_time_is_over():
    modes = modes_of(AUTO)
    assert modes.wants_files(REGION, 100, 0)
    for _ in range(KEPT_CYCLES):
        modes.begin(is_behind=False)
    assert not modes.may_have_files


def test_calls_for_long_do_not_delay_files():
    modes = modes_of(ALWAYS)
    for _ in range(KEPT_CYCLES):
        assert not modes.wants_files(REGION, 1, 0)
        modes.begin(is_behind=True)
    assert modes.wants_files(REGION, 100, 0)


def test_region_whose_files_are_refused_has_calls_for_ten_flush_cycles():
    modes = modes_of(ALWAYS)
    assert modes.wants_files(REGION, 100, 0)
    modes.refuse_files(REGION)
    for _ in range(KEPT_CYCLES):
        assert not modes.wants_files(REGION, 100, 0)
        modes.begin(is_behind=True)
    assert modes.wants_files(REGION, 100, 0)


def test_region_whose_rows_come_in_the_order_of_their_keys_has_files_as_soon_as_they_are_enough():
    modes = modes_of(IN_ORDER)
    assert [modes.wants_files(REGION, rows, 0) for rows in (99, 100, 1)] == [False, True, True]
    for _ in range(KEPT_CYCLES):
        modes.begin(is_behind=True)
    assert [modes.wants_files(REGION, rows, 0) for rows in (1, 100)] == [False, True]
    modes.refuse_files(REGION)
    for _ in range(KEPT_CYCLES):
        assert not modes.wants_files(REGION, 100, 0)
        modes.begin(is_behind=True)
    assert modes.wants_files(REGION, 100, 0)


def test_question_without_a_load_changes_no_mode():
    modes = modes_of(ALWAYS)
    assert [modes.would_want_files(REGION, rows, 0) for rows in (100, 99)] == [True, False]
    assert not modes.wants_files(REGION, 99, 0)
    assert not modes.would_want_files(REGION, 100, 0), "it has calls now"
    for _ in range(KEPT_CYCLES):
        modes.begin(is_behind=True)
    assert modes.would_want_files(REGION, 100, 0)


def test_regions_have_modes_of_their_own():
    modes = modes_of(ALWAYS)
    assert modes.wants_files(b"", 100, 0)
    assert not modes.wants_files(b"m", 1, 0)
    assert modes.wants_files(b"", 1, 0)
