"""The contracts of registers."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from ingest.durable.register import Register, Registers

WRITERS, ATTEMPTS = 4, 8


class RegisterContract:
    """Derive from it, and override the fixture `registers`: four handles of one register, which has no text."""

    def test_text_is_replaced_if_it_is_the_one_before(self, registers: list[Register]) -> None:
        one, other, *_ = registers
        assert one.read() is None
        assert one.replace(None, "a")
        assert other.read() == "a"
        assert not other.replace(None, "b")
        assert not other.replace("b", "c")
        assert other.replace("a", "b")
        assert (one.read(), other.read()) == ("b", "b")
        assert not one.replace("a", "c")

    def test_removed_text_is_none(self, registers: list[Register]) -> None:
        one, other, *_ = registers
        assert one.replace(None, "a")
        assert other.replace("a", None)
        assert one.read() is None
        assert not one.replace("a", "b")
        assert one.replace(None, "a")
        assert other.read() == "a"

    def test_call_whose_answer_was_lost_is_repeated(self, registers: list[Register]) -> None:
        one, other, *_ = registers
        for before, after in ((None, "a"), ("a", "b"), ("b", None)):
            assert one.replace(before, after)
            assert one.replace(before, after)
            assert other.replace(before, after)

    def test_each_replacement_has_at_most_one_winner(self, registers: list[Register]) -> None:
        """A writer whose text another one has replaced at once may learn that it is not there."""
        barrier = Barrier(WRITERS)

        def won(number: int) -> list[int]:
            register, replaced = registers[number], []
            barrier.wait(60)
            for attempt in range(ATTEMPTS):
                before = register.read()
                count = 1 + (int(before.partition(" ")[0]) if before else 0)
                if register.replace(before, f"{count} by {number}, {attempt}"):
                    replaced.append(count)
            return replaced

        with ThreadPoolExecutor(WRITERS) as pool:
            counts = [count for each in pool.map(won, range(WRITERS)) for count in each]
        assert len(counts) == len({*counts})
        text = registers[0].read()
        assert text is not None
        assert int(text.partition(" ")[0]) >= max(len(counts), ATTEMPTS)


class RegistersContract:
    """Derive from it, and override the fixture `places`: two handles of one place of registers, without texts."""

    def test_texts_are_those_of_a_prefix(self, places: list[Registers]) -> None:
        one, other = places
        assert one.texts("", unchanged="") == {}
        for name in ("a.1", "a.12", "ab.1", "b"):
            assert one.named(name).replace(None, f"text of {name}")
        assert other.named("a.1").read() == "text of a.1"
        assert other.named("a.1").replace("text of a.1", "é")
        assert other.named("b").replace("text of b", None)
        assert one.texts("a.", unchanged="a.1") == {"a.1": "é", "a.12": "text of a.12"}
        assert one.texts("", unchanged="b") == {"a.1": "é", "a.12": "text of a.12", "ab.1": "text of ab.1"}
        assert one.texts("c", unchanged="c") == {}
