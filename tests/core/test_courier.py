from hypothesis import given
from hypothesis import strategies as st

from millstream.core.courier import Courier


@given(
    st.lists(st.lists(st.integers(), max_size=3), max_size=20),
    st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 3))),
)
def test_everything_arrives_once_and_in_order_whatever_the_network_does(batches, weather):
    alice, bob = Courier(1, resend_after=0.1), Courier(2, resend_after=0.1)
    weather = iter(weather)
    air, got, now = [], [], 0.0

    def launch(posted):
        for to, envelope in posted:
            lost, doubled, place = next(weather, (False, False, 99))
            if not lost:
                air.insert(min(place, len(air)), (to, envelope))
            if doubled:
                air.append((to, envelope))

    def land():
        while air:
            to, envelope = air.pop(0)
            got.extend((bob if to == 2 else alice).accept(envelope, now))

    for batch in batches:
        for message in batch:
            alice.post(2, message)
        launch(alice.flush(now))
        land()
    for _ in range(400):
        now += 0.11
        launch(alice.tick(now))
        land()
        launch(bob.tick(now))
        land()
    assert got == [message for batch in batches for message in batch]
    assert alice.unacknowledged(2) == 0


def test_messages_for_one_destination_share_an_envelope():
    courier = Courier(1)
    for message in ("a", "b", "c"):
        courier.post(2, message)
    [(to, envelope)] = courier.flush(0.0)
    assert (to, envelope.messages) == (2, ("a", "b", "c"))
    assert courier.flush(0.0) == []


def test_a_closed_peer_is_neither_heard_nor_told():
    alice, bob = Courier(1), Courier(2)
    bob.post(1, "late")
    [(_, late)] = bob.flush(0.0)
    alice.close(2)
    alice.post(2, "hello")
    assert alice.accept(late, 0.0) == ()
    assert alice.accept(bob.aside("beat"), 0.0) == ()
    assert alice.flush(0.0) == []


def test_a_frontier_that_may_have_been_lost_is_told_again_when_nothing_else_is_said():
    courier = Courier(1)
    courier.frontier = 7
    watchers = frozenset({2})
    assert courier.lagging(watchers, 4) == [2]
    courier.nudge(2)
    assert courier.lagging(watchers, 4) == []
    courier.tick(0.1, watchers)
    [(to, envelope)] = courier.tick(0.2, watchers)
    assert (to, envelope.frontier, envelope.seq) == (2, 7, 0)
