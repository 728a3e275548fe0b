from hypothesis import given
from hypothesis import strategies as st
from workloads import linear, play_steps, request

from mockvllm.engine import EngineCore, EngineListener, Request
from mockvllm.engine.queue import FCFSRequestQueue, PriorityRequestQueue


def test_fcfs_keeps_the_order_and_takes_a_preempted_one_first() -> None:
    queue = FCFSRequestQueue()
    a, b, c, d = (request(name) for name in "abcd")
    for r in (a, b, c):
        queue.add_request(r)
    queue.prepend_request(d)
    queue.remove_request(b)
    assert list(queue) == [d, a, c]
    assert (queue.peek_request(), queue.pop_request(), len(queue)) == (d, d, 2)


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 3), st.text("ab", max_size=3)), max_size=20))
def test_priority_orders_by_value_arrival_and_id(ranks: list[tuple[int, int, str]]) -> None:
    queue = PriorityRequestQueue()
    for index, (priority, at, name) in enumerate(ranks):
        add = queue.prepend_request if index % 3 == 0 else queue.add_request
        add(request(name, priority=priority, at=float(at)))
    popped = [queue.pop_request() for _ in range(len(queue))]
    assert [(r.priority, r.arrival_time, r.request_id) for r in popped] == sorted(ranks)


class Seats(EngineListener):
    def __init__(self) -> None:
        self.order: list[str] = []

    def scheduled(self, request: Request, num_hit_tokens: int, now: float) -> None:
        self.order.append(request.request_id)


def test_a_smaller_priority_value_is_seated_first_but_takes_nobodys_seat() -> None:
    seats = Seats()
    engine = linear(listeners=[seats], policy="priority", max_num_seqs=1)
    core = EngineCore(engine)
    engine.add(request("slow", priority=5), 0.0)
    core.begin(0.0)
    for name, priority in (("mid", 1), ("low", 9), ("top", -1)):
        engine.add(request(name, priority=priority), 0.0)
    for _ in play_steps(core):
        pass
    assert seats.order == ["slow", "top", "mid", "low"]
